// Painting of a timeline's rows, bands and messages; what is shown and why is decided elsewhere.

import type { Ink } from "./colours";
import type { Bar, Lane } from "./lanes";
import type { Category, Timeline } from "./types";
import { CATEGORIES, hatch } from "./colours";
import { plain } from "./dom";
import { shares } from "./lanes";

/** Width left of the picture for the names of rows. */
export const GUTTER = 104;

export interface View {
  pen: CanvasRenderingContext2D;
  colours: Ink;
  data: Timeline;
  byRow: Bar[][];
  from: number;
  to: number;
  width: number;
  /** Sites of the selection; all where absent. */
  inner: Set<number> | undefined;
  category: (site: number) => Category;
  procedure: (site: number) => string;
}

export function x(view: { from: number; to: number; width: number }, at: number): number {
  return GUTTER + ((at - view.from) / (view.to - view.from)) * (view.width - GUTTER);
}

/** One location: computation thin, calls full, lost time hatched, the cursor framed. */
export function paintRow(view: View, lane: Lane, cursor: number | undefined): void {
  const { pen, colours, inner } = view;
  const row = view.data.rows[lane.rows[0] ?? -1];
  const bars = view.byRow[lane.rows[0] ?? -1];
  if (!row || !bars) return;
  const top = lane.y + (lane.height > 8 ? 2 : 0);
  const tall = lane.height - (lane.height > 8 ? 4 : 1);
  const clip = (at: number): number => Math.max(GUTTER, Math.min(view.width, at));
  const from = clip(x(view, row.begin));
  const to = clip(x(view, row.end));
  pen.globalAlpha = inner ? 0.35 : 1;
  pen.fillStyle = colours.category.computation;
  pen.fillRect(from, top + tall * 0.3, to - from, tall * 0.4);
  pen.globalAlpha = 1;
  let done = row.begin;
  for (const bar of bars) {
    // Computation belongs to the call that it leads to.
    if (inner?.has(bar[3])) {
      const [start, stop] = [clip(x(view, done)), clip(x(view, bar[1]))];
      pen.fillStyle = colours.category.computation;
      pen.fillRect(start, top + tall * 0.3, stop - start, tall * 0.4);
    }
    done = bar[1] + bar[2];
    const begin = x(view, bar[1]);
    const end = x(view, bar[1] + bar[2]);
    if (end < GUTTER || begin > view.width) continue;
    const left = clip(begin);
    const wide = Math.max(0.8, clip(end) - left);
    pen.globalAlpha = 1;
    pen.fillStyle = colours.paper;
    pen.fillRect(left, top, wide, tall);
    pen.globalAlpha = !inner || inner.has(bar[3]) ? 1 : 0.2;
    pen.fillStyle = colours.category[view.category(bar[3])];
    pen.fillRect(left, top, wide, tall);
    if (wide > 60 && tall > 12 && pen.globalAlpha === 1) {
      pen.fillStyle = colours.dark ? "#10151b" : view.category(bar[3]) === "waiting" ? "#10151b" : "#fff";
      const text = plain(view.procedure(bar[3]), 40);
      if (pen.measureText(text).width < wide - 8) {
        pen.textAlign = "left";
        pen.fillText(text, left + 4, top + tall / 2 + 4);
      }
    }
  }
  pen.globalAlpha = 1;
  pen.fillStyle = hatch(pen, colours.dim);
  if (to < view.width) pen.fillRect(to, top, view.width - to, tall);
  if (from > GUTTER) pen.fillRect(GUTTER, top, from - GUTTER, tall);
  const bar = cursor === undefined ? undefined : bars[cursor];
  if (bar) {
    pen.strokeStyle = colours.text;
    pen.lineWidth = 2;
    const left = clip(x(view, bar[1]));
    pen.strokeRect(left, top, Math.max(3, clip(x(view, bar[1] + bar[2])) - left), tall);
  }
}

/** Many locations: for each moment the share of them in each category. */
export function paintBand(view: View, lane: Lane): void {
  const { pen, colours, inner } = view;
  const columns = Math.max(1, Math.floor(view.width - GUTTER));
  const rows = lane.rows.flatMap((row) => {
    const extent = view.data.rows[row];
    return extent ? [{ bars: view.byRow[row] ?? [], begin: extent.begin, end: extent.end }] : [];
  });
  const parts = shares(rows, view.from, view.to, columns, view.category, (site) => !inner || inner.has(site));
  const tall = lane.height - 8;
  const base = lane.y + 4 + tall;
  const scale = tall / rows.length;
  // What no row covers stays as it is here: lost.
  const short = rows.some((row) => row.begin > view.from || row.end < view.to);
  pen.fillStyle = short ? hatch(pen, colours.dim) : colours.faint;
  pen.fillRect(GUTTER, lane.y + 4, columns, tall);
  const order: Category[] = ["waiting", "collective", "transfer", "io", "setup", "computation"];
  const filled = new Float32Array(columns);
  for (const one of order) {
    const part = parts[CATEGORIES.indexOf(one)]!;
    for (const [colour, alpha] of [[colours.paper, 1], [colours.category[one], one === "computation" ? (inner ? 0.25 : 0.75) : 1]] as const) {
      pen.fillStyle = colour;
      pen.globalAlpha = alpha;
      for (let at = 0; at < columns; at++) {
        const size = part[at]! * scale;
        if (size > 0.02) pen.fillRect(GUTTER + at, base - filled[at]! - size, 1, size);
      }
    }
    for (let at = 0; at < columns; at++) filled[at]! += part[at]! * scale;
  }
  pen.globalAlpha = 1;
}

/** Messages, from the send to the end of the call that completed the receive. */
export function paintMessages(view: View, lanes: Lane[]): void {
  const { pen } = view;
  const middle = new Map<number, number>();
  for (const lane of lanes) if (lane.rows.length === 1) middle.set(lane.rows[0]!, lane.y + lane.height / 2);
  const inside = view.data.messages.filter((one) => one[3] >= view.from && one[1] <= view.to);
  pen.save();
  pen.beginPath();
  pen.rect(GUTTER, 0, view.width - GUTTER, 1e5);
  pen.clip();
  pen.strokeStyle = pen.fillStyle = view.colours.text;
  pen.lineWidth = 1;
  pen.globalAlpha = inside.length > 200 ? 0.25 : 0.5;
  for (const [from, sent, to, received] of inside.slice(0, 5000)) {
    const [y, end] = [middle.get(from), middle.get(to)];
    if (y === undefined || end === undefined) continue;
    pen.beginPath();
    pen.moveTo(x(view, sent), y);
    pen.lineTo(x(view, received), end);
    pen.stroke();
    pen.beginPath();
    pen.arc(x(view, received), end, 2.2, 0, 7);
    pen.fill();
  }
  pen.restore();
}
