// Painting of a timeline's rows, bands and messages; what is shown and why is decided elsewhere.

import type { Ink } from "./colours";
import type { Bar, Lane } from "./lanes";
import type { Category, Timeline } from "./types";
import { CATEGORIES, hatch, sequential } from "./colours";
import { COLUMN, type Density, type Message } from "./density";
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
  /** Whether messages take a strip below each row. */
  dense: boolean;
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
  const tall = lane.height - (lane.height > 8 ? 4 : 1) - (view.dense ? strip(lane) - (lane.height > 8 ? 1 : 0) : 0);
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
  // A thread that is not the rank's first comes with its first call and goes with its last: nothing is lost.
  if (row.thread === 0) {
    if (to < view.width) pen.fillRect(to, top, view.width - to, tall);
    if (from > GUTTER) pen.fillRect(GUTTER, top, from - GUTTER, tall);
  }
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
    return extent ? [{ bars: view.byRow[row] ?? [], begin: extent.begin, end: extent.end, first: extent.thread === 0 }] : [];
  });
  const parts = shares(rows, view.from, view.to, columns, view.category, (site) => !inner || inner.has(site));
  const tall = lane.height - 8;
  const base = lane.y + 4 + tall;
  const scale = tall / rows.length;
  // Time without a row stays as it is here: lost.
  const short = rows.some((row) => row.first && (row.begin > view.from || row.end < view.to));
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

/** Height of the strip below a row that says how many messages it sends and receives. */
export function strip(lane: Lane): number {
  return lane.height >= 15 ? 5 : lane.height >= 8 ? 3 : 1;
}

/** How many messages each row sends and receives, a shade for each column; the root makes single ones visible beside many. */
export function paintDensity(view: View, lanes: Lane[], found: Density): void {
  const { pen, colours } = view;
  for (const [at, lane] of lanes.entries()) {
    const list = found.counts[at];
    if (!list) continue;
    const tall = strip(lane);
    const top = lane.y + lane.height - tall;
    pen.fillStyle = colours.paper;
    pen.fillRect(GUTTER, top, view.width - GUTTER, tall);
    for (const [column, count] of list.entries()) {
      if (!count) continue;
      pen.fillStyle = sequential(0.2 + 0.8 * Math.sqrt(count / found.most), colours.dark);
      pen.fillRect(GUTTER + column * COLUMN, top, COLUMN, tall);
    }
  }
}

/** Messages as lines, from the send to the end of the call that completed the receive. */
export function paintMessages(view: View, lanes: Lane[], messages: Message[]): void {
  const { pen } = view;
  const middle = new Map<number, number>();
  for (const lane of lanes) if (lane.rows.length === 1) middle.set(lane.rows[0]!, lane.y + lane.height / 2);
  pen.save();
  pen.beginPath();
  pen.rect(GUTTER, 0, view.width - GUTTER, 1e5);
  pen.clip();
  pen.strokeStyle = pen.fillStyle = view.colours.text;
  pen.lineWidth = 1;
  pen.globalAlpha = messages.length > 60 ? 0.35 : 0.5;
  for (const [from, sent, to, received] of messages) {
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

/** The chosen iteration: a bar under the axis, and what is not of it behind a veil. */
export function paintWindow(view: View, ruler: CanvasRenderingContext2D, window: [number, number], axis: number, height: number): void {
  const { pen, colours, width } = view;
  const clip = (at: number): number => Math.max(GUTTER, Math.min(width, x(view, at)));
  const [left, right] = [clip(window[0]), clip(window[1])];
  ruler.fillStyle = colours.accent;
  ruler.fillRect(left, axis - 3, Math.max(2, right - left), 3);
  pen.fillStyle = colours.paper;
  pen.globalAlpha = 0.6;
  pen.fillRect(GUTTER, 0, left - GUTTER, height);
  pen.fillRect(right, 0, width - right, height);
  pen.globalAlpha = 1;
  pen.fillStyle = colours.accent;
  for (const at of window) if (at >= view.from && at <= view.to) pen.fillRect(Math.round(x(view, at)), 0, 1.5, height);
}
