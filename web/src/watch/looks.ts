// Points over time of the looks that the page received, in a bounded number.
//
// Each look is a point as long as there is room; then neighbours become one, with the exact mean,
// minimum and maximum of their looks. Looks before the page was opened, and those that were missed,
// are holes between points.

import type { WatchData } from "./data";
import { isLast } from "./data";

export interface Point {
  /** Begin and end since the start of the run; nanoseconds. */
  begin: number;
  end: number;
  looks: number;
  /** Part of the ranks' time in MPI: mean over the time, minimum and maximum of the looks. */
  mean: number;
  min: number;
  max: number;
  calls: number;
  /** Part of the time on new edges; null where no call ended. */
  change: number | null;
}

/** Points that are kept. */
export const ROOM = 600;

/** Two points as one, from the begin of the first to the end of the second. */
export function merged(a: Point, b: Point): Point {
  const [first, second] = [a.end - a.begin, b.end - b.begin];
  const mean = (x: number, y: number): number => (x * first + y * second) / Math.max(1, first + second);
  return {
    begin: a.begin, end: b.end, looks: a.looks + b.looks,
    mean: mean(a.mean, b.mean), min: Math.min(a.min, b.min), max: Math.max(a.max, b.max),
    calls: a.calls + b.calls,
    change: a.change === null ? b.change : b.change === null ? a.change : mean(a.change, b.change),
  };
}

/** True where nothing is missing between two points. */
export const isNext = (a: Point, b: Point): boolean => b.begin - a.end <= 0.01 * (b.end - b.begin);

/** Half as many points: neighbours become one, but not over a hole. */
export function thinned(points: readonly Point[]): Point[] {
  const out: Point[] = [];
  for (let at = 0; at < points.length; at++) {
    const [a, b] = [points[at]!, points[at + 1]];
    if (b && isNext(a, b)) {
      out.push(merged(a, b));
      at++;
    } else {
      out.push(a);
    }
  }
  return out;
}

export class Looks {
  points: Point[] = [];
  private last: WatchData | null = null;

  constructor(private readonly room = ROOM) {}

  add(data: WatchData): void {
    // The newest look comes again with each connection; an earlier one is of another watch.
    if (this.last && data.look === this.last.look && data.time_ns === this.last.time_ns) return;
    if (this.last && data.look < this.last.look) this.points = [];
    this.last = data;
    // After the end there is nothing in MPI, nor outside.
    if (data.interval_ns <= 0 || (isLast(data) && data.new_events === 0)) return;
    const share = data.recent_mpi_share;
    this.points.push({
      begin: data.time_ns - data.interval_ns, end: data.time_ns, looks: 1,
      mean: share, min: share, max: share, calls: data.new_events, change: data.change,
    });
    if (this.points.length > this.room) {
      this.points = thinned(this.points);
      // Points with holes between them do not become fewer.
      this.points.splice(0, this.points.length - this.room);
    }
  }
}
