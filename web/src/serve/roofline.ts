// Work against memory traffic, after Williams, Waterman, Patterson (2009). The roof is drawn through the best that was seen of the
// job itself: what the machine can do is not known here.

import { h, plain, s } from "../report/dom";
import { Panel, watchWidth } from "../report/panel";
import { si, ticks } from "../report/units";
import type { Rates } from "./answers";
import { Refused } from "./api";
import type { Rated } from "./rates";
import { together } from "./rates";

interface Mark { name: string; intensity: number; speed: number; traffic: number; seconds: number }

/** Operations of one count of a counter: those of one kind add up. Intel's and AMD's names are those of `perf list`. */
const WORK: [RegExp, number][] = [
  [/^(flops|fp[-_]?(ops|operations)|float(ing)?[-_]point[-_]operations)$/i, 1],
  [/^fp_ret_sse_avx_ops\.all$/i, 1],
  [/^fp_arith_inst_retired\.scalar(_(single|double))?$/i, 1],
  [/^fp_arith_inst_retired\.128b_packed_double$/i, 2],
  [/^fp_arith_inst_retired\.(128b_packed_single|256b_packed_double|4_flops)$/i, 4],
  [/^fp_arith_inst_retired\.(256b_packed_single|512b_packed_double|8_flops)$/i, 8],
  [/^fp_arith_inst_retired\.512b_packed_single$/i, 16],
];
/** The same in bytes; the first that is there is taken, as all are of the same traffic. */
const TRAFFIC: [RegExp, number][] = [
  [/^(mem(ory)?|dram)[-_](bytes|traffic|bandwidth)$/i, 1],
  [/^cache-misses$/i, 64],
  [/^LLC-load-misses$/i, 64],
];

/** Sum of all counters of a kind in a row; null where none was counted. */
function amount(row: Rated, counters: [string, number][]): number | null {
  const rates = counters.map(([name, factor]) => { const rate = row.by.get(name)?.rate; return rate == null ? null : rate * factor; }).filter((one) => one !== null);
  return rates.length ? rates.reduce((sum, one) => sum + one, 0) : null;
}

/** A power of ten, without digits that say nothing. */
const round = (power: number): string => si(10 ** power, "").replace(/\.0+(?=\D|$)/, "");

export class Roofline {
  readonly panel = new Panel("roofline", "roofline");
  private marks: Mark[] = [];
  private width = 0;

  constructor() {
    this.panel.behind<Mark>({
      name: "roofline",
      columns: [
        { head: "library", value: (one) => one.name, text: true },
        { head: "flop/B", value: (one) => one.intensity, show: (one) => si(one.intensity, "flop/B") },
        { head: "flop/s of a core", value: (one) => one.speed, show: (one) => si(one.speed, "flop/s") },
        { head: "B/s of a core", value: (one) => one.traffic, show: (one) => si(one.traffic, "B/s") },
      ],
      rows: () => this.marks,
    });
    watchWidth(this.panel.body, (width) => { this.width = width; this.draw(); });
  }

  set(rates: Rates | Refused): void {
    this.marks = [];
    this.panel.note.textContent = "";
    if (rates instanceof Refused) return this.panel.empty(rates.status === 404 ? "A roofline needs the counters flops and memory-bytes; the server has no counters." : plain(rates.message, 300));
    const names = [...new Set(rates.rows.map((row) => row.counter))];
    const work = WORK.flatMap(([like, factor]) => names.filter((one) => like.test(one)).map((one): [string, number] => [one, factor]));
    const traffic = TRAFFIC.flatMap(([like, factor]) => names.filter((one) => like.test(one)).map((one): [string, number] => [one, factor])).slice(0, 1);
    const missing = [...(work.length ? [] : ["flops"]), ...(traffic.length ? [] : ["memory-bytes"])];
    if (missing.length) {
      return this.panel.empty(`A roofline needs the counters flops and memory-bytes; missing: ${missing.join(" and ")}.` + (names.length ? ` There are: ${names.map((one) => plain(one, 40)).join(", ")}.` : ""));
    }
    this.marks = together(rates.rows, "library").flatMap((row: Rated) => {
      const [speed, bytes] = [amount(row, work) ?? 0, amount(row, traffic) ?? 0];
      return row.key !== null && speed > 0 && bytes > 0 ? [{ name: String(row.key), intensity: speed / bytes, speed, traffic: bytes, seconds: row.seconds }] : [];
    }).slice(0, 12);
    if (!this.marks.length) return this.panel.empty("No library had both floating-point work and memory traffic.");
    this.panel.note.textContent = `per core, of ${[...work, ...traffic].map(([one]) => plain(one, 40)).join(", ")}; the roof goes through the best of this job, not through what the machine can do`;
    this.draw();
    this.panel.refresh();
  }

  private draw(): void {
    if (!this.width || !this.marks.length) return;
    const { marks } = this;
    const [left, bottom, tall] = [64, 34, 300];
    const wide = Math.max(260, this.width);
    const log = Math.log10;
    const bounds = (values: number[]): [number, number] => [Math.floor(Math.min(...values.map(log)) - 0.3), Math.ceil(Math.max(...values.map(log)) + 0.3)];
    const [x0, x1] = bounds(marks.map((one) => one.intensity));
    const [y0, y1] = bounds(marks.map((one) => one.speed));
    const x = (value: number): number => left + ((log(value) - x0) / (x1 - x0)) * (wide - left - 12);
    const y = (value: number): number => 8 + ((y1 - log(value)) / (y1 - y0)) * (tall - bottom - 8);
    const peak = Math.max(...marks.map((one) => one.speed));
    const stream = Math.max(...marks.map((one) => one.traffic));
    const most = Math.max(...marks.map((one) => one.seconds));
    const from = Math.max(10 ** x0, 10 ** y0 / stream);
    const roof = `M${x(from)},${y(from * stream)}L${x(peak / stream)},${y(peak)}L${x(10 ** x1)},${y(peak)}`;
    const grid = [
      ...ticks(x0, x1, x1 - x0).filter(Number.isInteger).flatMap((at) => [
        s("line", { class: "grid", x1: x(10 ** at), x2: x(10 ** at), y1: 8, y2: tall - bottom }),
        s("text", { x: x(10 ** at), y: tall - bottom + 14, "text-anchor": "middle" }, round(at)),
      ]),
      ...ticks(y0, y1, y1 - y0).filter(Number.isInteger).flatMap((at) => [
        s("line", { class: "grid", x1: left, x2: wide - 12, y1: y(10 ** at), y2: y(10 ** at) }),
        s("text", { x: left - 6, y: y(10 ** at) + 4, "text-anchor": "end" }, round(at)),
      ]),
    ];
    const svg = s("svg", { width: wide, height: tall, role: "img", "aria-label": "flop per second over flop per byte, both logarithmic; the same figures are in the table" },
      ...grid,
      s("text", { x: (left + wide) / 2, y: tall - 4, "text-anchor": "middle" }, "flop/B, logarithmic"),
      s("text", { x: left + 6, y: 18 }, "flop/s of a core, logarithmic"),
      s("path", { d: roof, class: "roof" }),
      ...marks.map((one) => {
        const base = plain(one.name.split("/").pop() ?? one.name, 30);
        const right = x(one.intensity) > wide - 180;
        return s("g", {}, s("title", {}, `${plain(one.name, 300)}: ${si(one.speed, "flop/s")}, ${si(one.traffic, "B/s")}`),
          s("circle", { cx: x(one.intensity), cy: y(one.speed), r: 3 + 7 * Math.sqrt(one.seconds / most), class: "roofmark" }),
          s("text", { x: x(one.intensity) + (right ? -12 : 12), y: y(one.speed) + 4, "text-anchor": right ? "end" : "start", class: "shown" }, base));
      }));
    this.panel.body.replaceChildren(h("div", { class: "picture" }, svg));
  }
}
