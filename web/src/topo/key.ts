// The column beside the picture: which monitors are shown, their scales, and what their figures say now.

import type { Model } from "./model";
import type { State, View } from "./state";
import { button, h, name } from "../report/dom";
import { CHANGES, STEPS, amount } from "./scale";

export class Key {
  readonly element = h("section", { class: "keys-column", "aria-label": "monitors" });

  constructor(private readonly model: Model, private readonly state: State) {}

  update(view: View): void {
    const focused = (document.activeElement as HTMLElement | null)?.dataset["key"];
    const { monitors } = this.model.data;
    const blocks = monitors.map((monitor, at) => this.block(at, monitor.objects.length, view));
    this.element.replaceChildren(this.modes(view), ...blocks);
    if (!monitors.length) this.element.append(h("p", { class: "empty" }, "no monitors were recorded"));
    if (focused) this.element.querySelector<HTMLElement>(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  private choice(key: string, label: string, options: [string, string][], value: string, set: (value: string) => void): HTMLElement {
    const select = h("select", { "data-key": key, "aria-label": label, onchange: (event: Event) => set((event.target as HTMLSelectElement).value) });
    for (const [word, text] of options) select.append(h("option", { value: word, selected: word === value }, text));
    return h("label", {}, h("span", {}, label), select);
  }

  private modes(view: View): HTMLElement {
    const scale = this.model.monitor(view.monitor) ? this.model.scale(view.monitor, view) : undefined;
    const out = h("div", { class: "modes" });
    if (this.model.second) {
      out.append(this.choice("show", "show", [["first", "first"], ["second", "second"], ["difference", "second \u2212 first"]], view.show,
        (value) => this.state.set({ show: value as View["show"] })));
    }
    if (scale && !scale.change) {
      out.append(this.choice("scale", "scale", [["linear", "linear"], ["log", "logarithmic"]], scale.log ? "log" : "linear",
        (value) => this.state.set({ scale: value as View["scale"] })));
    }
    if (scale) {
      out.append(this.choice("range", "ends", [["auto", "auto"], ["robust", "robust 5\u201395 %"], ["fixed", "fixed"]], scale.kind,
        (value) => this.state.set({ range: value as View["range"] })));
    }
    out.append(this.choice("mean", "values", [["time", "at this time"], ["mean", "mean of all"]], view.mean ? "mean" : "time",
      (value) => this.state.set({ mean: value === "mean" })));
    return out;
  }

  private block(at: number, count: number, view: View): HTMLElement {
    const monitor = this.model.data.monitors[at]!;
    const shown = view.shown.includes(at);
    const active = at === view.monitor;
    const toggle = h("input", {
      type: "checkbox", "data-key": `show${at}`, "aria-label": `show ${monitor.name}`, title: "colour objects by it",
      onchange: () => {
        const others = view.shown.filter((one) => one !== at);
        if (!shown) this.state.set({ shown: [...view.shown, at], monitor: at });
        else if (others.length) this.state.set({ shown: others, monitor: active ? others[0]! : view.monitor });
        else this.update(view);
      },
    });
    toggle.checked = shown;
    const pick = button("", `${monitor.name} on the time axis and in the table`, () =>
      this.state.set({ monitor: at, shown: shown ? view.shown : [...view.shown, at] }));
    pick.dataset["key"] = `pick${at}`;
    pick.setAttribute("aria-pressed", String(active));
    pick.append(name(monitor.name, 60));
    const block = h("div", { class: `monitor${active ? " active" : ""}${shown ? "" : " off"}` },
      h("div", { class: "line" }, toggle, pick, h("span", { class: "dim" }, `${monitor.level} \u00d7 ${count}`)));
    if (shown) block.append(...this.figures(at, view));
    return block;
  }

  private figures(at: number, view: View): HTMLElement[] {
    const { objects, monitors } = this.model.data;
    const monitor = monitors[at]!;
    const scale = this.model.scale(at, view);
    const steps = scale.change ? CHANGES : STEPS;
    // The picture's own classes colour the ramp.
    const ramp = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    ramp.setAttribute("class", "topo bar");
    ramp.setAttribute("viewBox", `0 0 ${steps} 1`);
    ramp.setAttribute("preserveAspectRatio", "none");
    for (let step = 0; step < steps; step++) {
      const part = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      for (const [key, value] of Object.entries({ class: `b ${scale.change ? "d" : "q"}${step}`, x: step, y: 0, width: 1.02, height: 1 })) {
        part.setAttribute(key, String(value));
      }
      ramp.append(part);
    }
    const least = scale.log && scale.min <= 0 ? scale.max / 1e6 : scale.min;
    const middle = scale.log ? Math.sqrt(least * scale.max) : (scale.min + scale.max) / 2;
    const tick = (value: number): string => (scale.change && value > 0 ? "+" : "") + amount(value, monitor.unit);
    let [sum, count, below, above, absent] = [0, 0, 0, 0, 0];
    let [max, most] = [-Infinity, -1];
    monitor.objects.forEach((object, place) => {
      const value = this.model.value(at, place, view);
      if (Number.isNaN(value)) return void absent++;
      sum += value;
      count++;
      if (value < scale.min) below++;
      if (value > scale.max) above++;
      if (value > max) [max, most] = [value, object];
    });
    const cut = below + above ? `cut: ${below} below, ${above} above` : "nothing cut";
    const silent = this.model.recording(view).data.silent.includes(at);
    const lines: (HTMLElement | null)[] = [
      h("code", {}, name(monitor.counter, 120)),
      h("div", { class: "dim" }, `${monitor.unit || "no unit"}${monitor.aggregate ? ` \u00b7 ${monitor.aggregate}` : ""} \u00b7 measured at ${monitor.level}`),
      h("div", { class: "ends" }, h("span", {}, tick(least)), h("span", {}, tick(middle)), h("span", {}, tick(scale.max))),
      h("div", { class: "dim" }, `${scale.log ? "logarithmic" : "linear"}, ${scale.kind} ends, ${cut}`),
      count ? h("div", { class: "figures" }, `mean ${amount(sum / count, monitor.unit)}`,
        h("br"), `max  ${amount(max, monitor.unit)} at ${objects[most]?.label ?? ""}`,
        ...(!scale.change && sum > 0 && count > 1 ? [h("br"), `imbalance (max/mean) ${(max / (sum / count)).toFixed(2)}`] : [])) : null,
      absent ? h("div", { class: "absent" }, h("i", { class: "hatched", "aria-hidden": "true" }), silent ? `${absent}: could not be measured` : `${absent} absent at this time`) : null,
    ];
    const all = lines.filter((line) => line !== null);
    all.splice(2, 0, ramp as unknown as HTMLElement);
    return all;
  }
}
