// Shares by one dimension: rows of a query, each share with its interval.

import { h, plain } from "../report/dom";
import { Panel, saver } from "../report/panel";
import { Table } from "../report/table";
import { count, percent } from "../report/units";
import type { Dimension, Share, Usage, UsageRow } from "./answers";
import { proportion } from "./answers";
import { Refused } from "./api";
import { absence, core, exactCore, NONE, value, whisker } from "./show";

export interface Kind {
  id: string;
  title: string;
  by: Dimension[];
  /** Which of them a row must have; the first by default. */
  key?: Dimension;
  /** Rows shown at first. */
  first: number;
  /** Rows without a value stand in the table, not only beside it. */
  none?: boolean;
  /** Why there may be no rows. */
  empty: string;
}

interface Row { row: UsageRow; share: Share | null }

export class Breakdown {
  readonly panel: Panel;
  private readonly table: Table<Row>;
  private top = 0;

  constructor(private readonly kind: Kind) {
    this.panel = new Panel(kind.id, kind.title);
    this.panel.element.classList.add("breakdown");
    this.table = new Table<Row>({
      label: kind.title,
      first: kind.first,
      sort: kind.by.length,
      columns: [
        ...kind.by.map((dimension) => ({
          head: dimension as string, text: true, value: ({ row }: Row) => row[dimension] ?? null, show: ({ row }: Row) => value(dimension, row[dimension] ?? null),
        })),
        { head: "share", title: "share of the samples that are asked for, with its 95 % interval", value: ({ share }) => share?.share ?? null,
          show: ({ share }) => h("span", { class: "sharecell" }, whisker(share, this.top), h("b", {}, share ? percent(share.share) : "-")) },
        { head: "low", extra: true, value: ({ share }) => share?.low ?? null },
        { head: "high", extra: true, value: ({ share }) => share?.high ?? null },
        { head: "core seconds", short: "core time", value: ({ row }) => row.core_seconds, show: ({ row }) => h("span", { title: exactCore(row.core_seconds) }, core(row.core_seconds)) },
        { head: "samples", extra: true, value: ({ row }) => row.samples },
      ],
    });
    this.panel.tools.append(saver(kind.title, () => this.table.csv()));
  }

  /** `times`: which part of the asked time it is of; empty for all of it. */
  set(usage: Usage | Refused, times = ""): void {
    const { kind, panel } = this;
    if (usage instanceof Refused) {
      panel.note.textContent = "";
      return panel.empty(plain(usage.message, 300));
    }
    const key = kind.key ?? kind.by[0]!;
    const all = usage.rows.map((row) => ({ row, share: proportion(row.samples, usage.matched_samples) }));
    const named = all.filter(({ row }) => (row[key] ?? null) !== null);
    if (!named.length) {
      panel.note.textContent = "";
      return panel.empty(usage.matched_samples ? absence(usage.gaps.filter((gap) => gap.detail.includes(key)), kind.empty) : absence(usage.gaps, "Nothing was observed in this time."));
    }
    const rows = kind.none ? all : named;
    this.top = rows.reduce((most, { share }) => Math.max(most, share?.high ?? 0), 0);
    const besides = all.filter((one) => !rows.includes(one)).reduce((sum, { row }) => sum + row.samples, 0);
    panel.note.textContent = (times ? `${times}; ` : "") + `bars to ${percent(this.top)}` + (besides ? `; besides ${percent(besides / usage.matched_samples)} ${NONE[key] ?? "none"}` : "");
    panel.note.title = `${count(usage.matched_samples)} samples`;
    this.table.set(rows);
    if (this.table.element.parentElement !== panel.body) panel.body.replaceChildren(this.table.element);
  }
}
