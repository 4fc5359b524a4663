// Tables that sort by a click on a column's head, show a first part of many rows, and choose a row.

import type { Cell } from "./csv";
import { csv } from "./csv";
import { h, plain } from "./dom";

export interface Column<Row> {
  /** Head of the column and of the CSV's column, with the unit that the CSV has: `time (ns)`. */
  head: string;
  /** Shown instead of `head` in the page. */
  short?: string;
  title?: string;
  /** Value for sorting and export. */
  value: (row: Row) => Cell;
  /** Shown text; the value itself where absent. */
  show?: (row: Row) => Node | string;
  /** Left for text; numbers stand right. */
  text?: boolean;
  /** Only in the file and in tables behind plots. */
  extra?: boolean;
}

export interface TableOptions<Row> {
  label: string;
  columns: Column<Row>[];
  sort: number;
  ascending?: boolean;
  first: number;
  choose?: (row: Row) => void;
  chosen?: (row: Row) => boolean;
  faded?: (row: Row) => boolean;
  /** Somebody sorted by this column. */
  sorted?: (column: number, down: boolean) => void;
}

export class Table<Row> {
  readonly element = h("div", { class: "scroll" });
  private rows: Row[] = [];
  private down = true;
  private sort: number;
  private all = false;

  constructor(private readonly options: TableOptions<Row>) {
    this.sort = options.sort;
    this.down = options.ascending === undefined ? !options.columns[options.sort]?.text : !options.ascending;
  }

  set(rows: Row[]): void {
    this.rows = rows;
    this.draw();
  }

  csv(): string {
    const { columns } = this.options;
    return csv(columns.map((one) => one.head), this.rows.map((row) => columns.map((one) => one.value(row))));
  }

  private sorted(): Row[] {
    const column = this.options.columns[this.sort];
    if (!column) return this.rows;
    const keyed = this.rows.map((row, at) => ({ row, at, key: column.value(row) }));
    keyed.sort((a, b) => {
      const order =
        typeof a.key === "number" && typeof b.key === "number"
          ? a.key - b.key
          : a.key === null || b.key === null
            ? Number(b.key === null) - Number(a.key === null)
            : String(a.key) < String(b.key) ? -1 : String(a.key) > String(b.key) ? 1 : 0;
      return (this.down ? -order : order) || a.at - b.at;
    });
    const { faded } = this.options;
    const rows = keyed.map((one) => one.row);
    return faded ? [...rows.filter((row) => !faded(row)), ...rows.filter(faded)] : rows;
  }

  private draw(): void {
    const { columns, label, first, choose, chosen, faded } = this.options;
    // The focus stays: by its name, else by its place.
    const inside = this.element.contains(document.activeElement);
    const focused = inside ? (document.activeElement as HTMLElement).dataset["key"] : undefined;
    const place = inside && !focused ? [...this.element.querySelectorAll("a, button")].indexOf(document.activeElement!) : -1;
    const head = h(
      "tr",
      {},
      ...columns.map((column, at) =>
        h(
          "th",
          {
            class: `${column.text ? "text" : ""} ${column.extra ? "extra" : ""}`,
            scope: "col",
            "aria-sort": at === this.sort ? (this.down ? "descending" : "ascending") : "none",
          },
          h(
            "button",
            {
              type: "button",
              "data-key": `head${at}`,
              title: column.title ?? column.head,
              onclick: () => {
                this.down = at === this.sort ? !this.down : !column.text;
                this.sort = at;
                this.draw();
                this.options.sorted?.(at, this.down);
              },
            },
            column.short ?? column.head,
            h("span", { class: "arrow", "aria-hidden": "true" }, at === this.sort ? (this.down ? "\u2193" : "\u2191") : ""),
          ),
        ),
      ),
    );
    const sorted = this.sorted();
    const shown = this.all ? sorted : sorted.slice(0, first);
    const body = shown.map((row, at) => {
      const active = chosen?.(row) ?? false;
      const line = h(
        "tr",
        {
          class: `${active ? "chosen" : ""} ${faded?.(row) ? "faded" : ""}`,
          ...(choose && {
            tabindex: at === 0 ? 0 : -1,
            "data-key": `row${at}`,
            "aria-selected": active,
            onclick: () => choose(row),
            onkeydown: (event: KeyboardEvent) => this.key(event, row),
          }),
        },
        ...columns.map((column) => {
          const value = column.value(row);
          const content = column.show ? column.show(row) : plain(value === null ? "" : String(value));
          return h("td", { class: `${column.text ? "text" : ""} ${column.extra ? "extra" : ""}` }, content);
        }),
      );
      return line;
    });
    const rest = sorted.length - shown.length;
    this.element.replaceChildren(
      h("table", { "aria-label": label }, h("thead", {}, head), h("tbody", {}, ...body)),
      rest > 0 &&
        h(
          "button",
          { type: "button", class: "more", onclick: () => { this.all = true; this.draw(); } },
          `show ${rest} more`,
        ) || "",
    );
    if (focused) this.element.querySelector<HTMLElement>(`[data-key="${focused}"]`)?.focus();
    else if (place >= 0) this.element.querySelectorAll<HTMLElement>("a, button")[place]?.focus();
  }

  private key(event: KeyboardEvent, row: Row): void {
    const line = event.currentTarget as HTMLElement;
    if (event.key === "Enter" || event.key === " ") this.options.choose?.(row);
    else if (event.key === "ArrowDown") (line.nextElementSibling as HTMLElement | null)?.focus();
    else if (event.key === "ArrowUp") (line.previousElementSibling as HTMLElement | null)?.focus();
    else return;
    event.preventDefault();
  }
}
