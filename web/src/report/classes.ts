// The classes of ranks, and every rank as a cell: the second filter of every view.

import type { Model } from "./model";
import type { Selection, State } from "./state";
import type { RankRow } from "./types";
import { ink, sequential } from "./colours";
import { h, hideTip, name, plain, showTip } from "./dom";
import { standOut } from "./lanes";
import { hasThreads, isIn, mpiShare, representative } from "./location";
import { count, percent } from "./units";

/** Cells at most; of more ranks each stands for as many in a row. */
const CELLS = 4096;

/** Classes of ranks, and one cell for each rank, or for some in a row, filled by the share of time in MPI. */
export class Ranks {
  readonly element = h("div", { class: "classes" });

  constructor(private readonly model: Model, private readonly state: State) {}

  update(selection: Selection): void {
    const { classes, ranks } = this.model.report;
    const what = hasThreads(this.model.report) ? "thread" : "rank";
    const list = classes.map((one) => {
      const chosen = selection.cls === one.id;
      return h(
        "button",
        { type: "button", class: `class ${chosen ? "chosen" : ""}`, "aria-pressed": chosen, title: `${what}s ${plain(one.locations, 600)}; tree and graph show ${representative(this.model.report, one)}`,
          onclick: () => this.state.choose({ cls: one.id }, true) },
        h("span", { class: "label" }, "class ", name(one.name, 20)),
        h("small", {}, name(one.locations, 26)),
        h("span", { class: "figure" }, `${count(one.count)} ${what}${one.count === 1 ? "" : "s"}`),
      );
    });
    const block = Math.max(1, Math.ceil(ranks.length / CELLS));
    const blocks = Array.from({ length: Math.ceil(ranks.length / block) }, (_, at) => ranks.slice(at * block, (at + 1) * block));
    const shares = blocks.map((rows) => rows.reduce((sum, row) => sum + mpiShare(row), 0) / rows.length);
    /** The first rank of a cell, and the cell's ranks in words. */
    const first = (at: number): RankRow | undefined => blocks[at]?.[0];
    const named = (rows: RankRow[]): string => (rows.length > 1 ? `ranks ${rows[0]?.rank} to ${rows.at(-1)?.rank}` : `rank ${rows[0]?.rank}`);
    const mean = block > 1 ? ", mean" : "";
    const low = shares.reduce((least, share) => Math.min(least, share), 1);
    const high = shares.reduce((most, share) => Math.max(most, share), 0);
    const colours = ink();
    const columns = blocks.length <= 64 ? 16 : blocks.length <= 1024 ? 32 : 64;
    const apart = standOut(this.model, selection);
    const grid = h("div", { class: "cells", role: "group", "aria-label": "ranks by their share of time in MPI" });
    grid.style.gridTemplateColumns = `repeat(${columns}, 1fr)`;
    for (const [at, rows] of blocks.entries()) {
      const row = rows[0];
      if (!row) continue;
      const share = shares[at] ?? 0;
      const chosen = rows.some((one) => one.rank === selection.rank);
      const lost = rows.some((one) => !one.ok && apart.has(one.rank));
      const faded = selection.cls !== null && !rows.some((one) => isIn(one, selection.cls as number));
      const cell = h("button", {
        type: "button",
        tabindex: selection.rank === null ? (at === 0 ? 0 : -1) : chosen ? 0 : -1,
        class: `cell ${chosen ? "chosen" : ""} ${lost ? "lost" : ""} ${faded ? "faded" : ""}`,
        "aria-pressed": chosen,
        "aria-label": `${named(rows)}, ${percent(share)} in MPI${mean}${block > 1 ? "" : `, ${plain(row.end, 80)}`}`,
      }, ranks.length <= 64 ? String(row.rank) : "");
      const part = high > low ? (share - low) / (high - low) : 0.5;
      cell.style.background = sequential(0.08 + 0.84 * part, colours.dark);
      cell.style.color = (colours.dark ? part > 0.55 : part < 0.5) ? "#10151b" : "#fff";
      grid.append(cell);
    }
    const cells = [...grid.children] as HTMLElement[];
    const at = (event: Event): number => cells.indexOf(event.target as HTMLElement);
    grid.addEventListener("click", (event) => {
      const row = first(at(event));
      if (row) this.state.choose({ rank: row.rank }, true);
    });
    grid.addEventListener("mousemove", (event) => {
      const row = first(at(event));
      if (!row) return;
      const inMpi = `${percent(shares[at(event)] ?? 0)} in MPI`;
      const lines = block > 1 ? [named(blocks[at(event)] ?? []), `${inMpi}${mean}`] : [`rank ${row.rank} \u00b7 ${this.classNames(row)}`, inMpi, plain(row.end, 100)];
      showTip(event.clientX, event.clientY, lines);
    });
    grid.addEventListener("mouseleave", hideTip);
    grid.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
      const to = step === undefined ? undefined : cells[at(event) + step];
      if (!to) return;
      event.preventDefault();
      for (const cell of cells) cell.tabIndex = -1;
      to.tabIndex = 0;
      to.focus();
    });
    const held = this.element.contains(document.activeElement) && document.activeElement?.classList.contains("cell");
    const legend = h("div", { class: "scale" }, h("span", {}, percent(low)), h("i", { class: "ramp" }), h("span", {}, percent(high)), h("span", { class: "dim" }, "of time in MPI"));
    this.element.replaceChildren(h("h2", {}, "ranks"), ...list, ranks.length ? grid : "", ranks.length ? legend : "");
    if (held) this.element.querySelector<HTMLElement>('.cell[tabindex="0"]')?.focus();
  }

  /** `class A`, or those of its threads. */
  private classNames(row: RankRow): string {
    const all = [...new Set(row.threads?.map((one) => one.class) ?? [row.class])].sort((a, b) => a - b);
    const names = all.slice(0, 8).map((one) => plain(this.model.report.classes[one]?.name ?? "?", 20)).join(", ");
    const threads = row.threads ? `${row.threads.length} threads, ` : "";
    return `${threads}class${all.length > 1 ? "es" : ""} ${names}${all.length > 8 ? " \u2026" : ""}`;
  }
}
