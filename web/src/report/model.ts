// The report with the indices that views need: which node stands where, which sites a node covers.

import type { Graph, Payload, RankClass, Report, Series, Site, Timeline, TreeNode, Layout, Matrix } from "./types";
import type { Selection } from "./state";
import { isIn } from "./location";

export interface Place {
  node: TreeNode;
  parent: Place | null;
  cls: RankClass;
  depth: number;
  /** Kinds and labels from the root: the same in classes that do the same. */
  key: string;
}

/** Effect of a selection on the views. */
export interface Scope {
  cls: RankClass | undefined;
  place: Place | undefined;
  /** Sites inside the selection; undefined for all. */
  sites: Set<number> | undefined;
  /** The same, but undefined where only ranks were chosen: what is outside is drawn faintly. */
  inner: Set<number> | undefined;
  /** Loops from the selection outwards. */
  loops: number[];
  /** The loop that is selected, or the innermost around what is selected. */
  loop: number | undefined;
}

/** Part of a selection in the timeline. */
export interface Picture {
  timeline: Timeline;
  /** Where the chosen iteration lies in it. */
  window: [number, number] | undefined;
  /** An iteration is chosen that was not kept in detail. */
  missing: boolean;
}

export class Model {
  readonly report: Report;
  readonly layouts: Layout[];
  private readonly drawn: (Graph | null)[];
  readonly places = new Map<number, Place>();
  readonly loops = new Map<number, Place>();
  private readonly leaves = new Map<number, Place[]>();
  private readonly keys = new Map<string, Place[]>();

  constructor(payload: Payload) {
    this.report = payload.report;
    this.layouts = payload.layouts;
    this.drawn = payload.drawn;
    for (const cls of this.report.classes) {
      const stack: Place[] = [{ node: cls.tree, parent: null, cls, depth: 0, key: "" }];
      for (let place = stack.pop(); place; place = stack.pop()) {
        const { node } = place;
        this.places.set(node.id, place);
        if (node.loop_id !== null) this.loops.set(node.loop_id, place);
        if (node.site !== null) push(this.leaves, node.site, place);
        push(this.keys, place.key, place);
        for (const child of node.children.slice().reverse()) {
          const key = `${place.key}/${child.kind}:${child.label}`;
          stack.push({ node: child, parent: place, cls, depth: place.depth + 1, key });
        }
      }
    }
  }

  site(id: number | null | undefined): Site | undefined {
    return id === null || id === undefined ? undefined : this.report.sites[id];
  }

  cls(selection: Selection): RankClass | undefined {
    const place = selection.node === null ? undefined : this.places.get(selection.node);
    const row = selection.rank === null ? undefined : this.report.ranks.find((one) => one.rank === selection.rank);
    return this.report.classes[selection.cls ?? place?.cls.id ?? (row?.threads ? 0 : row?.class ?? 0)];
  }

  /** The node of another class that does the same. */
  twin(node: number | null, cls: number): number | null {
    const place = node === null ? undefined : this.places.get(node);
    const found = place && (this.keys.get(place.key) ?? []).find((one) => one.cls.id === cls);
    return found?.node.id ?? null;
  }

  /** A selection whose parts name something and fit together; of two that do not, the one that was chosen now stays. */
  settle(next: Selection, change: Partial<Selection>, before: Selection): Selection {
    const out = { ...next };
    if (out.node !== null && !this.places.get(out.node)?.parent) out.node = null;
    if (out.cls !== null && !this.report.classes[out.cls]) out.cls = null;
    const row = this.report.ranks.find((one) => one.rank === out.rank);
    if (!row) out.rank = null;
    if (out.cls !== null && out.node !== null && this.places.get(out.node)?.cls.id !== out.cls) {
      if (change.node === undefined) out.node = this.twin(out.node, out.cls);
      else out.cls = this.places.get(out.node)!.cls.id;
    }
    if (out.cls !== null && row && !isIn(row, out.cls)) {
      if (change.rank === undefined || change.rank === null) out.rank = null;
      else out.cls = null;
    }
    if (out.iteration !== null) {
      const { loops } = this.scope(out);
      const series = this.series(this.scope(out), out);
      const old = change.iteration === undefined ? this.series(this.scope(before), before) : series;
      // It is one of a loop that is selected, or in which the selection lies.
      const inside = series && (out.node === null || loops.some((loop) => this.same(loop, series.loop_id)));
      const fits = inside && old && this.same(series.loop_id, old.loop_id) && out.iteration < series.begin.length * series.stride;
      if (!fits) out.iteration = null;
    }
    return out;
  }

  /** The tree node of a site, in the class that is shown where that class has it. */
  leaf(site: number, cls: number | undefined): Place | undefined {
    const all = this.leaves.get(site) ?? [];
    return all.find((place) => place.cls.id === cls) ?? all[0];
  }

  scope(selection: Selection): Scope {
    const cls = this.cls(selection);
    const place = selection.node === null ? undefined : this.places.get(selection.node);
    const loops: number[] = [];
    for (let at: Place | null | undefined = place; at; at = at.parent) {
      if (at.node.loop_id !== null) loops.push(at.node.loop_id);
    }
    let sites: Set<number> | undefined;
    if (place && place.parent) {
      const alike = selection.cls === null ? (this.keys.get(place.key) ?? [place]) : [place];
      sites = new Set(alike.flatMap((one) => sitesUnder(one.node)));
    } else if (selection.cls !== null && cls) {
      sites = new Set(sitesUnder(cls.tree));
    }
    return { cls, place, sites, inner: place?.parent ? sites : undefined, loops, loop: loops[0] };
  }

  /** The loop with most time: what is shown where nothing is chosen. */
  mainLoop(cls: RankClass | undefined): number | undefined {
    let best: TreeNode | undefined;
    const stack = cls ? [cls.tree] : [];
    for (let node = stack.pop(); node; node = stack.pop()) {
      if (node.loop_id !== null && (!best || node.time > best.time)) best = node;
      stack.push(...node.children);
    }
    return best?.loop_id ?? undefined;
  }

  /** The loops that are the same loop in other classes, itself first. */
  private twins(loop: number): number[] {
    const place = this.loops.get(loop);
    if (!place) return [loop];
    const others = (this.keys.get(place.key) ?? []).flatMap((one) => one.node.loop_id ?? []);
    return [loop, ...others.filter((one) => one !== loop)];
  }

  /** The class's graph, with short calls folded where it is too large to draw. */
  graph(cls: RankClass): Graph {
    return this.drawn[cls.id] ?? cls.graph;
  }

  /** Whether two loops are one and the same, in whichever class. */
  same(a: number, b: number): boolean {
    return a === b || this.twins(a).includes(b);
  }

  private candidates(scope: Scope): number[] {
    const main = this.mainLoop(scope.cls);
    const own = scope.loops.length ? scope.loops : main === undefined ? [] : [main];
    return own.flatMap((loop) => this.twins(loop));
  }

  /** The picture of the selection's loop, or of the whole run where that is wanted and there. */
  timeline(scope: Scope, whole: boolean): Timeline | undefined {
    const all = this.report.timelines;
    const run = all.find((one) => one.loop_id === null);
    if (whole && run) return run;
    for (const loop of this.candidates(scope)) {
      const found = all.find((one) => one.loop_id === loop);
      if (found) return found;
    }
    return run ?? all[0];
  }

  /** The chosen iteration where it was kept or the whole run is there, else what stands for all of the selection. */
  picture(selection: Selection, whole: boolean): Picture | undefined {
    const scope = this.scope(selection);
    const { iteration } = selection;
    const series = iteration === null ? undefined : this.series(scope, selection);
    const all = this.report.timelines;
    if (series && iteration !== null) {
      const own = all.find((one) => one.iteration === iteration && one.loop_id !== null && this.same(one.loop_id, series.loop_id));
      const run = all.find((one) => one.loop_id === null);
      const timeline = whole ? run ?? own : own ?? run;
      if (timeline) return { timeline, window: own ? [own.begin, own.end] : extent(series, iteration), missing: false };
    }
    const timeline = this.timeline(scope, whole);
    return timeline && { timeline, window: undefined, missing: series !== undefined };
  }

  series(scope: Scope, selection: Selection): Series | undefined {
    const all = this.report.iterations;
    for (const loop of this.candidates(scope)) {
      const own = all.filter((one) => one.loop_id === loop);
      const found =
        own.find((one) => one.class === selection.cls) ?? own.find((one) => one.class === scope.cls?.id) ?? own[0];
      if (found) return found;
    }
    return scope.loops.length ? undefined : all[0];
  }

  /** The most special matrix that covers the selection, and whether it is of just that. */
  matrix(scope: Scope): { matrix: Matrix; fits: boolean } | undefined {
    const all = this.report.matrices;
    const site = scope.place?.node.site ?? null;
    const own = site === null ? undefined : all.find((one) => one.site === site);
    if (own) return { matrix: own, fits: true };
    for (const [at, loop] of scope.loops.entries()) {
      const found = this.twins(loop).map((one) => all.find((matrix) => matrix.loop_id === one)).find(Boolean);
      if (found) return { matrix: found, fits: at === 0 && site === null };
    }
    const whole = all.find((one) => one.loop_id === null && one.site === null);
    return whole && { matrix: whole, fits: !scope.place?.parent };
  }

  loopName(loop: number | null | undefined): string {
    const place = loop === null || loop === undefined ? undefined : this.loops.get(loop);
    return place ? place.node.label : "";
  }
}

/** From the first rank's begin of an iteration to the last one's end; of several in a point, all of them. */
function extent(series: Series, iteration: number): [number, number] {
  const at = Math.floor(iteration / series.stride);
  const begin = series.begin[at] ?? 0;
  const end = begin + (series.max[at] ?? 0);
  return [begin, series.stride > 1 ? Math.max(end, series.begin[at + 1] ?? end) : end];
}

export function sitesUnder(root: TreeNode): number[] {
  const out: number[] = [];
  const stack = [root];
  for (let node = stack.pop(); node; node = stack.pop()) {
    if (node.site !== null) out.push(node.site);
    stack.push(...node.children);
  }
  return out;
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

/** Reads the data that stand in the page: plain JSON, or packed when they are long. */
export async function load(): Promise<Payload> {
  const element = document.getElementById("talea-data");
  const body = element?.textContent ?? "";
  if (element?.dataset["encoding"] !== "deflate") return JSON.parse(body);
  const packed = Uint8Array.from(atob(body), (one) => one.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

/** The function, and the line in it; without a line the place names the function itself. */
export function placed(site: Site): string {
  return site.line ? [site.function, site.place].filter(Boolean).join(" \u00b7 ") : site.place;
}
