// Colours of links: cividis with a low end near the paper, in the twelve classes of the SVG pictures (ramp.rs); deviations from blue over grey to orange.

import type { Range } from "./model";
import { hatch } from "../report/colours";
import { fraction } from "./model";

const LIGHT = [[249, 245, 224], [232, 220, 166], [195, 179, 105], [138, 134, 120], [87, 93, 109], [31, 61, 108], [0, 34, 78]];
const DARK = [[27, 35, 48], [18, 53, 112], [72, 82, 109], [112, 113, 115], [165, 156, 116], [214, 194, 92], [254, 232, 56]];
export const STEPS = 12;
/** Classes of deviations, of which the one in the middle is no change. */
export const CHANGES = 11;

function mix(a: number[], b: number[], part: number): string {
  return `rgb(${a.map((one, at) => Math.round(one + (b[at]! - one) * part)).join(",")})`;
}

function sequential(part: number, dark: boolean): string {
  const stops = dark ? DARK : LIGHT;
  const at = (0.06 + 0.94 * part) * 6;
  const low = Math.min(5, Math.floor(at));
  return mix(stops[low]!, stops[low + 1]!, at - low);
}

function diverging(part: number, dark: boolean): string {
  const [less, none, more] = dark ? [[88, 166, 235], [58, 64, 71], [245, 160, 50]] : [[0, 94, 170], [205, 208, 212], [205, 95, 0]];
  return mix(none!, part < 0 ? less! : more!, Math.abs(part) ** 0.85);
}

export class Ink {
  readonly dark: boolean;
  readonly ramp: string[];
  readonly changes: string[];
  private readonly style = getComputedStyle(document.documentElement);
  readonly text = this.read("text");
  readonly dim = this.read("dim");
  readonly line = this.read("line");
  readonly paper = this.read("paper");
  readonly accent = this.read("accent");
  readonly way: string;
  readonly halt = this.read("halt");
  readonly bad = this.read("bad");
  readonly sans = this.read("sans");
  readonly mono = this.read("mono");
  private pattern: CanvasPattern | string | undefined;

  constructor() {
    this.dark = this.style.colorScheme.includes("dark");
    this.way = this.dark ? "#2fc79a" : "#00805e";
    this.ramp = Array.from({ length: STEPS }, (_, step) => sequential(step / (STEPS - 1), this.dark));
    this.changes = Array.from({ length: CHANGES }, (_, step) => diverging(step / 5 - 1, this.dark));
  }

  read(name: string): string {
    return this.style.getPropertyValue(`--${name}`).trim();
  }

  hatched(pen: CanvasRenderingContext2D): CanvasPattern | string {
    return (this.pattern ??= hatch(pen, this.dim));
  }

  /** The class of a value: its place in the ramp that the range has; -1 for what is absent. */
  static step(range: Range | null, value: number): number {
    if (!range || Number.isNaN(value)) return -1;
    const part = fraction(range, value);
    if (range.both) return Math.min(CHANGES - 1, Math.floor(((part + 1) / 2) * CHANGES));
    return Math.min(STEPS - 1, Math.floor(part * STEPS));
  }

  colour(range: Range, step: number): string {
    return (range.both ? this.changes : this.ramp)[step]!;
  }
}
