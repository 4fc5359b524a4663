// Which rows a timeline draws: all of them, or one band for each class and the ranks that stand out.

import type { Model } from "./model";
import type { Selection } from "./state";
import type { Category, Timeline } from "./types";
import { CATEGORIES } from "./colours";
import { hasThreads, location } from "./location";

export type Bar = Timeline["bars"][number];

export interface Lane {
  label: string;
  /** Rows of the timeline; more than one are drawn as a band of shares. */
  rows: number[];
  rank: number | undefined;
  /** Its only row in words. */
  name: string;
  height: number;
  y: number;
}

/** More rows than this are folded until somebody unfolds them. */
export const FOLD_ABOVE = 32;

export function lanes(model: Model, timeline: Timeline, selection: Selection, unfolded: boolean): Lane[] {
  const inside = timeline.rows.map((row, at) => ({ row, at })).filter(({ row }) => selection.cls === null || row.class === selection.cls);
  const out: Lane[] = [];
  const threads = hasThreads(model.report);
  const single = (at: number, height: number): void => {
    const row = timeline.rows[at];
    if (!row) return;
    const label = `rank ${row.rank}${threads ? `.${row.thread}` : ""}`;
    const of = model.report.ranks.find((one) => one.rank === row.rank);
    out.push({ label, rows: [at], rank: row.rank, name: location(row.rank, of?.threads ? row.thread : undefined), height, y: 0 });
  };
  if (unfolded || inside.length <= FOLD_ABOVE) {
    const count = inside.length;
    const height = count <= 6 ? 34 : count <= 16 ? 24 : count <= 32 ? 15 : count <= 600 ? 11 : 4;
    for (const { at } of inside) single(at, height);
  } else {
    const apart = standOut(model, selection);
    for (const cls of model.report.classes) {
      const rows = inside.filter(({ row }) => row.class === cls.id).map(({ at }) => at);
      if (!rows.length) continue;
      if (rows.length < 4) {
        for (const at of rows) single(at, 20);
        continue;
      }
      out.push({ label: `class ${cls.name} \u00b7 ${rows.length}`, rows, rank: undefined, name: `class ${cls.name}`, height: 62, y: 0 });
    }
    for (const { row, at } of inside) if (apart.has(row.rank)) single(at, 20);
  }
  let y = 0;
  for (const lane of out) {
    lane.y = y;
    y += lane.height;
  }
  return out;
}

/** Ranks that a finding names, that did not end well, or that are chosen. */
export function standOut(model: Model, selection: Selection): Set<number> {
  const out = new Set<number>();
  for (const { target } of model.report.findings) if (target.kind === "rank") out.add(target.rank);
  // When one rank is killed all others are ended too: the few that ended otherwise than most are of interest.
  const ends = new Map<string, number[]>();
  for (const row of model.report.ranks) {
    if (row.ok) continue;
    const kind = row.end.slice(0, 200).replace(/[\d.]+ ?[mµn]?s\b/g, "");
    const list = ends.get(kind);
    if (list) list.push(row.rank);
    else ends.set(kind, [row.rank]);
  }
  for (const ranks of ends.values()) if (ranks.length <= 8) for (const rank of ranks) if (out.size < 12) out.add(rank);
  for (const series of model.report.iterations) for (const one of series.outliers.slice(0, 2)) if (out.size < 12) out.add(one.rank);
  if (selection.rank !== null) out.add(selection.rank);
  return out;
}

/** For each pixel column the number of rows in each category: computation what is left of what is recorded. */
export function shares(
  rows: { bars: Bar[]; begin: number; end: number }[],
  from: number,
  to: number,
  columns: number,
  category: (site: number) => Category,
  counted: (site: number) => boolean,
): Float32Array[] {
  const out = CATEGORIES.map(() => new Float32Array(columns));
  const scale = columns / (to - from);
  const work = out[CATEGORIES.indexOf("computation")]!;
  const cover = (list: Float32Array, start: number, stop: number, sign: number): void => {
    const begin = Math.max(0, (start - from) * scale);
    const end = Math.min(columns, (stop - from) * scale);
    for (let at = Math.floor(begin); at < end; at++) list[at]! += sign * (Math.min(end, at + 1) - Math.max(begin, at));
  };
  for (const { bars, begin, end } of rows) {
    cover(work, begin, end, 1);
    for (const bar of bars) {
      if (bar[1] + bar[2] <= from || bar[1] >= to) continue;
      if (counted(bar[3])) cover(out[CATEGORIES.indexOf(category(bar[3]))]!, bar[1], bar[1] + bar[2], 1);
      cover(work, bar[1], bar[1] + bar[2], -1);
    }
  }
  return out;
}
