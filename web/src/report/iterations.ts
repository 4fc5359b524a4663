// How long each iteration took, over the run: the median, the spread between ranks, and what stands out.
// At the right edge the same durations as a histogram, so that two modes are seen at once.

import type { Model } from "./model";
import type { Selection, State } from "./state";
import type { Series } from "./types";
import { button, h, hideTip, plain, s, short, showTip } from "./dom";
import { hasThreads, location } from "./location";
import { Panel, watchWidth } from "./panel";
import { count, tickTime, ticks, time } from "./units";

const LEFT = 62;
const RIGHT = 70;
const TOP = 16;
const BOTTOM = 34;
const HEIGHT = 250;
/** Pixels from which a mark is met. */
const NEAR = 8;
/** Pixels that a letter of a label takes at most on average, and those from one line of text to the next. */
const [LETTER, LINE] = [6.6, 14];

export class Iterations {
  readonly panel = new Panel("iterations", "iteration durations");
  private readonly holder = h("div", { class: "chart" });
  private readonly zero = button("from 0", "start the axis at zero", () => {
    this.fromZero = !this.fromZero;
    this.draw();
  });
  private readonly all = button("whole axis", "show also what lies far above the rest", () => {
    this.whole = !this.whole;
    this.draw();
  });
  private whole = false;
  private data: Series | undefined;
  private fromZero = true;
  private width = 0;
  private focus = 0;

  constructor(private readonly model: Model, private readonly state: State) {
    this.panel.tools.append(this.all, this.zero);
    this.panel.body.append(this.holder);
    this.panel.behind({
      name: "iteration durations",
      columns: [
        { head: "iteration", value: (at: number) => at * (this.data?.stride ?? 1) },
        { head: "begin (ns)", value: (at) => this.data?.begin[at] ?? null },
        { head: "min (ns)", value: (at) => this.data?.min[at] ?? null },
        { head: "median (ns)", value: (at) => this.data?.median[at] ?? null },
        { head: "max (ns)", value: (at) => this.data?.max[at] ?? null },
        { head: "mean (ns)", value: (at) => this.data?.mean[at] ?? null },
      ],
      rows: () => [...(this.data?.median.keys() ?? [])],
    });
    watchWidth(this.panel.element, (width) => {
      this.width = width;
      this.draw();
    });
  }

  update(selection: Selection): void {
    this.data = this.model.series(this.model.scope(selection), selection);
    this.panel.tools.hidden = !this.data?.median.length;
    if (this.data && selection.iteration !== null) this.focus = Math.floor(selection.iteration / this.data.stride);
    if (!this.data?.median.length) {
      this.holder.replaceChildren(h("p", { class: "empty" }, "no loop, so no iterations"));
      this.panel.note.textContent = "";
      return;
    }
    const { loop } = this.model.scope(selection);
    const other = loop !== undefined && !this.model.same(loop, this.data.loop_id) ? " (not kept for the selection alone)" : "";
    const cls = this.data.class === null ? undefined : this.model.report.classes[this.data.class];
    this.panel.note.textContent = `${short(this.model.loopName(this.data.loop_id))} \u00b7 ${count(this.data.median.length * this.data.stride)} iterations${other}${cls && this.model.report.classes.length > 1 ? ` \u00b7 class ${plain(cls.name, 20)}` : ""}${this.data.stride > 1 ? ` \u00b7 ${this.data.stride} in one point` : ""}`;
    this.panel.refresh();
    this.draw();
  }

  private draw(): void {
    const { data, width } = this;
    if (!data?.median.length || width < 160) return;
    const points = data.median.length;
    const inner = width - LEFT - RIGHT;
    const own = data.ranks.find((one) => one.rank === this.state.selection.rank);
    const most = Math.max(...spread(data.max), ...(own ? spread(own.durations) : []));
    // A few iterations far above all others would press these flat: the axis ends below them and says so.
    const usual = quantile(data.max, 0.95) * 1.8;
    const cut = !this.whole && most > 3 * usual;
    const high = cut ? usual : most;
    const above = cut ? [...data.max.keys()].filter((at) => data.max[at]! > high * 1.06) : [];
    const low = this.fromZero ? 0 : Math.min(...spread(data.min, Math.min)) * 0.98;
    const top = low + (high - low) * 1.06 || 1;
    const x = (at: number): number => LEFT + ((at + 0.5) / points) * inner;
    const y = (value: number): number => TOP + (1 - (Math.min(top, value) - low) / (top - low)) * (HEIGHT - TOP - BOTTOM);
    this.all.hidden = !cut && !this.whole;
    this.all.setAttribute("aria-pressed", String(this.whole));
    this.zero.textContent = this.fromZero ? "cut axis" : "from 0";
    this.zero.title = this.fromZero ? "cut the axis at the shortest iteration" : "start the axis at zero";
    const marks = ticks(low, top, 4);
    const label = tickTime(marks);
    const axes: Element[] = [];
    for (const mark of marks) {
      axes.push(s("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(mark), y2: y(mark) }));
      axes.push(s("text", { x: LEFT - 6, y: y(mark) + 4, "text-anchor": "end" }, label(mark)));
    }
    for (const mark of ticks(0, points - 1, inner / 80)) {
      if (Number.isInteger(mark)) axes.push(s("text", { x: x(mark), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" }, String(mark * data.stride)));
    }
    axes.push(s("text", { class: "dim", x: LEFT + inner / 2, y: HEIGHT - 3, "text-anchor": "middle" }, "iteration"));
    if (!this.fromZero) axes.push(s("text", { class: "dim", x: LEFT - 6, y: HEIGHT - BOTTOM + 16, "text-anchor": "end" }, "axis cut"));
    const columns = Math.max(1, Math.min(points, Math.floor(inner)));
    const fold = (values: number[], pick: (...all: number[]) => number): [number, number][] =>
      Array.from({ length: columns }, (_, at) => {
        const [from, to] = [Math.floor((at * points) / columns), Math.floor(((at + 1) * points) / columns)];
        return [x((from + to - 1) / 2), y(pick(...values.slice(from, Math.max(from + 1, to))))];
      });
    const path = (list: [number, number][]): string => list.map(([a, b], at) => `${at ? "L" : "M"}${a.toFixed(1)} ${b.toFixed(1)}`).join("");
    const upper = fold(data.max, Math.max);
    const lower = fold(data.min, Math.min);
    const marksOn: Element[] = [
      s("path", { class: "band", d: `${path(upper)}${path(lower.reverse()).replace("M", "L")}Z` }),
      s("path", { class: "median", d: path(fold(data.median, middle)) }),
    ];
    if (own) marksOn.push(s("path", { class: "own", d: path(fold(own.durations, middle)) }));
    for (const place of above.slice(0, 200)) marksOn.push(s("path", { class: "above", d: `M${x(place)} ${TOP - 10}l-5 8h10z` }));
    // Labels that would lie on one another, or leave the chart, are left out; the longest iterations have theirs first.
    const taken: [number, number, number][] = [];
    const fits = (at: number, up: number, ends: boolean, text: string): boolean => {
      const wide = text.length * LETTER;
      const [from, to] = ends ? [at - wide, at] : [at, at + wide];
      if (from < 0 || to > width || taken.some(([a, b, other]) => from < b && a < to && Math.abs(other - up) < LINE)) return false;
      taken.push([from, to, up]);
      return true;
    };
    const longest = above.slice().sort((a, b) => data.max[b]! - data.max[a]!)[0];
    if (longest !== undefined) {
      const left = x(longest) > LEFT + inner * 0.5;
      // Beside the marks that stand close.
      const step = left ? -1 : 1;
      const beside = above.map(x).sort((a, b) => (a - b) * step).filter((one) => (one - x(longest)) * step >= 0)
        .reduce((end, one) => ((one - end) * step < 14 ? one : end), x(longest));
      const text = `${longest * data.stride}: ${time(data.max[longest] ?? 0)}${above.length > 1 ? ` and ${above.length - 1} more` : ""} above the axis`;
      fits(beside + 9 * step, TOP - 2, left, text);
      marksOn.push(s("text", { class: "outlier", x: beside + 9 * step, y: TOP - 2, "text-anchor": left ? "end" : "start" }, text));
    }
    for (const [at, one] of data.outliers.filter((one) => one.duration <= top).slice(0, 12).entries()) {
      const place = Math.floor(one.iteration / data.stride);
      marksOn.push(s("circle", { class: "outlier", cx: x(place), cy: y(Math.min(top, one.duration)), r: 4 }));
      const [across, up] = [x(place), y(Math.min(top, one.duration))];
      const left = across > LEFT + inner * 0.55;
      const [begin, text] = [across + (left ? -8 : 8), `${one.iteration}: ${location(one.rank, one.thread)}, ${time(one.duration)}`];
      if (at < 3 && fits(begin, up + 4, left, text)) {
        marksOn.push(s("text", { class: "outlier", x: begin, y: up + 4, "text-anchor": left ? "end" : "start" }, text));
      }
    }
    const chosen = this.state.selection.iteration;
    const pictured = this.pictured(data);
    if (pictured !== undefined && pictured / data.stride < points) {
      const place = x(Math.floor(pictured / data.stride));
      marksOn.push(s("path", { class: "shown", d: `M${place} ${HEIGHT - BOTTOM}l-4 7h8z` }, s("title", {}, `iteration ${pictured} is the one in the timeline`)));
    }
    if (chosen !== null && chosen / data.stride < points) {
      const place = x(Math.floor(chosen / data.stride));
      marksOn.unshift(s("line", { class: "chosen", x1: place, x2: place, y1: TOP, y2: HEIGHT - BOTTOM }));
    }
    const cursor = s("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" });
    const picture = s("svg", { width, height: HEIGHT, tabindex: 0, role: "application", "aria-label": `durations of ${points} iterations, median ${time(quantile(data.median, 0.5))}; left and right move, up and down go to those that stand out, enter chooses` },
      ...axes, ...marksOn, ...this.histogram(data, low, top, y), cursor);
    const tell = (at: number, left: number, up: number): void => {
      this.focus = Math.max(0, Math.min(points - 1, at));
      cursor.setAttribute("x1", String(x(this.focus)));
      cursor.setAttribute("x2", String(x(this.focus)));
      cursor.setAttribute("visibility", "visible");
      const rows = data.ranks.length > 1 && data.ranks.length <= 8 ? data.ranks.map((one) => `${location(one.rank, one.thread)}: ${time(one.durations[this.focus] ?? 0)}`) : [];
      showTip(left, up, [
        `iteration ${this.focus * data.stride}${data.stride > 1 ? ` to ${(this.focus + 1) * data.stride - 1}` : ""}, begins at ${time(data.begin[this.focus] ?? 0)}`,
        `median ${time(data.median[this.focus] ?? 0)}, mean ${time(data.mean[this.focus] ?? 0)}, ${time(data.min[this.focus] ?? 0)} to ${time(data.max[this.focus] ?? 0)}`, ...rows,
      ]);
    };
    // Outliers are found by a pointer nearby: a point may be narrower than a pixel.
    const slow = data.outliers.map((one) => ({ at: Math.floor(one.iteration / data.stride), up: one.duration > top ? TOP - 6 : y(one.duration) }));
    const met = (event: MouseEvent): number => {
      const far = (one: { at: number; up: number }): number => Math.hypot(x(one.at) - event.offsetX, one.up - event.offsetY);
      const near = slow.filter((one) => far(one) < NEAR).sort((a, b) => far(a) - far(b))[0];
      return near?.at ?? Math.floor(((event.offsetX - LEFT) / inner) * points);
    };
    const choose = (): void => this.state.choose({ iteration: this.slowest(data, this.focus) }, true);
    picture.addEventListener("mousemove", (event) => tell(met(event), event.clientX, event.clientY));
    const leave = (): void => {
      hideTip();
      cursor.setAttribute("visibility", "hidden");
    };
    picture.addEventListener("mouseleave", leave);
    picture.addEventListener("blur", leave);
    picture.addEventListener("click", (event) => {
      this.focus = Math.max(0, Math.min(points - 1, met(event)));
      choose();
    });
    picture.addEventListener("keydown", (event) => {
      const box = picture.getBoundingClientRect();
      const step = { ArrowLeft: -1, ArrowRight: 1, Home: -points, End: points }[event.key];
      const order = slow.map((one) => one.at).sort((a, b) => a - b);
      const next = { ArrowDown: order.find((at) => at > this.focus), ArrowUp: order.filter((at) => at < this.focus).pop() }[event.key];
      const to = step === undefined ? next : this.focus + step;
      if (to !== undefined) tell(to, box.left + x(Math.max(0, Math.min(points - 1, to))), box.top + 40);
      else if (event.key === "Enter") choose();
      else if (!event.key.startsWith("Arrow")) return;
      event.preventDefault();
    });
    const who = hasThreads(this.model.report) ? "thread" : "rank";
    const held = this.holder.contains(document.activeElement);
    this.holder.replaceChildren(picture, h("ul", { class: "legend" },
      h("li", {}, h("i", { class: "swatch median" }), `median of ${who}s`), h("li", {}, h("i", { class: "swatch band" }), `fastest to slowest ${who}`),
      own && h("li", {}, h("i", { class: "swatch own" }), location(own.rank, own.thread)), data.outliers.length > 0 && h("li", {}, h("i", { class: "swatch outlier" }), "stands out"),
      pictured !== undefined && h("li", {}, "\u25b4 in the timeline")),
      h("div", { class: "caption" }, `an iteration takes ${plain(data.takes, 120)}`));
    if (held) picture.focus();
  }

  /** Of the iterations in a point the one that stands out most, else the first. */
  private slowest(data: Series, at: number): number {
    return data.outliers.find((one) => Math.floor(one.iteration / data.stride) === at)?.iteration ?? at * data.stride;
  }

  /** The iteration that the timeline shows, where it is one of these. */
  private pictured(data: Series): number | undefined {
    const picture = this.model.picture(this.state.selection, false);
    if (picture?.window) return this.state.selection.iteration ?? undefined;
    const loop = picture?.timeline.loop_id ?? null;
    return picture && loop !== null && this.model.same(loop, data.loop_id) ? picture.timeline.iteration : undefined;
  }

  private histogram(data: Series, low: number, top: number, y: (value: number) => number): Element[] {
    const bins = new Array<number>(28).fill(0);
    for (const value of data.median.filter((one) => one <= top)) {
      const at = Math.min(bins.length - 1, Math.floor(((value - low) / (top - low)) * bins.length));
      if (bins[at] !== undefined) bins[at]++;
    }
    const most = Math.max(...bins, 1);
    const left = this.width - RIGHT + 8;
    const out: Element[] = [s("text", { class: "dim", x: left, y: HEIGHT - 3 }, "how often")];
    for (const [at, value] of bins.entries()) {
      if (!value) continue;
      const upper = y(low + ((at + 1) / bins.length) * (top - low));
      const lower = y(low + (at / bins.length) * (top - low));
      // Square root, so that a single iteration far away is still seen.
      const size = Math.max(2, Math.sqrt(value / most) * (RIGHT - 14));
      out.push(s("rect", { class: "bin", x: left, y: upper + 0.5, width: size, height: Math.max(1, lower - upper - 1) }, s("title", {}, `${value} iterations`)));
    }
    return out;
  }
}

function middle(...values: number[]): number {
  const sorted = values.slice().sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

function quantile(values: number[], part: number): number {
  const sorted = values.slice().sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) * part)] ?? 0;
}

/** One extreme of a list of any length (a call with a million arguments fails). */
function spread(values: number[], pick: (a: number, b: number) => number = Math.max): number[] {
  return [values.reduce((a, b) => pick(a, b), values[0] ?? 0)];
}
