// Cells of the tables that change in place: text, figures, and a bar with a mark.

import { h, plain } from "../report/dom";
import { setText, setTitle } from "./live-table";

/** A figure, with its exact value where the pointer rests. */
export function figure<Row>(text: (row: Row) => string, title?: (row: Row) => string): (cell: HTMLElement) => (row: Row) => void {
  return (cell) => {
    const content = h("span");
    cell.append(content);
    return (row) => {
      setText(content, text(row));
      if (title) setTitle(content, title(row));
    };
  };
}

/** A share with all its digits. */
export const exactShare = (part: number): string => `${(part * 100).toFixed(4)} %`;

/** A name from the run, cut at the end of its column. */
export function label(className: string): { element: HTMLElement; set: (text: string) => void } {
  const element = h("bdi", { class: className });
  return {
    element,
    set: (text) => {
      setText(element, plain(text, 300));
      setTitle(element, plain(text, 2000));
    },
  };
}

/** A bar from 0 to 1 of its column, and a line where the mean since the start is. */
export function bar(): { element: HTMLElement; set: (part: number, mark: number | null, className: string) => void } {
  const [amount, mark] = [h("i"), h("b")];
  const element = h("span", { class: "meter", "aria-hidden": "true" }, amount, mark);
  const place = (part: number): string => `${(Math.min(1, Math.max(0, part)) * 100).toFixed(2)}%`;
  return {
    element,
    set: (part, at, className) => {
      if (amount.className !== className) amount.className = className;
      amount.style.width = place(part);
      mark.hidden = at === null;
      if (at !== null) mark.style.left = place(at);
    },
  };
}
