// The table of ranks: where each is and how much of its time is in MPI.
//
// Many ranks are folded: all of them as cells, and the rows at both ends of the order.

import { csv } from "../report/csv";
import { button, h, plain, swatch } from "../report/dom";
import { Panel, saver } from "../report/panel";
import { count, exact, percent } from "../report/units";
import { bar, exactShare, figure, label } from "./cells";
import type { RankNow, WatchData } from "./data";
import { isLast, rankNumber } from "./data";
import { longCall } from "./findings";
import { Heat } from "./heat";
import type { LiveColumn } from "./live-table";
import { LiveTable, setText, setTitle } from "./live-table";
import type { Order } from "./order";
import { ends, ordered } from "./order";
import { placeOf } from "./whereabouts";
import { lasting } from "./words";

/** More ranks than this are folded until the reader unfolds them. */
const FOLD_ABOVE = 64;
/** Rows at each end of folded ranks. */
const EACH = 16;

const keyOf = (rank: RankNow): string => `${rank.world}:${rank.rank ?? "?"}:${rank.host}`;
/** A number that sorts ranks by world, then by rank. */
const place = (rank: RankNow): number => rank.world * 2 ** 32 + (rank.rank ?? 2 ** 32 - 1);

export class Ranks {
  readonly panel = new Panel("ranks", "ranks");
  private readonly heat: Heat;
  private readonly tables = h("div");
  private readonly between = h("button", { type: "button", class: "more", onclick: () => this.unfold(true) });
  private readonly fold: HTMLButtonElement;
  private columns: LiveColumn<RankNow>[] = [];
  private first!: LiveTable<RankNow>;
  private last!: LiveTable<RankNow>;
  private hasHosts: boolean | null = null;
  private order: Order | null = null;
  private unfolded = false;
  private data: WatchData | null = null;
  /** Time inside one call from which it stands out. */
  private long = Infinity;

  constructor() {
    this.heat = new Heat((rank) => {
      this.unfold(true);
      this.first.reveal(keyOf(rank));
    });
    this.fold = button("show all", "one row for each rank", () => this.unfold(!this.unfolded));
    this.panel.tools.append(this.fold, saver("ranks", () => this.csv()));
    this.panel.body.append(this.heat.element, this.tables);
  }

  set(data: WatchData): void {
    this.data = data;
    this.long = longCall(data);
    const { ranks } = data;
    const several = ranks.some((one) => one.host !== ranks[0]!.host);
    if (several !== this.hasHosts) this.build(several);
    // Many ranks begin with those that are in MPI for the longest time, few with rank 0.
    const many = ranks.length > FOLD_ABOVE;
    const order = this.order ?? { column: many ? this.shareColumn() : 0, down: many };
    const rows = ordered(ranks, this.columns[order.column]!.value, order.down);
    const folded = many && !this.unfolded;
    const { first, between, last } = folded ? ends(rows, EACH) : { first: rows, between: [], last: [] };
    this.first.set(first, order);
    this.last.set(last);
    this.last.element.hidden = this.between.hidden = !between.length;
    if (between.length) this.between.textContent = this.gap(between);
    this.heat.element.hidden = this.fold.hidden = !many;
    if (many) this.heat.set(ranks, (rank) => this.share(rank), isLast(data) ? "since the start" : "now");
    setText(this.fold, this.unfolded ? "fold" : "show all");
    setText(this.panel.note, this.note(ranks));
  }

  /** The theme has changed. */
  redraw(): void {
    this.heat.draw();
  }

  private share(rank: RankNow): number {
    return this.data && isLast(this.data) ? rank.mpi_share : rank.recent_mpi_share;
  }

  private unfold(all: boolean): void {
    this.unfolded = all;
    if (this.data) this.set(this.data);
  }

  private gap(between: RankNow[]): string {
    const shares = between.map((one) => this.share(one));
    const [low, high] = [Math.min(...shares), Math.max(...shares)];
    return `show ${count(between.length)} more, ${percent(low)} to ${percent(high)} in MPI`;
  }

  private note(ranks: RankNow[]): string {
    if (ranks.length < 2) return "";
    const shares = ranks.map((one) => this.share(one)).sort((a, b) => a - b);
    const [low, median, high] = [0, Math.floor(shares.length / 2), shares.length - 1].map((at) => percent(shares[at]!));
    const when = this.data && isLast(this.data) ? "since the start" : "now";
    return `${count(ranks.length)} \u00b7 in MPI ${when}: ${low} to ${high}, median ${median}`;
  }

  private shareColumn(): number {
    return this.columns.findIndex((one) => one.head.startsWith("in MPI"));
  }

  private build(hasHosts: boolean): void {
    this.hasHosts = hasHosts;
    this.order = null;
    this.columns = this.all().filter((one) => hasHosts || one.head !== "host");
    const sorted = (column: number): void => {
      const now = this.order ?? { column: -1, down: false };
      this.order = { column, down: now.column === column ? !now.down : !this.columns[column]!.text && column !== 0 };
      if (this.data) this.set(this.data);
    };
    this.first = new LiveTable({ label: "ranks", columns: this.columns, key: keyOf, sorted });
    this.last = new LiveTable({ label: "ranks at the end of the order", columns: this.columns, key: keyOf });
    this.tables.replaceChildren(this.first.element, this.between, this.last.element);
  }

  private all(): LiveColumn<RankNow>[] {
    return [
      { head: "rank", width: "50px", title: "rank in MPI_COMM_WORLD; WORLD:RANK for worlds of spawned processes",
        value: place, fill: figure((row) => rankNumber(row), (row) => `${count(row.events)} calls`) },
      { head: "host", width: "84px", text: true, title: "host", value: (row) => row.host, fill: (cell) => {
        const host = label("cut");
        cell.append(host.element);
        return (row) => host.set(row.host);
      } },
      { head: "iterations", width: "76px", title: "visits of the call that counts the iterations of the main loop",
        value: (row) => row.iterations, fill: figure((row) => (row.iterations === null ? "-" : count(row.iterations)), (row) => (row.iterations === null ? "" : exact(row.iterations, "iterations"))) },
      { head: "in MPI now", width: "22%", title: "part of the time since the previous look in MPI, 0 to 100 %, excluding MPI_Init and MPI_Finalize; the line marks the part since the start",
        value: (row) => row.recent_mpi_share, fill: (cell) => this.meter(cell) },
      { head: "all", width: "58px", title: "part of the time since the start in MPI, excluding MPI_Init and MPI_Finalize",
        value: (row) => row.mpi_share, fill: figure((row) => percent(row.mpi_share), (row) => exactShare(row.mpi_share)) },
      { head: "inside", text: true, title: "the current call, or the state of the rank", value: standing, fill: inside },
      { head: "time in call", width: "86px", title: "time in the current call", value: (row) => row.inside?.since_ns ?? null, fill: (cell) => this.since(cell) },
    ];
  }

  private meter(cell: HTMLElement): (row: RankNow) => void {
    const [amount, value] = [bar(), h("span", { class: "value" })];
    cell.append(h("span", { class: "metered" }, amount.element, value));
    return (row) => {
      const ended = this.data !== null && isLast(this.data);
      amount.set(this.share(row), ended ? null : row.mpi_share, "mpi");
      setText(value, ended ? "-" : percent(row.recent_mpi_share));
      setTitle(value, ended ? "" : exactShare(row.recent_mpi_share));
    };
  }

  private since(cell: HTMLElement): (row: RankNow) => void {
    return (row) => {
      const { inside, state } = row;
      const isLong = inside !== null && state === "running" && inside.since_ns > this.long;
      cell.className = isLong ? "strong" : "dim";
      setText(cell, inside ? lasting(inside.since_ns) : "");
      setTitle(cell, inside ? exact(inside.since_ns, "ns") : "");
    };
  }

  private csv(): string {
    const head = ["rank", "world", "host", "state", "calls", "iterations", "in MPI now", "in MPI since the start", "inside", "time in call (ns)"];
    return csv(head, (this.data?.ranks ?? []).map((row) => [row.rank, row.world, plain(row.host, 300), row.state, row.events, row.iterations,
      row.recent_mpi_share, row.mpi_share, plain(row.inside?.site ?? "", 2000), row.inside?.since_ns ?? null]));
  }
}

/** The call that a rank is in, or its state. */
function standing({ inside, state }: RankNow): string {
  if (state === "running") return inside?.site ?? "outside MPI";
  return inside ? `${state} in ${inside.site}` : state;
}

function inside(cell: HTMLElement): (row: RankNow) => void {
  const [mark, text] = [swatch("setup"), label("")];
  cell.append(h("span", { class: "call" }, mark, text.element));
  return (row) => {
    const failed = row.state !== "running" && row.state !== "finalized";
    mark.className = `swatch ${row.state === "running" ? placeOf(row) : "lost"}`;
    text.element.className = failed ? "bad" : row.inside ? "" : "dim";
    text.set(standing(row));
  };
}
