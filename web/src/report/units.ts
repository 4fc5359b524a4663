// Numbers as people read them: three significant digits, SI prefix, unit. Exact values are for titles.

const UP = ["", "k", "M", "G", "T", "P", "E"];
const DOWN = ["", "m", "\u00b5", "n", "p"];

/** Without a prefix, as `talea_model::units::three_digits`. */
export const threeDigits = (value: number): string =>
  value === 0 ? "0" : value.toFixed(2 - Math.min(2, Math.max(-3, Math.floor(Math.log10(Math.abs(value))))));

const countless = (value: number): string =>
  Number.isInteger(value) ? String(value) : Math.abs(value) < 0.0005 ? value.toExponential(2) : threeDigits(value);

/** As `talea_model::units::si`: nanoseconds become seconds, `1/s` loses its 1, and units that are words stand apart. */
export function si(value: number, unit: string): string {
  if (unit === "ns" || unit.startsWith("ns/")) return si(value / 1e9, unit.slice(1));
  if (unit.startsWith("1/")) unit = unit.slice(1);
  if ((unit.split("/")[0] ?? "").length > 3) {
    const size = Math.abs(value);
    const plain = size === 0 || (size >= 0.001 && size < 999.5);
    return `${plain ? threeDigits(value) : si(value, "")} ${unit}`;
  }
  if (value === 0 || !Number.isFinite(value)) return `${value} ${unit}`.trim();
  // Counts, their rates and ratios are in no unit that could be divided.
  if ((unit === "" || unit.startsWith("/")) && Math.abs(value) < 999.5) return `${countless(value)} ${unit}`.trim();
  let scaled = Math.abs(value);
  let step = 0;
  while (scaled >= 999.5 && step < 6) {
    scaled /= 1000;
    step++;
  }
  while (scaled < 0.9995 && step > -4) {
    scaled *= 1000;
    step--;
  }
  const prefix = step >= 0 ? UP[step] : DOWN[-step];
  const digits = scaled >= 99.95 ? 0 : scaled >= 9.995 ? 1 : 2;
  return `${value < 0 ? "-" : ""}${scaled.toFixed(digits)} ${prefix}${unit}`.trim();
}

export const time = (nanos: number): string => si(nanos / 1e9, "s");
/** A measured time; one of 0 is below the bound of its resolution. */
export const atMost = (nanos: number, bound: number): string => (nanos === 0 && bound > 0 ? `< ${time(bound)}` : time(nanos));
export const bytes = (amount: number): string => (amount < 1000 ? `${amount} B` : si(amount, "B"));

/** Whole numbers: all digits up to 99,999, then three. */
export const count = (value: number): string =>
  value < 100_000 ? String(value).replace(/\B(?=(\d{3})+$)/g, ",") : si(value, "");

export function percent(part: number): string {
  const value = part * 100;
  if (value === 0) return "0 %";
  if (value < 0.05) return "< 0.1 %";
  return `${value >= 99.95 ? "100" : value.toFixed(1)} %`;
}

export const exact = (value: number, unit: string): string =>
  `${String(value).replace(/\B(?=(\d{3})+$)/g, ",")} ${unit}`;

/** About `wanted` round values from `low` to `high`. */
export function ticks(low: number, high: number, wanted: number): number[] {
  const span = high - low;
  if (!(span > 0)) return [low];
  const raw = span / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= raw) ?? raw;
  const out: number[] = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) out.push(at);
  return out;
}

/** Labels of ticks share one prefix and the digits that tell them apart. */
export function tickTime(values: number[]): (value: number) => string {
  const step = values.length > 1 ? Math.abs(values[1]! - values[0]!) : 1;
  const largest = Math.max(step, ...values.map(Math.abs));
  const [unit, size] = ([["s", 1e9], ["ms", 1e6], ["\u00b5s", 1e3], ["ns", 1]] as const).find(
    ([, size]) => largest >= size,
  ) ?? ["ns", 1];
  const digits = Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9));
  return (value) => `${(value / size).toFixed(Math.min(digits, 9))} ${unit}`;
}
