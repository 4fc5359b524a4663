// One job: what rules found, where its time went, how alike its cores were, and what counters say of it.

import { h, plain } from "../report/dom";
import { count, percent } from "../report/units";
import type { Finding, Gap, Job, Spread, Usage } from "./answers";
import { BUSY } from "./answers";
import type { Questions } from "./api";
import { get, Refused, tried } from "./api";
import { Heat } from "./heat";
import { NodeTimes } from "./heat-model";
import { nodeSeries } from "./machine";
import type { Frame, Page } from "./page";
import { Parts } from "./parts";
import { jobRates, RateTable } from "./rates";
import { Roofline } from "./roofline";
import type { Asked, Route } from "./route";
import { asked, lately, length, link, ruledTimes } from "./route";
import type { Said } from "./says";
import { ruled, Says, sum } from "./says";
import { core, lasting, part, span } from "./show";
import { behind, Spreads, wholeCores } from "./spreads";

/** How long back a job is looked for when the address has no times. */
const BACK = "90d";
/** A job that was seen within this is taken to run. */
const RUNS = 5 * 60e9;
/** Fewer readings of cores say nothing of how they differ. */
const FEW_READINGS = 20;
/** Rows of cores that are asked for: four of each. */
const MOST_CORES = 50_000;

/**
 * A moment in seconds. Slices mostly begin at whole ones, which are exact; other nanoseconds are rounded here. A slice that is only touched
 * counts whole, so that a microsecond towards the job's inside keeps those of before and after away.
 */
const inside = (nanos: number, way: 1 | -1): string => (nanos % 1e9 === 0 ? String(nanos / 1e9) : (nanos / 1e9 + way * 1e-6).toFixed(6));

export class JobPage implements Page {
  readonly element = h("div", { class: "sheet" });
  private readonly says = new Says();
  private readonly heat: Heat;
  private readonly parts = new Parts(["job", "user", "node"]);
  private readonly spreads = new Spreads();
  private readonly byLibrary = new RateTable("rates-library", "counters by library", "library");
  private readonly byPhase = new RateTable("rates-phase", "counters by phase", "phase");
  private readonly roofline = new Roofline();
  private running = true;

  constructor(private readonly frame: Frame) {
    // A job is not on all nodes all the time: a node without its samples is not silent.
    this.heat = new Heat("nodes", "nodes over time", false);
    const [executable, library, functions, phase] = this.parts.elements;
    this.element.append(this.says.element,
      h("div", { class: "two" }, h("div", {}, library ?? "", phase ?? ""), h("div", {}, functions ?? "", executable ?? "")),
      this.heat.panel.element, this.spreads.panel.element,
      this.byLibrary.panel.element, h("div", { class: "two" }, this.byPhase.panel.element, this.roofline.panel.element));
  }

  live(route: Route): boolean {
    return this.running && !route.params.get("from");
  }
  redraw(): void { this.heat.draw(); }

  async update(route: Route, signal: AbortSignal): Promise<void> {
    const id = route.params.get("id") ?? "";
    const timed = route.params.get("last") || route.params.get("from");
    const looked: Asked = timed ? asked(route) : { last: BACK };
    const user = route.params.get("user");
    const job = await tried(get<Job>(`jobs/${encodeURIComponent(id)}`, { ...looked, user, findings: "no" }, signal));
    if (signal.aborted) return;
    const title = `job ${plain(id, 100)}`;
    this.frame.title([title, ...(job instanceof Refused ? [] : this.facts(job))], title);
    if (job instanceof Refused) {
      this.running = false;
      this.says.set([{ text: job.status === 404 ? `There is no job \`${plain(id, 100).replace(/`/g, "'")}\` in this time that you may see.` : plain(job.message, 300), to: link("jobs", {}), bad: true }]);
      for (const child of this.element.children) if (child !== this.says.element) (child as HTMLElement).hidden = true;
      return this.frame.gaps([]);
    }
    for (const child of this.element.children) (child as HTMLElement).hidden = false;
    this.running = Date.now() * 1e6 - job.last_ns < RUNS;
    // From begin to end of the job, unless times were chosen.
    const own: Asked = { from: inside(job.first_ns, 1), to: inside(job.last_ns, -1) };
    const within: Asked = timed ? looked : own;
    const timedRoute: Route = { page: route.page, params: new URLSearchParams([...route.params].filter(([key]) => !["last", "from", "to"].includes(key)).concat(Object.entries(within))) };
    // Numbers come again: the figures are those of the job that was found.
    const owner = user ?? job.user;
    const question: Questions = { ...within, job: id, user: owner };
    const nodes = Number(job.nodes) || 1;
    // Rules look at all of the job's time: everything else is shown before.
    // Current findings say nothing of a job that has ended: without a chosen begin and end, its own are used.
    const judged: Questions = { ...own, ...ruledTimes(route) };
    const ruling = tried(get<{ findings: Finding[]; gaps: Gap[] }>("findings", { ...judged, job: id }, signal));
    const rating = jobRates(question, signal);
    const perCore = (job.spreads ?? []).some((one) => one.counter === "busy") ? Promise.resolve(null)
      : tried(get<Usage>("usage", { ...lately(question, nodes).question, by: "node,core,activity", limit: MOST_CORES }, signal));
    const asking = [tried(get<Usage>("usage", { ...question, by: "activity", limit: 10 }, signal)), this.parts.load(question, nodes, signal), rating,
      nodeSeries(timedRoute, { job: id, user: owner }, nodes, signal), perCore] as const;
    const [activities, parts, rates, series, cores] = await Promise.all(asking);
    if (signal.aborted) return;
    this.byLibrary.set(rates.library);
    this.byPhase.set(rates.phase);
    this.roofline.set(rates.library);
    const gaps: Gap[] = [...(job.gaps ?? []), ...(activities instanceof Refused ? [] : activities.gaps)];
    const cut = cores !== null && !(cores instanceof Refused) && cores.rows.length >= MOST_CORES;
    if (cut) gaps.push({ kind: "memory-bound", detail: `how alike its cores are is not shown: more than ${count(MOST_CORES)} rows`, count: 0 });
    const whole = cores === null || cores instanceof Refused || cut ? [] : wholeCores(cores);
    // A few readings of one core are no cores that differ.
    const spreads = [...whole, ...(job.spreads ?? []).filter((one) => one.cores >= FEW_READINGS)];
    this.spreads.set(job.spreads ?? [], (job.gaps ?? []).filter((gap) => /counter|spread/.test(gap.detail)), whole);
    // A job of one slice is as long as that.
    const data = series instanceof Refused ? null : NodeTimes.of(series, [], length(within) * 1e9, timed ? undefined : Math.max(series.step_ns, job.last_ns - job.first_ns));
    this.heat.set(data, [], route, series instanceof Refused ? [{ kind: "missing", detail: series.message, count: 0 }] : series.gaps, false);
    this.says.activities(activities, "time of the job");
    this.says.set(this.sentences(job, [], spreads, activities, parts));
    this.frame.gaps(gaps);
    const ruled = await ruling;
    if (signal.aborted) return;
    const found = ruled instanceof Refused ? [] : ruled.findings.filter((one) => one.user === null || job.user === null || one.user === job.user);
    this.says.set(this.sentences(job, found, spreads, activities, parts));
    this.frame.gaps([...gaps, ...(ruled instanceof Refused ? [{ kind: "missing", detail: ruled.message, count: 0 }] : ruled.gaps)]);
  }

  private facts(job: Job): (Node | string)[] {
    return [job.user === null ? "owner not known" : `user ${job.user}`, `${count(job.nodes)} node${job.nodes === 1 ? "" : "s"}`,
      `${span(job.first_ns, job.last_ns)}, ${lasting(job.last_ns - job.first_ns)}`, `${core(job.core_seconds)} of cores`];
  }

  private sentences(job: Job, found: Finding[], spreads: Spread[], activities: Usage | Refused, parts: Map<string, Usage | Refused>): Said[] {
    const said: Said[] = found.slice(0, 5).map((finding) => ruled(finding, "cores"));
    const n = activities instanceof Refused ? 0 : activities.matched_samples;
    if (!n) return said.length ? said : [{ text: "The job has no samples in this time.", to: "nodes" }];
    const busy = sum(activities, BUSY);
    const mpi = sum(activities, ["mpi"]);
    const waiting = sum(activities, ["waiting"]);
    const kernel = sum(activities, ["kernel"]);
    said.push({ text: `${part(busy, n)} of ${core(job.core_seconds)} of cores were used` + (mpi ? `, at least ${part(mpi, n)} in MPI` : "") + (waiting ? `; on ${part(waiting, n)} nothing ran although the job has the cores` : "") +
      (kernel / n > 0.1 ? `; ${part(kernel, n)} were in the kernel` : "") + ".", to: "nodes" });
    // An address in no file has the name of a function that says so.
    const top = (panel: string, key: "library" | "function" | "phase"): { name: string; share: string } | null => {
      const usage = parts.get(panel);
      const row = usage instanceof Refused ? undefined : usage?.rows.find((one) => (one[key === "function" ? "library" : key] ?? null) !== null);
      return row && !(usage instanceof Refused) ? { name: String(row[key]).replace(/`/g, "'"), share: part(row.samples, usage!.matched_samples) } : null;
    };
    const [library, named, phase] = [top("by-library", "library"), top("by-function", "function"), top("by-phase", "phase")];
    if (library) said.push({ text: `Most of its time is in \`${plain(library.name.split("/").pop() ?? library.name, 60)}\` (${library.share})${named ? `, of functions in \`${plain(named.name, 80)}\` (${named.share})` : ""}.`, to: "by-library" });
    if (phase) said.push({ text: `Phase \`${plain(phase.name, 80)}\` has ${phase.share}.`, to: "by-phase" });
    // Counters such as context switches are no work.
    // Ranks that poll in MPI are busy: what counts is the time outside, where it is known.
    const of = (counter: string): Spread | undefined => spreads.find((one) => one.counter === counter && one.quantiles.length === 11);
    const own = of("computing") ?? of("busy");
    const late = own ? behind(own) ?? 0 : 0;
    if (own && late >= 0.25) {
      const does = own.counter === "computing" ? `computes ${percent(late)} less than the median, outside MPI` : `is ${percent(late)} less busy than the median`;
      said.push({ text: `Its cores are not alike: the minimum ${does}.`, to: "cores", bad: true });
    }
    return said;
  }
}
