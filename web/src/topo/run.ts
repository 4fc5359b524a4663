// The run that a recording is shown with: its phases as a band above the time axis, in words, and as a table.
//
// An iteration's bar is as high as it took long, so that slow ones are seen where each is narrower than a pixel; slow ones have another
// colour and a mark above. Of all that meet in a column of pixels the longest is drawn. Merged iterations have a dashed frame.

import type { PhaseData, RunData } from "./data";
import { h, plain } from "../report/dom";
import { ink } from "./ink";
import { Panel } from "../report/panel";
import { time } from "../report/units";

const KINDS = ["set-up", "iterations", "between", "wrap-up", "whole"];
export const ITERATIONS = 1;
const BETWEEN = 2;

/** Height of the band with the marks above it. */
export const BAND = 40;
const MARKS = 9;
const BARS = BAND - MARKS - 5;
/** Can be read on the colour of slow iterations, which is bright in light and dark. */
const ON_SLOW = "#14181d";
/** Marks stand no closer together, in pixels. */
const APART = 7;

/** Name of a phase. */
export function phaseName(run: RunData, [kind, first, last]: PhaseData): string {
  const place = plain(run.place, 60);
  if (kind === ITERATIONS) return first === last ? `${place} iteration ${first}` : `${place} iterations ${first}-${last}`;
  if (kind === BETWEEN) return `between ${place} iterations ${first} and ${last}`;
  return kind === 4 ? "run without a loop" : (KINDS[kind] ?? "");
}

/** The first phase that ends after a time. */
function after(run: RunData, at: number): number {
  let low = 0;
  let high = run.phases.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (run.phases[middle]![4] <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Phases that a stretch of time touches. */
export function touched(run: RunData, from: number, to: number): PhaseData[] {
  const out: PhaseData[] = [];
  for (let at = after(run, from); at < run.phases.length && run.phases[at]![3] < to; at++) out.push(run.phases[at]!);
  return out;
}

/** Phases of a frame from one time to another, in words: all that it touches. */
export function during(run: RunData, from: number, to: number): string {
  const all = touched(run, from, to);
  const [first, last] = [all[0], all[all.length - 1]];
  if (!first || !last) return "";
  if (first === last) return phaseName(run, first);
  if (first[0] === ITERATIONS && last[0] === ITERATIONS) return `${plain(run.place, 60)} iterations ${first[1]}-${last[2]}`;
  return `${phaseName(run, first)} to ${phaseName(run, last)}`;
}

/** Lines about a phase. */
export function phaseLines(run: RunData, phase: PhaseData): string[] {
  const [kind, first, last, from, to, longest, slow] = phase;
  const lines = [phaseName(run, phase)];
  if (kind === ITERATIONS && first !== last) lines.push(`${last - first + 1} iterations, the longest ${time(longest)}`);
  else lines.push(time(longest) + (slow ? `, slow: the median is ${time(run.median)}` : ""));
  lines.push(`${(from / 1e9).toFixed(3)} s to ${(to / 1e9).toFixed(3)} s`);
  return lines;
}

/** The phase in a column of pixels that stands out most: the longest iteration, else what is longest there. */
export function phaseAt(run: RunData, from: number, to: number): PhaseData | undefined {
  const rank = (one: PhaseData): number => (one[0] === ITERATIONS ? 1e18 : 0) + one[5];
  return touched(run, from, to).reduce<PhaseData | undefined>((best, one) => (best && rank(best) >= rank(one) ? best : one), undefined);
}

/** Draws the band; `x` says where a time stands, `top` where the band begins. */
export function paintRun(pen: CanvasRenderingContext2D, run: RunData, top: number, x: (at: number) => number, label: (y: number, text: string) => void): void {
  const bottom = top + MARKS + BARS;
  const iterations = run.phases.filter(([kind]) => kind === ITERATIONS);
  const most = iterations.reduce((most, one) => Math.max(most, one[5]), 0);
  if (iterations.length) {
    label(top + MARKS + 8, time(most));
    label(bottom, "0 s");
  }
  const bars: { height: number; slow: boolean }[] = [];
  const origin = Math.floor(x(0));
  run.phases.forEach((phase) => {
    const [kind, first, last, from, to, longest, slow] = phase;
    const [x0, x1] = [x(from), x(to)];
    if (kind !== ITERATIONS) {
      pen.fillStyle = ink("line");
      if (x1 - x0 >= 1) pen.fillRect(x0, bottom - 12, x1 - x0, 12);
      write(pen, kind === 4 ? "run without a loop" : (KINDS[kind] ?? ""), x0, x1, bottom - 2, ink("text"));
      return;
    }
    const height = Math.max(2, (BARS * longest) / Math.max(1, most));
    if (x1 - x0 >= 4) {
      pen.fillStyle = ink(slow ? "waiting" : "computation");
      pen.globalAlpha = slow ? 1 : first % 2 ? 0.45 : 0.65;
      pen.fillRect(x0, bottom - height, x1 - x0 - (x1 - x0 > 6 ? 1 : 0), height);
      pen.globalAlpha = 1;
      if (slow) mark(pen, (x0 + x1) / 2, top + 1);
      const name = first === last ? String(first) : `${first}-${last}`;
      if (height >= 11) write(pen, name, x0, x1, bottom - 2, slow ? ON_SLOW : ink("text"));
      return;
    }
    for (let column = Math.floor(x0) - origin; column < Math.max(Math.floor(x0) + 1, Math.ceil(x1)) - origin; column++) {
      const bar = bars[column];
      if (!bar || bar.height < height) bars[column] = { height, slow: slow === 1 || !!bar?.slow };
      else bar.slow ||= slow === 1;
    }
  });
  if (run.merged !== null && iterations.length) {
    pen.strokeStyle = ink("frame");
    pen.setLineDash([4, 3]);
    pen.strokeRect(x(iterations[0]![3]) + 0.5, top + MARKS - 1.5, x(iterations[iterations.length - 1]![4]) - x(iterations[0]![3]) - 1, BARS + 2);
    pen.setLineDash([]);
  }
  let marked = -APART;
  bars.forEach(({ height, slow }, column) => {
    pen.fillStyle = ink(slow ? "waiting" : "computation");
    pen.globalAlpha = slow ? 1 : 0.55;
    pen.fillRect(origin + column, bottom - height, 1, height);
    pen.globalAlpha = 1;
    if (slow && column - marked >= APART) {
      marked = column;
      mark(pen, origin + column + 0.5, top + 1);
    }
  });
}

function write(pen: CanvasRenderingContext2D, text: string, x0: number, x1: number, y: number, colour: string): void {
  if (pen.measureText(text).width + 6 > x1 - x0) return;
  pen.fillStyle = colour;
  pen.fillText(text, x0 + 3, y);
}

/** A triangle above a slow iteration. */
function mark(pen: CanvasRenderingContext2D, x: number, y: number): void {
  pen.fillStyle = ink("waiting");
  pen.beginPath();
  pen.moveTo(x - 3.5, y);
  pen.lineTo(x + 3.5, y);
  pen.lineTo(x, y + 6);
  pen.fill();
}

/** The table behind the band. */
export function runPanel(run: RunData): Panel {
  const panel = new Panel("phases", "phases of the run");
  panel.note.textContent = plain(run.summary, 300);
  panel.behind<PhaseData>({
    name: "phases of the run",
    rows: () => run.phases,
    columns: [
      { head: "phase", text: true, value: (one) => phaseName(run, one) },
      { head: "begin (ns)", short: "begin", value: (one) => one[3], show: (one) => `${(one[3] / 1e9).toFixed(6)} s` },
      { head: "end (ns)", short: "end", value: (one) => one[4], show: (one) => `${(one[4] / 1e9).toFixed(6)} s` },
      { head: "iterations", value: (one) => (one[0] === ITERATIONS ? one[2] - one[1] + 1 : null) },
      { head: "longest (ns)", short: "longest", value: (one) => one[5], show: (one) => time(one[5]) },
      { head: "slow", text: true, value: (one) => (one[6] ? "slow" : "") },
    ],
  });
  panel.body.append(h("p", { class: "dim" }, "Begin, end and duration of each: as a table, or as a CSV file."));
  return panel;
}
