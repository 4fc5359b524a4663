// Nodes x time as counts of samples: made from a series by node and activity, summed into bands where there are more nodes than rows.

import type { Activity, NodeSeen, Series } from "./answers";
import { ACTIVITIES, BUSY, COMPUTING } from "./answers";

export interface Column { begin: number; end: number }

/** Parts of the samples of a band in a column; `known` of its nodes were heard of before, `silent` of these not now. */
export interface Cell { counts: number[]; all: number; known: number; silent: number }

/** A node may be that far behind the newest, or so many of its intervals: the last column has just begun, and its batch is still to come. */
const LATE = 180e9;
const INTERVALS = 3;

/** How long the slice of a single point is, as far as nodes tell; else a step. */
function slice(series: Series, nodes: NodeSeen[]): number {
  return nodes.reduce((most, node) => Math.max(most, node.interval_ns ?? 0), series.step_ns);
}

export class NodeTimes {
  readonly columns: Column[] = [];
  /** Samples: node, then column, then activity. */
  private readonly counts: Float64Array;
  private readonly firsts: number[];
  /** Nodes that are behind the newest no further than batches are apart. */
  private readonly present: boolean[];

  private constructor(readonly names: string[], nodes: Map<string, NodeSeen>, begin: number, readonly width: number, count: number) {
    for (let at = 0; at < count; at++) this.columns.push({ begin: begin + at * width, end: begin + (at + 1) * width });
    this.counts = new Float64Array(names.length * count * ACTIVITIES.length);
    this.firsts = names.map((name) => nodes.get(name)?.first_ns ?? -Infinity);
    const newest = [...nodes.values()].reduce((last, node) => Math.max(last, node.last_ns), -Infinity);
    this.present = names.map((name) => {
      const node = nodes.get(name);
      return newest - (node?.last_ns ?? -Infinity) < Math.max(LATE, (node?.interval_ns ?? 0) * INTERVALS);
    });
  }

  /**
   * Steps that are finer than the store's slices have points only now and then: columns are as wide as the least distance of two points.
   * They begin `length` nanoseconds before the last one ends. A single point tells no distance: its column is as wide as `alone`.
   */
  static of(series: Series, nodes: NodeSeen[], length: number, alone = slice(series, nodes)): NodeTimes | null {
    const last = series.points.at(-1);
    if (!last) return null;
    let width = Infinity;
    series.points.forEach((point, at) => {
      const before = series.points[at - 1];
      if (before) width = Math.min(width, point.begin_ns - before.begin_ns);
    });
    if (!Number.isFinite(width)) width = alone;
    const first = series.points[0]!.begin_ns;
    const count = Math.min(2000, Math.max(Math.ceil(length / width - 1e-9), Math.round((last.begin_ns - first) / width) + 1, 1));
    const begin = last.begin_ns + width - count * width;
    const known = new Map(nodes.map((node) => [node.name, node]));
    const at = { node: series.by.indexOf("node"), activity: series.by.indexOf("activity") };
    const heard = series.keys.map((key) => (at.node < 0 ? "" : String(key[at.node] ?? "")));
    const names = [...new Set([...known.keys(), ...heard])].sort((a, b) => a.localeCompare(b, "en", { numeric: true }) || (a < b ? -1 : 1));
    const made = new NodeTimes(names, known, begin, width, count);
    const rows = new Map(names.map((name, row) => [name, row]));
    const places = series.keys.map((key, k) => ({ row: rows.get(heard[k]!) ?? 0, activity: ACTIVITIES.indexOf(key[at.activity] as Activity) }));
    for (const point of series.points) {
      const column = Math.round((point.begin_ns - begin) / width);
      if (column < 0 || column >= count) continue;
      places.forEach(({ row, activity }, k) => {
        if (activity >= 0) made.counts[(row * count + column) * ACTIVITIES.length + activity]! += point.by_key[k] ?? 0;
      });
    }
    return made;
  }

  /** A selection (counted as `user`) and the rest of everything (as `idle`), of two series by node with the same steps. */
  static part(selection: Series, whole: Series, length: number): NodeTimes | null {
    const keys = [...new Set(whole.keys.map((key) => String(key[0] ?? "")))].filter((name) => selection.keys.some((key) => String(key[0] ?? "") === name));
    const of = new Map(selection.points.map((point) => [point.begin_ns, point]));
    const places = (series: Series): number[] => keys.map((name) => series.keys.findIndex((key) => String(key[0] ?? "") === name));
    const [within, all] = [places(selection), places(whole)];
    const points = whole.points.map((point) => {
      const chosen = within.map((place) => of.get(point.begin_ns)?.by_key[place] ?? 0);
      const rest = all.map((place, at) => Math.max(0, (point.by_key[place] ?? 0) - chosen[at]!));
      return { ...point, by_key: [...chosen, ...rest] };
    });
    const both = (activity: Activity): (string | null)[][] => keys.map((name) => [name, activity]);
    return NodeTimes.of({ ...whole, by: ["node", "activity"], keys: [...both("user"), ...both("idle")], points }, [], length);
  }

  cell(rows: number[], column: number): Cell {
    const cell: Cell = { counts: ACTIVITIES.map(() => 0), all: 0, known: 0, silent: 0 };
    const { end } = this.columns[column]!;
    for (const row of rows) {
      const at = (row * this.columns.length + column) * ACTIVITIES.length;
      let sum = 0;
      for (let activity = 0; activity < ACTIVITIES.length; activity++) {
        const count = this.counts[at + activity]!;
        cell.counts[activity]! += count;
        sum += count;
      }
      cell.all += sum;
      if (sum > 0 || this.firsts[row]! < end) cell.known++;
      const expected = column === this.columns.length - 1 && this.present[row]!;
      if (sum === 0 && this.firsts[row]! < end && !expected) cell.silent++;
    }
    return cell;
  }

  /** All columns of some nodes. */
  whole(rows: number[]): Cell {
    const sum: Cell = { counts: ACTIVITIES.map(() => 0), all: 0, known: rows.length, silent: 0 };
    for (let column = 0; column < this.columns.length; column++) {
      const cell = this.cell(rows, column);
      cell.counts.forEach((count, at) => (sum.counts[at]! += count));
      sum.all += cell.all;
      sum.silent += cell.silent;
    }
    return sum;
  }
}

/** Quantity of a cell's colour. */
export const MEASURES: Record<string, Activity[]> = { busy: BUSY, computing: COMPUTING, user: ["user"], kernel: ["kernel"], mpi: ["mpi"], waiting: ["waiting"], idle: ["idle"] };
/** The words of their buttons. */
export const MEASURE_WORDS: Record<string, string> = { busy: "busy", computing: "outside MPI", user: "user", kernel: "kernel", mpi: "in MPI", waiting: "waiting", idle: "idle" };
/** Their texts in the legend. */
export const MEASURE_LEGENDS: Record<string, string> = { busy: "busy (user, kernel and in MPI)", computing: "busy outside MPI (user and kernel)", mpi: "in MPI (a lower bound)" };

export function measured(cell: Cell, measure: string): number | null {
  if (!cell.all) return null;
  return (MEASURES[measure] ?? []).reduce((sum, activity) => sum + cell.counts[ACTIVITIES.indexOf(activity)]!, 0) / cell.all;
}

/** Rows in an order, put together so that there are at most about `most` bands; none goes over the first `apart` rows. */
export function bands(order: number[], most: number, apart: number): number[][] {
  const size = Math.max(1, Math.ceil(order.length / most));
  const out: number[][] = [];
  for (let at = 0, next = 0; at < order.length; at = next) {
    next = Math.min(order.length, at + size);
    if (at < apart) next = Math.min(next, apart);
    out.push(order.slice(at, next));
  }
  return out;
}
