// Round moments of an axis of time.

import { tickTime, ticks } from "../report/units";
import { parts } from "./words";

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400];

export interface Moment { at: number; text: string }

/** At most about `wanted` moments from `begin` to `end` nanoseconds, with their texts. */
export function moments(begin: number, end: number, wanted: number): Moment[] {
  const seconds = (end - begin) / 1e9;
  const step = STEPS.find((one) => seconds / one <= wanted) ?? STEPS.at(-1)! * Math.ceil(seconds / STEPS.at(-1)! / wanted);
  if (seconds < 2 * STEPS[0]!) {
    const values = ticks(begin, end, wanted);
    const text = tickTime(values);
    return values.map((at) => ({ at, text: text(at) }));
  }
  const out: Moment[] = [];
  for (let at = Math.ceil(begin / 1e9 / step) * step; at * 1e9 <= end * (1 + 1e-9); at += step) {
    out.push({ at: at * 1e9, text: end < 120e9 ? `${at} s` : parts(at) });
  }
  return out;
}
