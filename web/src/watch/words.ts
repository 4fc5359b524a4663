// Times, places and commands as the sentences of this page have them.

import { time } from "../report/units";

/** Seconds from which a time is given in minutes. */
const MINUTES = 120;

/** Whole seconds in the two largest units: `1 h 15 min`; without what is 0 unless `all`. */
export function parts(seconds: number, all = false): string {
  const units: [number, string][] = [[86_400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const first = units.findIndex(([size]) => seconds >= size);
  const out: string[] = [];
  let rest = seconds;
  for (const [size, unit] of first < 0 ? [] : units.slice(first, first + 2)) {
    const whole = Math.floor(rest / size);
    if (whole > 0 || (all && out.length > 0)) out.push(`${whole} ${unit}`);
    rest -= whole * size;
  }
  return out.join(" ") || "0 s";
}

/** A length of time: three digits, and from two minutes on in minutes and hours. */
export const lasting = (nanos: number): string =>
  nanos < MINUTES * 1e9 ? time(nanos) : parts(Math.floor(nanos / 1e9), true);

/** The time since the look before, after `in`: `the last second`. */
export const latest = (interval: number): string =>
  Math.abs(interval - 1e9) < 5e7 ? "the last second" : `the last ${lasting(interval)}`;

/** At most `longest` characters. Hidden ones are replaced where the text comes to the page. */
export const cut = (text: string, longest: number): string =>
  text.length > longest ? `${text.slice(0, longest)}\u2026` : text;

/** A place or a command in a sentence, where back-ticks set it off. */
export const code = (text: string, longest = 120): string => `\`${cut(text, longest).replace(/`/g, "'")}\``;

/** A word of a command line, in quotes where the shell needs them. */
export const word = (text: string): string =>
  /^[\w.,:=@%+/-]+$/.test(text) && !text.startsWith("-") ? text : `'${text.replace(/'/g, "'\\''")}'`;

/** Time of day of the reader: `12:03:10`. */
export const clock = (date: Date): string => date.toLocaleTimeString("en-GB");

export const plural = (count: number, word: string): string => (count === 1 ? word : `${word}s`);
