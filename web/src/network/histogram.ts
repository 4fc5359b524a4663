// How many links carry how much: bars over the range that the colours have; a drag selects the links that stay coloured.

import type { Model, Range } from "./model";
import type { State } from "./state";
import { h, hideTip, showTip } from "../report/dom";
import { count } from "../report/units";
import { Ink } from "./ink";
import { fraction, QUANTITY_NAMES } from "./model";

const BINS = 48;
const [LEFT, RIGHT, TOP, HEIGHT, BELOW] = [52, 12, 18, 92, 34];

export interface Counts { bins: number[]; zero: number; absent: number }

export function counts(model: Model, state: State, view: number, range: Range | null): Counts {
  const out: Counts = { bins: new Array<number>(BINS).fill(0), zero: 0, absent: 0 };
  for (const value of model.values(view, state.choice.shows)) {
    if (Number.isNaN(value) || !range) {
      out.absent++;
      continue;
    }
    if (value === 0) out.zero++;
    // Zero has no place on a logarithmic scale.
    if (range.log && !(value > 0)) continue;
    const part = fraction(range, value);
    out.bins[Math.min(BINS - 1, Math.floor((range.both ? (part + 1) / 2 : part) * BINS))]!++;
  }
  return out;
}

export class Histogram {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas", { tabindex: 0, role: "img" });
  private readonly note = h("p", { class: "note" });
  private start: number | null = null;
  private width = 400;
  private counts: Counts | undefined;
  private range: Range | null = null;
  private view = 0;

  constructor(private readonly model: Model, private readonly state: State, private readonly place: number) {
    this.element = h("div", { class: "histogram" }, this.canvas, this.note);
    const part = (event: PointerEvent): number => {
      const x = event.clientX - this.canvas.getBoundingClientRect().left;
      const part = Math.min(1, Math.max(0, (x - LEFT) / (this.width - LEFT - RIGHT)));
      return this.range?.both ? part * 2 - 1 : part;
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.start = part(event);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (this.start !== null) {
        const now = part(event);
        this.state.set({ brush: [Math.min(this.start, now), Math.max(this.start, now)] });
      } else this.tip(event);
    });
    this.canvas.addEventListener("pointerup", (event) => {
      if (this.start !== null && Math.abs(part(event) - this.start) < 0.01) this.state.set({ brush: null });
      this.start = null;
    });
    this.canvas.addEventListener("pointerleave", hideTip);
    this.canvas.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.state.set({ brush: null });
    });
  }

  private tip(event: PointerEvent): void {
    const { left } = this.canvas.getBoundingClientRect();
    const bin = Math.floor(((event.clientX - left - LEFT) / (this.width - LEFT - RIGHT)) * BINS);
    const many = this.counts?.bins[bin];
    if (many === undefined || !this.range) return hideTip();
    showTip(event.clientX, event.clientY, [`${count(many)} ${many === 1 ? "link" : "links"}`,
      `${this.text(this.value(bin / BINS))} to ${this.text(this.value((bin + 1) / BINS))}`, "drag to keep only these coloured"]);
  }

  private value(part: number): number {
    const range = this.range!;
    if (range.both) return (part * 2 - 1) * range.high;
    return range.log ? range.low * (range.high / range.low) ** part : part * range.high;
  }

  private text(value: number): string {
    return this.model.text(value, this.state.choice.shows, this.view);
  }

  /** `most` and `log` are those of all histograms beside each other. */
  update(width: number, range: Range | null, most: number, log: boolean): void {
    const { choice } = this.state;
    const view = choice.views[this.place];
    this.element.hidden = view === undefined;
    if (view === undefined) return;
    this.width = Math.max(240, Math.min(720, width));
    this.range = range;
    this.view = view;
    const all = counts(this.model, this.state, view, range);
    this.counts = all;
    this.note.textContent = [all.zero ? `${count(all.zero)} of ${count(this.model.links)} links have none` : "", all.absent ? `${count(all.absent)} are not known` : ""].filter(Boolean).join(", ");
    this.canvas.hidden = !range;
    if (!range) return;
    const ratio = devicePixelRatio || 1;
    const height = TOP + HEIGHT + BELOW;
    this.canvas.width = this.width * ratio;
    this.canvas.height = height * ratio;
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${height}px`;
    this.canvas.setAttribute("aria-label", `histogram of ${QUANTITY_NAMES[choice.shows]}`);
    const pen = this.canvas.getContext("2d");
    if (!pen) return;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const ink = new Ink();
    const wide = (this.width - LEFT - RIGHT) / BINS;
    const tall = (many: number): number => (log ? (many ? (Math.log(many * 2) / Math.log(Math.max(2, most * 2))) * HEIGHT : 0) : (many / Math.max(1, most)) * HEIGHT);
    pen.font = `10.5px ${ink.mono}`;
    pen.fillStyle = ink.dim;
    pen.textAlign = "right";
    for (const many of log ? [1, 10, 100, 1000, 10_000, 100_000].filter((one) => one <= most) : [0, most]) {
      const y = TOP + HEIGHT - tall(many);
      pen.fillText(count(many), LEFT - 6, y + 3.5);
      pen.fillStyle = ink.line;
      pen.fillRect(LEFT, Math.round(y), this.width - LEFT - RIGHT, 0.5);
      pen.fillStyle = ink.dim;
    }
    pen.textAlign = "left";
    pen.fillText(log ? "links (log)" : "links", 4, 10);
    pen.textAlign = "center";
    for (const part of [0, 0.25, 0.5, 0.75, 1]) {
      const x = LEFT + part * (this.width - LEFT - RIGHT);
      pen.fillRect(Math.round(x), TOP + HEIGHT, 1, 4);
      pen.textAlign = part === 1 ? "right" : "center";
      pen.fillText(this.text(this.value(part)), part === 1 ? this.width - 2 : x, TOP + HEIGHT + 15);
    }
    pen.textAlign = "right";
    pen.fillText(`${QUANTITY_NAMES[choice.shows]}${range.log ? " (log)" : ""}`, this.width - RIGHT, TOP + HEIGHT + 30);
    all.bins.forEach((many, bin) => {
      const part = (bin + 0.5) / BINS;
      const at = range.both ? part * 2 - 1 : part;
      const out = choice.brush && (at < choice.brush[0] || at > choice.brush[1]);
      pen.fillStyle = out ? ink.line : ink.colour(range, Math.max(0, Ink.step(range, this.value(part))));
      const size = tall(many);
      if (many) pen.fillRect(LEFT + bin * wide + 0.5, TOP + HEIGHT - Math.max(1, size), wide - 1, Math.max(1, size));
    });
    if (choice.brush) {
      const x = choice.brush.map((at) => LEFT + (range.both ? (at + 1) / 2 : at) * (this.width - LEFT - RIGHT)) as [number, number];
      pen.strokeStyle = ink.accent;
      pen.lineWidth = 1.5;
      pen.strokeRect(x[0], TOP, x[1] - x[0], HEIGHT);
    }
  }
}
