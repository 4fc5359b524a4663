// The top of the page: what was run, what is missing, what matters, and where the time goes.

import { type Model, sitesUnder } from "./model";
import { NOTHING, type Selection, type State } from "./state";
import type { Category, Finding, Gap } from "./types";
import { CATEGORIES, CATEGORY_NAMES } from "./colours";
import { save } from "./csv";
import { button, h, name, plain, short, swatch } from "./dom";
import { hasThreads, isIn, representative } from "./location";
import { count, exact, percent, time } from "./units";

export function title(model: Model, theme: () => void): HTMLElement {
  const { run } = model.report;
  const hosts = run.hosts.length === 1 ? name(run.hosts[0]!, 60) : `${run.hosts.length} nodes`;
  const threads = model.report.ranks.reduce((sum, row) => sum + (row.threads?.length ?? 1), 0);
  const several = hasThreads(model.report) ? ` with ${count(threads)} threads` : "";
  const where = h("span", {}, `${count(run.ranks)} rank${run.ranks === 1 ? "" : "s"}${several}`, run.hosts.length ? " on " : "", run.hosts.length ? hosts : "");
  where.title = plain(run.hosts.join(", "), 400);
  const started = new Date(run.started);
  const date = Number.isNaN(started.getTime()) ? plain(run.started, 40)
    : `${run.started.slice(0, 10)} ${run.started.slice(11, 16)}`;
  const wall = h("span", { class: "figure", title: `${exact(run.wall, "ns")}${run.ranks > 0 ? " from the start of the first rank to the end of the last one, with MPI_Init and MPI_Finalize; shares are of the time between these two" : ""}` }, time(run.wall));
  const times = run.times_bound ? `times ${plain(run.times_mode, 20)}, error ${plain(run.times_bound, 60)}` : `times ${plain(run.times_mode, 20)}`;
  const parts = [
    where, wall, h("span", { title: plain(run.started, 60) }, date),
    h("span", { class: run.ok ? "" : "bad" }, plain(run.exit, 80)),
    run.mpi && h("span", { class: "dim" }, name(run.mpi, 60)),
    run.ranks > 0 && h("span", { class: "dim" }, times),
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

/** Gaps that are seen at once. */
const GAPS = 3;

export function gaps(model: Model): HTMLElement {
  const all = model.report.gaps;
  if (!all.length) return h("div", { class: "gaps none" }, "gaps: none");
  const line = (gap: Gap): HTMLElement =>
    h("li", {}, h("span", { class: "kind" }, plain(gap.kind, 30).replace(/-/g, " ")), " ", ...sentence(gap.detail, false));
  // A gap for each of many ranks would push away what the page is about.
  const rest = all.length > GAPS + 1 ? all.slice(GAPS) : [];
  const kinds = [...new Set(rest.map((gap) => plain(gap.kind, 30).replace(/-/g, " ")))].join(", ");
  return h("div", { class: "gaps" },
    h("ul", { "aria-label": "what is missing" }, ...all.slice(0, all.length - rest.length).map(line)),
    rest.length > 0 && h("details", {}, h("summary", {}, `and ${count(rest.length)} more: ${kinds}`), h("ul", {}, ...rest.map(line))));
}

export class Findings {
  readonly element = h("section", { class: "panel findings", "aria-label": "findings" });
  private readonly mix = h("div", { class: "mix" });
  private readonly buttons: HTMLElement[];

  constructor(private readonly model: Model, private readonly evidence: (finding: Finding) => Selection, show: (finding: Finding) => void) {
    const { findings } = model.report;
    this.buttons = findings.map((finding) =>
      h("button", { type: "button", title: "show the evidence", onclick: () => show(finding) }, ...sentence(finding.text)));
    this.element.append(
      findings.length ? h("ol", {}, ...this.buttons.map((one) => h("li", {}, one))) : h("p", { class: "empty" }, model.report.studies.length ? "The samples below show where the time goes." : "No MPI calls were recorded, so there is nothing to say about them."),
      this.mix,
    );
  }

  /** Where the time of the selection goes, over all its ranks. */
  update(selection: Selection): void {
    const { report } = this.model;
    for (const [at, finding] of report.findings.entries()) {
      const shown = this.evidence(finding);
      const filters = Object.values(shown).some((value) => value !== null);
      this.buttons[at]?.setAttribute("aria-pressed", String(filters && JSON.stringify(shown) === JSON.stringify({ ...NOTHING, ...selection })));
    }
    const scope = this.model.scope(selection);
    const inside = report.ranks.map((row) => (selection.rank === null || row.rank === selection.rank) &&
      (selection.cls === null || isIn(row, selection.cls)));
    const sums = new Map<Category, number>();
    let [work, inMpi, mpi] = [0, 0, 0];
    // Times of sites are those of a rank's threads together: of one class of threads only their sum is known.
    const threads = hasThreads(report);
    const own = threads && selection.cls !== null && scope.cls ? new Set(sitesUnder(scope.cls.tree)) : undefined;
    for (const [at, row] of report.ranks.entries()) {
      if (!inside[at]) continue;
      for (const one of row.threads ?? [row]) {
        if (own && one.class !== selection.cls) continue;
        work += one.compute;
        inMpi += one.mpi;
      }
    }
    for (const site of report.sites) {
      // MPI_Init and MPI_Finalize are no part of the time.
      if (site.share === 0) continue;
      if (own && !own.has(site.id)) continue;
      const all = selection.rank === null && selection.cls === null;
      let sum = 0;
      if (all) sum = site.time;
      else site.rank_times.forEach((value, at) => { if (inside[at]) sum += value; });
      mpi += sum;
      if (scope.sites && !scope.sites.has(site.id)) continue;
      sums.set(site.category, (sums.get(site.category) ?? 0) + sum);
    }
    if (own && mpi > 0) {
      for (const [one, sum] of sums) sums.set(one, sum * inMpi / mpi);
    }
    let whole = work + inMpi;
    const part = scope.place?.parent ? scope.place.node : undefined;
    if (part) {
      // The tree knows the representative's computation inside the part; the rest scales with it.
      const calls = [...sums.values()].reduce((a, b) => a + b, 0);
      const work = part.mpi_share > 0 ? calls * (1 - part.mpi_share) / part.mpi_share : 0;
      sums.set("computation", work);
      whole = calls + work;
    } else {
      sums.set("computation", work);
    }
    if (!(whole > 0)) {
      this.mix.replaceChildren();
      return;
    }
    const shown = CATEGORIES.filter((one) => (sums.get(one) ?? 0) > 0);
    this.mix.replaceChildren(
      h("div", { class: "caption", title: "from the end of MPI_Init to the begin of MPI_Finalize" }, part ? "time inside the selection" : selection.rank !== null ? `time of rank ${selection.rank}` : selection.cls !== null ? `time of class ${plain(report.classes[selection.cls]?.name ?? "", 20)}` : hasThreads(report) ? "time of all threads" : "time of all ranks", part ? " (estimated from the representative)" : ""),
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
      out.push(h("code", { title: part }, h("bdi", {}, short(part))));
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

/** The selection, one piece for each part, and the way back. */
export function crumbs(model: Model, state: State): HTMLElement {
  const { selection } = state;
  const scope = model.scope(selection);
  const pieces: HTMLElement[] = [];
  const piece = (text: string, title: string, action: () => void, active = false): void => {
    pieces.push(h("button", { type: "button", title, class: active ? "active" : "", onclick: action }, h("bdi", {}, plain(text, 60))));
  };
  piece("whole run", "show everything", () => state.choose(NOTHING));
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
    ? h("span", { class: "dim" }, `${time(scope.place.node.time)} on ${scope.cls ? representative(model.report, scope.cls) : "rank 0"}, ${percent(scope.place.node.share)}, ${count(scope.place.node.events)} calls`)
    : h("span", { class: "dim" }, filtered ? "" : "choose a loop, a call, a class or a rank to filter every view");
  return h("nav", { class: `crumbs ${filtered ? "filtered" : ""}`, "aria-label": "selection" }, ...pieces, facts);
}
