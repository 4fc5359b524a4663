// The table of call sites: what each costs over all ranks, and how evenly.

import type { Model, Scope } from "./model";
import type { Selection, State } from "./state";
import type { Site } from "./types";
import { h, name, plain, s, short, swatch } from "./dom";
import { Panel, saver } from "./panel";
import { Table } from "./table";
import { bytes, count, exact, percent, time } from "./units";

interface SiteLine {
  site: Site;
  count: number;
  time: number;
}

export class Sites {
  readonly panel = new Panel("sites", "call sites");
  private scope: Scope | undefined;
  private most = 1;
  private readonly table: Table<SiteLine>;

  constructor(private readonly model: Model, private readonly state: State) {
    const figure = (value: number): Node => h("span", { title: exact(value, "ns") }, time(value));
    this.table = new Table<SiteLine>({
      label: "call sites", sort: 6, first: 20,
      columns: [
        { head: "call", text: true, value: (one) => one.site.procedure,
          show: (one) => h("div", { class: "callee", title: plain(one.site.path.map((line) => plain(line, 120)).join("\n"), 1500) },
            h("span", {}, swatch(one.site.category), name(one.site.procedure, 40)),
            h("small", {}, name(this.where(one.site), 160))) },
        { head: "function", text: true, extra: true, value: (one) => one.site.function, show: (one) => name(one.site.function, 40) },
        { head: "file", text: true, extra: true, value: (one) => one.site.file, show: (one) => name(one.site.file.split("/").pop() ?? "", 40) },
        { head: "line", extra: true, value: (one) => one.site.line || null },
        { head: "address", text: true, extra: true, value: (one) => one.site.address, show: (one) => name(one.site.address, 40) },
        { head: "count", value: (one) => one.count, show: (one) => h("span", { title: exact(one.count, "calls") }, count(one.count)) },
        { head: "time (ns)", short: "time", title: "time in the call, all ranks of the selection", value: (one) => one.time,
          show: (one) => {
            const bar = h("i", { class: one.site.category });
            bar.style.width = `${(one.time / this.most) * 100}%`;
            return h("span", { class: "timed" }, figure(one.time), h("span", { class: "track" }, bar));
          } },
        { head: "share", value: (one) => one.site.share, show: (one) => (one.site.share > 0 ? percent(one.site.share) : ""), title: "part of the time of all ranks" },
        { head: "bytes", value: (one) => one.site.bytes, show: (one) => (one.site.bytes === null ? "" : h("span", { title: exact(one.site.bytes, "B") }, bytes(one.site.bytes))) },
        { head: "min (ns)", short: "min", value: (one) => one.site.min, show: (one) => figure(one.site.min), title: "shortest call" },
        { head: "median (ns)", short: "median", value: (one) => one.site.median, show: (one) => figure(one.site.median), title: "median call" },
        { head: "max (ns)", short: "max", value: (one) => one.site.max, show: (one) => figure(one.site.max), title: "longest call" },
        { head: "imbalance", short: "max/mean", title: "the slowest rank's time by the mean of all that call it; 1 is even", value: (one) => one.site.imbalance, show: (one) => h("span", { class: one.site.imbalance >= 1.2 ? "strong" : "" }, Number.isFinite(one.site.imbalance) ? one.site.imbalance.toFixed(2) : "") },
        { head: "rank with most", short: "by rank", title: "time of each rank; the number is the rank with most", value: (one) => one.site.rank_max,
          show: (one) => h("span", { class: "byrank" }, this.bars(one.site), h("span", { class: "dim" }, `r ${one.site.rank_max}`)) },
      ],
      choose: (one) => this.choose(one.site),
      chosen: (one) => this.scope?.place?.node.site === one.site.id,
      faded: (one) => Boolean(this.scope?.sites && !this.scope.sites.has(one.site.id)),
    });
    this.panel.body.append(this.table.element);
    this.panel.tools.append(saver("call sites", () => this.table.csv()));
  }

  update(selection: Selection): void {
    this.scope = this.model.scope(selection);
    const { sites, ranks } = this.model.report;
    const filter = selection.rank !== null || selection.cls !== null;
    const inside = ranks.map((row) => (selection.rank === null || row.rank === selection.rank) && (selection.cls === null || row.class === selection.cls));
    const sum = (list: number[], whole: number): number => filter && list.length ? list.reduce((total, value, at) => total + (inside[at] ? value : 0), 0) : whole;
    const lines = sites.map((site) => ({ site, count: sum(site.rank_counts, site.count), time: sum(site.rank_times, site.time) })).filter((one) => one.count > 0);
    this.most = lines.reduce((most, one) => Math.max(most, one.time), 1);
    const part = this.scope.sites ? lines.filter((one) => this.scope?.sites?.has(one.site.id)).length : lines.length;
    this.panel.note.textContent = part < lines.length ? `${part} of ${lines.length} in the selection` : lines.length ? `${lines.length}` : "";
    if (!lines.length) this.panel.empty("no MPI calls were recorded");
    else this.table.set(lines);
  }

  /** Function and place, and the callers that tell this site from others of the same place. */
  private where(site: Site): string {
    const label = this.model.leaf(site.id, this.scope?.cls?.id)?.node.label ?? "";
    const callers = label.includes(" < ") ? label.slice(label.indexOf(" < ")) : "";
    const here = [site.function, site.file || !site.function ? place(site) : ""].filter(Boolean).join(" \u00b7 ");
    return short(`${here}${callers}`);
  }

  private choose(site: Site): void {
    const found = this.model.leaf(site.id, this.scope?.cls?.id);
    if (found) this.state.choose({ node: found.node.id }, true);
  }

  /** One bar a rank, or a block of ranks. */
  private bars(site: Site): Node {
    const all = site.rank_times;
    const columns = Math.min(all.length, 48);
    const heights = Array.from({ length: columns }, (_, at) => {
      const part = all.slice(Math.floor((at * all.length) / columns), Math.floor(((at + 1) * all.length) / columns));
      return part.reduce((a, b) => Math.max(a, b), 0);
    });
    const most = heights.reduce((a, b) => Math.max(a, b), 1);
    const wide = Math.min(10, 60 / Math.max(1, columns));
    const path = heights.map((value, at) => `M${(at * wide).toFixed(1)} 16v${(-16 * value / most).toFixed(1)}h${(wide * 0.8).toFixed(1)}V16z`).join("");
    return s("svg", { class: `mini ${site.category}`, width: 62, height: 16, "aria-hidden": "true" }, s("path", { d: path }));
  }
}

function place(site: Site): string {
  return site.file ? `${site.file.split("/").pop()}:${site.line}` : site.address;
}
