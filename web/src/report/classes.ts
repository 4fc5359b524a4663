// The classes of ranks, and every rank as a cell: the second filter of every view.

import type { Model } from "./model";
import type { Selection, State } from "./state";
import type { RankRow } from "./types";
import { ink, sequential } from "./colours";
import { h, hideTip, name, plain, showTip } from "./dom";
import { standOut } from "./lanes";
import { hasThreads, isIn, mpiShare, representative } from "./location";
import { count, percent } from "./units";

/** Classes of ranks, and one cell for each rank, filled by its share of time in MPI. */
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
    const shares = ranks.map(mpiShare);
    const low = Math.min(...shares, 1);
    const high = Math.max(...shares, 0);
    const colours = ink();
    const columns = ranks.length <= 64 ? 16 : ranks.length <= 1024 ? 32 : 64;
    const apart = standOut(this.model, selection);
    const grid = h("div", { class: "cells", role: "group", "aria-label": "ranks by their share of time in MPI" });
    grid.style.gridTemplateColumns = `repeat(${columns}, 1fr)`;
    for (const [at, row] of ranks.entries()) {
      const share = shares[at] ?? 0;
      const chosen = selection.rank === row.rank;
      const cell = h("button", {
        type: "button",
        tabindex: selection.rank === null ? (at === 0 ? 0 : -1) : chosen ? 0 : -1,
        class: `cell ${chosen ? "chosen" : ""} ${!row.ok && apart.has(row.rank) ? "lost" : ""} ${selection.cls !== null && !isIn(row, selection.cls) ? "faded" : ""}`,
        "aria-pressed": chosen,
        "aria-label": `rank ${row.rank}, ${percent(share)} in MPI, ${plain(row.end, 80)}`,
      }, ranks.length <= 64 ? String(row.rank) : "");
      const part = high > low ? (share - low) / (high - low) : 0.5;
      cell.style.background = sequential(0.08 + 0.84 * part, colours.dark);
      cell.style.color = (colours.dark ? part > 0.55 : part < 0.5) ? "#10151b" : "#fff";
      grid.append(cell);
    }
    const cells = [...grid.children] as HTMLElement[];
    const at = (event: Event): number => cells.indexOf(event.target as HTMLElement);
    grid.addEventListener("click", (event) => {
      const row = ranks[at(event)];
      if (row) this.state.choose({ rank: row.rank }, true);
    });
    grid.addEventListener("mousemove", (event) => {
      const row = ranks[at(event)];
      if (row) showTip(event.clientX, event.clientY, [`rank ${row.rank} \u00b7 ${this.classNames(row)}`, `${percent(shares[at(event)] ?? 0)} in MPI`, plain(row.end, 100)]);
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
