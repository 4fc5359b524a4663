// State of the page, kept in the address: `#view=2x2x4&beside=1x1x16&shows=stalled&slice=Z:3&route=c0-0c0s0g0,c1-0c0s0g0`.

import type { Model, Quantity } from "./model";

export interface Choice {
  /** One view, or two beside each other. */
  views: number[];
  shows: Quantity;
  /** Value of a mark of several links: their maximum, or their mean. */
  reduce: "most" | "mean";
  log: boolean;
  /** For each axis the one number that is shown, or null for all. */
  slices: (number | null)[];
  /** The torus as a picture that turns, in radians. */
  solid: boolean;
  turn: [number, number];
  /** Both ends of a way. */
  route: [number | null, number | null];
  /** The group whose routers are shown. */
  group: number | null;
  /** Only links with values between these, as parts of the range. */
  brush: [number, number] | null;
}

export class State {
  choice: Choice;
  private readonly listeners: (() => void)[] = [];
  private timer = 0;

  /** Pages keep the choice in their address; a part of another page does not. */
  constructor(private readonly model: Model, private readonly keeps: boolean) {
    this.choice = this.read(keeps ? location.hash.slice(1) : "");
    if (!keeps) return;
    addEventListener("hashchange", () => {
      this.choice = this.read(location.hash.slice(1));
      this.tell();
    });
  }

  listen(listener: () => void): void {
    this.listeners.push(listener);
  }

  set(change: Partial<Choice>): void {
    this.choice = { ...this.choice, ...change };
    this.tell();
    if (!this.keeps) return;
    // While something turns, the address would change too often for the browser's history.
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => history.replaceState(null, "", `#${this.write()}`), 150);
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }

  private write(): string {
    const { views, shows, reduce, log, slices, solid, turn, route, group, brush } = this.choice;
    const words = new URLSearchParams();
    const [one, other] = views;
    if (one !== undefined) words.set("view", this.model.view(one).name);
    if (other !== undefined) words.set("beside", this.model.view(other).name);
    words.set("shows", shows);
    if (reduce !== "most") words.set("reduce", reduce);
    if (log) words.set("scale", "log");
    slices.forEach((at, axis) => { if (at !== null) words.append("slice", `${axis}:${at}`); });
    if (solid) words.set("solid", turn.map((one) => one.toFixed(2)).join(","));
    if (route[0] !== null) words.set("route", route.filter((end) => end !== null).join(","));
    if (group !== null) words.set("group", String(group));
    if (brush) words.set("between", brush.map((one) => one.toFixed(3)).join(","));
    return words.toString();
  }

  private read(text: string): Choice {
    const words = new URLSearchParams(text);
    const { data, known, routers } = this.model;
    const numbers = (key: string): number[] => (words.get(key) ?? "").split(",").filter(Boolean).map(Number);
    const named = (key: string): number => data.views.findIndex((view) => view.name === words.get(key));
    // An address that names no view has what the page opens with.
    const opens = data.opens?.views ?? [0];
    const one = named("view");
    const other = named("beside");
    const views = one < 0 ? opens : other >= 0 && other !== one ? [one, other] : [one];
    const slices = data.lengths.map((): number | null => null);
    for (const word of words.getAll("slice")) {
      const [axis, at] = word.split(":").map(Number);
      if (axis !== undefined && at !== undefined && Number.isInteger(at) && at >= 0 && at < (data.lengths[axis] ?? 0)) slices[axis] = at;
    }
    const way = words.has("route") || one >= 0 ? numbers("route") : (data.opens?.route ?? []);
    const [from, to] = way.map((end) => (Number.isInteger(end) && end >= 0 && end < routers ? end : null));
    const turn = numbers("solid");
    const brush = numbers("between");
    const group = numbers("group")[0];
    return {
      views: views.filter((at) => at < data.views.length),
      shows: known.find((quantity) => quantity === words.get("shows")) ?? known[0]!,
      reduce: words.get("reduce") === "mean" ? "mean" : "most",
      log: words.get("scale") === "log",
      slices,
      solid: turn.length === 2 && turn.every(Number.isFinite) && data.lengths.length >= 3,
      turn: turn.length === 2 && turn.every(Number.isFinite) ? [turn[0]!, turn[1]!] : [0.6, 0.45],
      route: from === undefined || from === null ? [null, null] : [from, to ?? null],
      group: group !== undefined && data.parts.includes(group) ? group : null,
      brush: brush.length === 2 && brush.every((at) => at >= -1 && at <= 1) ? [brush[0]!, brush[1]!] : null,
    };
  }
}
