// Time: spread of a monitor's values, imbalance below it, phases and findings on the axis, and the place where the picture stands.

import type { Model, Spread } from "./model";
import type { State, View } from "./state";
import { button, h, hideTip, plain, showTip } from "../report/dom";
import { ink } from "./ink";
import { BAND, during, paintRun, phaseAt, phaseLines } from "./run";
import { tickTime, ticks } from "../report/units";
import { fitting } from "./scale";

const LEFT = 74;
/** Characters that have room there. */
const LABEL = 10;
const RIGHT = 12;
const VALUES = { top: 8, height: 74 };
const BALANCE = { top: 96, height: 34 };
const RUN = 134;

export class Axis {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas", { role: "slider", tabindex: 0, "aria-label": "time in seconds" });
  private readonly clock = h("output", { class: "clock" });
  private readonly play = button("play", "play or pause (space)", () => this.toggle());
  private playing = 0;
  private readonly part = h("output", { class: "part" });
  private width = 900;
  /** Where the program's own phases stand, below those of a run. */
  private readonly phasesTop: number;
  private readonly height: number;
  /** Everything but the place in time, which alone changes while time plays. */
  private readonly background = document.createElement("canvas");
  private key = "";

  constructor(private readonly model: Model, private readonly state: State) {
    this.phasesTop = 136 + (model.data.recordings.some((one) => one.data.run) ? BAND : 0);
    this.height = this.phasesTop + 36;
    const step = (label: string, title: string, by: number): HTMLButtonElement => button(label, title, () => this.step(by));
    this.element = h("section", { class: "axis panel", "aria-label": "time" },
      h("header", {}, h("h2", {}, "time"), h("span", { class: "tools left" },
        step("\u2039", "one frame back (left)", -1), this.play, step("\u203a", "one frame on (right)", 1)), this.clock, this.part,
        h("span", { class: "note" }, "mean with least and most of all objects; below it imbalance (max/mean); drag, or use the arrow keys")),
      this.canvas);
    const seek = (event: PointerEvent): void => {
      const x = event.clientX - this.canvas.getBoundingClientRect().left;
      const part = Math.min(1, Math.max(0, (x - LEFT) / (this.width - LEFT - RIGHT)));
      this.stop();
      this.state.set({ t: (part * this.model.length) / 1e9, mean: false });
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      seek(event);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (event.buttons & 1) seek(event);
      this.tip(event);
    });
    this.canvas.addEventListener("pointerleave", hideTip);
    addEventListener("keydown", (event) => this.keyed(event));
    new ResizeObserver(([entry]) => {
      this.width = Math.max(320, Math.floor(entry?.contentRect.width ?? 900));
      this.again();
    }).observe(this.element);
  }

  again(): void {
    this.key = "";
    this.update(this.state.view);
  }

  private keyed(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
    if (event.key === " " && target.tagName === "BUTTON") return;
    const far = Math.max(1, Math.round(this.model.first.frames / 20));
    const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, PageUp: -far, PageDown: far, Home: -Infinity, End: Infinity };
    if (event.key === " ") this.toggle();
    else if (steps[event.key] !== undefined) this.step(steps[event.key]!);
    else return;
    event.preventDefault();
  }

  private step(by: number): void {
    this.stop();
    const recording = this.model.recording(this.state.view);
    const next = Math.min(recording.frames - 1, Math.max(0, this.model.frame(recording, this.state.view) + by));
    const at = recording.data.at[next];
    if (at !== undefined) this.state.set({ t: (at - recording.begin) / 1e9, mean: false });
  }

  private stop(): void {
    cancelAnimationFrame(this.playing);
    this.playing = 0;
    this.play.textContent = "play";
  }

  /** Real time, or the whole recording in half a minute where that is faster. */
  private toggle(): void {
    if (this.playing) return this.stop();
    const length = this.model.length / 1e9;
    const speed = Math.max(1, length / 30);
    let last = performance.now();
    const tick = (now: number): void => {
      const t = this.state.view.t + ((now - last) / 1000) * speed;
      last = now;
      this.state.set({ t: Math.min(t, length), mean: false });
      if (t >= length) this.stop();
      else this.playing = requestAnimationFrame(tick);
    };
    if (this.state.view.t >= length - 1e-9) this.state.set({ t: 0 });
    this.play.textContent = "pause";
    this.playing = requestAnimationFrame(tick);
  }

  /** Says what of the run is under the pointer. */
  private tip(event: PointerEvent): void {
    const recording = this.model.recording(this.state.view);
    const { run } = recording.data;
    const at = (pixels: number): number => recording.begin + ((pixels - LEFT) / (this.width - LEFT - RIGHT)) * this.model.length;
    const { left, top } = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    const phase = run && y >= RUN && y < RUN + BAND ? phaseAt(run, at(x - 1), at(x + 1)) : undefined;
    if (run && phase) showTip(event.clientX, event.clientY, phaseLines(run, phase));
    else hideTip();
  }

  private x(nanos: number): number {
    return LEFT + (this.model.length ? nanos / this.model.length : 0) * (this.width - LEFT - RIGHT);
  }

  update(view: View): void {
    const recording = this.model.recording(view);
    const length = (this.model.length / 1e9).toFixed(3);
    this.clock.textContent = view.mean ? `mean of ${length} s` : `${view.t.toFixed(3)} s of ${length} s`;
    this.canvas.setAttribute("aria-valuenow", view.t.toFixed(3));
    const { run, at, span } = recording.data;
    const frame = this.model.frame(recording, view);
    this.part.textContent = run && !view.mean && recording.frames ? during(run, at[frame]! - span[frame]!, at[frame]!) : "";
    this.canvas.setAttribute("aria-valuemax", length);
    const pen = this.canvas.getContext("2d");
    if (!pen) return;
    const dark = getComputedStyle(document.documentElement).colorScheme.includes("dark");
    const key = `${view.monitor} ${view.show} ${this.width} ${dark}`;
    const ratio = devicePixelRatio || 1;
    if (key !== this.key) {
      this.key = key;
      for (const canvas of [this.canvas, this.background]) {
        canvas.width = this.width * ratio;
        canvas.height = this.height * ratio;
      }
      this.canvas.style.width = `${this.width}px`;
      this.canvas.style.height = `${this.height}px`;
      const ground = this.background.getContext("2d");
      ground?.setTransform(ratio, 0, 0, ratio, 0, 0);
      if (ground) this.paint(ground, view);
    }
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.drawImage(this.background, 0, 0);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (!view.mean && recording.frames) {
      const x = Math.round(this.x(view.t * 1e9)) + 0.5;
      pen.strokeStyle = ink("accent");
      pen.lineWidth = 1.5;
      pen.beginPath();
      pen.moveTo(x, 2);
      pen.lineTo(x, this.phasesTop + 16);
      pen.stroke();
    }
  }

  private paint(pen: CanvasRenderingContext2D, view: View): void {
    const recording = this.model.recording(view);
    const info = this.model.monitor(view.monitor);
    pen.clearRect(0, 0, this.width, this.height);
    pen.font = `11px ${ink("mono") || "monospace"}`;
    pen.lineWidth = 1;
    const right = this.width - RIGHT;
    this.phases(pen);
    if (recording.data.run) {
      paintRun(pen, recording.data.run, RUN, (at) => this.x(at - recording.begin), (y, text) => this.label(pen, y, text));
    }
    if (info) {
      const spread = this.model.spread(recording, view.monitor);
      const low = Math.min(0, ...[spread.min.reduce((a, b) => (b < a ? b : a), 0)]);
      this.label(pen, VALUES.top + 8, fitting(spread.highest, info.unit, LABEL));
      this.label(pen, VALUES.top + VALUES.height, fitting(low, info.unit, LABEL));
      this.label(pen, BALANCE.top + 8, spread.worst.toFixed(2));
      this.label(pen, BALANCE.top + BALANCE.height, "1");
      this.rule(pen, VALUES.top + VALUES.height, right);
      this.rule(pen, BALANCE.top + BALANCE.height, right);
      const high = spread.highest > low ? spread.highest : low + 1;
      this.bands(pen, recording.data.at, recording.begin, spread, (value) => VALUES.top + VALUES.height * (1 - (value - low) / (high - low)));
    }
    const marks = ticks(0, this.model.length, Math.max(2, Math.floor(this.width / 130)));
    const text = tickTime(marks);
    pen.fillStyle = ink("dim");
    pen.textAlign = "center";
    for (const one of marks) {
      const x = this.x(one);
      pen.fillRect(Math.round(x), this.phasesTop + 16, 1, 4);
      pen.fillText(text(one), Math.min(Math.max(x, LEFT + 10), right - 14), this.height - 6);
    }
    pen.textAlign = "left";
  }

  private label(pen: CanvasRenderingContext2D, y: number, text: string): void {
    pen.fillStyle = ink("dim");
    pen.textAlign = "right";
    pen.fillText(text, LEFT - 6, y);
    pen.textAlign = "left";
  }

  private rule(pen: CanvasRenderingContext2D, y: number, right: number): void {
    pen.fillStyle = ink("line");
    pen.fillRect(LEFT, Math.round(y), right - LEFT, 1);
  }

  /** One column of pixels holds many frames: their least and most, and the mean of their means. */
  private bands(pen: CanvasRenderingContext2D, at: number[], begin: number, spread: Spread, y: (value: number) => number): void {
    const columns = this.width - LEFT - RIGHT;
    const make = (value: number): Float64Array => new Float64Array(columns + 1).fill(value);
    const [low, high, sum, count, worst] = [make(Infinity), make(-Infinity), make(0), make(0), make(NaN)];
    for (let frame = 0; frame < at.length; frame++) {
      if (Number.isNaN(spread.mean[frame]!)) continue;
      // A frame's value holds from the end of the one before to its own end.
      const from = Math.max(0, Math.floor(this.x(frame ? at[frame - 1]! - begin : 0) - LEFT));
      const to = Math.min(columns, Math.max(from + 1, Math.floor(this.x(at[frame]! - begin) - LEFT)));
      for (let column = from; column < to; column++) {
        low[column] = Math.min(low[column]!, spread.min[frame]!);
        high[column] = Math.max(high[column]!, spread.max[frame]!);
        sum[column]! += spread.mean[frame]!;
        count[column]!++;
        const value = spread.imbalance[frame]!;
        if (!(worst[column]! >= value) && !Number.isNaN(value)) worst[column] = value;
      }
    }
    pen.fillStyle = ink("computation");
    pen.globalAlpha = 0.28;
    for (let column = 0; column < columns; column++) {
      if (count[column]) pen.fillRect(LEFT + column, y(high[column]!), 1, Math.max(1, y(low[column]!) - y(high[column]!)));
    }
    pen.globalAlpha = 1;
    this.line(pen, columns, ink("computation"), (column) => (count[column] ? y(sum[column]! / count[column]!) : NaN));
    const top = Math.max(spread.worst, 1.01);
    this.line(pen, columns, ink("waiting"), (column) => BALANCE.top + BALANCE.height * (1 - (worst[column]! - 1) / (top - 1)));
  }

  private line(pen: CanvasRenderingContext2D, columns: number, colour: string, y: (column: number) => number): void {
    pen.strokeStyle = colour;
    pen.lineWidth = 1.3;
    pen.beginPath();
    let down = false;
    for (let column = 0; column < columns; column++) {
      const at = y(column);
      if (Number.isNaN(at)) down = false;
      else if (down) pen.lineTo(LEFT + column + 0.5, at);
      else {
        pen.moveTo(LEFT + column + 0.5, at);
        down = true;
      }
    }
    pen.stroke();
  }

  private phases(pen: CanvasRenderingContext2D): void {
    const recording = this.model.recording(this.state.view);
    const { phase, at } = recording.data;
    phase.forEach(([first, number], place) => {
      const start = first ? at[first - 1]! : recording.begin;
      const last = phase[place + 1]?.[0] ?? recording.frames;
      const end = at[last - 1] ?? start;
      const [x0, x1] = [this.x(start - recording.begin), this.x(end - recording.begin)];
      pen.fillStyle = number ? ink(place % 2 ? "hover" : "chosen") : ink("faint");
      pen.fillRect(x0, this.phasesTop, Math.max(1, x1 - x0 - 1), 14);
      const name = number ? plain(recording.phaseName(number), 40) : "";
      pen.fillStyle = ink("text");
      if (pen.measureText(name).width < x1 - x0 - 8) pen.fillText(name, x0 + 4, this.phasesTop + 11);
    });
    recording.data.hints.forEach((hint, number) => {
      pen.fillStyle = ink("accent");
      pen.fillRect(this.x(hint.from - recording.begin), this.phasesTop - 3 - (number % 2), Math.max(2, this.x(hint.to - recording.begin) - this.x(hint.from - recording.begin)), 1.5);
    });
  }
}
