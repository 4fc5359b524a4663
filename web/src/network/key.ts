// Choices and their legend: views, quantity, slices, both ends of a route.

import type { Model, Quantity, Range } from "./model";
import type { State } from "./state";
import { button, h, name, plain } from "../report/dom";
import { Ink, STEPS, CHANGES } from "./ink";
import { amount, QUANTITY_NAMES } from "./model";
import { NOTCHES } from "./paint";
import { sliced } from "./slabs";

/** Names in a list that a browser still opens quickly. */
const SUGGESTED = 600;

export class Key {
  readonly element = h("div", { class: "network-key" });
  private readonly views = h("ul", { class: "views" });
  private readonly modes = h("div", { class: "modes" });
  private readonly slices = h("div", { class: "slices" });
  private readonly legend = h("div", { class: "legend-of-links" });
  private readonly ends: HTMLInputElement[];
  private readonly says = h("p", { class: "dim", role: "status" });

  constructor(private readonly model: Model, private readonly state: State, id: string) {
    const names = [...model.data.hosts.names.slice(0, SUGGESTED), ...model.data.routers.names.slice(0, SUGGESTED)];
    const list = h("datalist", { id: `ends-${id}` }, ...names.map((one) => h("option", { value: plain(one, 80) })));
    this.ends = ["from", "to"].map((what, at) => h("input", {
      type: "text", list: `ends-${id}`, placeholder: "router, host or 1,0,5", "aria-label": `way ${what}`, spellcheck: "false",
      onchange: (event: Event) => this.typed(at as 0 | 1, (event.target as HTMLInputElement).value),
    }));
    this.element.append(
      h("section", { "aria-label": "views" }, h("h3", {}, model.data.views.length > 1 ? "views" : "view"), this.views),
      h("section", { "aria-label": "what colours say" }, this.modes, this.slices, this.legend),
      h("section", { class: "ends", "aria-label": "way" }, h("h3", {}, "way from A to B and back"),
        h("label", {}, h("b", {}, "A"), this.ends[0]!), h("label", {}, h("b", {}, "B"), this.ends[1]!),
        h("span", { class: "tools left" }, button("swap", "swap both ends", () => {
          const [from, to] = this.state.choice.route;
          if (from !== null && to !== null) this.state.set({ route: [to, from] });
        }), button("clear", "no way (escape)", () => this.state.set({ route: [null, null] }))), this.says, list),
    );
    for (const { axis, name: label, length } of model.data.form === "torus" ? sliced(model.data.lengths) : []) {
      const range = h("input", { type: "range", min: -1, max: length - 1, step: 1, value: -1, "aria-label": `slice of ${label}`, "data-axis": axis,
        oninput: (event: Event) => {
          const at = Number((event.target as HTMLInputElement).value);
          this.state.set({ slices: this.state.choice.slices.map((one, k) => (k === axis ? (at < 0 ? null : at) : one)) });
        } });
      this.slices.append(h("label", {}, h("span", {}, `slice of ${label}`), range, h("output", {})));
    }
  }

  private typed(at: 0 | 1, text: string): void {
    const route: [number | null, number | null] = [...this.state.choice.route];
    const found = text.trim() ? this.model.find(text) : null;
    this.says.textContent = found === null && text.trim() ? `no router or host is called ${plain(text, 40)}` : "";
    if (found === null && text.trim()) return;
    route[at] = found;
    if (route[0] === null && route[1] !== null) this.state.set({ route: [route[1], null] });
    else this.state.set({ route });
  }

  private select<T extends string>(label: string, key: string, options: [T, string][], value: T, set: (value: T) => void): HTMLElement {
    return h("label", {}, h("span", {}, label), h("select", { "data-key": key, "aria-label": label, onchange: (event: Event) => set((event.target as HTMLSelectElement).value as T) },
      ...options.map(([word, text]) => h("option", { value: word, selected: word === value }, text))));
  }

  update(ranges: (Range | null)[], apart: boolean): void {
    const { model, state } = this;
    const { choice } = state;
    const many = model.data.views.length > 1;
    const keep = (document.activeElement as HTMLElement | null)?.dataset["key"];
    this.views.replaceChildren(...model.data.views.map((view, at) => {
      const first = choice.views[0] === at;
      const second = choice.views[1] === at;
      const show = button("", `show ${plain(view.name, 80)}`, () => state.set({ views: second ? [at, choice.views[0]!] : [at, ...choice.views.slice(1)] }));
      show.append(name(view.name, 60));
      show.setAttribute("aria-pressed", String(first));
      show.dataset["key"] = `show${at}`;
      const beside = button("beside", `show ${plain(view.name, 80)} beside it`, () => state.set({ views: second ? [choice.views[0]!] : [choice.views[0]!, at] }));
      beside.setAttribute("aria-pressed", String(second));
      beside.dataset["key"] = `beside${at}`;
      return h("li", { class: first ? "first" : second ? "second" : "" }, show, h("span", { class: "dim" }, view.source), many && !first ? h("span", { class: "tools" }, beside) : null,
        at === model.data.opens?.recommended ? h("span", { class: "recommended" }, "recommended") : null);
    }));
    const torus = model.data.form === "torus";
    this.modes.replaceChildren(
      this.select<Quantity>("colours say", "shows", model.known.map((one) => [one, QUANTITY_NAMES[one]]), choice.shows, (shows) => state.set({ shows, brush: null })),
      this.select("scale", "scale", [["linear", "linear"], ["log", "logarithmic"]], choice.log ? "log" : "linear", (word) => state.set({ log: word === "log", brush: null })),
      this.select("several links in a line", "reduce", [["most", "the most of them"], ["mean", "their mean"]], choice.reduce, (reduce) => state.set({ reduce })),
      ...(torus && model.data.lengths.length >= 3
        ? [this.select("picture", "solid", [["slabs", "slabs"], ["solid", "3-D, which turns"]], choice.solid ? "solid" : "slabs", (word) => state.set({ solid: word === "solid" }))]
        : []),
    );
    if (keep) this.element.querySelector<HTMLElement>(`[data-key="${keep}"]`)?.focus();
    for (const label of this.slices.querySelectorAll("label")) {
      const input = label.querySelector("input")!;
      const slice = choice.slices[Number(input.dataset["axis"])] ?? null;
      input.value = String(slice ?? -1);
      label.querySelector("output")!.textContent = slice === null ? "all" : String(slice);
    }
    choice.route.forEach((router, at) => {
      const input = this.ends[at]!;
      if (document.activeElement !== input) input.value = router === null ? "" : model.name(router);
    });
    this.explain(ranges, apart);
  }

  private explain(ranges: (Range | null)[], apart: boolean): void {
    const { model } = this;
    const { choice } = this.state;
    const ink = new Ink();
    const view = choice.views[0] ?? 0;
    const range = ranges.find((one) => one !== null) ?? null;
    const lines: Node[] = [];
    if (range) {
      const steps = range.both ? CHANGES : STEPS;
      const bar = h("div", { class: "ramp-of-links", role: "img", "aria-label": "colours" }, ...Array.from({ length: steps }, (_, step) => {
        const cell = h("i");
        cell.style.background = ink.colour(range, step);
        return cell;
      }));
      const text = (value: number): string => model.text(value, choice.shows, view);
      const low = range.both ? text(-range.high) : range.log ? text(range.low) : text(0);
      lines.push(bar, h("div", { class: "ends-of-ramp" }, h("span", {}, low), h("span", { class: "dim" }, range.log ? "logarithmic" : range.both ? "grey: as the model says" : "linear"), h("span", {}, text(range.high))));
      const other = choice.views[1];
      if (other !== undefined) {
        const second = apart && ranges[1] ? `the second view, in another unit, has a scale to ${model.text(ranges[1].high, choice.shows, other)}` : "both views have this scale";
        lines.push(h("p", { class: "dim" }, second));
      }
    } else lines.push(h("p", { class: "dim" }, "no link of this view has a value"));
    const item = (mark: string, text: string): HTMLElement => h("li", {}, h("i", { class: `sample ${mark}`, "aria-hidden": "true" }), text);
    const items = [item("width", model.widest ? `width: capacity, to ${amount(model.widest, "B/s")} one way` : "width: no capacity is known")];
    if (model.data.form === "torus" && !choice.solid) items.push(item("drive", "links drive on the right: to larger numbers below, or right; stubs lead round the axis"));
    // The torus that turns has neither notches nor hatched lines.
    if (model.known.includes("stalled") && !choice.solid) items.push(item("notch", `notch: stalled ${NOTCHES[0]! * 100} % of the time or more, two: ${NOTCHES[1]! * 100} %`));
    if (model.degraded.size) items.push(item("worse", "degraded"));
    if (!choice.solid) items.push(item("hatched", "not known"));
    this.legend.replaceChildren(...lines, h("ul", {}, ...items));
  }
}
