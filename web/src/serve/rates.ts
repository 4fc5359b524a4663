// Growth of counters while something ran: one row for each library or phase, one column for each counter.

import { h, plain } from "../report/dom";
import { Panel, saver } from "../report/panel";
import type { Column } from "../report/table";
import { Table } from "../report/table";
import type { Dimension, Key, RateRow, Rates } from "./answers";
import type { Questions } from "./api";
import { get, Refused, tried } from "./api";
import { count } from "../report/units";
import { absence, core, exactCore, value } from "./show";
import { rate } from "./spreads";

export interface Rated { key: Key; seconds: number; samples: number; by: Map<string, RateRow> }

/** Rows of counters put together by what they are of; those with most time first. */
export function together(rows: RateRow[], dimension: Dimension): Rated[] {
  const out = new Map<Key, Rated>();
  for (const row of rows) {
    const key = row[dimension] ?? null;
    const one = out.get(key) ?? { key, seconds: 0, samples: 0, by: new Map<string, RateRow>() };
    one.by.set(row.counter, row);
    one.seconds = Math.max(one.seconds, row.seconds);
    one.samples = Math.max(one.samples, row.samples);
    out.set(key, one);
  }
  return [...out.values()].sort((a, b) => b.seconds - a.seconds);
}

/** Rates of several dimensions, summed by one of them: counts over the times in which they were counted. */
export function sumBy(rates: Rates, by: Dimension): Rates {
  const rows = new Map<string, RateRow>();
  for (const { [by]: value = null, counter, unit, seconds, samples, count } of rates.rows) {
    const key = JSON.stringify([counter, unit, value]);
    const row = rows.get(key) ?? { [by]: value, counter, unit, rate: null, seconds: 0, samples: 0, count: 0 };
    row.seconds += seconds;
    row.samples += samples;
    row.count += count;
    row.rate = row.seconds > 0 ? row.count / row.seconds : null;
    rows.set(key, row);
  }
  return { ...rates, groups: new Set([...rows.values()].map((row) => row[by])).size, rows: [...rows.values()] };
}

/** Libraries and phases that are asked for together, or each alone. */
const MOST = 400;

/**
 * Growth of counters by library and by phase: one query, as the store goes through the same rows for both. Where there are more pairs than are asked for, sums
 * of those that came would be of a part only: then each is asked for alone.
 */
export async function jobRates(question: Questions, signal: AbortSignal): Promise<Record<"library" | "phase", Rates | Refused>> {
  const ask = (by: string): Promise<Rates | Refused> => tried(get<Rates>("rates", { ...question, by, limit: MOST }, signal));
  const both = await ask("library,phase");
  if (both instanceof Refused) return { library: both, phase: both };
  if (both.groups <= MOST) return { library: sumBy(both, "library"), phase: sumBy(both, "phase") };
  const [library, phase] = await Promise.all([ask("library"), ask("phase")]);
  return { library, phase };
}

export class RateTable {
  readonly panel: Panel;
  private table: Table<Rated> | null = null;
  private shown = "";

  constructor(id: string, title: string, private readonly dimension: Dimension) {
    this.panel = new Panel(id, title);
    this.panel.element.classList.add("rates");
    this.panel.tools.append(saver(title, () => this.table?.csv() ?? ""));
  }

  set(rates: Rates | Refused): void {
    const { panel, dimension } = this;
    panel.note.textContent = "";
    if (rates instanceof Refused) return panel.empty(rates.status === 404 ? "The server has no counters." : plain(rates.message, 300));
    const rows = together(rates.rows, dimension);
    const counters = [...new Map(rates.rows.map((row) => [row.counter, row])).values()];
    if (!rows.length) return panel.empty(absence(rates.gaps, "No counters were read at samples in this time."));
    const columns = counters.map((one) => one.counter).join("\n");
    if (!this.table || columns !== this.shown) {
      this.shown = columns;
      this.table = new Table<Rated>({
        label: panel.element.getAttribute("aria-label") ?? "rates",
        first: 15,
        sort: 1,
        columns: [
          { head: dimension, text: true, value: (row) => row.key, show: (row) => value(dimension, row.key) },
          { head: "seconds", short: "observed", title: "time of cores between the samples that counters were read at", value: (row) => row.seconds, show: (row) => h("span", { title: exactCore(row.seconds) }, core(row.seconds)) },
          ...counters.map((one): Column<Rated> => ({
            head: `${one.counter} (${one.unit}/s)`, short: plain(one.counter, 40), title: `${plain(one.counter, 100)} per second of a core`,
            value: (row) => row.by.get(one.counter)?.rate ?? null,
            show: (row) => { const found = row.by.get(one.counter); return found?.rate == null ? h("span", { class: "dim" }, "-") : rate(found.rate, one); },
          })),
          ...this.perInstruction(counters),
        ],
      });
    }
    const left = rates.groups - rows.length;
    panel.note.textContent = `per second of a core, attached to the middle one of three samples${left > 0 ? `; ${count(left)} with less time are left out` : ""}`;
    this.table.set(rows);
    if (this.table.element.parentElement !== panel.body) panel.body.replaceChildren(this.table.element);
  }

  /** Instructions per cycle, where both are there. */
  private perInstruction(counters: RateRow[]): Column<Rated>[] {
    const has = (name: string): boolean => counters.some((one) => one.counter === name);
    if (!has("instructions") || !has("cycles")) return [];
    const ipc = (row: Rated): number | null => {
      const [instructions, cycles] = [row.by.get("instructions")?.rate, row.by.get("cycles")?.rate];
      return instructions == null || !cycles ? null : instructions / cycles;
    };
    return [{ head: "instructions per cycle", short: "per cycle", value: ipc, show: (row) => ipc(row)?.toFixed(2) ?? "-" }];
  }
}
