// The picture that came with the page: its objects get colours, values, threads, marks of findings.

import type { Model } from "./model";
import type { State, View } from "./state";
import type { Drawn } from "./drawn";
import { drawn, paint } from "./drawn";
import { hideTip, plain, s, showTip } from "../report/dom";
import { amount } from "./scale";
import { Unfolded } from "./unfolded";

export class Picture {
  readonly element: HTMLElement;
  private readonly drawn = new Map<number, Drawn>();
  private readonly threads = s("g", { class: "threads" });
  private readonly marks = s("g", { class: "marks" });
  private readonly outline = s("rect", { class: "outline", visibility: "hidden" });
  /** For each object the monitors that have it, with its place there. */
  private readonly at = new Map<number, [number, number][]>();
  private readonly pus = new Map<number, number>();
  private readonly unfolded: Unfolded;
  private threadKey = "";

  constructor(private readonly model: Model, private readonly state: State) {
    this.unfolded = new Unfolded(model, state);
    this.element = document.getElementById("picture") as HTMLElement;
    const svg = this.element.querySelector("svg");
    for (const title of this.element.querySelectorAll("title")) title.remove();
    for (const group of this.element.querySelectorAll<SVGGElement>("g.o")) {
      const id = Number(group.dataset["o"]);
      this.drawn.set(id, drawn(group));
      if (group.dataset["folded"]) this.unfolded.add(id, group);
    }
    model.data.monitors.forEach((monitor, number) => monitor.objects.forEach((object, place) => {
      const list = this.at.get(object) ?? [];
      list.push([number, place]);
      this.at.set(object, list);
    }));
    model.data.objects.forEach((object, id) => {
      if (object.kind === "PU" && object.os !== null) this.pus.set(object.os, id);
    });
    svg?.append(this.threads, this.marks, this.outline);
    svg?.classList.replace("plain", "valued");
    this.element.append(this.unfolded.element);
    this.listen();
  }

  private listen(): void {
    const target = (event: Event): SVGGElement | null => (event.target as Element).closest<SVGGElement>("g.o");
    this.element.addEventListener("pointermove", (event) => {
      const group = target(event);
      if (!group) hideTip();
      else showTip(event.clientX, event.clientY, this.unfolded.tip(group) ?? this.tip(Number(group.dataset["o"])));
    });
    this.element.addEventListener("pointerleave", hideTip);
    this.element.addEventListener("click", (event) => {
      const group = target(event);
      if (group && this.unfolded.toggle(group)) return;
      const id = group ? Number(group.dataset["o"]) : null;
      this.state.set({ object: id === this.state.view.object ? null : id });
    });
    this.element.addEventListener("keydown", (event) => {
      const group = target(event);
      if (!group || (event.key !== "Enter" && event.key !== " ") || !this.unfolded.toggle(group)) return;
      // A blank would start the time too.
      event.preventDefault();
      event.stopPropagation();
    });
  }

  private tip(id: number): string[] {
    const { data } = this.model;
    const { view } = this.state;
    const object = data.objects[id]!;
    const lines = [plain(object.label), ...(object.facts ?? []).map((one) => plain(one))];
    for (const [monitor, place] of this.at.get(id) ?? []) {
      const { name, unit } = data.monitors[monitor]!;
      const value = this.model.value(monitor, place, view);
      const exact = Number.isNaN(value) ? "" : ` (${Number(value.toPrecision(5))} ${unit})`;
      lines.push(plain(`${name}: ${amount(value, unit)}${exact}`));
    }
    if (object.os !== null && object.kind === "PU") {
      const recording = this.model.recording(view);
      const threads = recording.threadsAt(this.model.frame(recording, view)).get(object.os) ?? [];
      lines.push(...threads.slice(0, 12).map((one) => plain(one)));
    }
    return lines;
  }

  update(view: View): void {
    this.unfolded.update(view);
    for (const all of [this.drawn, this.unfolded.cells]) {
      // A mark of several devices must not look as if the first one's value were that of all.
      for (const [id, one] of all) if (!one.group.dataset["folded"]) paint(one, this.at.get(id) ?? [], this.model, view);
    }
    this.place(view);
    this.outlineOf(view.object);
  }

  /** A dot for each thread, or one with a number. */
  private place(view: View): void {
    const recording = this.model.recording(view);
    const threads = view.mean || view.show === "difference" ? new Map<number, string[]>() : recording.threadsAt(this.model.frame(recording, view));
    const key = JSON.stringify([...threads]);
    if (key === this.threadKey) return;
    this.threadKey = key;
    const dots: Node[] = [];
    for (const [pu, names] of threads) {
      const at = this.drawn.get(this.pus.get(pu) ?? -1);
      if (!at) continue;
      const r = Math.min(at.height / 4, at.width / 6, 3.2);
      const shown = names.length > 3 ? 1 : names.length;
      for (let one = 0; one < shown; one++) {
        dots.push(s("circle", { class: "thread", cx: at.x + at.width - r - 1.5 - one * (2 * r + 1), cy: at.y + r + 1.5, r }));
      }
      if (names.length > 3 && at.width >= 34) {
        dots.push(s("text", { class: "v", x: at.x + at.width - 2 * r - 4, y: at.y + 9 }, String(names.length)));
      }
    }
    this.threads.replaceChildren(...dots);
  }

  private outlineOf(id: number | null): void {
    const group = id === null ? undefined : this.drawn.get(id)?.group;
    const rect = group?.querySelector("rect");
    this.outline.setAttribute("visibility", rect ? "visible" : "hidden");
    for (const name of ["x", "y", "width", "height"]) this.outline.setAttribute(name, rect?.getAttribute(name) ?? "0");
  }

  /** Numbers of findings at their objects. */
  mark(findings: { number: number; objects: number[] }[]): void {
    const nodes: Node[] = [];
    for (const { number, objects } of findings) {
      for (const id of objects.slice(0, 24)) {
        const at = this.drawn.get(id);
        if (!at) continue;
        const cx = at.x + at.width / 2;
        const cy = at.width < 260 ? at.y : at.y + at.height / 2;
        nodes.push(s("g", { class: "mark" }, s("circle", { cx, cy, r: 7 }), s("text", { x: cx, y: cy + 3.6 }, String(number))));
      }
    }
    this.marks.replaceChildren(...nodes);
  }
}
