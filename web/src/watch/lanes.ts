// The looks over time, one lane below the other: time in MPI, calls a second, time on new edges.
//
// Only looks that this page received are drawn; the time without them is hatched.

import { s } from "../report/dom";
import { Panel, watchWidth } from "../report/panel";
import { count, percent, si } from "../report/units";
import type { WatchData } from "./data";
import { roundUp } from "./durations";
import type { Looks, Point } from "./looks";
import { isNext } from "./looks";
import type { Cursor, Step } from "./plot";
import { AXIS, LEFT, Plot, RIGHT } from "./plot";
import type { Range } from "./range";
import { lasting, plural } from "./words";

/** Height of a lane's title, and of its data. */
const TITLE = 23;
const [SHARE, CALLS, EDGES] = [84, 34, 34];
const HEIGHT = 3 * TITLE + SHARE + CALLS + EDGES + AXIS + 6;
/** End of the scale of new edges: a graph is steady below a fifth of it. */
const CHANGE = 0.05;

interface Lane {
  title: string;
  now: string;
  height: number;
  className: string;
  top: number;
  label: (value: number) => string;
  value: (point: Point) => number | null;
  /** From minimum to maximum, where a point has several looks. */
  range?: (point: Point) => [number, number];
}

const round = (part: number): string => `${Math.round(part * 100)} %`;
const rate = (point: Point): number => (point.calls / Math.max(1, point.end - point.begin)) * 1e9;

export class Lanes {
  readonly panel = new Panel("looks", "looks over time");
  private readonly plot: Plot;
  private data: WatchData | null = null;
  private width = 0;

  constructor(private readonly looks: Looks, cursor: Cursor, private readonly range: Range) {
    this.panel.tools.append(range.element);
    range.listen(() => this.draw());
    this.plot = new Plot(HEIGHT, cursor);
    this.panel.body.append(this.plot.element);
    this.panel.behind<Point>({
      name: "looks over time",
      columns: [
        { head: "begin (ns)", value: (one) => one.begin },
        { head: "end (ns)", value: (one) => one.end },
        { head: "looks", value: (one) => one.looks },
        { head: "in MPI, mean", value: (one) => one.mean, show: (one) => percent(one.mean) },
        { head: "in MPI, min", value: (one) => one.min, show: (one) => percent(one.min) },
        { head: "in MPI, max", value: (one) => one.max, show: (one) => percent(one.max) },
        { head: "calls", value: (one) => one.calls, show: (one) => count(one.calls) },
        { head: "on new edges", value: (one) => one.change, show: (one) => (one.change === null ? "-" : percent(one.change)) },
      ],
      rows: () => this.looks.points,
    });
    this.panel.body.addEventListener("again", () => this.draw());
    watchWidth(this.panel.element, (width) => {
      this.width = width;
      this.draw();
    });
  }

  set(data: WatchData): void {
    this.data = data;
    const kept = this.looks.points.reduce((sum, one) => sum + one.looks, 0);
    this.panel.note.textContent = `${count(kept)} ${plural(kept, "look")} of this page \u00b7 graph of ${count(data.nodes)} nodes, ${count(data.edges)} edges`;
    this.panel.refresh();
    this.draw();
  }

  private draw(): void {
    if (!this.data || this.width < 200) return;
    const end = this.data.time_ns;
    const begin = this.range.begin(end);
    const points = this.looks.points.filter((one) => one.end > begin && one.begin < end);
    const axis = this.plot.axis(this.width, [begin, end], `time in MPI, calls a second and time on new edges of ${points.length} points`);
    const marks: SVGElement[] = [hatching()];
    let top = 0;
    for (const lane of this.lanes(this.data, points)) {
      top += TITLE;
      marks.push(...this.lane(lane, points, begin, top));
      top += lane.height;
    }
    for (const [from, to] of holes(points, begin, end)) {
      const [x, width] = [this.plot.x(from), this.plot.x(to) - this.plot.x(from)];
      if (width < 1) continue;
      marks.push(s("rect", { class: "hole", x, y: TITLE, width, height: HEIGHT - AXIS - TITLE },
        s("title", {}, from === begin ? "before this page was opened" : "looks that this page did not receive")));
      if (width > 200 && from === begin) marks.push(s("text", { class: "outlier", x: x + width / 2, y: TITLE + SHARE / 2 + 4, "text-anchor": "middle" }, "before this page was opened"));
    }
    this.plot.draw([...axis, ...marks], {
      length: points.length,
      from: (at) => points[at]!.begin,
      to: (at) => points[at]!.end,
      lines: (at) => lines(points[at]!),
    });
  }

  private lanes(data: WatchData, points: Point[]): Lane[] {
    const ended = !data.running;
    const fastest = roundUp(points.reduce((top, one) => Math.max(top, rate(one)), 0));
    const last = points.at(-1);
    const steady = data.steady_since_ns;
    return [
      { title: "time in MPI, part of the ranks' time", now: ended ? "" : `${percent(data.recent_mpi_share)} now`, height: SHARE, className: "mpi", top: 1,
        label: round, value: (one) => one.mean, range: (one) => [one.min, one.max] },
      { title: "calls a second", now: ended || !last ? "" : `${si(rate(last), "/s")} now`, height: CALLS, className: "calls", top: fastest,
        label: (value) => si(value, "/s"), value: rate },
      { title: "time on new edges, cut at 5 %", height: EDGES, className: "edges", top: CHANGE, label: round, value: (one) => one.change,
        now: steady !== null ? `steady from ${lasting(steady)} on` : ended ? "" : data.change === null ? "no call ended" : `${percent(data.change)} now` },
    ];
  }

  private lane(lane: Lane, points: Point[], begin: number, top: number): SVGElement[] {
    const bottom = top + lane.height;
    const y = (value: number): number => bottom - (Math.min(lane.top, value) / lane.top) * lane.height;
    const steps: Step[] = [];
    for (const one of points) {
      const value = lane.value(one);
      if (value !== null) steps.push({ from: one.begin, to: one.end, value });
    }
    const { line, area } = this.plot.steps(steps, y, bottom);
    const right = this.width - RIGHT;
    const marks: SVGElement[] = [];
    for (const value of [0, ...(lane.height > 50 ? [lane.top / 2] : []), lane.top]) {
      marks.push(s("line", { class: value ? "grid" : "ground", x1: LEFT, x2: right, y1: y(value), y2: y(value) }),
        s("text", { x: LEFT - 6, y: y(value) + (value ? 4 : 2), "text-anchor": "end" }, value ? lane.label(value) : "0"));
    }
    marks.push(s("path", { class: `area ${lane.className}`, d: area }));
    const { range } = lane;
    if (range) {
      const d = points.filter((one) => one.looks > 1).map((one) => {
        const [low, high] = range(one);
        return `M${this.plot.x(Math.max(begin, one.begin)).toFixed(1)} ${y(low).toFixed(1)}V${y(high).toFixed(1)}H${this.plot.x(one.end).toFixed(1)}V${y(low).toFixed(1)}Z`;
      }).join("");
      if (d) marks.push(s("path", { class: `range ${lane.className}`, d }));
    }
    const over = steps.filter((one) => one.value > lane.top).map((one) => `M${this.plot.x(Math.max(begin, one.from)).toFixed(1)} ${top}H${this.plot.x(one.to).toFixed(1)}`).join("");
    marks.push(s("path", { class: `line ${lane.className}`, d: line }));
    if (over) marks.push(s("path", { class: "over", d: over }));
    marks.push(s("text", { class: "lanetitle", x: LEFT, y: top - 5 }, lane.title),
      s("text", { class: "lanenow", x: right, y: top - 5, "text-anchor": "end" }, lane.now));
    return marks;
  }
}

/** Times without looks: before the first one, and between points. */
function holes(points: Point[], begin: number, end: number): [number, number][] {
  const out: [number, number][] = [];
  const [first] = points;
  if (!first) return [[begin, end]];
  if (first.begin > begin) out.push([begin, first.begin]);
  points.forEach((one, at) => {
    const next = points[at + 1];
    if (next && !isNext(one, next)) out.push([one.end, next.begin]);
  });
  return out;
}

function hatching(): SVGElement {
  return s("defs", {}, s("pattern", { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    s("line", { class: "hatchline", x1: 0, x2: 0, y1: 0, y2: 6 })));
}

function lines(one: Point): string[] {
  const several = one.looks > 1;
  const range = several ? `, ${percent(one.min)} to ${percent(one.max)} in a look` : "";
  return [
    `${several ? `${one.looks} looks, ` : ""}${lasting(one.begin)} to ${lasting(one.end)}`,
    `${(one.mean * 100).toFixed(2)} % in MPI${range}`,
    `${count(one.calls)} ${plural(one.calls, "call")}, ${si(rate(one), "/s")}`,
    one.change === null ? "no call ended" : `${(one.change * 100).toFixed(2)} % of the time on new edges`,
  ];
}
