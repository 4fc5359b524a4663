// From values to classes of colour. The rules are those of the SVG picture (topology's scale.rs), so that both look alike.

import { si } from "../report/units";

export const STEPS = 12;
export const CHANGES = 11;

export type RangeKind = "fixed" | "auto" | "robust";

export interface Scale { log: boolean; min: number; max: number; kind: RangeKind; change: boolean }

export function fraction(scale: Scale, value: number): number {
  if (Number.isNaN(value)) return NaN;
  let { min: low, max: high } = scale;
  let at = value;
  if (scale.log) {
    const most = Math.max(scale.max, Number.MIN_VALUE);
    const least = scale.min > 0 ? scale.min : most / 1e6;
    low = Math.log(least);
    high = Math.log(most);
    at = value > 0 ? Math.log(value) : low;
  }
  const span = high - low;
  if (!(span > 0)) return at > high ? 1 : at === 0 || at < low ? 0 : 0.5;
  return Math.min(1, Math.max(0, (at - low) / span));
}

/** The class of a value's colour; a hatched one where there is no value. */
export function colour(scale: Scale, value: number): string {
  const part = fraction(scale, value);
  if (Number.isNaN(part)) return "na";
  const steps = scale.change ? CHANGES : STEPS;
  return `${scale.change ? "d" : "q"}${Math.min(steps - 1, Math.floor(part * steps))}`;
}

/** The ends of a scale over all times, from a sample of the values where there are many. */
export function ends(values: Float32Array, robust: boolean): [number, number] {
  if (!robust) {
    let low = Infinity;
    let high = -Infinity;
    for (const value of values) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
    return low <= high ? [low, high] : [0, 1];
  }
  const step = Math.max(1, Math.floor(values.length / 20_000));
  const some: number[] = [];
  for (let at = 0; at < values.length; at += step) if (!Number.isNaN(values[at]!)) some.push(values[at]!);
  if (!some.length) return [0, 1];
  some.sort((a, b) => a - b);
  const pick = (part: number): number => some[Math.round(part * (some.length - 1))]!;
  return [pick(0.05), pick(0.95)];
}

/** Whether a unit stands for pieces: plain numbers, bytes, and either of them in a time. */
const counted = (unit: string): boolean => ["", "1", "B"].includes(unit.split("/")[0] ?? "");

/** Three digits of a number below one; one digit and the power of ten where there would be too many zeros. */
function belowOne(value: number): string {
  const size = Math.abs(value);
  return size < 0.001 ? value.toExponential(0) : value.toFixed(2 - Math.floor(Math.log10(size)));
}

/** Three significant digits and the unit, as in the picture: what is counted has no thousandth parts (0.0205 /s, not 20.5 m/s). */
export function amount(value: number, unit: string): string {
  if (Number.isNaN(value)) return "absent";
  const size = Math.abs(value);
  if (unit === "%") return size >= 99.95 || value === 0 ? `${value.toFixed(0)} %` : `${value.toFixed(1)} %`;
  if (unit === "" && size >= 0.001 && size < 1000) return value.toFixed(Math.max(0, 2 - Math.max(0, Math.floor(Math.log10(size)))));
  if (counted(unit) && size > 0 && size < 0.9995) return `${belowOne(value)} ${unit.replace(/^1/, "")}`.trimEnd();
  return si(value, unit);
}

/** The same in at most so many characters; without its unit, or nothing, where there is no room. */
export function fitting(value: number, unit: string, room: number): string {
  if (Number.isNaN(value)) return "";
  const short = counted(unit) ? amount(value, "") : si(value, "");
  return [amount(value, unit), short, short.replace(" ", "")].find((text) => text.length <= room) ?? "";
}
