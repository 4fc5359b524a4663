// Text of a place in a timeline: the call, the computation between calls, or what the ranks of a band do.

import type { Bar, Lane } from "./lanes";
import { type Model, placed } from "./model";
import type { Category, Timeline } from "./types";
import { CATEGORY_NAMES } from "./colours";
import { h, plain, swatch } from "./dom";
import { hasThreads } from "./location";
import { percent, time } from "./units";

export interface Told {
  model: Model;
  data: Timeline;
  byRow: Bar[][];
  /** Zero of times. */
  origin: number;
}

/** Lines of the bubble; the first stands out. */
export function describe(of: Told, lane: Lane, at: number, bar: Bar | undefined): (string | Node)[] {
  const { model, data, byRow, origin } = of;
  const since = (when: number): string => `${when < origin ? "\u2212" : "+"}${time(Math.abs(when - origin))}`;
  if (lane.rows.length > 1) {
    const now = new Map<Category, number>();
    const who = hasThreads(model.report) ? "thread" : "rank";
    for (const row of lane.rows) {
      const extent = data.rows[row];
      if (extent && extent.thread !== 0 && (at < extent.begin || at > extent.end)) continue;
      const found = (byRow[row] ?? []).find((one) => at >= one[1] && at < one[1] + one[2]);
      const kind = found ? model.site(found[3])?.category ?? "setup" : "computation";
      now.set(kind, (now.get(kind) ?? 0) + 1);
    }
    const lines = [...now].sort((a, b) => b[1] - a[1]).map(([one, ranks]) =>
      h("span", {}, swatch(one), `${ranks} ${who}${ranks === 1 ? "" : "s"} in ${CATEGORY_NAMES[one]} (${percent(ranks / lane.rows.length)})`));
    return [`${lane.label} ${who}s at ${since(at)}`, ...lines];
  }
  const site = bar && model.site(bar[3]);
  if (!bar || !site) {
    const bars = byRow[lane.rows[0] ?? -1] ?? [];
    const next = bars.find((one) => one[1] > at);
    const before = bars.filter((one) => one[1] + one[2] <= at).pop();
    const row = data.rows[lane.rows[0] ?? -1];
    if (row && row.thread !== 0 && at < row.begin) return [`${lane.name}: before its first call`, `begins at ${time(row.begin)}`];
    if (row && at > row.end) return [`${lane.name}: ${row.thread === 0 ? "no record" : "after its last call"}`, `ends at ${time(row.end)}`];
    const span = next && before ? time(next[1] - before[1] - before[2]) : "";
    return [`${lane.name}: computation ${span}`];
  }
  return [
    h("span", {}, swatch(site.category), h("b", {}, plain(site.procedure, 60))),
    plain(placed(site), 120),
    `${lane.label} \u00b7 ${since(bar[1])} \u00b7 takes ${time(bar[2])}`,
    plain(data.args[bar[4]] ?? "", 200),
  ].filter(Boolean);
}
