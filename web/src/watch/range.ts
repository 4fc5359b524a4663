// The part of the run that the plots show: all of it, or the last minutes.

import { button, h } from "../report/dom";
import { lasting } from "./words";

/** Lengths to choose from; nanoseconds, all where null. */
const LENGTHS: [number | null, string][] = [[null, "whole run"], [600e9, "10 min"], [60e9, "1 min"]];

export class Range {
  readonly element = h("span", { class: "tools", role: "group", "aria-label": "time that is shown" });
  private readonly buttons: [number | null, HTMLButtonElement][];
  private readonly draws: (() => void)[] = [];
  private length: number | null = null;

  constructor() {
    this.buttons = LENGTHS.map(([length, text]) => [length, button(text, length === null ? "show the whole run" : `show the last ${lasting(length)}`, () => {
      this.length = length;
      this.press();
      for (const draw of this.draws) draw();
    })]);
    this.element.append(...this.buttons.map(([, one]) => one));
    this.press();
  }

  listen(draw: () => void): void {
    this.draws.push(draw);
  }

  /** Begin of the time that is shown, of a run that has lasted until `end`. */
  begin(end: number): number {
    // A choice that would show the same is none.
    const [, , shortest] = LENGTHS;
    this.element.hidden = end <= shortest![0]!;
    for (const [length, one] of this.buttons) one.hidden = length !== null && end <= length;
    return this.length === null ? 0 : Math.max(0, end - this.length);
  }

  private press(): void {
    for (const [length, one] of this.buttons) one.setAttribute("aria-pressed", String(length === this.length));
  }
}
