// The table of call sites: what each costs over all ranks, and how evenly. Paths that end in the same line or routine are summed, so that
// what costs most stands first however many callers it has.

import type { Model, Scope } from "./model";
import type { Selection, State } from "./state";
import type { Category, Site } from "./types";
import { button, h, name, plain, s, short, swatch } from "./dom";
import { hasThreads, isIn } from "./location";
import { Panel, saver } from "./panel";
import { placed } from "./model";
import { Table } from "./table";
import { atMost, bytes, count, exact, percent, time } from "./units";

/** Sums of one row of the table. */
type By = "path" | "line" | "routine";

interface SiteLine {
  /** The site with most time of those in the row. */
  site: Site;
  /** All of them, by number. */
  sites: number[];
  /** Name of the row: MPI's procedures, the function, where it is. */
  procedures: string[];
  category: Category;
  where: string;
  figures: Pick<Site, "share" | "bytes" | "min" | "median" | "max" | "imbalance" | "rank_max">;
  /** Time of each rank. */
  ranks: number[];
  count: number;
  time: number;
}

const BY: [By, string][] = [
  ["line", "one row for each line of the source and procedure, all call paths to it together"],
  ["routine", "one row for each routine of the program, all its calls together"],
  ["path", "one row for each call path"],
];

export class Sites {
  readonly panel = new Panel("sites", "call sites");
  private scope: Scope | undefined;
  private most = 1;
  private by: By = "line";
  private readonly choices = new Map<By, HTMLButtonElement>();
  private readonly table: Table<SiteLine>;

  constructor(private readonly model: Model, private readonly state: State) {
    const figure = (value: number): Node => h("span", { title: exact(value, "ns") }, time(value));
    const call = (value: number): Node => h("span", { title: exact(value, "ns") }, atMost(value, model.report.run.times_resolution));
    this.table = new Table<SiteLine>({
      label: "call sites", sort: 7, first: 20,
      columns: [
        { head: "call", text: true, value: (one) => one.procedures.join(" "),
          show: (one) => h("div", { class: "callee", title: this.paths(one) },
            h("span", {}, swatch(one.category), name(this.heading(one), 40), one.sites.length > 1 ? h("span", { class: "paths" }, `${count(one.sites.length)} paths`) : ""),
            h("small", {}, name(one.where, 160))) },
        { head: "function", text: true, extra: true, value: (one) => one.site.function, show: (one) => name(one.site.function, 40) },
        { head: "file", text: true, extra: true, value: (one) => one.site.file, show: (one) => name(one.site.file.split("/").pop() ?? "", 40) },
        { head: "line", extra: true, value: (one) => (this.by === "routine" ? null : one.site.line || null) },
        { head: "address", text: true, extra: true, value: (one) => (one.sites.length > 1 ? "" : one.site.address), show: (one) => name(one.sites.length > 1 ? "" : one.site.address, 40) },
        { head: "paths", extra: true, value: (one) => one.sites.length },
        { head: "count", value: (one) => one.count, show: (one) => h("span", { title: exact(one.count, "calls") }, count(one.count)) },
        { head: "time (ns)", short: "time", title: "time in the call, all ranks of the selection", value: (one) => one.time,
          show: (one) => {
            const bar = h("i", { class: one.category });
            bar.style.width = `${(one.time / this.most) * 100}%`;
            return h("span", { class: "timed" }, figure(one.time), h("span", { class: "track" }, bar));
          } },
        { head: "share", value: (one) => one.figures.share, show: (one) => (one.figures.share > 0 ? percent(one.figures.share) : ""), title: hasThreads(model.report) ? "part of the time of all threads" : "part of the time of all ranks" },
        { head: "bytes", value: (one) => one.figures.bytes, show: (one) => (one.figures.bytes === null ? "" : h("span", { title: exact(one.figures.bytes, "B") }, bytes(one.figures.bytes))) },
        { head: "min (ns)", short: "min", value: (one) => one.figures.min, show: (one) => call(one.figures.min), title: "shortest call" },
        { head: "median (ns)", short: "median", value: (one) => one.figures.median, show: (one) => call(one.figures.median), title: "median call" },
        { head: "max (ns)", short: "max", value: (one) => one.figures.max, show: (one) => call(one.figures.max), title: "longest call" },
        { head: "imbalance", short: "max/mean", title: "the slowest rank's time by the mean of all that call it; 1 is even", value: (one) => one.figures.imbalance, show: (one) => h("span", { class: one.figures.imbalance >= 1.2 ? "strong" : "" }, Number.isFinite(one.figures.imbalance) ? one.figures.imbalance.toFixed(2) : "") },
        { head: "rank with most", short: "by rank", title: "time of each rank; the number is the rank with most", value: (one) => one.figures.rank_max,
          show: (one) => h("span", { class: "byrank" }, this.bars(one), h("span", { class: "dim" }, `r ${one.figures.rank_max}`)) },
      ],
      choose: (one) => this.choose(one),
      chosen: (one) => this.chosen(one),
      faded: (one) => !this.inside(one),
    });
    this.panel.body.append(this.table.element);
    for (const [by, title] of BY) {
      const choice = button(`by ${by}`, title, () => {
        this.by = by;
        this.update(this.state.selection);
      });
      this.choices.set(by, choice);
      this.panel.tools.append(choice);
    }
    this.panel.tools.append(saver("call sites", () => this.table.csv()));
  }

  update(selection: Selection): void {
    this.scope = this.model.scope(selection);
    const { ranks } = this.model.report;
    for (const [by, choice] of this.choices) choice.setAttribute("aria-pressed", String(by === this.by));
    const filter = selection.rank !== null || selection.cls !== null;
    const inside = ranks.map((row) => (selection.rank === null || row.rank === selection.rank) && (selection.cls === null || isIn(row, selection.cls)));
    const sum = (list: number[], whole: number): number => filter && list.length ? list.reduce((total, value, at) => total + (inside[at] ? value : 0), 0) : whole;
    const total = (sites: number[], of: (site: Site) => number): number => sites.reduce((all, id) => all + of(this.model.report.sites[id]!), 0);
    const lines = this.rows().map((row) => ({
      ...row, count: total(row.sites, (site) => sum(site.rank_counts, site.count)), time: total(row.sites, (site) => sum(site.rank_times, site.time)),
    })).filter((one) => one.count > 0);
    this.most = lines.reduce((most, one) => Math.max(most, one.time), 1);
    const part = lines.filter((one) => this.inside(one)).length;
    const paths = lines.reduce((all, one) => all + one.sites.length, 0);
    const what = paths > lines.length ? ` ${this.by}s of ${paths} call paths` : "";
    this.panel.note.textContent = part < lines.length ? `${part} of ${lines.length}${what} in the selection` : lines.length ? `${lines.length}${what}` : "";
    if (!lines.length) return this.panel.empty(filter ? "no MPI calls of the selection were recorded" : "no MPI calls were recorded");
    if (!this.panel.body.contains(this.table.element)) this.panel.body.replaceChildren(this.table.element);
    this.table.set(lines);
  }

  /** The sums, without the figures that depend on the selection. */
  private rows(): Omit<SiteLine, "count" | "time">[] {
    const { sites, lines, routines } = this.model.report;
    if (this.by === "path") {
      return sites.map((site) => ({
        site, sites: [site.id], procedures: [site.procedure], category: site.category, where: this.where(site), figures: site, ranks: site.rank_times,
      }));
    }
    return (this.by === "line" ? lines : routines).flatMap((group) => {
      const own = group.sites.map((id) => sites[id]).filter((site) => site !== undefined);
      const [site] = own;
      if (!site) return [];
      const ranks = site.rank_times.map((_, at) => own.reduce((all, one) => all + (one.rank_times[at] ?? 0), 0));
      const where = this.by === "routine" ? short([group.file.split("/").pop(), `${count(group.procedures.length)} procedure${group.procedures.length === 1 ? "" : "s"}`].filter(Boolean).join(" \u00b7 "))
        : own.length > 1 ? short(placed(site)) : this.where(site);
      return [{ site, sites: group.sites, procedures: group.procedures, category: group.category, where, figures: group, ranks }];
    });
  }

  private inside(one: { sites: number[] }): boolean {
    const sites = this.scope?.sites;
    return !sites || one.sites.some((id) => sites.has(id));
  }

  /** MPI's procedure, or the routine that calls several. */
  private heading(one: SiteLine): string {
    return this.by === "routine" ? short(one.site.function || one.site.address.split("+")[0] || "?") : one.procedures[0] ?? "?";
  }

  /** The call path, or the first few with their times. */
  private paths(one: SiteLine): string {
    const path = (site: Site): string => site.path.map((line) => plain(line, 120)).join("\n");
    if (one.sites.length === 1) return path(one.site).slice(0, 1500);
    const lines = one.sites.slice(0, 8).map((id) => {
      const site = this.model.report.sites[id]!;
      return `${time(site.time)}  ${plain(site.procedure, 40)}  ${site.path.map((line) => plain(line.split(" ").pop() ?? "", 40)).join(" < ")}`;
    });
    return [...lines, one.sites.length > 8 ? `and ${one.sites.length - 8} more` : ""].filter(Boolean).join("\n");
  }

  /** Function and place, and the callers that tell this site from others of the same place. */
  private where(site: Site): string {
    const label = this.model.leaf(site.id, this.scope?.cls?.id)?.node.label ?? "";
    const callers = label.includes(" < ") ? label.slice(label.indexOf(" < ")) : "";
    return short(`${placed(site)}${callers}`);
  }

  private chosen(one: { sites: number[] }): boolean {
    return one.sites.includes(this.scope?.place?.node.site ?? -1);
  }

  /** The path with most time; a row that is chosen is taken back, whichever of its paths was chosen. */
  private choose(one: SiteLine): void {
    const found = this.model.leaf(one.site.id, this.scope?.cls?.id);
    if (this.chosen(one)) this.state.choose({ node: null });
    else if (found) this.state.choose({ node: found.node.id });
  }

  /** One bar a rank, or a block of ranks. */
  private bars(one: SiteLine): Node {
    const all = one.ranks;
    const columns = Math.min(all.length, 48);
    const heights = Array.from({ length: columns }, (_, at) => {
      const part = all.slice(Math.floor((at * all.length) / columns), Math.floor(((at + 1) * all.length) / columns));
      return part.reduce((a, b) => Math.max(a, b), 0);
    });
    const most = heights.reduce((a, b) => Math.max(a, b), 1);
    const wide = Math.min(10, 60 / Math.max(1, columns));
    const path = heights.map((value, at) => `M${(at * wide).toFixed(1)} 16v${(-16 * value / most).toFixed(1)}h${(wide * 0.8).toFixed(1)}V16z`).join("");
    return s("svg", { class: `mini ${one.category}`, width: 62, height: 16, "aria-hidden": "true" }, s("path", { d: path }));
  }
}
