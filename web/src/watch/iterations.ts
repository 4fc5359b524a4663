// Durations of the main loop's iterations over time: mean, and from minimum to maximum.

import { h, plain, s, short } from "../report/dom";
import { Panel, watchWidth } from "../report/panel";
import { count, exact, tickTime, ticks, time } from "../report/units";
import type { IterationGroup, LoopNow, WatchData } from "./data";
import { durationScale, endOf } from "./durations";
import type { Cursor } from "./plot";
import { AXIS, LEFT, Plot, RIGHT } from "./plot";
import type { Range } from "./range";
import { lasting, plural } from "./words";

const [TOP, HEIGHT] = [30, 226];
/** Marks of iterations above the scale. */
const MARKS = 200;

export class Iterations {
  readonly panel = new Panel("iterations", "iteration durations");
  private readonly plot: Plot;
  private readonly caption = h("div", { class: "caption" });
  private readonly absence = h("p", { class: "empty" });
  private readonly shown: HTMLElement;
  private data: WatchData | null = null;
  private width = 0;

  constructor(cursor: Cursor, private readonly range: Range) {
    this.plot = new Plot(HEIGHT, cursor);
    this.shown = h("div", { hidden: true }, this.plot.element,
      h("ul", { class: "legend" },
        h("li", {}, h("i", { class: "swatch median" }), "mean of neighbouring iterations"),
        h("li", {}, h("i", { class: "swatch band" }), "minimum to maximum"),
        h("li", { class: "keys" }, this.caption)));
    this.panel.body.append(this.shown, this.absence);
    range.listen(() => this.draw());
    this.panel.behind<IterationGroup>({
      name: "iteration durations",
      columns: [
        { head: "begin (ns)", value: (one) => one.begin_ns },
        { head: "iterations", value: (one) => one.count },
        { head: "min (ns)", value: (one) => one.min_ns },
        { head: "mean (ns)", value: (one) => one.mean_ns },
        { head: "max (ns)", value: (one) => one.max_ns },
      ],
      rows: () => this.data?.main_loop?.history ?? [],
    });
    this.panel.body.addEventListener("again", () => this.draw());
    watchWidth(this.panel.element, (width) => {
      this.width = width;
      this.draw();
    });
  }

  set(data: WatchData): void {
    this.data = data;
    const main = data.main_loop;
    this.shown.hidden = !main;
    this.absence.hidden = !!main;
    this.panel.tools.hidden = !main;
    if (main) {
      const known = main.history.reduce((sum, one) => sum + one.count, 0);
      const part = known + 1 < main.iterations ? `, ${count(known)} with durations` : "";
      this.panel.note.textContent = `${short(main.place)} \u00b7 rank ${main.rank} \u00b7 ` +
        `${count(main.iterations)} ${plural(main.iterations, "iteration")}${part}`;
      this.panel.note.title = `counted by ${plain(main.counted_by, 300)}`;
    } else {
      this.panel.note.textContent = this.panel.note.title = "";
      this.absence.textContent = data.running
        ? "No main loop is known yet. A loop is known once its calls recur. Runs with --times statistics have none."
        : "No main loop was found.";
    }
    this.panel.refresh();
    this.draw();
  }

  private draw(): void {
    const main = this.data?.main_loop;
    if (!this.data || !main || this.width < 200) return;
    const end = Math.max(this.data.time_ns, ...main.history.slice(-1).map(endOf));
    const begin = this.range.begin(end);
    const history = main.history.filter((one) => endOf(one) > begin);
    const scale = durationScale(history);
    if (!scale) return;
    const { top, longest, isCut } = scale;
    const bottom = HEIGHT - AXIS;
    const y = (nanos: number): number => bottom - (Math.min(top, nanos) / top) * (bottom - TOP);
    const axis = this.plot.axis(this.width, [begin, end],
      `durations of ${count(main.iterations)} iterations, mean ${time(main.mean_ns)}`);
    const values = ticks(0, top, 4);
    const text = tickTime(values);
    for (const value of values) {
      axis.push(s("line", { class: "grid", x1: LEFT, x2: this.width - RIGHT, y1: y(value), y2: y(value) }),
        s("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, text(value)));
    }
    const stretch = (value: (one: IterationGroup) => number) => history.map((one, at) =>
      ({ from: one.begin_ns, to: Math.min(endOf(one), history[at + 1]?.begin_ns ?? Infinity), value: value(one) }));
    const band = history.map((one, at) => {
      const [from, to] = [Math.max(begin, one.begin_ns), Math.min(endOf(one), history[at + 1]?.begin_ns ?? Infinity)].map((at) => this.plot.x(at).toFixed(1));
      return `M${from} ${y(one.min_ns).toFixed(1)}V${y(one.max_ns).toFixed(1)}H${to}V${y(one.min_ns).toFixed(1)}Z`;
    }).join("");
    const marks: SVGElement[] = [
      s("path", { class: "band", d: band }),
      s("path", { class: "median", d: this.plot.steps(stretch((one) => one.mean_ns), y, bottom).line }),
    ];
    const middle = (one: IterationGroup): number => this.plot.x((Math.max(begin, one.begin_ns) + endOf(one)) / 2);
    const above = isCut ? history.filter((one) => one.max_ns > top) : [];
    for (const one of above.slice(-MARKS)) marks.push(s("path", { class: "above", d: `M${middle(one).toFixed(1)} ${TOP - 9}l-4 7h8z` }));
    if (isCut) {
      const left = middle(longest) > this.width / 2;
      marks.push(s("text", { class: "outlier", x: middle(longest) + (left ? 4 : -4), y: 12, "text-anchor": left ? "end" : "start" },
        `longest ${time(longest.max_ns)}, above the axis`));
    }
    this.caption.textContent = caption(main, isCut ? top : null);
    this.plot.draw([...axis, ...marks], {
      length: history.length,
      from: (at) => history[at]!.begin_ns,
      to: (at) => endOf(history[at]!),
      lines: (at) => lines(history[at]!),
    });
  }
}

function caption(main: LoopNow, cut: number | null): string {
  const takes = `mean ${time(main.mean_ns)}, ${(main.variation * 100).toFixed(0)} % variation`;
  return `${takes}${cut === null ? "" : ` \u00b7 axis cut at ${time(cut)}, twice the highest mean`}`;
}

function lines(one: IterationGroup): string[] {
  const value = (nanos: number): string => `${time(nanos)} (${exact(nanos, "ns")})`;
  const title = `${count(one.count)} ${plural(one.count, "iteration")} from ${lasting(one.begin_ns)}`;
  if (one.count === 1) return [title, `duration ${value(one.mean_ns)}`];
  return [title, `mean ${value(one.mean_ns)}`, `minimum ${value(one.min_ns)}`, `maximum ${value(one.max_ns)}`];
}
