// A table whose cells change in place, so that nothing moves but the figures.
//
// Owns rows of fixed height and columns of fixed width; of many rows only those in its window are
// in the page. The rows come in order: a click on a column's head only says which one it was.

import type { Cell } from "../report/csv";
import { h } from "../report/dom";
import type { Order } from "./order";

export interface LiveColumn<Row> {
  head: string;
  title: string;
  /** Width with its unit; the rest of the table where absent. */
  width?: string;
  /** Left for text; numbers stand right. */
  text?: boolean;
  value: (row: Row) => Cell;
  /** Makes the content of a cell once, and returns what changes it. */
  fill: (cell: HTMLElement) => (row: Row) => void;
}

export interface LiveTableOptions<Row> {
  label: string;
  columns: LiveColumn<Row>[];
  /** The same of a row at all looks. */
  key: (row: Row) => string;
  /** Called with the place of a column; without it the table has no heads. */
  sorted?: (column: number) => void;
}

interface Line<Row> { element: HTMLTableRowElement; paint: ((row: Row) => void)[] }

/** Rows that are in the page as they are; more stand in a window. */
const WHOLE = 64;
/** Rows above and below the window. */
const BEYOND = 6;

/** Changes a text only where it is another. */
export function setText(node: Node, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}

/** The same of what a pointer shows. */
export function setTitle(element: HTMLElement, text: string): void {
  if (element.title !== text) element.title = text;
}

export class LiveTable<Row> {
  readonly element = h("div", { class: "live", tabindex: -1 });
  private readonly body = h("tbody");
  private readonly above: HTMLTableRowElement;
  private readonly below: HTMLTableRowElement;
  private readonly heads: HTMLElement[];
  private lines: Line<Row>[] = [];
  private rows: Row[] = [];
  /** Key of the row that is marked. */
  private chosen: string | null = null;
  private waits = false;

  constructor(private readonly options: LiveTableOptions<Row>) {
    const { columns, label, sorted } = options;
    const space = (): HTMLTableRowElement => h("tr", { class: "space", "aria-hidden": "true" }, h("td", { colspan: columns.length }));
    [this.above, this.below] = [space(), space()];
    this.heads = columns.map((column, at) => h("th", { scope: "col", class: column.text ? "text" : "" },
      h("button", { type: "button", title: column.title, onclick: () => sorted?.(at) }, column.head, h("span", { class: "arrow", "aria-hidden": "true" }))));
    const widths = columns.map((column) => {
      const element = h("col");
      if (column.width) element.style.width = column.width;
      return element;
    });
    this.body.append(this.above, this.below);
    this.element.append(h("table", { "aria-label": label }, h("colgroup", {}, ...widths), sorted ? h("thead", {}, h("tr", {}, ...this.heads)) : null, this.body));
    this.element.addEventListener("scroll", () => this.later());
    new ResizeObserver(() => this.later()).observe(this.element);
  }

  set(rows: Row[], order: Order | null = null): void {
    this.rows = rows;
    this.heads.forEach((head, at) => {
      const isIt = order?.column === at;
      head.setAttribute("aria-sort", isIt ? (order.down ? "descending" : "ascending") : "none");
      setText(head.querySelector(".arrow")!, isIt ? (order.down ? "\u2193" : "\u2191") : "");
    });
    this.element.classList.toggle("window", rows.length > WHOLE);
    this.paint();
  }

  /** Brings a row into the window and marks it. */
  reveal(key: string): void {
    const at = this.rows.findIndex((row) => this.options.key(row) === key);
    if (at < 0) return;
    this.chosen = key;
    if (this.element.classList.contains("window")) this.element.scrollTop = Math.max(0, at * this.height() - this.element.clientHeight / 2);
    this.paint();
    this.lines.find((one) => one.element.classList.contains("chosen"))?.element.scrollIntoView({ block: "nearest" });
  }

  private height(): number {
    return this.lines[0]?.element.offsetHeight || 24;
  }

  /** Once a frame at most. */
  private later(): void {
    if (this.waits) return;
    this.waits = true;
    requestAnimationFrame(() => {
      this.waits = false;
      this.paint();
    });
  }

  private paint(): void {
    const { rows } = this;
    const windowed = this.element.classList.contains("window");
    const height = this.height();
    const room = windowed ? Math.ceil((this.element.clientHeight || 480) / height) + 2 * BEYOND : rows.length;
    const most = Math.min(rows.length, room);
    const first = windowed ? Math.max(0, Math.min(rows.length - most, Math.floor(this.element.scrollTop / height) - BEYOND)) : 0;
    while (this.lines.length < most) this.grow();
    for (const line of this.lines.splice(most)) line.element.remove();
    this.lines.forEach((line, at) => {
      const row = rows[first + at]!;
      for (const paint of line.paint) paint(row);
      line.element.setAttribute("aria-rowindex", String(first + at + 2));
      line.element.classList.toggle("chosen", this.chosen !== null && this.options.key(row) === this.chosen);
    });
    this.space(this.above, first * height);
    this.space(this.below, (rows.length - first - most) * height);
  }

  private space(row: HTMLTableRowElement, height: number): void {
    row.hidden = height <= 0;
    row.style.height = `${height}px`;
  }

  private grow(): void {
    const element = h("tr");
    const paint = this.options.columns.map((column) => {
      const cell = h("td", { class: column.text ? "text" : "" });
      element.append(cell);
      return column.fill(cell);
    });
    this.below.before(element);
    this.lines.push({ element, paint });
  }
}
