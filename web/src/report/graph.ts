// The flow graph of one class: coordinates come with the data, drawing and opening of chains happen here.
// An opened chain pushes down everything that lies below it.

import type { Model, Scope } from "./model";
import type { Selection, State } from "./state";
import type { Graph, GraphEdge, GraphNode, Layout, RankClass } from "./types";
import { CATEGORY_NAMES } from "./colours";
import { button, h, hideTip, plain, s, showTip, swatch } from "./dom";
import { representative } from "./location";
import { placed } from "./model";
import { Panel, watchWidth } from "./panel";
import { count, percent, time } from "./units";

const CALL = 16;
const SHOWN_CALLS = 40;
/** Characters of a label that its box has room for: the layout counts the same. */
const LABEL = 30;

export class GraphView {
  readonly panel = new Panel("graph", "flow graph");
  private readonly holder = h("div", { class: "paper" });
  private readonly opened = new Map<number, Set<number>>();
  private cls: RankClass | undefined;
  private scope: Scope | undefined;
  private scale = 1;
  private fitted = "";
  private width = 0;
  private focus = 0;

  constructor(private readonly model: Model, private readonly state: State) {
    this.panel.tools.append(
      button("\u2212", "smaller", () => this.zoom(0.8)),
      button("+", "larger", () => this.zoom(1.25)),
      button("fit", "the whole width", () => { this.fitted = ""; this.draw(); }),
    );
    this.panel.body.append(this.holder);
    this.panel.behind({
      name: "flow graph",
      columns: [
        { head: "from", value: (edge: GraphEdge) => this.cls?.graph.nodes[edge.from]?.label ?? "", text: true },
        { head: "to", value: (edge) => this.cls?.graph.nodes[edge.to]?.label ?? "", text: true },
        { head: "transitions", value: (edge) => edge.transitions },
        { head: "between (ns)", value: (edge) => edge.gap },
        { head: "on visits", value: (edge) => edge.label, text: true },
        { head: "closes a loop", value: (edge) => (edge.back ? "yes" : ""), text: true },
      ],
      rows: () => this.cls?.graph.edges ?? [],
    });
    watchWidth(this.panel.element, (width) => {
      this.width = width;
      this.fitted = "";
      this.draw();
    });
    this.pan();
  }

  update(selection: Selection): void {
    this.scope = this.model.scope(selection);
    if (this.cls !== this.scope.cls) this.focus = 0;
    this.cls = this.scope.cls;
    const nodes = this.cls?.graph.nodes.length ?? 0;
    this.panel.tools.hidden = nodes === 0;
    if (!this.cls || !nodes) {
      this.panel.note.textContent = "";
      this.holder.replaceChildren(h("p", { class: "empty" }, "no calls, so no graph"));
      return;
    }
    const folded = this.model.graph(this.cls) === this.cls.graph ? "" : " \u00b7 short calls folded";
    const more = this.model.report.classes.length > 1 ? `class ${plain(this.cls.name, 20)}, ` : "";
    this.panel.note.textContent = `${more}${count(nodes)} nodes, ${count(this.cls.graph.edges.length)} edges \u00b7 ${representative(this.model.report, this.cls)}${folded}`;
    this.panel.refresh();
    this.draw();
  }

  private zoom(by: number): void {
    this.scale = Math.min(3, Math.max(0.1, this.scale * by));
    this.size();
  }

  private size(): void {
    const picture = this.holder.querySelector("svg");
    const box = picture?.viewBox.baseVal;
    if (!picture || !box) return;
    picture.setAttribute("width", String(box.width * this.scale));
    picture.setAttribute("height", String(box.height * this.scale));
  }

  private draw(): void {
    const { cls } = this;
    const layout = cls && this.model.layouts[cls.id];
    if (!cls || !layout || !cls.graph.nodes.length || this.width < 100) return;
    const opened = this.opened.get(cls.id) ?? new Set();
    const drop = drops(cls.graph, layout, opened);
    const down = (y: number): number => y + drop.reduce((sum, one) => (y >= one.below - 0.01 ? sum + one.by : sum), 0);
    const graph = this.model.graph(cls);
    const total = graph.nodes.reduce((sum, node) => sum + node.time, 0) + graph.edges.reduce((sum, edge) => sum + edge.gap, 0) || 1;
    const inside = this.inside(graph);
    const height = down(layout.height) + 8;
    const picture = s("svg", { viewBox: `-8 -4 ${Math.max(120, layout.width + 70)} ${height + 8}`, role: "group", "aria-label": `flow graph of ${representative(this.model.report, cls)}` });
    for (const [at, area] of layout.loops.entries()) picture.append(this.loop(graph, at, area, down));
    const most = graph.edges.reduce((most, edge) => Math.max(most, edge.transitions), 1);
    for (const [at, edge] of graph.edges.entries()) {
      const corners = (layout.edges[at] ?? []).map((value, index) => (index % 2 ? down(value) : value));
      if (corners.length) picture.append(this.edge(graph, edge, corners, layout.labels[at] ?? null, down, most, total, inside));
    }
    for (const [at, area] of layout.loops.entries()) picture.append(this.loopName(graph, at, area, down));
    const busiest = graph.nodes.reduce((most, node) => Math.max(most, node.time), 1);
    for (const node of graph.nodes) {
      const area = layout.nodes[node.id];
      if (area) picture.append(this.node(node, area, down, opened.has(node.id), busiest, total, inside));
    }
    const held = this.holder.contains(document.activeElement);
    const at = [this.holder.scrollLeft, this.holder.scrollTop] as const;
    this.holder.replaceChildren(picture);
    const key = `${cls.id}/${this.scope?.loop ?? ""}/${this.width}`;
    if (key !== this.fitted) this.fit(layout, graph, down);
    else {
      this.size();
      this.holder.scrollTo(...at);
    }
    this.fitted = key;
    if (held) picture.querySelector<SVGElement>('[tabindex="0"]')?.focus();
  }

  /** The chosen loop fills the panel, or the whole graph its width. */
  private fit(layout: Layout, graph: Graph, down: (y: number) => number): void {
    const at = graph.loops.findIndex((one) => one.id === this.scope?.loop);
    const area = layout.loops[at];
    const room = this.width - 4;
    this.scale = Math.min(1.15, room / ((area ? area[2] : layout.width) + 78));
    this.scale = Math.max(0.35, this.scale);
    this.size();
    if (area) this.holder.scrollTo((area[0] - 24) * this.scale, (down(area[1]) - 16) * this.scale);
    else this.holder.scrollTo(0, 0);
  }

  private inside(graph: Graph): (node: GraphNode) => boolean {
    const sites = this.scope?.sites;
    if (!sites || !this.scope?.place?.parent) return () => true;
    const any = (node: GraphNode): boolean =>
      (node.site !== null && sites.has(node.site)) || node.calls.some((call) => call.site !== null && sites.has(call.site));
    return graph.nodes.some(any) ? any : () => true;
  }

  private loop(graph: Graph, at: number, area: [number, number, number, number], down: (y: number) => number): SVGElement {
    const one = graph.loops[at];
    const y = down(area[1]);
    const chosen = one?.id === this.scope?.loop;
    const frame = s("rect", { class: `loop ${chosen ? "chosen" : ""}`, x: area[0], y, width: area[2], height: down(area[1] + area[3]) - y, rx: 9 });
    frame.addEventListener("click", () => this.chooseLoop(one?.id));
    return frame;
  }

  private loopName(graph: Graph, at: number, area: [number, number, number, number], down: (y: number) => number): SVGElement {
    const one = graph.loops[at];
    const text = s("text", { class: "loopname", x: area[0] + 10, y: down(area[1]) + 15 }, plain(one?.label ?? "", LABEL));
    text.addEventListener("click", () => this.chooseLoop(one?.id));
    return text;
  }

  private chooseLoop(id: number | undefined): void {
    const place = id === undefined ? undefined : this.model.loops.get(id);
    if (place) this.state.choose({ node: place.node.id }, true);
  }

  private edge(graph: Graph, edge: GraphEdge, corners: number[], label: Layout["labels"][number], down: (y: number) => number, most: number, total: number, inside: (node: GraphNode) => boolean): SVGElement {
    const ends = [graph.nodes[edge.from], graph.nodes[edge.to]];
    const faded = !ends.every((node) => node && inside(node));
    const wide = 1 + 2.6 * (Math.log(Math.max(1, edge.transitions)) / Math.max(1, Math.log(most)));
    const [x, y] = corners.slice(-2) as [number, number];
    const share = edge.gap / total;
    const line = s("g", { class: `edge ${faded ? "faded" : ""} ${label ? "work" : ""}` },
      s("path", { class: "line", d: path(corners), "stroke-width": wide.toFixed(1) }),
      s("path", { class: "tip", d: `M${x} ${y}l-4 -7h8z` }),
      s("path", { class: "touch", d: path(corners) }),
      label && s("text", { x: label[0], y: down(label[1]), "text-anchor": label[2] ? "end" : "start" }, time(edge.gap)));
    line.addEventListener("mousemove", (event) => {
      showTip(event.clientX, event.clientY, [
        `${plain(ends[0]?.label ?? "", 50)} \u2192 ${plain(ends[1]?.label ?? "", 50)}`,
        `${count(edge.transitions)} times${edge.label ? `, on visits ${plain(edge.label, 100)}` : ", always"}`,
        h("span", {}, swatch("computation"), `${time(edge.gap)} of computation between them (${percent(share)})`),
      ]);
    });
    line.addEventListener("mouseleave", hideTip);
    return line;
  }

  private node(node: GraphNode, area: [number, number, number, number], down: (y: number) => number, open: boolean, busiest: number, total: number, inside: (node: GraphNode) => boolean): SVGElement {
    const [x, top, width, tall] = area;
    const y = down(top);
    const height = down(top + tall) - y;
    const chain = node.calls.length > 0;
    const chosen = node.site !== null && node.site === this.scope?.place?.node.site;
    const middle = y + (chain && open ? tall : height) / 2;
    const label = `${chain ? (open ? "\u25be " : "\u25b8 ") : ""}${plain(node.label, LABEL)}`;
    const site = this.model.site(node.site);
    const group = s("g", {
      class: `node ${node.category} ${chosen ? "chosen" : ""} ${inside(node) ? "" : "faded"}`,
      tabindex: node.id === this.focus ? 0 : -1, role: "button", "data-node": node.id,
      "aria-label": `${plain(node.label, 80)}, ${node.visits} visits, ${time(node.time)}${chain ? ", a chain that opens" : ""}`,
      ...(chain ? { "aria-expanded": open } : {}),
    },
      s("rect", { class: "ground", x, y, width, height, rx: 4 }),
      s("rect", { class: "box", x, y, width, height, rx: 4, "fill-opacity": (0.05 + 0.4 * (node.time / busiest)).toFixed(2) }),
      s("rect", { class: "side", x, y, width: 4, height, rx: 2 }),
      s("text", { x: x + 12, y: middle - 3 }, label),
      s("text", { class: "small", x: x + 12, y: middle + 11 }, `${count(node.visits)}\u00d7 \u00b7 ${time(node.time)}`));
    if (open) {
      for (const [at, call] of node.calls.slice(0, SHOWN_CALLS).entries()) {
        const line = y + tall + at * CALL;
        group.append(s("rect", { class: `dot ${call.category}`, x: x + 12, y: line - 1, width: 7, height: 7, rx: 1.5 }),
          s("text", { class: "small", x: x + 24, y: line + 6 }, plain(call.label, LABEL + 4), s("title", {}, `${plain(call.label, 200)}: ${time(call.time)}`)));
      }
      if (node.calls.length > SHOWN_CALLS) group.append(s("text", { class: "small", x: x + 24, y: y + tall + SHOWN_CALLS * CALL + 6 }, `and ${node.calls.length - SHOWN_CALLS} more`));
    }
    const act = (): void => {
      this.focus = node.id;
      if (chain && this.cls) {
        const opened = this.opened.get(this.cls.id) ?? new Set<number>();
        if (!opened.delete(node.id)) opened.add(node.id);
        this.opened.set(this.cls.id, opened);
        this.draw();
      } else if (node.site !== null) {
        const place = this.model.leaf(node.site, this.cls?.id);
        if (place) this.state.choose({ node: place.node.id }, true);
      }
    };
    group.addEventListener("click", act);
    group.addEventListener("keydown", (event) => this.key(event, node, act));
    group.addEventListener("mousemove", (event) => showTip(event.clientX, event.clientY, [
      plain(node.label, 100),
      site ? plain(placed(site), 120) : `${node.calls.length} calls, one after the other; click to ${open ? "close" : "open"}`,
      h("span", {}, swatch(node.category), CATEGORY_NAMES[node.category]),
      `${count(node.visits)} visits, ${time(node.time)} in all (${percent(node.time / total)}), ${time(node.time / Math.max(1, node.visits))} each`,
    ]));
    group.addEventListener("mouseleave", hideTip);
    return group;
  }

  private key(event: KeyboardEvent, node: GraphNode, act: () => void): void {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (event.key === "Enter" || event.key === " ") act();
    else if (step !== undefined) {
      const to = this.holder.querySelector<SVGElement>(`[data-node="${node.id + step}"]`);
      if (!to) return;
      (event.currentTarget as SVGElement).setAttribute("tabindex", "-1");
      to.setAttribute("tabindex", "0");
      this.focus = node.id + step;
      to.focus();
    } else return;
    event.preventDefault();
  }

  private pan(): void {
    let start: { x: number; y: number; left: number; top: number } | undefined;
    this.holder.addEventListener("pointerdown", (event) => {
      if (event.button === 0) start = { x: event.clientX, y: event.clientY, left: this.holder.scrollLeft, top: this.holder.scrollTop };
    });
    addEventListener("pointermove", (event) => {
      if (start && event.buttons) this.holder.scrollTo(start.left + start.x - event.clientX, start.top + start.y - event.clientY);
    });
    addEventListener("pointerup", () => { start = undefined; });
    this.holder.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.altKey) return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 0.9 : 1.1);
    }, { passive: false });
  }
}

function drops(graph: Graph, layout: Layout, opened: Set<number>): { below: number; by: number }[] {
  return [...opened].flatMap((id) => {
    const area = layout.nodes[id];
    const calls = graph.nodes[id]?.calls.length ?? 0;
    const lines = Math.min(calls, SHOWN_CALLS) + (calls > SHOWN_CALLS ? 1 : 0);
    return area ? [{ below: area[1] + area[3], by: lines * CALL + 4 }] : [];
  });
}

/** Straight pieces with rounded corners; curves with upright ends where both coordinates change. */
export function path(corners: number[]): string {
  const at: [number, number][] = [];
  for (let i = 0; i + 1 < corners.length; i += 2) at.push([corners[i]!, corners[i + 1]!]);
  const straight = (a: [number, number], b: [number, number]): boolean => Math.abs(a[0] - b[0]) < 0.05 || Math.abs(a[1] - b[1]) < 0.05;
  const toward = (from: [number, number], to: [number, number]): string => {
    const length = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1;
    const step = Math.min(5, length / 2) / length;
    return `${(from[0] + (to[0] - from[0]) * step).toFixed(1)} ${(from[1] + (to[1] - from[1]) * step).toFixed(1)}`;
  };
  let out = `M${at[0]?.join(" ") ?? "0 0"}`;
  for (let i = 0; i + 1 < at.length; i++) {
    const [from, to, next] = [at[i]!, at[i + 1]!, at[i + 2]];
    if (!straight(from, to)) {
      const middle = (from[1] + to[1]) / 2;
      out += `C${from[0]} ${middle} ${to[0]} ${middle} ${to[0]} ${to[1]}`;
    } else if (next && straight(to, next)) out += `L${toward(to, from)}Q${to[0]} ${to[1]} ${toward(to, next)}`;
    else out += `L${to[0]} ${to[1]}`;
  }
  return out;
}
