// The classes of ranks, and every rank as a cell: the second filter of every view.

import type { Model } from "./model";
import type { Selection, State } from "./state";
import type { RankClass } from "./types";
import { ink, sequential } from "./colours";
import { h, hideTip, name, plain, showTip } from "./dom";
import { standOut } from "./lanes";
import { count, percent } from "./units";

/** Classes of ranks, and one cell for each rank, filled by its share of time in MPI. */
export class Ranks {
  readonly element = h("div", { class: "classes" });

  constructor(private readonly model: Model, private readonly state: State) {}

  update(selection: Selection): void {
    const { classes, ranks } = this.model.report;
    const list = classes.map((one) => {
      const chosen = selection.cls === one.id;
      return h(
        "button",
        { type: "button", class: `class ${chosen ? "chosen" : ""}`, "aria-pressed": chosen, title: `ranks ${plain(one.ranks, 600)}; tree and graph show rank ${one.representative}`,
          onclick: () => this.state.choose({ cls: one.id, node: this.node(one) }, true) },
        h("span", { class: "label" }, "class ", name(one.name, 20)),
        h("small", {}, name(one.ranks, 26)),
        h("span", { class: "figure" }, `${count(one.count)} rank${one.count === 1 ? "" : "s"}`),
      );
    });
    const shares = ranks.map((row) => (row.wall > 0 ? row.mpi / row.wall : 0));
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
        class: `cell ${chosen ? "chosen" : ""} ${!row.ok && apart.has(row.rank) ? "lost" : ""} ${selection.cls !== null && row.class !== selection.cls ? "faded" : ""}`,
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
      if (row) showTip(event.clientX, event.clientY, [`rank ${row.rank} \u00b7 class ${plain(classes[row.class]?.name ?? "?", 20)}`, `${percent(shares[at(event)] ?? 0)} in MPI`, plain(row.end, 100)]);
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

  /** The node of that class that does the same as what is selected now. */
  private node(cls: RankClass): number | null {
    const { node } = this.state.selection;
    const key = node === null ? undefined : this.model.places.get(node)?.key;
    if (key === undefined) return null;
    for (const [id, place] of this.model.places) if (place.cls === cls && place.key === key) return id;
    return null;
  }
}
