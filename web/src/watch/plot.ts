// The frame of a plot over the time of the run: axis, cursor, and lines beside the pointer.
//
// All plots have the same margins, so that the same moment is at the same place in each; a cursor
// in one shows in all. A plot is drawn again at each look, and the pointer's lines with it.

import { h, hideTip, s, showTip } from "../report/dom";
import type { Moment } from "./time-axis";
import { moments } from "./time-axis";

export const LEFT = 62;
export const RIGHT = 18;
/** Height of the axis of time below the data. */
export const AXIS = 20;

/** A stretch of time with a value. */
export interface Step { from: number; to: number; value: number }

/** Things that the pointer finds: stretches in the order of time, with lines of text. */
export interface Stretches {
  length: number;
  from: (at: number) => number;
  to: (at: number) => number;
  lines: (at: number) => string[];
}

/** The moment under the pointer, for all plots. */
export class Cursor {
  private readonly draws: ((at: number | null) => void)[] = [];

  listen(draw: (at: number | null) => void): void {
    this.draws.push(draw);
  }

  set(at: number | null): void {
    for (const draw of this.draws) draw(at);
  }
}

const NOTHING: Stretches = { length: 0, from: () => 0, to: () => 0, lines: () => [] };

export class Plot {
  readonly element = h("div", { class: "chart" });
  private readonly marks = s("g");
  private readonly line = s("line", { class: "cursor", visibility: "hidden" });
  private readonly svg = s("svg", { tabindex: 0, role: "application" }, this.marks, this.line);
  private stretches = NOTHING;
  private width = 0;
  private begin = 0;
  private end = 1;
  private focus = 0;
  /** Where the pointer is over this plot, in the window. */
  private pointer: { x: number; y: number } | null = null;

  constructor(private readonly height: number, private readonly cursor: Cursor) {
    this.element.append(this.svg);
    this.svg.addEventListener("mousemove", (event) => {
      this.pointer = { x: event.clientX, y: event.clientY };
      this.point();
    });
    const leave = (): void => {
      this.pointer = null;
      hideTip();
      cursor.set(null);
    };
    this.svg.addEventListener("mouseleave", leave);
    this.svg.addEventListener("blur", leave);
    this.svg.addEventListener("keydown", (event) => this.key(event));
    cursor.listen((at) => {
      this.line.setAttribute("visibility", at === null ? "hidden" : "visible");
      if (at !== null) for (const end of ["x1", "x2"]) this.line.setAttribute(end, String(this.x(at)));
    });
  }

  /** Place of a moment. */
  x(at: number): number {
    return LEFT + ((at - this.begin) / (this.end - this.begin)) * (this.width - LEFT - RIGHT);
  }

  /** Sets the size and the time that is shown, before the marks are made; returns the axis. */
  axis(width: number, [begin, end]: [number, number], label: string): SVGElement[] {
    this.width = width;
    this.begin = begin;
    this.end = Math.max(begin + 1, end);
    for (const [key, value] of Object.entries({ width, height: this.height })) this.svg.setAttribute(key, String(value));
    this.svg.setAttribute("aria-label", `${label}; left and right move`);
    const bottom = this.height - AXIS;
    this.line.setAttribute("y1", "0");
    this.line.setAttribute("y2", String(bottom));
    const room = (one: Moment): boolean => this.x(one.at) + one.text.length * 3.4 <= width;
    return moments(this.begin, this.end, Math.max(2, (width - LEFT - RIGHT) / 110)).flatMap((one) => [
      s("line", { class: "grid", x1: this.x(one.at), x2: this.x(one.at), y1: 0, y2: bottom }),
      ...(room(one) ? [s("text", { x: this.x(one.at), y: bottom + 15, "text-anchor": "middle" }, one.text)] : []),
    ]);
  }

  draw(marks: SVGElement[], stretches: Stretches): void {
    this.marks.replaceChildren(...marks);
    this.stretches = stretches;
    if (this.pointer) this.point();
  }

  /** Outlines of stretches with values as steps: a path along them, and one down to `base` as well. */
  steps(all: Step[], y: (value: number) => number, base: number): { line: string; area: string } {
    let [line, area] = ["", ""];
    let last: Step | null = null;
    for (const one of all) {
      const [from, to, up] = [this.x(Math.max(this.begin, one.from)).toFixed(1), this.x(one.to).toFixed(1), y(one.value).toFixed(1)];
      const joins = last !== null && Math.abs(this.x(one.from) - this.x(last.to)) < 1;
      line += `${joins ? "L" : "M"}${from} ${up}H${to}`;
      area += `M${from} ${base}V${up}H${to}V${base}Z`;
      last = one;
    }
    return { line, area };
  }

  private point(): void {
    if (!this.pointer || !this.svg.isConnected) return;
    const at = this.pointer.x - this.svg.getBoundingClientRect().left;
    const part = (at - LEFT) / (this.width - LEFT - RIGHT);
    this.tell(this.nearest(this.begin + part * (this.end - this.begin)), this.pointer.x, this.pointer.y);
  }

  /** The stretch at a moment, or the nearest one. */
  private nearest(moment: number): number {
    const { length, from, to } = this.stretches;
    let [low, high] = [0, length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (to(middle) < moment) low = middle + 1;
      else high = middle;
    }
    return low > 0 && from(low) - moment > moment - to(low - 1) ? low - 1 : low;
  }

  private tell(at: number, x: number, y: number): void {
    const { length, lines } = this.stretches;
    if (!length) return;
    this.focus = Math.max(0, Math.min(length - 1, at));
    this.cursor.set(this.middle(this.focus));
    showTip(x, y, lines(this.focus));
  }

  /** The middle of the part of a stretch that is shown. */
  private middle(at: number): number {
    return (Math.max(this.begin, this.stretches.from(at)) + Math.min(this.end, this.stretches.to(at))) / 2;
  }

  private key(event: KeyboardEvent): void {
    const { length } = this.stretches;
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -length, End: length }[event.key];
    if (step === undefined || !length) return;
    event.preventDefault();
    const at = Math.max(0, Math.min(length - 1, this.focus + step));
    const box = this.svg.getBoundingClientRect();
    this.tell(at, box.left + this.x(this.middle(at)), box.top + 30);
  }
}
