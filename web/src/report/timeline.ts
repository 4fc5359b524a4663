// One representative iteration over time: a row for each location, or a band for each class of many.
// Calls are full bars in the colour of their category, computation is a thin one, what was lost is hatched.

import type { Model, Scope } from "./model";
import type { Selection, State } from "./state";
import type { Category, Timeline } from "./types";
import { CATEGORIES, CATEGORY_NAMES, ink } from "./colours";
import { button, h, hideTip, plain, short, showTip, swatch } from "./dom";
import { type Bar, type Lane, FOLD_ABOVE, lanes } from "./lanes";
import { Panel, watchWidth } from "./panel";
import { COLUMN, type Density, LINES, type Message, density, visible } from "./density";
import { describe } from "./timeline-tell";
import { GUTTER, type View, paintBand, paintDensity, paintMessages, paintRow, paintWindow, strip, x } from "./timeline-paint";
import { bytes, count, tickTime, ticks, time } from "./units";

const AXIS = 24;
/** Part of an iteration that is shown before and after it. */
const AROUND = 0.05;

export class TimelineView {
  readonly panel = new Panel("timeline", "one iteration");
  private readonly axis = h("canvas", { class: "axis", "aria-hidden": "true" });
  private readonly canvas = h("canvas", { tabindex: 0, role: "application" });
  private readonly scroll = h("div", { class: "rows" }, this.canvas);
  private readonly fold = button("unfold", "show every rank as a row", () => this.unfold());
  private readonly lines = button("messages", "draw messages between rows", () => this.toggleMessages());
  private readonly scale = button("whole run", "the whole run instead of one iteration, or back", () => {
    this.wholeRun = !this.wholeRun;
    this.update(this.state.selection);
    if (this.wholeRun) this.whole();
    else this.frame();
  });
  private wholeRun = false;
  private data: Timeline | undefined;
  private byRow: Bar[][] = [];
  private lanes: Lane[] = [];
  private scope: Scope | undefined;
  private iteration: number | null = null;
  /** Where the chosen iteration lies. */
  private window: [number, number] | undefined;
  private unfolded = false;
  private messages = true;
  private from = 0;
  private to = 1;
  private width = 0;
  private density: Density | undefined;
  private readonly shades = h("li", { class: "scale", hidden: true });
  /** A row of the timeline and one of its bars. */
  private cursor: { row: number; bar: number } | undefined;
  private drag: { start: number; now: number; pan: boolean; from: number; to: number } | undefined;

  constructor(private readonly model: Model, private readonly state: State) {
    this.panel.tools.append(
      this.scale, this.fold, this.lines,
      button("\u2212", "zoom out", () => this.zoom(2)),
      button("+", "zoom in", () => this.zoom(0.5)),
      button("all", "show all of it", () => this.whole()),
    );
    this.panel.body.append(this.axis, this.scroll, this.legend());
    this.panel.behind({
      name: "timeline",
      columns: [
        { head: "rank", value: (bar: Bar) => this.data?.rows[bar[0]]?.rank ?? null },
        { head: "thread", value: (bar) => this.data?.rows[bar[0]]?.thread ?? null },
        { head: "call", value: (bar) => this.site(bar)?.procedure ?? "", text: true },
        { head: "function", value: (bar) => this.site(bar)?.function ?? "", text: true },
        { head: "begin (ns)", value: (bar) => bar[1] },
        { head: "duration (ns)", value: (bar) => bar[2] },
        { head: "arguments", value: (bar) => this.data?.args[bar[4]] ?? "", text: true },
      ],
      rows: () => this.data?.bars ?? [],
    });
    watchWidth(this.panel.element, (width) => {
      this.width = width;
      this.draw();
    });
    this.listen();
  }

  update(selection: Selection): void {
    this.scope = this.model.scope(selection);
    const picture = this.model.picture(selection, this.wholeRun);
    const data = picture?.timeline;
    this.scale.hidden = !this.model.report.timelines.some((one) => one.loop_id === null) || this.model.report.timelines.length < 2;
    this.scale.setAttribute("aria-pressed", String(this.wholeRun));
    if (!data) {
      this.panel.empty(this.model.report.sites.length ? "no iteration was kept in detail" : "no calls, so no timeline");
      this.panel.tools.hidden = true;
      return;
    }
    const changed = data !== this.data || selection.iteration !== this.iteration;
    this.iteration = selection.iteration;
    this.window = picture?.window;
    if (data !== this.data) {
      this.data = data;
      this.byRow = data.rows.map(() => []);
      for (const bar of data.bars) this.byRow[bar[0]]?.push(bar);
      for (const bars of this.byRow) bars.sort((a, b) => a[1] - b[1]);
      this.cursor = undefined;
    }
    if (changed) this.frame();
    this.lanes = lanes(this.model, data, selection, this.unfolded);
    const folded = this.lanes.some((lane) => lane.rows.length > 1);
    this.fold.hidden = !folded && !this.unfolded || data.rows.length <= FOLD_ABOVE;
    this.fold.textContent = this.unfolded ? "fold" : "unfold";
    this.lines.hidden = !data.messages.length || folded;
    this.lines.setAttribute("aria-pressed", String(this.messages));
    this.name(data, picture?.missing ?? false);
    this.panel.refresh();
    this.draw();
  }

  /** Title and note: which iteration this is, and why. */
  private name(data: Timeline, missing: boolean): void {
    const { iteration } = this;
    const series = this.scope && this.model.series(this.scope, this.state.selection);
    const loop = short(this.model.loopName(data.loop_id ?? (this.window ? series?.loop_id : null)));
    const shown = this.window ? iteration : data.loop_id === null ? null : data.iteration;
    this.panel.title(shown === null ? "the whole run" : `iteration ${shown}`);
    const parts = shown === null ? [`${count(data.bars.length)} calls`] : [`of ${loop}`, data.loop_id === null ? "zoomed in the whole run" : plain(data.why, 80)];
    if (missing) parts.unshift(`iteration ${iteration} was not kept in detail`);
    parts.push(`starts at ${time(this.origin())}`);
    this.panel.note.textContent = parts.filter(Boolean).join(" \u00b7 ");
  }

  /** Zero of the axis. */
  private origin(): number {
    return this.window?.[0] ?? this.data?.begin ?? 0;
  }

  private site(bar: Bar) {
    return this.model.site(bar[3]);
  }

  private legend(): HTMLElement {
    return h("ul", { class: "legend" }, ...CATEGORIES.map((one) => h("li", {}, swatch(one), CATEGORY_NAMES[one])),
      h("li", {}, h("i", { class: "swatch lost", "aria-hidden": "true" }), "lost"),
      this.shades,
      h("li", { class: "dim keys" }, "drag to zoom \u00b7 shift-drag to move"));
  }

  private unfold(): void {
    this.unfolded = !this.unfolded;
    this.update(this.state.selection);
  }

  private toggleMessages(): void {
    this.messages = !this.messages;
    this.update(this.state.selection);
  }

  /** Back to what is shown at first, whatever was looked at before. */
  reset(): void {
    this.wholeRun = false;
    this.update(this.state.selection);
    this.frame();
  }

  /** The chosen iteration with a little of what is around it, or all. */
  private frame(): void {
    if (!this.data) return;
    const [begin, end] = this.window ?? [this.data.begin, this.data.end];
    const around = this.window ? (end - begin) * AROUND : 0;
    this.show(begin - around, end + around);
  }

  private whole(): void {
    if (this.data) this.show(this.data.begin, this.data.end);
  }

  private zoom(by: number, around = (this.from + this.to) / 2): void {
    this.show(around - (around - this.from) * by, around + (this.to - around) * by);
  }

  private show(from: number, to: number): void {
    if (!this.data) return;
    const { begin, end } = this.data;
    [from, to] = [Math.max(begin, from), Math.min(end, to)];
    const span = Math.min(end - begin, Math.max(20, to - from));
    this.from = Math.max(begin, Math.min(end - span, from));
    this.to = this.from + span;
    this.draw();
  }

  private x(at: number): number {
    return x({ from: this.from, to: this.to, width: this.width }, at);
  }

  private when(x: number): number {
    return this.from + ((x - GUTTER) / (this.width - GUTTER)) * (this.to - this.from);
  }

  private sized(canvas: HTMLCanvasElement, height: number): CanvasRenderingContext2D | null {
    const ratio = devicePixelRatio || 1;
    canvas.width = this.width * ratio;
    canvas.height = height * ratio;
    canvas.style.height = `${height}px`;
    canvas.style.width = `${this.width}px`;
    const pen = canvas.getContext("2d");
    pen?.scale(ratio, ratio);
    return pen;
  }

  draw(): void {
    const { data } = this;
    if (!data || this.width < 200) return;
    this.canvas.setAttribute("aria-label", `timeline of ${data.rows.length} rows from ${time(this.from)} to ${time(this.to)}; arrows move between calls, plus and minus zoom, 0 shows all, enter chooses the call`);
    const colours = ink();
    const last = this.lanes[this.lanes.length - 1];
    const height = last ? last.y + last.height + 2 : 20;
    const pen = this.sized(this.canvas, height);
    const ruler = this.sized(this.axis, AXIS);
    if (!pen || !ruler) return;
    const font = getComputedStyle(document.documentElement).getPropertyValue("--mono");
    pen.font = ruler.font = `11px ${font}`;
    const origin = this.origin();
    const marks = ticks(this.from - origin, this.to - origin, (this.width - GUTTER) / 110);
    const label = tickTime(marks);
    pen.fillStyle = colours.faint;
    ruler.fillStyle = colours.dim;
    ruler.textAlign = "center";
    for (const mark of marks) {
      const x = this.x(mark + origin);
      ruler.textAlign = x > this.width - 30 ? "right" : x < GUTTER + 20 ? "left" : "center";
      ruler.fillText(label(mark), x, 14);
      pen.fillRect(Math.round(x), 0, 1, height);
    }
    const { byRow, from, to, width, category } = this;
    const procedure = (site: number): string => this.model.site(site)?.procedure ?? "";
    const messages = this.messages && !this.lines.hidden ? visible(data, this.lanes, from, to) : [];
    const dense = messages.length > LINES;
    const view: View = { pen, colours, data, byRow, from, to, width, dense, inner: this.scope?.inner, category, procedure };
    for (const [at, lane] of this.lanes.entries()) {
      if (lane.rows.length > 1) paintBand(view, lane);
      else paintRow(view, lane, this.cursor?.row === lane.rows[0] ? this.cursor?.bar : undefined);
      pen.fillStyle = lane.rank !== undefined && lane.rank === this.state.selection.rank ? colours.text : colours.dim;
      if (lane.height >= 10 || at % 5 === 0) {
        pen.textAlign = "left";
        pen.fillText(plain(lane.label, 16), 0, lane.y + Math.min(lane.height - 2, lane.height / 2 + 4));
      }
    }
    pen.fillStyle = colours.text;
    // Boundaries that stand close together would hide what they bound.
    const apart = ((this.width - GUTTER) * (data.end - data.begin)) / (this.to - this.from) / Math.max(1, data.bounds.length);
    pen.globalAlpha = Math.min(1, Math.max(0.12, apart / 80));
    for (const bound of data.bounds) if (bound >= this.from && bound <= this.to) pen.fillRect(Math.round(this.x(bound)), 0, 1, height);
    pen.globalAlpha = 1;
    this.drawMessages(view, messages);
    if (this.window) paintWindow(view, ruler, this.window, AXIS, height);
    if (this.drag && !this.drag.pan) {
      pen.fillStyle = colours.accent;
      pen.globalAlpha = 0.2;
      pen.fillRect(Math.min(this.drag.start, this.drag.now), 0, Math.abs(this.drag.now - this.drag.start), height);
      pen.globalAlpha = 1;
    }
  }

  /** Lines where they can be distinguished, otherwise their number. */
  private drawMessages(view: View, messages: Message[]): void {
    const { lanes, from, to } = this;
    this.density = undefined;
    this.shades.hidden = !view.dense;
    if (!view.dense) return paintMessages(view, lanes, messages);
    const columns = Math.max(1, Math.floor((this.width - GUTTER) / COLUMN));
    this.density = density(messages, lanes, from, to, columns);
    paintDensity(view, lanes, this.density);
    const { most, step } = this.density;
    this.shades.replaceChildren(h("span", {}, "messages: 1"), h("i", { class: "ramp" }), h("span", {}, `${count(most)} in ${time(step)}; zoom in for lines`));
  }

  private readonly category = (site: number): Category => this.model.site(site)?.category ?? "setup";

  private laneAt(y: number): number {
    return this.lanes.findIndex((lane) => y >= lane.y && y < lane.y + lane.height);
  }

  private barAt(lane: Lane, at: number): number {
    const bars = this.byRow[lane.rows[0] ?? -1] ?? [];
    const slack = ((this.to - this.from) / this.width) * 1.5;
    let best = -1;
    for (const [index, bar] of bars.entries()) if (at >= bar[1] - slack && at <= bar[1] + bar[2] + slack) best = index;
    return best;
  }

  /** Text of the strip below a row at a place. */
  private describeMessages(lane: Lane, x: number): string[] | undefined {
    const at = this.lanes.indexOf(lane);
    const column = Math.floor((x - GUTTER) / COLUMN);
    const found = this.density?.counts[at]?.[column];
    if (found === undefined || !this.density) return undefined;
    return [`${lane.name}: ${count(found)} messages sent or received in ${time(this.density.step)}`, bytes(this.density.bytes[at]?.[column] ?? 0)];
  }

  private describe(lane: Lane, at: number, bar: Bar | undefined): (string | Node)[] {
    return this.data ? describe({ model: this.model, data: this.data, byRow: this.byRow, origin: this.origin() }, lane, at, bar) : [];
  }

  private listen(): void {
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button || event.offsetX < GUTTER) return;
      canvas.setPointerCapture(event.pointerId);
      this.drag = { start: event.offsetX, now: event.offsetX, pan: event.shiftKey, from: this.from, to: this.to };
    });
    canvas.addEventListener("pointermove", (event) => {
      if (this.drag) {
        this.drag.now = event.offsetX;
        if (this.drag.pan) {
          const shift = ((this.drag.start - event.offsetX) / (this.width - GUTTER)) * (this.drag.to - this.drag.from);
          this.show(this.drag.from + shift, this.drag.to + shift);
        } else this.draw();
        return;
      }
      const lane = this.lanes[this.laneAt(event.offsetY)];
      if (!lane || event.offsetX < GUTTER) return hideTip();
      const strips = this.density && event.offsetY >= lane.y + lane.height - strip(lane) ? this.describeMessages(lane, event.offsetX) : undefined;
      if (strips) return showTip(event.clientX, event.clientY, strips);
      const at = this.when(event.offsetX);
      const bar = lane.rows.length === 1 ? this.byRow[lane.rows[0]!]?.[this.barAt(lane, at)] : undefined;
      showTip(event.clientX, event.clientY, this.describe(lane, at, bar));
    });
    canvas.addEventListener("pointerup", (event) => {
      const { drag } = this;
      this.drag = undefined;
      const lane = this.lanes[this.laneAt(event.offsetY)];
      if (drag && Math.abs(drag.now - drag.start) > 4) {
        if (!drag.pan) this.show(this.when(Math.min(drag.start, drag.now)), this.when(Math.max(drag.start, drag.now)));
      } else if (lane && event.offsetX < GUTTER) {
        if (lane.rank !== undefined) this.state.choose({ rank: lane.rank }, true);
        else this.state.choose({ cls: this.data?.rows[lane.rows[0]!]?.class ?? null }, true);
      } else if (lane?.rows.length === 1) {
        const bar = this.byRow[lane.rows[0]!]?.[this.barAt(lane, this.when(event.offsetX))];
        if (bar) this.choose(bar);
      }
      this.draw();
    });
    canvas.addEventListener("pointerleave", hideTip);
    canvas.addEventListener("dblclick", () => this.whole());
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.altKey) return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.when(event.offsetX));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("blur", () => {
      hideTip();
      this.cursor = undefined;
      this.draw();
    });
  }

  /** The first call of a row that is in sight. */
  private firstShown(row: number): number {
    const at = (this.byRow[row] ?? []).findIndex((bar) => bar[1] + bar[2] > this.from);
    return Math.max(0, at);
  }

  private choose(bar: Bar): void {
    const place = this.model.leaf(bar[3], this.data?.rows[bar[0]]?.class);
    if (place) this.state.choose({ node: place.node.id }, true);
  }

  private key(event: KeyboardEvent): void {
    const span = this.to - this.from;
    const single = this.lanes.map((lane, at) => ({ lane, at })).filter(({ lane }) => lane.rows.length === 1);
    const shown = single.find(({ lane }) => lane.rows[0] === this.cursor?.row);
    const [first] = single;
    const cursor = this.cursor && shown ? this.cursor : first ? { row: first.lane.rows[0]!, bar: this.firstShown(first.lane.rows[0]!) - 1 } : undefined;
    const bars = (row: number): Bar[] => this.byRow[row] ?? [];
    switch (event.key) {
      case "+": case "=": this.zoom(0.5); break;
      case "-": this.zoom(2); break;
      case "0": this.whole(); break;
      case "ArrowLeft": case "ArrowRight": {
        const step = event.key === "ArrowRight" ? 1 : -1;
        if (event.shiftKey || !cursor) this.show(this.from + step * span * 0.2, this.to + step * span * 0.2);
        else this.cursor = { row: cursor.row, bar: Math.max(0, Math.min(bars(cursor.row).length - 1, cursor.bar + step)) };
        break;
      }
      case "ArrowUp": case "ArrowDown": {
        if (!cursor) return;
        const now = bars(cursor.row)[cursor.bar]?.[1] ?? this.from;
        const at = single.findIndex(({ lane }) => lane.rows[0] === cursor.row) + (event.key === "ArrowDown" ? 1 : -1);
        const row = single[at]?.lane.rows[0];
        if (row === undefined) return;
        this.cursor = { row, bar: Math.max(0, bars(row).findIndex((bar) => bar[1] + bar[2] > now)) };
        break;
      }
      case "Enter": {
        const bar = cursor && bars(cursor.row)[cursor.bar];
        if (bar) this.choose(bar);
        break;
      }
      default: return;
    }
    event.preventDefault();
    const lane = this.lanes.find((one) => one.rows.length === 1 && one.rows[0] === this.cursor?.row);
    const bar = this.cursor && bars(this.cursor.row)[this.cursor.bar];
    if (lane && bar) {
      if (bar[1] < this.from || bar[1] > this.to) this.show(bar[1] - span / 2, bar[1] + span / 2);
      const box = this.canvas.getBoundingClientRect();
      showTip(box.left + Math.max(GUTTER, this.x(bar[1])), box.top + lane.y + lane.height, this.describe(lane, bar[1], bar));
    }
    this.draw();
  }
}
