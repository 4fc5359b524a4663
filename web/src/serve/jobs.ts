// The list of jobs: filtered by name and owner, sorted, each leading to its page.

import { h, name, plain } from "../report/dom";
import { Panel, saver } from "../report/panel";
import type { Column } from "../report/table";
import { Table } from "../report/table";
import { count, percent } from "../report/units";
import type { Gap, JobSeen } from "./answers";
import { get, Refused, tried } from "./api";
import type { Frame, Page } from "./page";
import { isLive } from "./page";
import type { Route } from "./route";
import { asked, drift, link } from "./route";
import type { Said } from "./says";
import { Says } from "./says";
import { core, exactCore, lasting, moment, value } from "./show";

export class JobsPage implements Page {
  readonly element = h("div", { class: "sheet" });
  private readonly says = new Says();
  private readonly panel = new Panel("jobs", "jobs");
  private readonly find = h("input", { type: "search", placeholder: "job or user", "aria-label": "filter by job or user", maxlength: 200 });
  private readonly table: Table<JobSeen>;
  private jobs: JobSeen[] = [];
  private newest = 0;
  /** There are more than came. */
  private cut = false;

  constructor(private readonly frame: Frame, route: Route) {
    const columns: Column<JobSeen>[] = [
      { head: "job", text: true, value: (row) => row.job, show: (row) => this.named(row) },
      { head: "user", text: true, value: (row) => row.user, show: (row) => value("user", row.user) },
      { head: "state", text: true, title: "running: seen in the last slice", value: (row) => this.state(row), show: (row) => h("span", { class: this.state(row) === "running" ? "runs" : "dim" }, this.state(row)) },
      { head: "first_ns", short: "first seen", value: (row) => row.first_ns, show: (row) => moment(row.first_ns) },
      { head: "last_ns", short: "last seen", value: (row) => row.last_ns, show: (row) => moment(row.last_ns) },
      { head: "lasted (ns)", short: "seen for", value: (row) => row.last_ns - row.first_ns, show: (row) => lasting(row.last_ns - row.first_ns) },
      { head: "nodes", value: (row) => row.nodes },
      { head: "core seconds", short: "core time", value: (row) => row.core_seconds, show: (row) => h("span", { title: exactCore(row.core_seconds) }, core(row.core_seconds)) },
      { head: "samples", value: (row) => row.samples, show: (row) => count(row.samples) },
    ];
    const sort = columns.findIndex((one) => one.head === route.params.get("sort"));
    this.table = new Table<JobSeen>({
      label: "jobs", columns, first: 100, sort: sort >= 0 ? sort : 7, ...(sort >= 0 && { ascending: route.params.get("dir") === "up" }),
      sorted: (column, down) => drift({ sort: columns[column]?.head, dir: down ? null : "up" }),
    });
    this.find.value = route.params.get("q") ?? "";
    this.find.addEventListener("input", () => { drift({ q: this.find.value }); this.show([]); });
    this.panel.tools.append(saver("jobs", () => this.table.csv()));
    this.panel.body.append(h("div", { class: "bar" }, this.find), this.table.element);
    this.element.append(this.says.element, this.panel.element);
  }

  live = isLive;

  async update(route: Route, signal: AbortSignal): Promise<void> {
    const answer = await tried(get<{ jobs: JobSeen[]; gaps?: Gap[] }>("jobs", { ...asked(route), limit: 20_000 }, signal));
    if (signal.aborted) return;
    this.frame.title(["jobs"], "jobs");
    this.jobs = answer instanceof Refused ? [] : answer.jobs;
    this.cut = !(answer instanceof Refused) && (answer.gaps ?? []).some((gap) => gap.kind === "memory-bound");
    this.newest = this.jobs.reduce((last, job) => Math.max(last, job.last_ns), 0);
    if (document.activeElement !== this.find) this.find.value = route.params.get("q") ?? "";
    const gaps = answer instanceof Refused ? [{ kind: "missing", detail: answer.message, count: 0 }] : answer.gaps ?? [];
    this.frame.gaps(gaps);
    this.says.set(this.sentences());
    this.show(gaps);
  }

  private sentences(): Said[] {
    const total = this.jobs.reduce((sum, job) => sum + job.core_seconds, 0);
    const first = this.jobs.reduce<JobSeen | null>((most, job) => (most && most.core_seconds >= job.core_seconds ? most : job), null);
    if (!first || !(total > 0)) return [];
    const runs = this.jobs.filter((job) => this.state(job) === "running").length;
    const named = plain(first.job, 60).replace(/`/g, "'");
    return [
      { text: `${this.cut ? "More than " : ""}${count(this.jobs.length)} job${this.jobs.length === 1 ? "" : "s"} had ${this.cut ? "more than " : ""}${core(total)} of cores; ${count(runs)} ${runs === 1 ? "runs" : "run"} now.`, to: "jobs" },
      { text: `The largest, \`${named}\`, has ${this.cut ? core(first.core_seconds) : `${percent(first.core_seconds / total)} of that`}.`, to: link("job", { id: first.job, user: first.user }) },
    ];
  }

  /** Schedulers count anew at times: the owner tells jobs of one number apart. */
  private named(job: JobSeen): HTMLElement {
    return h("a", { href: link("job", { id: job.job, user: job.user }) }, name(job.job, 120));
  }

  /** A slice may be ten minutes long: what is in the last one of all is taken to run. */
  private state(job: JobSeen): string {
    return job.last_ns >= this.newest && Date.now() * 1e6 - job.last_ns < 15 * 60e9 ? "running" : "ended";
  }

  private show(gaps: Gap[]): void {
    const looked = this.find.value.toLowerCase();
    const shown = this.jobs.filter((job) => !looked || job.job.toLowerCase().includes(looked) || String(job.user ?? "") === looked || `user ${job.user}` === looked);
    this.table.set(shown);
    this.panel.body.querySelector(".empty")?.remove();
    if (!shown.length) this.panel.body.append(h("p", { class: "empty" }, gaps[0] ? plain(gaps[0].detail, 300) : this.jobs.length ? "No job is called so." : "No job was seen in this time."));
    const users = new Set(shown.map((job) => job.user)).size;
    this.panel.note.textContent = `${count(shown.length)} of ${count(this.jobs.length)}, of ${count(users)} user${users === 1 ? "" : "s"}, ${count(shown.filter((job) => this.state(job) === "running").length)} running`;
  }
}
