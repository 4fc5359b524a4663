// How alike the cores of a job were: for each counter, what a tenth, half, nine tenths of them did at most.

import { h, plain, s } from "../report/dom";
import { Panel, watchWidth } from "../report/panel";
import { count, percent, si } from "../report/units";
import type { Gap, Spread, Usage } from "./answers";
import { BUSY, COMPUTING } from "./answers";
import { absence } from "./show";

/** Counters that are shares of time: of a core's samples those that are not idle, and those outside MPI. */
const isShare = (counter: string): boolean => counter === "busy" || counter === "computing";

/** A rate per second and core; a share where the counter is one. */
export const rate = (value: number, spread: { counter: string; unit: string }): string =>
  isShare(spread.counter) ? percent(value) : si(value, `${spread.unit || "1"}/s`);

const TALL = 26;

/** Shares of each core's samples that were not idle, and outside MPI, over the whole time, as spreads; none where cores are not kept. */
export function wholeCores(usage: Usage): Spread[] {
  const cores = new Map<string, { busy: number; computing: number; all: number }>();
  for (const row of usage.rows) {
    if (row.core === null || row.core === undefined) continue;
    const key = `${row.node}\n${row.core}`;
    const one = cores.get(key) ?? { busy: 0, computing: 0, all: 0 };
    one.all += row.samples;
    if ((BUSY as unknown[]).includes(row.activity)) one.busy += row.samples;
    if ((COMPUTING as unknown[]).includes(row.activity)) one.computing += row.samples;
    cores.set(key, one);
  }
  const seen = [...cores.values()].filter((one) => one.all > 0);
  if (!seen.length) return [];
  return (["busy", "computing"] as const).map((counter) => {
    const shares = seen.map((one) => one[counter] / one.all).sort((a, b) => a - b);
    return { counter, unit: "1", cores: shares.length, quantiles: Array.from({ length: 11 }, (_, at) => shares[Math.round((at / 10) * (shares.length - 1))]!) };
  });
}

/** How far the least core is below the middle one; null where the middle is nothing. */
export function behind(spread: Spread): number | null {
  const median = spread.quantiles[5] ?? 0;
  return median > 0 ? 1 - (spread.quantiles[0] ?? 0) / median : null;
}

export class Spreads {
  readonly panel = new Panel("cores", "cores");
  private all: Spread[] = [];
  private whole = false;
  private width = 0;
  private readonly rows = h("div", { class: "spreads" });

  constructor() {
    this.panel.behind<Spread>({
      name: "cores by counter",
      columns: [
        { head: "counter", value: (one) => one.counter, text: true },
        { head: "unit", value: (one) => (isShare(one.counter) ? "1" : `${one.unit}/s`), text: true },
        { head: "cores", value: (one) => one.cores },
        ...Array.from({ length: 11 }, (_, at) => ({
          head: at === 0 ? "least" : at === 5 ? "median" : at === 10 ? "most" : `${at * 10} %`, value: (one: Spread) => one.quantiles[at] ?? null,
          show: (one: Spread) => (one.quantiles[at] === undefined ? "-" : rate(one.quantiles[at]!, one)),
        })),
      ],
      rows: () => this.all,
    });
    watchWidth(this.panel.body, (width) => { this.width = width; this.draw(); });
  }

  /** `whole`: of each core over the whole time, where the server keeps no spreads of intervals. */
  set(all: Spread[], gaps: Gap[], whole: Spread[]): void {
    const own = whole.filter((one) => !all.some((known) => known.counter === one.counter));
    this.all = [...own, ...all].filter((one) => one.quantiles.length === 11);
    if (!this.all.length) {
      this.panel.note.textContent = "";
      return this.panel.empty(absence(gaps, "No counter was read for this job, so that nothing can be said of how alike its cores were."));
    }
    if (this.rows.parentElement !== this.panel.body) this.panel.body.replaceChildren(this.rows);
    this.whole = own.length > 0;
    const busy = own.length ? "busy and computing (outside MPI) are shares of each core over the whole time; " : "";
    this.panel.note.textContent = `${busy}${all.length ? "rate of each core in each interval: " : ""}least to most, a tenth to nine tenths, and the median`;
    this.draw();
    this.panel.refresh();
  }

  private draw(): void {
    if (!this.width) return;
    const wide = Math.max(120, this.width > 900 ? this.width - 662 : this.width - 10);
    this.rows.replaceChildren(...this.all.map((one) => {
      const q = one.quantiles;
      const top = Math.max(q[10]!, 0) || 1;
      const x = (value: number): number => Math.max(0, (value / top) * (wide - 2));
      const box = (from: number, to: number, className: string, y: number): SVGElement =>
        s("rect", { class: className, x: x(q[from]!), width: Math.max(1, x(q[to]!) - x(q[from]!)), y, height: TALL - 2 * y });
      const late = behind(one);
      const says = late === null ? "" : late < 0.05 ? "alike" : `the least: ${percent(late)} below the middle`;
      return h("div", { class: "spread", title: `${plain(one.counter, 100)}: ${q.map((value, at) => `${at * 10} %: ${rate(value, one)}`).join(", ")}` },
        h("b", {}, h("bdi", {}, plain(one.counter, 60)), h("small", {}, ` ${count(one.cores)} ${isShare(one.counter) && this.whole ? "cores" : "readings"}`)),
        s("svg", { width: wide, height: TALL, role: "img", "aria-label": `from ${rate(q[0]!, one)} over median ${rate(q[5]!, one)} to ${rate(q[10]!, one)}` },
          s("line", { x1: 0, x2: wide, y1: TALL - 0.5, y2: TALL - 0.5, class: "grid" }),
          box(0, 10, "outer", 9), box(1, 9, "middle", 6), box(3, 7, "inner", 6),
          s("line", { x1: x(q[5]!), x2: x(q[5]!), y1: 2, y2: TALL - 2, class: "medianmark" })),
        h("span", { class: "figure" }, `${rate(q[5]!, one)}`, h("small", {}, ` ${rate(q[0]!, one)} to ${rate(q[10]!, one)}`)),
        h("span", { class: late !== null && late >= 0.25 ? "warn" : "dim" }, says));
    }));
  }
}
