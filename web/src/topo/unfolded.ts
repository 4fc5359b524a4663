// Devices that share a mark in the picture: below it each has a cell of its own while the mark is open.

import type { Drawn } from "./drawn";
import type { Model } from "./model";
import type { State, View } from "./state";
import { h, plain, s } from "../report/dom";
import { drawn } from "./drawn";

/** Of a cell, in pixels; characters of its name, and of all its text. */
const CELL = { width: 176, height: 20, name: 16, text: 27 };

export class Unfolded {
  readonly element = h("div", { class: "unfolded" });
  /** Cells of open marks by their objects. */
  readonly cells = new Map<number, Drawn>();
  /** Marks by their first device. */
  private readonly marks = new Map<number, { group: SVGGElement; name: string; devices: number[] }>();
  private shown = "";

  constructor(private readonly model: Model, private readonly state: State) {}

  add(id: number, group: SVGGElement): void {
    const devices = (group.dataset["folded"] ?? "").split(" ").map(Number);
    const name = group.querySelector("text.n")?.textContent ?? "devices";
    this.marks.set(id, { group, name, devices });
    for (const [key, value] of Object.entries({ role: "button", tabindex: "0", "aria-label": `${name}: show each`, "aria-expanded": "false" })) {
      group.setAttribute(key, value);
    }
  }

  /** A mark's group has the number of its first device, as has that one's own cell. */
  private id(group: SVGGElement): number | undefined {
    return group.dataset["folded"] ? Number(group.dataset["o"]) : undefined;
  }

  /** Tooltip of a mark; undefined where the group is none. */
  tip(group: SVGGElement): string[] | undefined {
    const mark = this.marks.get(this.id(group) ?? -1);
    return mark && [mark.name, "a click shows each"];
  }

  /** Opens or closes a mark; false where the group is none. */
  toggle(group: SVGGElement): boolean {
    const id = this.id(group);
    if (id === undefined) return false;
    const { open } = this.state.view;
    this.state.set({ open: open.includes(id) ? open.filter((one) => one !== id) : [...open, id] });
    return true;
  }

  update(view: View): void {
    for (const [id, { group }] of this.cells) group.classList.toggle("picked", id === view.object);
    const shown = view.open.join(" ");
    if (shown === this.shown) return;
    this.shown = shown;
    this.cells.clear();
    for (const [id, { group }] of this.marks) group.setAttribute("aria-expanded", String(view.open.includes(id)));
    this.element.replaceChildren(...view.open.flatMap((id) => {
      const mark = this.marks.get(id);
      return mark ? [h("section", { "aria-label": mark.name }, h("h3", {}, mark.name), h("div", { class: "cells" }, ...mark.devices.map((device) => this.cell(device, view))))] : [];
    }));
  }

  /** A drawing of one object, of the same parts as those in the picture. */
  private cell(id: number, view: View): SVGSVGElement {
    const { width, height, name, text } = CELL;
    const label = plain(this.model.data.objects[id]?.label ?? "", name);
    const y = height / 2 + 3.6;
    const group = s("g", { class: `o io${id === view.object ? " picked" : ""}`, "data-o": id },
      s("rect", { class: "b", x: 1, y: 1, width: width - 2, height: height - 2 }),
      s("text", { class: "n", x: 5, y }, label),
      s("text", { class: "v", x: width - 5, y, "data-room": text - label.length - 1 }));
    this.cells.set(id, drawn(group));
    return s("svg", { class: "topo valued", width, height, viewBox: `0 0 ${width} ${height}` }, group);
  }
}
