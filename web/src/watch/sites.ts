// The table of call sites: time now and since the start, of all threads.

import { csv } from "../report/csv";
import { h, plain, swatch } from "../report/dom";
import { Panel, saver } from "../report/panel";
import { count, exact, percent, time } from "../report/units";
import { category } from "./category";
import { bar, exactShare, figure, label } from "./cells";
import type { SiteNow, WatchData } from "./data";
import { isLast } from "./data";
import { roundUp } from "./durations";
import type { LiveColumn } from "./live-table";
import { LiveTable, setText, setTitle } from "./live-table";
import type { Order } from "./order";
import { ordered } from "./order";

/** Rows until the reader wants all. */
const FIRST = 20;
/** Place of the column of time now. */
const NOW = 1;

export class Sites {
  readonly panel = new Panel("sites", "call sites");
  private readonly table: LiveTable<SiteNow>;
  private readonly columns: LiveColumn<SiteNow>[];
  private readonly more = h("button", { type: "button", class: "more", onclick: () => {
    this.all = true;
    if (this.data) this.set(this.data);
  } });
  private readonly absence = h("p", { class: "empty" }, "No call has ended yet.");
  private readonly key = h("span", { class: "dim" });
  private order: Order = { column: NOW, down: true };
  private all = false;
  private data: WatchData | null = null;
  /** Share at the end of the bars. */
  private top = 1;

  constructor() {
    this.columns = [
      { head: "call site", text: true, title: "procedure and place", value: (row) => row.site, fill: (cell) => site(cell) },
      { head: "now", width: "calc(118px + max(0px, 25vw - 350px))", title: "part of the time of all threads since the previous look; the line marks the part since the start",
        value: (row) => (this.ended ? row.share : row.recent_share), fill: (cell) => this.meter(cell) },
      { head: "all", width: "58px", title: "part of the time of all threads since the start", value: (row) => row.share, fill: figure((row) => percent(row.share), (row) => exactShare(row.share)) },
      { head: "calls", width: "60px", title: "calls; a series of unsuccessful polls is one", value: (row) => row.calls, fill: figure((row) => count(row.calls), (row) => exact(row.calls, "calls")) },
      { head: "time", width: "66px", title: "time of all threads", value: (row) => row.time_ns, fill: figure((row) => time(row.time_ns), (row) => exact(row.time_ns, "ns")) },
    ];
    this.table = new LiveTable<SiteNow>({
      label: "call sites", columns: this.columns, key: (row) => row.site,
      sorted: (column) => {
        this.order = { column, down: this.order.column === column ? !this.order.down : !this.columns[column]!.text };
        if (this.data) this.set(this.data);
      },
    });
    this.panel.tools.append(this.key, saver("call sites", () => this.csv()));
    this.panel.body.append(this.table.element, this.more, this.absence);
  }

  set(data: WatchData): void {
    this.data = data;
    const { sites } = data;
    const highest = sites.reduce((top, one) => Math.max(top, one.recent_share, one.share), 0);
    this.top = Math.min(1, roundUp(highest));
    // Rows of the same value are in the order of their time since the start.
    const byTime = ordered(sites, (row) => row.time_ns, true);
    const rows = ordered(byTime, this.columns[this.order.column]!.value, this.order.down);
    this.table.set(this.all ? rows : rows.slice(0, FIRST), this.order);
    this.table.element.hidden = !rows.length;
    this.absence.hidden = rows.length > 0;
    const rest = this.all ? 0 : Math.max(0, rows.length - FIRST);
    this.more.hidden = rest === 0;
    setText(this.more, `show ${count(rest)} more`);
    setText(this.panel.note, rows.length ? `${count(rows.length)} \u00b7 time of all threads, MPI_Init and MPI_Finalize included` : "");
    setText(this.key, rows.length ? `bars: 0 to ${percent(this.top).replace(".0", "")}` : "");
  }

  private get ended(): boolean {
    return this.data !== null && isLast(this.data);
  }

  private meter(cell: HTMLElement): (row: SiteNow) => void {
    const [amount, value] = [bar(), h("span", { class: "value" })];
    cell.append(h("span", { class: "metered" }, amount.element, value));
    return (row) => {
      amount.set((this.ended ? row.share : row.recent_share) / this.top, this.ended ? null : row.share / this.top, category(row.site));
      setText(value, this.ended ? "-" : percent(row.recent_share));
      setTitle(value, this.ended ? "" : exactShare(row.recent_share));
    };
  }

  private csv(): string {
    return csv(["call site", "now", "since the start", "calls", "time (ns)"], (this.data?.sites ?? []).map((row) =>
      [plain(row.site, 2000), row.recent_share, row.share, row.calls, row.time_ns]));
  }
}

function site(cell: HTMLElement): (row: SiteNow) => void {
  const [mark, text] = [swatch("setup"), label("")];
  cell.append(h("span", { class: "call" }, mark, text.element));
  return (row) => {
    mark.className = `swatch ${category(row.site)}`;
    text.set(row.site);
  };
}
