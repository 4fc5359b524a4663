// Whatever a name stands for (a library, an executable, a user, a phase): who has it, where, when.

import { button, h, plain } from "../report/dom";
import type { Dimension, NodeSeen, Usage } from "./answers";
import { DIMENSIONS } from "./answers";
import type { Questions } from "./api";
import { get, Refused, tried } from "./api";
import { Heat } from "./heat";
import { NodeTimes } from "./heat-model";
import { nodeSeries, present } from "./machine";
import { packageOf } from "./packages";
import type { Frame, Page } from "./page";
import { isLive } from "./page";
import { Parts } from "./parts";
import type { Route } from "./route";
import { asked, go, length, like } from "./route";
import type { Said } from "./says";
import { Says, sum } from "./says";
import { core, file, part } from "./show";

/** The filters that an address has. */
export function filters(route: Route): [Dimension, string][] {
  return DIMENSIONS.flatMap((one) => { const value = route.params.get(one); return value === null || one === "function" ? [] : [[one, value] as [Dimension, string]]; });
}

export class OfPage implements Page {
  readonly element = h("div", { class: "sheet" });
  private readonly says = new Says();
  private readonly chips = h("nav", { class: "crumbs filtered", "aria-label": "selection" });
  private readonly heat: Heat;
  private readonly parts: Parts;

  constructor(private readonly frame: Frame, route: Route) {
    this.heat = new Heat("nodes", "nodes over time", false, frame.me.operator ? "of the node's time" : "of your time on the node");
    this.parts = new Parts(filters(route).filter(([, value]) => !/[*?]/.test(value)).map(([dimension]) => dimension));
    const elements = this.parts.elements;
    this.element.append(this.chips, this.says.element, h("div", { class: "two" },
      h("div", {}, ...elements.filter((_, at) => at % 2 === 0)), h("div", {}, ...elements.filter((_, at) => at % 2 === 1))), this.heat.panel.element);
  }

  live = isLive;
  redraw(): void { this.heat.draw(); }

  async update(route: Route, signal: AbortSignal): Promise<void> {
    const chosen = filters(route);
    const question: Questions = { ...asked(route), ...Object.fromEntries(chosen) };
    const activities = tried(get<Usage>("usage", { ...question, by: "activity", limit: 10 }, signal));
    const node = route.params.get("node");
    const counting = this.count(route, node, signal);
    const whole = this.parts.load(question, counting, signal);
    const many = await counting;
    const series = await Promise.all([nodeSeries(route, Object.fromEntries(chosen), many, signal, "node"), nodeSeries(route, { node }, many, signal, "node")]);
    const [usage] = await Promise.all([activities, whole]);
    if (signal.aborted) return;
    const shown = chosen.map(([kind, value]) => `${kind} ${plain(value, 200)}`).join(", ") || "everything";
    this.frame.title(chosen.length === 1 && ["library", "executable"].includes(chosen[0]![0]) ? [`${chosen[0]![0]} `, file(chosen[0]![1])] : [shown], shown);
    this.chips.hidden = chosen.length < 2;
    this.chips.replaceChildren(...chosen.map(([kind, value]) => button(`${kind} ${plain(value, 80)} \u00d7`, "take this filter back", () => go({ [kind]: null }))));
    const [within, all] = series;
    const data = within instanceof Refused || all instanceof Refused ? null : NodeTimes.part(within, all, length(asked(route)) * 1e9);
    this.heat.set(data, [], route, [], false);
    this.says.activities(usage, "time of this selection");
    this.says.set(this.sentences(chosen, usage));
    this.frame.gaps(usage instanceof Refused ? [] : usage.gaps);
  }

  /** How many nodes it may be of: one that is named is one, whatever else there is. */
  private async count(route: Route, node: string | null, signal: AbortSignal): Promise<number> {
    if (node !== null && !/[*?]/.test(node)) return 1;
    const nodes = await tried(get<{ nodes: NodeSeen[] }>("nodes", {}, signal));
    if (nodes instanceof Refused) return 1;
    return present(nodes.nodes, route).filter((one) => node === null || like(node, one.name)).length;
  }

  private sentences(chosen: [Dimension, string][], usage: Usage | Refused): Said[] {
    if (usage instanceof Refused) return [{ text: plain(usage.message, 300), to: "nodes", bad: true }];
    if (!usage.matched_samples) return [{ text: "It has no samples in this time.", to: "nodes" }];
    const said: Said[] = [{ text: `It has ${core(usage.matched_core_seconds)} of cores, ${part(usage.matched_samples, usage.samples)} of ${this.frame.me.operator ? "the machine's" : "your"} time.`, to: "nodes" }];
    const kernel = sum(usage, ["kernel"]) / usage.matched_samples;
    if (kernel > 0.1 && kernel < 1) said.push({ text: `${part(sum(usage, ["kernel"]), usage.matched_samples)} of that are in the kernel.`, to: "nodes" });
    const mpi = sum(usage, ["mpi"]) / usage.matched_samples;
    if (mpi > 0 && mpi < 1) said.push({ text: `At least ${part(sum(usage, ["mpi"]), usage.matched_samples)} of that are in MPI.`, to: "nodes" });
    for (const [kind, value] of chosen) {
      if (kind !== "library" && kind !== "executable") continue;
      const found = packageOf(value);
      said.push({ text: `Counted as ${found.name} of ${found.vendor} (${found.use}).`, to: "#/software" });
    }
    return said;
  }
}
