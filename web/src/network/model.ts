// Routers, links and their numbers, as arrays that are quick to ask.

import type { NetworkData, ViewData } from "./data";
import { plain } from "../report/dom";
import { si, threeDigits } from "../report/units";

export type Quantity = "used" | "load" | "stalled" | "deviation";
export const QUANTITIES: Quantity[] = ["used", "load", "stalled", "deviation"];
export const QUANTITY_NAMES: Record<Quantity, string> = {
  used: "share of capacity used", load: "load", stalled: "share of time stalled", deviation: "deviation from the model",
};

/** Values from zero to `high`; of deviations from `-high`. */
export interface Range { high: number; log: boolean; low: number; both: boolean }

export class Model {
  readonly routers: number;
  readonly links: number;
  /** Where the links of each router begin, and the end of the last one's. */
  readonly first: Uint32Array;
  readonly from: Uint32Array;
  readonly to: Uint32Array;
  readonly capacity: Float64Array;
  readonly most: number;
  /** The largest capacity of a line. */
  readonly widest: number;
  readonly known: Quantity[];
  readonly degraded: Map<number, string>;
  private readonly arrays = new Map<string, Float64Array>();
  private readonly hosts = new Map<number, string[]>();
  private names: Map<string, number> | undefined;

  constructor(readonly data: NetworkData) {
    const { counts, to, made, kinds } = data.links;
    this.routers = counts.length;
    this.links = to.length;
    this.first = new Uint32Array(this.routers + 1);
    counts.forEach((count, at) => { this.first[at + 1] = this.first[at]! + count; });
    this.from = new Uint32Array(this.links);
    for (let router = 0; router < this.routers; router++) this.from.fill(router, this.first[router], this.first[router + 1]);
    this.to = Uint32Array.from(to, (by, at) => this.from[at]! + by);
    this.capacity = Float64Array.from(made, (kind) => kinds[kind]?.[1] ?? NaN);
    this.most = this.capacity.reduce((most, of) => (of > most ? of : most), 0);
    const sums = new Float64Array(data.scene?.marks.length ?? 0);
    data.scene?.mark_of.forEach((mark, link) => { if (mark >= 0) sums[mark]! += this.capacity[link] || 0; });
    this.widest = data.scene ? sums.reduce((most, one) => Math.max(most, one), 0) : this.most;
    this.known = QUANTITIES.filter((one) => data.views.some((view) => view[one].length));
    if (!this.known.length) this.known.push("load");
    this.degraded = new Map(data.degraded);
    data.hosts.routers.forEach((router, at) => {
      const list = this.hosts.get(router);
      if (list) list.push(data.hosts.names[at]!);
      else this.hosts.set(router, [data.hosts.names[at]!]);
    });
  }

  view(at: number): ViewData {
    return this.data.views[at]!;
  }

  /** Numbers by link; NaN where there is none. */
  values(view: number, quantity: Quantity): Float64Array {
    const key = `${view} ${quantity}`;
    let array = this.arrays.get(key);
    if (!array) {
      const list = this.data.views[view]?.[quantity] ?? [];
      array = new Float64Array(this.links).fill(NaN);
      for (let at = 0; at < list.length; at++) array[at] = list[at] ?? NaN;
      this.arrays.set(key, array);
    }
    return array;
  }

  /** The scale that these views share; null where no link of them has a number. */
  range(views: number[], quantity: Quantity, log: boolean): Range | null {
    let high = -1;
    let low = Infinity;
    for (const view of views) {
      for (const value of this.values(view, quantity)) {
        const size = Math.abs(value);
        if (size > high) high = size;
        if (size > 0 && size < low) low = size;
      }
    }
    if (high < 0) return null;
    const able = log && quantity !== "deviation" && high > 0;
    // Less than a decade would blow up what is nearly equal; more than six tell nothing apart.
    return { high: high || 1, low: Math.max(Math.min(low, high / 10), high / 1e6), log: able, both: quantity === "deviation" };
  }

  between(from: number, to: number): number {
    for (let link = this.first[from]!; link < this.first[from + 1]!; link++) if (this.to[link] === to) return link;
    return -1;
  }

  hostsOf(router: number): string[] {
    return this.hosts.get(router) ?? [];
  }

  at(router: number): number[] {
    return this.data.routers.at[router] ?? [];
  }

  /** Name, and coordinate where the name does not have it. */
  name(router: number): string {
    const name = this.data.routers.names[router] ?? `router ${router}`;
    const at = this.at(router);
    const place = `(${at.join(",")})`;
    return plain(at.length && !name.includes(place) ? `${name} ${place}` : name, 60);
  }

  ends(link: number): string {
    return `${this.name(this.from[link]!)} \u2192 ${this.name(this.to[link]!)}`;
  }

  className(link: number): string {
    return this.data.links.classes[this.data.links.class[link]!]?.[0] ?? "";
  }

  dimension(link: number): number {
    return this.data.links.classes[this.data.links.class[link]!]?.[1] ?? 0;
  }

  made(link: number): string {
    return plain(this.data.links.kinds[this.data.links.made[link]!]?.[0] ?? "", 60);
  }

  /** The router of this name, of this host, at this coordinate, or of this number. */
  find(text: string): number | null {
    if (!this.names) {
      this.names = new Map();
      const { routers, hosts } = this.data;
      hosts.names.forEach((name, at) => this.names!.set(name, hosts.routers[at]!));
      routers.at.forEach((at, router) => { if (at.length) this.names!.set(at.join(","), router); });
      routers.names.forEach((name, router) => this.names!.set(name, router));
    }
    const word = text.trim();
    const found = this.names.get(word) ?? this.names.get(word.replace(/^\(|\)$|\s/g, ""));
    if (found !== undefined) return found;
    // Form on the page itself: a name with its coordinate behind it.
    const [, name] = /^(.*) \([\d,]*\)$/.exec(word) ?? [];
    return (name !== undefined ? this.names.get(name) : undefined) ?? null;
  }

  text(value: number, quantity: Quantity, view: number): string {
    if (Number.isNaN(value)) return "not known";
    if (quantity === "load") return amount(value, this.view(view).unit);
    if (quantity === "deviation") return `${value > 0 ? "+" : ""}${(value * 100).toFixed(Math.abs(value) < 0.0995 ? 2 : 1)} %`;
    return share(value);
  }
}

/** Three digits, and never zero if there is anything: as `share` in crates/show/report/src/network/quantity.rs. */
export const share = (value: number): string => (value > 0 && value < 5e-8 ? "< 0.00001 %" : `${threeDigits(value * 100)} %`);

export const amount = (value: number, unit: string): string =>
  Math.abs(value) < 1000 && Number.isInteger(value) ? `${value} ${unit}`.trim() : si(value, unit);

/** Where a value lies from 0 to 1 (from -1 for deviations). */
export function fraction(range: Range, value: number): number {
  if (range.both) return Math.min(1, Math.max(-1, value / range.high));
  if (!range.log) return Math.min(1, Math.max(0, value / range.high));
  if (!(value > 0)) return 0;
  return Math.min(1, Math.max(0, Math.log(value / range.low) / Math.log(range.high / range.low)));
}
