// An object's group in a drawing: where it stands, and the colour and text that it has now.

import type { View } from "./state";
import type { Model } from "./model";
import { colour, fitting } from "./scale";

export interface Drawn { group: SVGGElement; value: SVGTextElement | null; room: number; colour: string; text: string; x: number; y: number; width: number; height: number }

export function drawn(group: SVGGElement): Drawn {
  const bar = group.querySelector("rect.b");
  const read = (name: string): number => Number(bar?.getAttribute(name));
  const value = group.querySelector<SVGTextElement>("text.v");
  return {
    group, value, room: Number(value?.dataset["room"] ?? 0), colour: "", text: "",
    x: read("x"), y: read("y"), width: read("width"), height: read("height"),
  };
}

/** Colour and text for one of the shown monitors; of two at one object the one of the time axis goes first. `at` has monitors with the object's place in each. */
export function paint(one: Drawn, at: [number, number][], model: Model, view: View): void {
  const own = at.filter(([monitor]) => view.shown.includes(monitor));
  const first = own.find(([monitor]) => monitor === view.monitor) ?? own[0];
  let [name, text] = ["", ""];
  if (first) {
    const [monitor, place] = first;
    const value = model.value(monitor, place, view);
    name = colour(model.scale(monitor, view), value);
    text = fitting(value, model.data.monitors[monitor]!.unit, one.room);
  }
  if (name !== one.colour) {
    if (one.colour) one.group.classList.remove(one.colour);
    if (name) one.group.classList.add(name);
    one.colour = name;
  }
  if (text !== one.text && one.value) {
    one.value.textContent = text;
    one.text = text;
  }
}
