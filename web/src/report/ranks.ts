// The table of ranks: where each spends its time, and how it ended. Many ranks are folded into their classes.

import type { Model } from "./model";
import type { Selection, State } from "./state";
import type { RankRow } from "./types";
import { button, h, name } from "./dom";
import { standOut } from "./lanes";
import { hasThreads, location, mpiShare } from "./location";
import { Panel, saver } from "./panel";
import { type Column, Table } from "./table";
import { bytes, count, exact, percent, time } from "./units";

/** One rank, or a class of many with the medians of its figures. */
interface RankLine extends RankRow {
  members: number;
  /** Where the rank has several, each stands for itself. */
  thread?: number;
}

/** More ranks than this are folded into their classes until somebody unfolds them. */
const FOLD_ABOVE = 32;

export class RankTable {
  readonly panel = new Panel("ranks", "ranks");
  private readonly what: string;
  private readonly table: Table<RankLine>;
  private readonly fold = button("unfold", "one row for each rank", () => {
    this.unfolded = !this.unfolded;
    this.update(this.state.selection);
  });
  private unfolded = false;
  /** Longest time between MPI_Init and MPI_Finalize, the denominator of the bars. */
  private longest = 1;

  constructor(private readonly model: Model, private readonly state: State) {
    this.what = hasThreads(model.report) ? "thread" : "rank";
    if (this.what === "thread") this.panel.title("ranks and their threads");
    const figure = (value: number): Node => h("span", { title: exact(value, "ns") }, time(value));
    const cls = (row: RankLine): string => model.report.classes[row.class]?.name ?? "?";
    this.table = new Table<RankLine>({
      label: "ranks", sort: 0, ascending: true, first: 24,
      columns: [
        { head: "rank", value: (row) => (row.members > 1 ? row.class - 1e6 : row.rank + (row.thread ?? 0) / 1e6),
          show: (row) => (row.members > 1 ? `${count(row.members)} ${this.what}s` : h("span", { title: location(row.rank, row.thread) }, `${row.rank}${row.thread === undefined ? "" : `.${row.thread}`}`)) },
        { head: "host", text: true, value: (row) => row.host, show: (row) => (row.members > 1 ? h("span", { class: "dim" }, "medians") : name(row.host, 30)) },
        { head: "class", text: true, value: cls, show: (row) => name(cls(row), 12) },
        { head: "wall (ns)", short: "wall", title: `from the first to the last moment of the ${this.what}, with MPI_Init and MPI_Finalize`, value: (row) => row.wall, show: (row) => figure(row.wall) },
        { head: "compute (ns)", short: "compute", value: (row) => row.compute, show: (row) => figure(row.compute) },
        { head: "MPI (ns)", short: "MPI", value: (row) => row.mpi, show: (row) => figure(row.mpi) },
        { head: "MPI share", short: "compute | MPI", title: `computation and MPI from the end of MPI_Init to the begin of MPI_Finalize, as parts of the longest such time of a ${this.what}; the share is MPI's of both`, value: mpiShare,
          show: (row) => {
            const [work, mpi] = [h("i", { class: "computation" }), h("i", { class: "mpi" })];
            work.style.width = `${(row.compute / this.longest) * 100}%`;
            mpi.style.width = `${(row.mpi / this.longest) * 100}%`;
            return h("span", { class: "pair" }, h("span", { class: "track" }, work, mpi), percent(mpiShare(row)));
          } },
        { head: "bytes sent", title: "bytes that the rank sent", value: (row) => row.bytes, show: (row) => h("span", { title: exact(row.bytes, "B") }, bytes(row.bytes)) },
        { head: "calls", value: (row) => row.events, show: (row) => count(row.events) },
        { head: "end", text: true, value: (row) => row.end, show: (row) => h("span", { class: row.ok ? "" : "bad" }, name(row.end, 60)) },
      ],
      choose: (row) => this.state.choose(row.members > 1 ? { cls: row.class } : { rank: row.rank }, true),
      chosen: (row) => (row.members > 1 ? this.state.selection.cls === row.class : this.state.selection.rank === row.rank),
      faded: (row) => this.state.selection.cls !== null && row.class !== this.state.selection.cls,
    });
    const everyone = new Table<RankLine>({ label: "ranks", sort: 0, ascending: true, first: 0, columns: rankFile(model) });
    this.panel.body.append(this.table.element);
    this.panel.tools.append(this.fold, saver("ranks", () => {
      everyone.set(this.lines());
      return everyone.csv();
    }));
  }

  update(selection: Selection): void {
    const { ranks } = this.model.report;
    const lines = this.lines();
    this.longest = lines.reduce((most, row) => Math.max(most, row.compute + row.mpi), 1);
    const bad = ranks.filter((row) => !row.ok).length;
    this.panel.note.textContent = `${count(ranks.length)}${bad ? `, ${bad} did not end as ${bad === 1 ? "it" : "they"} should` : ""}`;
    this.fold.hidden = lines.length <= FOLD_ABOVE;
    this.fold.textContent = this.unfolded ? "fold" : "unfold";
    if (!ranks.length) this.panel.empty("no rank left a record");
    else this.table.set(this.fold.hidden || this.unfolded ? lines : this.folded(selection, lines));
  }

  /** A row a rank, or one for each of its threads where it has several. */
  private lines(): RankLine[] {
    return this.model.report.ranks.flatMap((row): RankLine[] => row.threads
      ? row.threads.map((one) => ({
          rank: row.rank, thread: one.thread, host: row.host, class: one.class, wall: one.end - one.begin, mpi: one.mpi, compute: one.compute,
          bytes: row.bytes, events: one.events, end: row.end, ok: row.ok, members: 1,
        }))
      : [{ ...row, members: 1 }]);
  }

  /** A row a class, and the ranks that stand apart. */
  private folded(selection: Selection, ranks: RankLine[]): RankLine[] {
    const { classes } = this.model.report;
    const apart = standOut(this.model, selection);
    const middle = (rows: RankRow[], key: "wall" | "mpi" | "compute" | "bytes" | "events"): number =>
      rows.map((row) => row[key]).sort((a, b) => a - b)[Math.floor(rows.length / 2)] ?? 0;
    const lines = classes.flatMap((one): RankLine[] => {
      const rows = ranks.filter((row) => row.class === one.id);
      const [first] = rows;
      if (!first) return [];
      if (rows.length === 1) return [first];
      const bad = rows.filter((row) => !row.ok).length;
      return [{
        ...first, members: rows.length, wall: middle(rows, "wall"), mpi: middle(rows, "mpi"), compute: middle(rows, "compute"),
        bytes: middle(rows, "bytes"), events: middle(rows, "events"), ok: bad === 0,
        end: bad ? `${bad} did not end well` : "all finished",
      }];
    });
    return [...lines, ...ranks.filter((row) => apart.has(row.rank))];
  }
}

/** The columns of the file: every rank, whatever is folded on the page. */
function rankFile(model: Model): Column<RankLine>[] {
  const thread: Column<RankLine> = { head: "thread", value: (row) => row.thread ?? 0 };
  return [
    { head: "rank", value: (row) => row.rank },
    ...(hasThreads(model.report) ? [thread] : []),
    { head: "host", value: (row) => row.host },
    { head: "class", value: (row) => model.report.classes[row.class]?.name ?? "" },
    { head: "wall (ns)", value: (row) => row.wall },
    { head: "compute (ns)", value: (row) => row.compute },
    { head: "MPI (ns)", value: (row) => row.mpi },
    { head: "bytes sent", value: (row) => row.bytes },
    { head: "calls", value: (row) => row.events },
    { head: "end", value: (row) => row.end },
  ];
}
