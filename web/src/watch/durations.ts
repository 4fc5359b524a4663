// Durations of iterations as they are drawn: the scale and where it is cut.

import type { IterationGroup } from "./data";

export interface Scale {
  /** End of the axis, which begins at 0; nanoseconds. */
  top: number;
  /** The longest iteration. */
  longest: IterationGroup;
  isCut: boolean;
}

/** The scale ends at twice the highest mean: a few slow iterations would flatten all others. */
export function durationScale(history: IterationGroup[]): Scale | null {
  const [first] = history;
  if (!first) return null;
  const longest = history.reduce((top, one) => (one.max_ns > top.max_ns ? one : top), first);
  const highest = history.reduce((top, one) => Math.max(top, one.mean_ns), 0);
  const top = Math.min(longest.max_ns, 2 * highest);
  return top > 0 ? { top, longest, isCut: longest.max_ns > top } : null;
}

/** End of the last iteration of a group. */
export const endOf = (group: IterationGroup): number => group.begin_ns + group.mean_ns * group.count;

/** The smallest of 1, 1.5, 2, 3, 5 and 7 times a power of ten that is no smaller. */
export function roundUp(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 1.5, 2, 3, 5, 7, 10].find((one) => one * power >= value * (1 - 1e-9)) ?? 10;
  return Number((step * power).toPrecision(6));
}
