// Machine now: nodes over time, what is idle, and who has the most.

import { h, plain } from "../report/dom";
import { count, percent } from "../report/units";
import type { Finding, Gap, NodeRefused, NodeSeen, Series, Usage } from "./answers";
import { ACTIVITIES, BUSY } from "./answers";
import type { Questions } from "./api";
import { get, Refused, tried } from "./api";
import { Breakdown } from "./breakdown";
import { Heat } from "./heat";
import { NodeTimes } from "./heat-model";
import type { Frame, Page } from "./page";
import { isLive } from "./page";
import type { Route } from "./route";
import { asked, instant, length, like, link, ruledTimes, step, times } from "./route";
import { Says, sum } from "./says";
import type { Said } from "./says";
import { core, part, to } from "./show";

/** Figures of one series that a page can read at once. */
const FIGURES = 400_000;

/** Nodes over time for some filters: as many columns as nodes allow. */
export async function nodeSeries(route: Route, filters: Questions, nodes: number, signal: AbortSignal, by = "node,activity"): Promise<Series | Refused> {
  const times = asked(route);
  const keys = Math.max(1, nodes) * ACTIVITIES.length;
  const columns = Math.max(12, Math.min(96, Math.floor(FIGURES / keys)));
  return tried(get<Series>("series", { ...times, ...filters, by, step: `${step(times, columns)}s`, limit: Math.min(100_000, keys + 4) }, signal));
}

/** Nodes that were heard of in the time or in the week before it: what is longer silent was taken away. */
export function present(nodes: NodeSeen[], route: Route): NodeSeen[] {
  const times = asked(route);
  const newest = nodes.reduce((last, node) => Math.max(last, node.last_ns), 0);
  const begin = "last" in times ? newest - length(times) * 1e9 : (instant(times.from) ?? 0) * 1e9;
  const end = "last" in times ? Infinity : (instant(times.to) ?? Infinity) * 1e9;
  return nodes.filter((node) => node.last_ns >= begin - 7 * 86_400e9 && node.first_ns < end);
}

const empty = { gaps: [] as Gap[] };

export class MachinePage implements Page {
  readonly element = h("div", { class: "sheet" });
  private readonly says = new Says();
  private readonly heat: Heat;
  private readonly jobs = new Breakdown({ id: "jobs", title: "top jobs", by: ["job", "user"], first: 10, empty: "No job had samples." });
  private readonly executables = new Breakdown({ id: "executables", title: "top executables", by: ["executable"], first: 10, empty: "No program had samples." });
  private readonly libraries = new Breakdown({ id: "libraries", title: "top libraries", by: ["library"], first: 10, empty: "No file had samples." });

  constructor(private readonly frame: Frame) {
    this.heat = new Heat("nodes", "nodes over time", frame.me.operator);
    this.element.append(this.says.element, this.heat.panel.element,
      h("div", { class: "three" }, this.jobs.panel.element, this.executables.panel.element, this.libraries.panel.element));
  }

  live = isLive;
  redraw(): void { this.heat.draw(); }

  async update(route: Route, signal: AbortSignal): Promise<void> {
    const node = route.params.get("node");
    const question: Questions = { ...asked(route), node };
    const usage = (by: string, limit: number): Promise<Usage | Refused> => tried(get<Usage>("usage", { ...question, by, limit }, signal));
    const seen = tried(get<{ nodes: NodeSeen[]; refused?: NodeRefused[] }>("nodes", {}, signal));
    const asking = [usage("activity", 10), usage("job,user", 26), usage("executable", 26), usage("library", 26)] as const;
    const findings = tried(get<{ findings: Finding[]; gaps?: Gap[] }>("findings", { ...ruledTimes(route), node }, signal));
    const listed = await seen;
    const all = listed instanceof Refused ? [] : present(listed.nodes, route);
    const nodes = node === null ? all : all.filter((one) => like(node, one.name));
    const refused = (listed instanceof Refused ? [] : listed.refused ?? []).filter((one) => node === null || like(node, one.node));
    const series = await nodeSeries(route, { node }, nodes.length, signal);
    const [activities, jobs, executables, libraries] = await Promise.all(asking);
    const found = await findings;
    if (signal.aborted) return;
    const data = series instanceof Refused ? null : NodeTimes.of(series, nodes, length(asked(route)) * 1e9);
    this.heat.set(data, nodes, route, series instanceof Refused ? [{ kind: "missing", detail: series.message, count: 0 }] : series.gaps, this.frame.me.operator);
    this.says.activities(activities, node ? "time of this selection" : this.frame.me.operator ? "time of the machine" : "time of your jobs");
    this.jobs.set(jobs);
    this.executables.set(executables);
    this.libraries.set(libraries);
    this.says.set(this.sentences(route, { activities, jobs, executables, libraries }, data, found instanceof Refused ? [] : found.findings, refused));
    const title = node === null ? (isLive(route) ? "machine now" : "machine") : `node ${plain(node, 80)}`;
    const cores = nodes.reduce((sum, one) => sum + one.cores, 0);
    this.frame.title([title, ...(nodes.length > 1 ? [`${count(nodes.length)} nodes`] : []), ...(cores ? [`${count(cores)} cores`] : [])], title);
    this.frame.gaps([...(activities instanceof Refused ? empty : activities).gaps, ...(found instanceof Refused ? [] : found.gaps ?? [])]);
  }

  private sentences(route: Route, answers: Record<"activities" | "jobs" | "executables" | "libraries", Usage | Refused>, data: NodeTimes | null, findings: Finding[], refused: NodeRefused[]): Said[] {
    const said: Said[] = [];
    const { activities } = answers;
    if (activities instanceof Refused) return [{ text: plain(activities.message, 300), to: "nodes", bad: true }];
    const n = activities.matched_samples;
    const rejected = this.refused(refused);
    if (!n) return [{ text: "Nothing was observed in this time.", to: "nodes" }, ...rejected];
    const [busy, mpi, waiting, idle] = [sum(activities, BUSY), sum(activities, ["mpi"]), sum(activities, ["waiting"]), sum(activities, ["idle"])];
    said.push({ text: `${part(busy, n)} of ${core(activities.matched_core_seconds)} of cores were used` +
      (mpi ? `, at least ${part(mpi, n)} in MPI` : "") + (waiting ? `, ${part(waiting, n)} waited on cores that jobs have` : "") + (idle ? `, ${part(idle, n)} were idle` : "") + ".", to: "nodes" });
    if (data && this.frame.me.operator) {
      const last = data.columns.length - 1;
      const silent = data.names.filter((_, row) => data.cell([row], last).silent > 0);
      if (silent.length) {
        const some = silent.slice(0, 5).map((one) => `\`${plain(one, 40).replace(/`/g, "'")}\``).join(", ");
        said.push({ text: `${silent.length} of ${data.names.length} nodes ${silent.length === 1 ? "is" : "are"} silent: ${some}${silent.length > 5 ? " and others" : ""}.`,
          to: silent.length > 1 ? link("machine", { ...times(route), order: "value" }) : to("node", silent[0]!), bad: true });
      }
    }
    said.push(...rejected);
    if (findings.length) {
      said.push({ text: `${findings.length} finding${findings.length === 1 ? "" : "s"} of the rules${"from" in asked(route) ? "" : " now"}, such as: ${plain(findings[0]!.title, 200)}`, to: link("findings", times(route)), bad: true });
    }
    const most = (usage: Usage | Refused, key: "job" | "library", text: (name: string, share: string) => string): void => {
      const row = usage instanceof Refused ? undefined : usage.rows.find((one) => (one[key] ?? null) !== null);
      if (row) said.push({ text: text(String(row[key]).replace(/`/g, "'"), part(row.samples, n)), to: to(key, row[key] ?? null) });
    };
    most(answers.jobs, "job", (name, share) => `Job \`${plain(name, 60)}\` has the most: ${share}.`);
    most(answers.libraries, "library", (name, share) => `The file with the most time is \`${plain(name.split("/").pop() ?? name, 60)}\`: ${share}${busy ? `, ${percent(this.of(answers.libraries, busy))} of what is used` : ""}.`);
    return said;
  }

  /** Nodes whose batches the server did not believe, the latest first. */
  private refused(refused: NodeRefused[]): Said[] {
    const latest = [...refused].sort((a, b) => b.last_ns - a.last_ns)[0];
    if (!latest) return [];
    const name = (text: string): string => `\`${plain(text, 40).replace(/`/g, "'")}\``;
    const others = refused.length > 1 ? ` and ${count(refused.length - 1)} other node${refused.length > 2 ? "s" : ""}` : "";
    return [{ text: `Batches of ${name(latest.node)}${others} were refused since the server started, at last: ${plain(latest.why, 300).replace(/`/g, "'")}.`, to: to("node", latest.node), bad: true }];
  }

  private of(usage: Usage | Refused, busy: number): number {
    return usage instanceof Refused ? 0 : (usage.rows.find((row) => (row.library ?? null) !== null)?.samples ?? 0) / busy;
  }
}
