// Round moments of an axis of time, in the reader's time zone.

import { clock, day } from "./show";

const MINUTE = 60_000;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10_080].map((one) => one * MINUTE);

/** At most about `most` moments between two of nanoseconds since 1970, with their texts. */
export function moments(begin: number, end: number, most: number): { at: number; text: string }[] {
  const [from, to] = [begin / 1e6, end / 1e6];
  const step = STEPS.find((one) => (to - from) / one <= most) ?? STEPS.at(-1)!;
  const out: { at: number; text: string }[] = [];
  // Local midnight is where days and hours are counted from; summer time may shift a day's by an hour.
  const midnight = new Date(from);
  midnight.setHours(0, 0, 0, 0);
  for (let at = midnight.getTime(); at <= to && out.length < 100; at += step) {
    if (at < from) continue;
    const date = new Date(at);
    out.push({ at: at * 1e6, text: step >= 1440 * MINUTE || (date.getHours() === 0 && date.getMinutes() === 0) ? day(date) : clock(date) });
  }
  return out;
}
