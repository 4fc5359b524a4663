// The findings as a list that changes in place, and the mix beside it: where the ranks are.

import { h, swatch } from "../report/dom";
import { sentence } from "../report/header";
import { count, percent } from "../report/units";
import type { WatchData } from "./data";
import { isLast } from "./data";
import type { Said } from "./findings";
import { findings } from "./findings";
import { setText } from "./live-table";
import { PLACES, whereabouts } from "./whereabouts";

interface Line { element: HTMLLIElement; button: HTMLButtonElement; said: Said }

export class Says {
  readonly element: HTMLElement;
  private readonly list = h("ol");
  private readonly caption = h("div", { class: "caption" });
  private readonly stack = h("div", { class: "stack", role: "img" });
  private readonly keys = h("ul", { class: "legend" });
  private readonly bars: HTMLElement[];
  private readonly figures: { element: HTMLElement; figure: HTMLElement; name: Text }[];
  private lines = new Map<string, Line>();
  private tallest = 0;

  constructor() {
    this.bars = PLACES.map(([place]) => h("i", { class: place }));
    this.figures = PLACES.map(([place]) => {
      const [figure, name] = [h("b"), document.createTextNode("")];
      const element = h("li", {}, swatch(place), name, figure);
      return { element, figure, name };
    });
    this.stack.append(...this.bars);
    this.keys.append(...this.figures.map((one) => one.element));
    this.element = h("section", { class: "panel findings", "aria-label": "findings" }, this.list,
      h("div", { class: "mix" }, this.caption, this.stack, this.keys));
    addEventListener("resize", () => {
      this.tallest = 0;
      this.list.style.minHeight = "";
    });
  }

  set(data: WatchData): void {
    const all = findings(data);
    const lines = new Map(all.map((said) => [said.key, this.lines.get(said.key) ?? line(said)]));
    for (const [key, one] of this.lines) if (!lines.has(key)) one.element.remove();
    all.forEach((said, at) => {
      const one = lines.get(said.key)!;
      if (this.list.children[at] !== one.element) this.list.insertBefore(one.element, this.list.children[at] ?? null);
      one.element.className = said.bad ? "warns" : "";
      if (one.said.text !== said.text || !one.button.firstChild) one.button.replaceChildren(...sentence(said.text));
      one.said = said;
    });
    this.lines = lines;
    // A sentence that goes leaves its place free, so that nothing below moves.
    this.tallest = Math.max(this.tallest, Math.ceil(this.list.getBoundingClientRect().height));
    this.list.style.minHeight = isLast(data) ? "" : `${this.tallest}px`;
    this.mix(data);
  }

  private mix(data: WatchData): void {
    const ended = isLast(data);
    const counts = whereabouts(data.ranks);
    const share = new Map([["computation", 1 - data.mpi_share], ["ended", data.mpi_share]]);
    setText(this.caption, ended ? "time of all ranks since the start" : "activity of the ranks at this look");
    PLACES.forEach(([place, name], at) => {
      const { element, figure, name: text } = this.figures[at]!;
      const part = ended ? share.get(place) ?? 0 : counts.get(place)! / Math.max(1, data.ranks.length);
      this.bars[at]!.style.flexGrow = String(part);
      this.bars[at]!.hidden = part === 0;
      this.bars[at]!.className = ended && place === "ended" ? "mpi" : place;
      element.hidden = ended && !share.has(place);
      element.firstElementChild!.className = `swatch ${this.bars[at]!.className}`;
      element.classList.toggle("none", part === 0);
      setText(text, ended && place === "ended" ? "in MPI" : name);
      setText(figure, ended ? percent(part) : count(counts.get(place)!));
    });
    this.stack.setAttribute("aria-label", this.figures.filter((one) => !one.element.hidden).map((one) => `${one.name.data} ${one.figure.textContent}`).join(", "));
  }
}

function line(said: Said): Line {
  const made: Line = { element: h("li"), button: h("button", { type: "button", title: "show the evidence", onclick: () => {
    const panel = document.getElementById(made.said.to);
    panel?.scrollIntoView({ block: "nearest" });
    panel?.focus({ preventScroll: true });
  } }), said };
  made.element.append(made.button);
  return made;
}
