// Which of too many lines are coloured, so that lines alike are so together: as crates/show/report/src/network/cut.rs.

import { count } from "../report/units";

/** For each line whether it is coloured: at most about so many, those with most; NaN is what is not known. Of many lines zero never is. */
export function coloured(sizes: number[], most: number): boolean[] {
  if (sizes.length <= most) return sizes.map(() => true);
  const absent = sizes.filter(Number.isNaN).length;
  const hatched = absent <= most;
  const room = hatched ? most - absent : most;
  const out = sizes.map((size) => hatched && Number.isNaN(size));
  const order = sizes.map((_, at) => at).filter((at) => sizes[at]! > 0).sort((a, b) => sizes[b]! - sizes[a]!);
  for (let begin = 0, end = 0; begin < order.length; begin = end) {
    while (end < order.length && sizes[order[end]!] === sizes[order[begin]!]) end++;
    // Equal ones at the cut are all out, unless nothing would be in.
    if (begin > 0 && end > room) break;
    for (let at = begin; at < end; at++) out[order[at]!] = true;
  }
  return out;
}

/** Text on lines that are left grey; empty if all are coloured. */
export function note(sizes: number[], lit: boolean[]): string {
  const grey = sizes.filter((_, at) => !lit[at]);
  if (!grey.length) return "";
  const absent = grey.filter(Number.isNaN).length;
  return `${count(sizes.length - grey.length)} of ${count(sizes.length)} lines are coloured, ${grey.every((size) => size === 0) ? "the others have none" : "those with most"}${absent ? `; ${count(absent)} of the others are not known` : ""}`;
}
