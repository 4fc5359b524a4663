// The top of the page: what was run, what is missing, what matters, and where the time goes.

import type { Model } from "./model";
import type { State, Selection } from "./state";
import type { Category, Finding } from "./types";
import { CATEGORIES, CATEGORY_NAMES } from "./colours";
import { save } from "./csv";
import { button, h, name, plain, swatch } from "./dom";
import { count, exact, percent, time } from "./units";

export function title(model: Model, theme: () => void): HTMLElement {
  const { run } = model.report;
  const hosts = run.hosts.length === 1 ? name(run.hosts[0]!, 60) : `${run.hosts.length} nodes`;
  const where = h("span", {}, `${count(run.ranks)} rank${run.ranks === 1 ? "" : "s"}`, run.hosts.length ? " on " : "", run.hosts.length ? hosts : "");
  where.title = plain(run.hosts.join(", "), 400);
  const started = new Date(run.started);
  const date = Number.isNaN(started.getTime()) ? plain(run.started, 40)
    : `${run.started.slice(0, 10)} ${run.started.slice(11, 16)}`;
  const wall = h("span", { class: "figure", title: exact(run.wall, "ns") }, time(run.wall));
  const times = run.times_bound ? `times ${plain(run.times_mode, 20)}, error ${plain(run.times_bound, 60)}` : `times ${plain(run.times_mode, 20)}`;
  const parts = [
    where, wall, h("span", { title: plain(run.started, 60) }, date),
    h("span", { class: run.ok ? "" : "bad" }, plain(run.exit, 80)),
    h("span", { class: "dim" }, name(run.mpi, 60)),
    h("span", { class: "dim" }, times),
    h("span", { class: "dim" }, `talea ${plain(run.talea, 20)}`),
  ];
  return h(
    "header",
    { class: "top" },
    h("div", { class: "name" }, h("b", {}, "talea"), h("h1", { title: plain(run.command, 2000) }, name(run.command, 240))),
    h(
      "div",
      { class: "tools" },
      button("json", "all data of this report as a JSON file", () =>
        save("report.json", "application/json", JSON.stringify(model.report))),
      button("light/dark", "change between light and dark", theme),
    ),
    h("div", { class: "facts" }, ...parts),
  );
}

export function gaps(model: Model): HTMLElement {
  const all = model.report.gaps;
  if (!all.length) return h("div", { class: "gaps none" }, "gaps: none");
  return h(
    "ul",
    { class: "gaps", "aria-label": "what is missing" },
    ...all.map((gap) =>
      h("li", {}, h("span", { class: "kind" }, plain(gap.kind, 30).replace(/-/g, " ")), " ", ...sentence(gap.detail, false))),
  );
}

export class Findings {
  readonly element = h("section", { class: "panel findings", "aria-label": "findings" });
  private readonly mix = h("div", { class: "mix" });

  constructor(private readonly model: Model, show: (finding: Finding) => void) {
    const { findings } = model.report;
    const list = findings.map((finding) =>
      h("li", {}, h("button", { type: "button", title: "show the evidence", onclick: () => show(finding) }, ...sentence(finding.text))),
    );
    this.element.append(
      findings.length ? h("ol", {}, ...list) : h("p", { class: "empty" }, "No MPI calls were recorded, so there is nothing to say about them."),
      this.mix,
    );
  }

  /** Where the time of the selection goes, over all its ranks. */
  update(selection: Selection): void {
    const { report } = this.model;
    const scope = this.model.scope(selection);
    const inside = report.ranks.map((row) => (selection.rank === null || row.rank === selection.rank) &&
      (selection.cls === null || row.class === selection.cls));
    const sums = new Map<Category, number>();
    let whole = 0;
    for (const [at, row] of report.ranks.entries()) if (inside[at]) whole += row.wall;
    let mpi = 0;
    for (const site of report.sites) {
      const all = selection.rank === null && selection.cls === null;
      let sum = 0;
      if (all) sum = site.time;
      else site.rank_times.forEach((value, at) => { if (inside[at]) sum += value; });
      mpi += sum;
      if (scope.sites && !scope.sites.has(site.id)) continue;
      sums.set(site.category, (sums.get(site.category) ?? 0) + sum);
    }
    const part = scope.place?.parent ? scope.place.node : undefined;
    if (part) {
      // The tree knows the representative's computation inside the part; the rest scales with it.
      const calls = [...sums.values()].reduce((a, b) => a + b, 0);
      const work = part.mpi_share > 0 ? calls * (1 - part.mpi_share) / part.mpi_share : 0;
      sums.set("computation", work);
      whole = calls + work;
    } else {
      sums.set("computation", Math.max(0, whole - mpi));
    }
    if (!(whole > 0)) {
      this.mix.replaceChildren();
      return;
    }
    const shown = CATEGORIES.filter((one) => (sums.get(one) ?? 0) > 0);
    this.mix.replaceChildren(
      h("div", { class: "caption" }, part ? "time inside the selection" : selection.rank !== null ? `time of rank ${selection.rank}` : selection.cls !== null ? `time of class ${plain(report.classes[selection.cls]?.name ?? "", 20)}` : "time of all ranks", part ? " (estimated from the representative)" : ""),
      h("div", { class: "stack", role: "img", "aria-label": shown.map((one) => `${CATEGORY_NAMES[one]} ${percent((sums.get(one) ?? 0) / whole)}`).join(", ") },
        ...shown.map((one) => {
          const bar = h("i", { class: one });
          bar.style.flexGrow = String((sums.get(one) ?? 0) / whole);
          return bar;
        })),
      h("ul", { class: "legend" }, ...shown.map((one) =>
        h("li", { title: exact(Math.round(sums.get(one) ?? 0), "ns over all ranks") }, swatch(one), CATEGORY_NAMES[one], h("b", {}, percent((sums.get(one) ?? 0) / whole))))),
    );
  }
}

/** Back-ticks become code; figures with their units are set off if asked for. */
export function sentence(text: string, figures = true): Node[] {
  const out: Node[] = [];
  for (const [at, part] of plain(text, 600).split("`").entries()) {
    if (at % 2) {
      out.push(h("code", {}, h("bdi", {}, part)));
      continue;
    }
    let rest = 0;
    const figure = /(?<![\w.]|\w-)\d+(?:[.,\u2009]\d+)*(?:\s?(?:%|[kMGTP\u00b5mnp]?s\b|[kMGTP]?B\b|[kMG]?B\/s))?(?!\w)/g;
    for (const match of figures ? part.matchAll(figure) : []) {
      out.push(document.createTextNode(part.slice(rest, match.index)), h("b", {}, match[0]));
      rest = match.index + match[0].length;
    }
    out.push(document.createTextNode(part.slice(rest)));
  }
  return [h("bdi", {}, ...out)];
}

/** What is selected, one piece for each part, and the way back. */
export function crumbs(model: Model, state: State): HTMLElement {
  const { selection } = state;
  const scope = model.scope(selection);
  const pieces: HTMLElement[] = [];
  const piece = (text: string, title: string, action: () => void, active = false): void => {
    pieces.push(h("button", { type: "button", title, class: active ? "active" : "", onclick: action }, h("bdi", {}, plain(text, 60))));
  };
  piece("whole run", "show everything", () => state.choose({ node: null, cls: null, rank: null, iteration: null }));
  const path = [];
  for (let at = scope.place; at?.parent; at = at.parent) path.unshift(at);
  for (const place of path) {
    const { node } = place;
    const times = node.kind === "loop" ? ` \u00d7${node.count ?? plain(node.range, 20)}` : "";
    piece(`${node.kind === "loop" ? "loop " : ""}${node.label}${times}`, "show this part", () => state.choose({ node: node.id }), place === scope.place);
  }
  const chip = (text: string, change: Partial<Selection>): void => {
    pieces.push(h("button", { type: "button", class: "chip", title: "take this filter back", onclick: () => state.choose(change) }, h("bdi", {}, plain(text, 60)), " \u00d7"));
  };
  const cls = selection.cls === null ? undefined : model.report.classes[selection.cls];
  if (cls) chip(`class ${cls.name}`, { cls: null });
  if (selection.rank !== null) chip(`rank ${selection.rank}`, { rank: null });
  if (selection.iteration !== null) chip(`iteration ${selection.iteration}`, { iteration: null });
  const filtered = selection.node !== null || selection.cls !== null || selection.rank !== null || selection.iteration !== null;
  const facts = scope.place
    ? h("span", { class: "dim" }, `${time(scope.place.node.time)} on rank ${scope.cls?.representative ?? 0}, ${percent(scope.place.node.share)}, ${count(scope.place.node.events)} calls`)
    : h("span", { class: "dim" }, filtered ? "" : "choose a loop, a call, a class or a rank to filter every view");
  return h("nav", { class: `crumbs ${filtered ? "filtered" : ""}`, "aria-label": "selection" }, ...pieces, facts);
}
