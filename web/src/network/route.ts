// The way from a router to another one: on a torus by the rule of talea_fabric's `route::Dimensions`, elsewhere as the page keeps it.

import type { Model } from "./model";

/** Links of a way, or why there is none. */
export type Way = number[] | string;

export class Ways {
  /** Routers by place on the torus; -1 where there is none. */
  private readonly places: Int32Array | undefined;
  private readonly strides: number[] = [];
  private readonly ends = new Map<number, number>();

  constructor(private readonly model: Model) {
    const { lengths, ways, form } = model.data;
    (ways.ends ?? []).forEach((router, at) => this.ends.set(router, at));
    if (ways.kind !== "dimensions" || form !== "torus") return;
    let size = 1;
    for (let axis = lengths.length - 1; axis >= 0; axis--) {
      this.strides[axis] = size;
      size *= lengths[axis]!;
    }
    if (size > 1 << 24) return;
    this.places = new Int32Array(size).fill(-1);
    for (let router = 0; router < model.routers; router++) {
      const place = this.place(model.at(router));
      if (place >= 0) this.places[place] = router;
    }
  }

  /** Why no way is known at all; empty where some are. */
  get why(): string {
    const { kind } = this.model.data.ways;
    if (kind === "none") return "this page has no routes of messages";
    return kind === "many" ? "ways between so many routers are not kept in this page" : "";
  }

  private place(at: number[]): number {
    const { lengths } = this.model.data;
    if (at.length !== lengths.length || at.some((one, axis) => one >= lengths[axis]!)) return -1;
    return at.reduce((sum, one, axis) => sum + one * this.strides[axis]!, 0);
  }

  way(from: number, to: number): Way {
    const { data } = this.model;
    if (this.why) return this.why;
    if (from === to) return [];
    if (data.ways.kind === "dimensions") return this.dimensions(from, to);
    const [one, other] = [this.ends.get(from), this.ends.get(to)];
    if (one === undefined || other === undefined) return "ways are kept between routers with hosts";
    const kept = data.ways.ways?.[one * this.ends.size + other];
    if (!kept) return "the rule knows no way between these";
    let here = from;
    return kept.map((place) => {
      const link = this.model.first[here]! + place;
      here = this.model.to[link]!;
      return link;
    });
  }

  /** All of the first axis, then all of the next; the shorter way round, to larger numbers where both are as long. */
  private dimensions(from: number, to: number): Way {
    const { lengths } = this.model.data;
    const here = [...this.model.at(from)];
    const there = this.model.at(to);
    const out: number[] = [];
    let router = from;
    for (let axis = 0; axis < lengths.length; axis++) {
      const length = lengths[axis]!;
      const up = (there[axis]! - here[axis]! + length) % length;
      const down = up === 0 ? 0 : length - up;
      const by = up > down ? -1 : 1;
      for (let hop = Math.min(up, down); hop > 0; hop--) {
        here[axis] = (here[axis]! + by + length) % length;
        const next = this.places?.[this.place(here)] ?? -1;
        const link = next < 0 ? -1 : this.model.between(router, next);
        if (link < 0) return "a link that the rule needs is missing";
        out.push(link);
        router = next;
      }
    }
    return out;
  }
}
