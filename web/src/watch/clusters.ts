// The table of clusters of computation: bursts between two calls, grouped by duration.

import { csv } from "../report/csv";
import { h, plain } from "../report/dom";
import { Panel, saver } from "../report/panel";
import { count, exact, percent, time } from "../report/units";
import { bar, exactShare, figure, label } from "./cells";
import type { ClusterNow, WatchData } from "./data";
import { isLast } from "./data";
import type { LiveColumn } from "./live-table";
import { LiveTable, setText, setTitle } from "./live-table";
import type { Order } from "./order";
import { ordered } from "./order";
import { lasting } from "./words";

/** Place of the column of the time since the start, by which clusters come. */
const ALL = 2;

export class Clusters {
  readonly panel = new Panel("clusters", "computation");
  private readonly table: LiveTable<ClusterNow>;
  private readonly columns: LiveColumn<ClusterNow>[];
  private readonly rest = h("div", { class: "caption" });
  private order: Order = { column: ALL, down: true };
  private data: WatchData | null = null;

  constructor() {
    this.columns = [
      { head: "cluster", width: "58px", title: "number of the cluster, the same at all looks", value: (row) => row.id, fill: figure((row) => String(row.id)) },
      { head: "now", width: "24%", title: "part of the computing time since the previous clustering, 0 to 100 %; the line marks the part since the start",
        value: (row) => (this.ended ? row.share : row.recent_share), fill: (cell) => this.meter(cell) },
      { head: "all", width: "62px", title: "part of the computing time since the start", value: (row) => row.share, fill: figure((row) => percent(row.share), (row) => exactShare(row.share)) },
      { head: "bursts", width: "70px", title: "bursts: computation between two calls of a thread", value: (row) => row.bursts, fill: figure((row) => count(row.bursts), (row) => exact(row.bursts, "bursts")) },
      { head: "mean", width: "74px", title: "mean duration", value: (row) => row.mean_ns,
        fill: figure((row) => time(row.mean_ns), (row) => `${time(row.min_ns)} to ${time(row.max_ns)}, on ${count(row.threads)} threads`) },
      { head: "after", text: true, title: "the call before its bursts, of the pair of calls with the maximum time", value: (row) => row.after, fill: after },
    ];
    this.table = new LiveTable<ClusterNow>({
      label: "clusters of computation", columns: this.columns, key: (row) => String(row.id),
      sorted: (column) => {
        this.order = { column, down: this.order.column === column ? !this.order.down : !this.columns[column]!.text };
        if (this.data) this.set(this.data);
      },
    });
    this.panel.tools.append(saver("clusters of computation", () => this.csv()));
    this.panel.body.append(this.table.element, this.rest);
    this.panel.element.hidden = true;
  }

  set(data: WatchData): void {
    this.data = data;
    const now = data.clusters;
    this.panel.element.hidden = !now;
    if (!now) return;
    this.table.set(ordered(now.clusters, this.columns[this.order.column]!.value, this.order.down), this.order);
    const stable = now.stable_since_ns === null ? "not stable" : `stable from ${lasting(now.stable_since_ns)} on`;
    setText(this.panel.note, `${count(now.bursts)} bursts \u00b7 clusters by duration${now.by_calls ? " and calls" : ""}, ${stable}`);
    const rest = [["short bursts", now.short_share], ["noise (bursts in no cluster)", now.noise_share], ["smaller clusters", now.others_share]] as const;
    const others = rest.filter(([, share]) => share > 0).map(([what, share]) => `${percent(share)} in ${what}`);
    setText(this.rest, others.length ? `the rest of the computing time: ${others.join(", ")}` : "");
  }

  private get ended(): boolean {
    return this.data !== null && isLast(this.data);
  }

  private meter(cell: HTMLElement): (row: ClusterNow) => void {
    const [amount, value] = [bar(), h("span", { class: "value" })];
    cell.append(h("span", { class: "metered" }, amount.element, value));
    return (row) => {
      amount.set(this.ended ? row.share : row.recent_share, this.ended ? null : row.share, "computation");
      setText(value, this.ended ? "-" : percent(row.recent_share));
      setTitle(value, this.ended ? "" : exactShare(row.recent_share));
    };
  }

  private csv(): string {
    return csv(["cluster", "now", "since the start", "bursts", "mean (ns)", "min (ns)", "max (ns)", "threads", "after", "before"],
      (this.data?.clusters?.clusters ?? []).map((row) => [row.id, row.recent_share, row.share, row.bursts, row.mean_ns, row.min_ns, row.max_ns, row.threads, plain(row.after, 2000), plain(row.before, 2000)]));
  }
}

function after(cell: HTMLElement): (row: ClusterNow) => void {
  const text = label("cut");
  cell.append(text.element);
  return (row) => text.set(row.after);
}
