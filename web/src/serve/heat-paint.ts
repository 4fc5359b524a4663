// The picture of nodes over time: the strip of all nodes, bands below, their names at the left, marks of silent ones at the right, the axis of time.

import { hatch, ink } from "../report/colours";
import { plain } from "../report/dom";
import type { Activity } from "./answers";
import { ACTIVITIES } from "./answers";
import { moments } from "./clock-axis";
import type { NodeTimes } from "./heat-model";
import { measured } from "./heat-model";
import { shade } from "./ramp";

export const STRIP = 54;
export const GUTTER = 104;
export const AXIS = 20;
/** Room for marks of bands with silent nodes. */
export const MARKS = 12;

/** Input of drawing; lengths in pixels, `cursor` is a band and a column. */
export interface View {
  data: NodeTimes;
  /** Nodes in their order. */
  shown: number[];
  bands: number[][];
  height: number;
  width: number;
  measure: string;
  hatches: boolean;
  cursor: [number, number] | null;
}

export function paint(pen: CanvasRenderingContext2D, view: View): void {
  const { data, shown } = view;
  const colours = ink();
  const style = getComputedStyle(document.documentElement);
  // Time in MPI stands beside waiting, so that it has the colour of transfer.
  const names: Partial<Record<Activity, string>> = { user: "computation", mpi: "transfer" };
  const colour = (activity: Activity): string => style.getPropertyValue(`--${names[activity] ?? activity}`).trim();
  const lost = hatch(pen, colours.dim);
  const columns = data.columns.length;
  const wide = (view.width - GUTTER - MARKS) / columns;
  const x = (column: number): number => Math.round(GUTTER + column * wide);
  pen.font = "11px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
  pen.textBaseline = "middle";
  pen.fillStyle = colours.dim;
  pen.textAlign = "right";
  pen.fillText(view.bands.length === 1 && shown.length === 1 ? "all cores" : "all nodes", GUTTER - 8, STRIP / 2);
  for (let column = 0; column < columns; column++) {
    const cell = data.cell(shown, column);
    let bottom = STRIP;
    const box = [x(column), x(column + 1) - x(column) - (wide > 5 ? 1 : 0)] as const;
    if (!cell.all) {
      if (view.hatches && cell.silent) {
        pen.fillStyle = lost;
        pen.fillRect(box[0], 0, box[1], STRIP);
      }
      continue;
    }
    ACTIVITIES.forEach((activity, at) => {
      const tall = (cell.counts[at]! / cell.all) * STRIP;
      pen.fillStyle = colour(activity);
      pen.fillRect(box[0], bottom - tall, box[1], tall);
      bottom -= tall;
    });
  }
  const top = STRIP + 6;
  const gap = view.height >= 8 ? 1 : 0;
  view.bands.forEach((rows, band) => {
    const y = top + band * view.height;
    for (let column = 0; column < columns; column++) {
      const cell = data.cell(rows, column);
      const part = measured(cell, view.measure);
      const box = [x(column), x(column + 1) - x(column) - (wide > 5 ? 1 : 0)] as const;
      if (part !== null) {
        pen.fillStyle = shade(part, colours.dark);
        pen.fillRect(box[0], y, box[1], view.height - gap);
      }
      if (view.hatches && cell.silent) {
        // A band of many nodes is hatched as far as they are silent, and seen even if it is one.
        const tall = Math.max(1, Math.round((cell.silent / Math.max(1, cell.known)) * (view.height - gap)));
        pen.fillStyle = colours.paper;
        pen.fillRect(box[0], y, box[1], tall);
        pen.fillStyle = lost;
        pen.fillRect(box[0], y, box[1], tall);
      }
    }
  });
  pen.fillStyle = colour("waiting");
  view.bands.forEach((rows, band) => {
    if (!view.hatches || !data.cell(rows, columns - 1).silent) return;
    const y = top + (band + 0.5) * view.height;
    pen.beginPath();
    pen.moveTo(view.width - MARKS + 3, y);
    pen.lineTo(view.width - 2, y - 4);
    pen.lineTo(view.width - 2, y + 4);
    pen.fill();
  });
  pen.fillStyle = colours.dim;
  const every = Math.max(1, Math.ceil(13 / view.height));
  view.bands.forEach((rows, band) => {
    if (band % every) return;
    const label = plain(data.names[rows[0]!]!, 60);
    pen.fillText(label.length > 14 ? `\u2026${label.slice(-13)}` : label, GUTTER - 8, top + band * view.height + Math.max(6, view.height / 2));
  });
  const [begin, end] = [data.columns[0]!.begin, data.columns.at(-1)!.end];
  const bottom = top + view.bands.length * view.height;
  pen.textAlign = "center";
  pen.strokeStyle = colours.line;
  pen.beginPath();
  for (const { at, text } of moments(begin, end, Math.max(2, (view.width - GUTTER) / 90))) {
    const place = GUTTER + ((at - begin) / (end - begin)) * (view.width - GUTTER - MARKS);
    pen.moveTo(Math.round(place) + 0.5, bottom);
    pen.lineTo(Math.round(place) + 0.5, bottom + 4);
    const half = pen.measureText(text).width / 2;
    pen.fillText(text, Math.min(view.width - half, place), bottom + 12);
  }
  pen.stroke();
  if (view.cursor) {
    const [band, column] = view.cursor;
    pen.strokeStyle = colours.text;
    pen.lineWidth = 2;
    pen.strokeRect(x(column), top + band * view.height, Math.max(3, x(column + 1) - x(column)), view.height);
    pen.lineWidth = 1;
  }
}
