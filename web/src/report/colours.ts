// Colours as the style sheet defines them for light and dark, read again when the theme changes.

import type { Category } from "./types";

export const CATEGORIES: Category[] = ["computation", "waiting", "transfer", "collective", "io", "setup"];
export const CATEGORY_NAMES: Record<Category, string> = {
  computation: "computation",
  // Calls that may wait; how long they do is another figure.
  waiting: "receive & wait",
  transfer: "transfer",
  collective: "collective",
  io: "I/O",
  setup: "set-up",
};

export interface Ink {
  text: string;
  dim: string;
  line: string;
  faint: string;
  paper: string;
  accent: string;
  category: Record<Category, string>;
  dark: boolean;
}

export function ink(): Ink {
  const style = getComputedStyle(document.documentElement);
  const read = (key: string): string => style.getPropertyValue(`--${key}`).trim();
  const category = {} as Record<Category, string>;
  for (const one of CATEGORIES) category[one] = read(one);
  return {
    text: read("text"),
    dim: read("dim"),
    line: read("line"),
    faint: read("faint"),
    paper: read("paper"),
    accent: read("accent"),
    category,
    dark: style.colorScheme.includes("dark"),
  };
}

// Cividis (Nunez, Anderton, Renslow 2018) at nine places: dark blue to yellow.
const CIVIDIS: [number, number, number][] = [
  [0, 34, 78], [18, 53, 112], [59, 73, 108], [87, 93, 109], [112, 113, 115],
  [138, 134, 120], [165, 156, 116], [195, 179, 105], [254, 232, 56],
];

/** Little is near the paper: dark in dark mode, light in light mode. */
export function sequential(part: number, dark: boolean): string {
  const at = Math.min(1, Math.max(0, dark ? part : 1 - part)) * 8;
  const low = Math.min(7, Math.floor(at));
  const mix = at - low;
  const a = CIVIDIS[low]!;
  const b = CIVIDIS[low + 1]!;
  const channel = (i: 0 | 1 | 2): number => Math.round(a[i] + (b[i] - a[i]) * mix);
  return `rgb(${channel(0)},${channel(1)},${channel(2)})`;
}

/** The pattern for what was lost. */
export function hatch(context: CanvasRenderingContext2D, colour: string): CanvasPattern | string {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const pen = tile.getContext("2d");
  if (!pen) return colour;
  pen.strokeStyle = colour;
  pen.lineWidth = 1;
  pen.beginPath();
  for (const shift of [-6, 0, 6]) {
    pen.moveTo(shift, 6);
    pen.lineTo(shift + 6, 0);
  }
  pen.stroke();
  return context.createPattern(tile, "repeat") ?? colour;
}
