// The frame that every view stands in: title, what it shows, its tools, and the table behind it.

import type { Column } from "./table";
import { save } from "./csv";
import { button, h } from "./dom";
import { Table } from "./table";

export interface Behind<Row> {
  name: string;
  columns: Column<Row>[];
  rows: () => Row[];
}

export class Panel {
  readonly element: HTMLElement;
  readonly body = h("div", { class: "body" });
  readonly note = h("span", { class: "note" });
  readonly tools = h("span", { class: "tools" });

  private readonly heading = h("h2");

  constructor(id: string, title: string) {
    this.heading.textContent = title;
    this.element = h(
      "section",
      { class: `panel ${id}`, id, "aria-label": title, tabindex: -1 },
      h("header", {}, this.heading, this.note, this.tools),
      this.body,
    );
  }

  /** Adds `table` and `csv`: the figures that the plot was drawn from. */
  behind<Row>(what: Behind<Row>): void {
    const table = new Table<Row>({ label: what.name, columns: what.columns, sort: -1, first: 100 });
    const holder = h("div", { class: "behind", hidden: true }, table.element);
    this.element.append(holder);
    const toggle = button("table", `${what.name} as a table`, () => {
      holder.hidden = !holder.hidden;
      this.body.hidden = !holder.hidden;
      toggle.setAttribute("aria-pressed", String(!holder.hidden));
      if (!holder.hidden) table.set(what.rows());
      else this.body.dispatchEvent(new Event("again"));
    });
    toggle.setAttribute("aria-pressed", "false");
    this.tools.append(toggle, saver(what.name, () => {
      table.set(what.rows());
      return table.csv();
    }));
    this.refresh = () => {
      if (!holder.hidden) table.set(what.rows());
    };
  }

  title(text: string): void {
    this.heading.textContent = text;
    this.element.setAttribute("aria-label", text);
  }

  refresh: () => void = () => undefined;

  /** Says why there is nothing to draw. */
  empty(why: string): void {
    this.body.replaceChildren(h("p", { class: "empty" }, why));
  }
}

export function saver(name: string, text: () => string): HTMLButtonElement {
  return button("csv", `${name} as a CSV file`, () => save(`${name.replace(/\W+/g, "-")}.csv`, "text/csv", text()));
}

/** Calls `draw` with the width whenever it changes, once a frame at most. */
export function watchWidth(element: HTMLElement, draw: (width: number) => void): void {
  let last = 0;
  new ResizeObserver((entries) => {
    const width = Math.floor(entries[0]?.contentRect.width ?? 0);
    if (width > 0 && width !== last) {
      last = width;
      requestAnimationFrame(() => draw(width));
    }
  }).observe(element);
}
