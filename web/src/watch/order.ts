// Order of a table's rows: by one column, then as they came; and the two ends of many rows.

import type { Cell } from "../report/csv";

export interface Order { column: number; down: boolean }

/** Numbers before texts by their size, missing values last in either direction. */
export function ordered<Row>(rows: readonly Row[], value: (row: Row) => Cell, down: boolean): Row[] {
  const keyed = rows.map((row, at) => ({ row, at, key: value(row) }));
  keyed.sort((a, b) => {
    if (a.key === null || b.key === null) return Number(a.key === null) - Number(b.key === null) || a.at - b.at;
    const order = a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
    return (down ? -order : order) || a.at - b.at;
  });
  return keyed.map((one) => one.row);
}

export interface Ends<Row> { first: Row[]; between: Row[]; last: Row[] }

/** The first and the last `each` rows, and those between. */
export function ends<Row>(rows: Row[], each: number): Ends<Row> {
  if (rows.length <= 2 * each) return { first: rows, between: [], last: [] };
  return { first: rows.slice(0, each), between: rows.slice(each, -each), last: rows.slice(-each) };
}
