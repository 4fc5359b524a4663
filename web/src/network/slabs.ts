// A torus as slabs: for each two axes a plane with the links of both, over which all other axes are projected, or one slice of them. As crates/show/report/src/network/slabs.rs.

import type { Model } from "./model";
import type { Mark, Node, Scene } from "./scene";
import { beside } from "./scene";

export const AXES = ["X", "Y", "Z", "A", "B", "C"];
const PLACES = 96;
/** Pixels between neighbours at most: small tori take the room that there is. */
const CELL = 64;
const [LEFT, TOP, BELOW, RIGHT] = [34, 24, 26, 26];

/** Two axes: to the right, and up (-1 for a torus of one axis). */
type Plane = [number, number];

function planes(lengths: number[]): Plane[] {
  const lie = (a: number, b: number): Plane => (lengths[b]! > lengths[a]! ? [b, a] : [a, b]);
  if (lengths.length <= 1) return lengths.length ? [[0, -1]] : [];
  if (lengths.length === 2) return [lie(0, 1)];
  return lengths.map((_, at) => lie(at, (at + 1) % lengths.length));
}

const folded = (length: number): number => Math.max(1, Math.ceil(length / PLACES));

function arrange(sizes: [number, number][], width: number, height: number): { cell: number; corners: [number, number][]; size: [number, number] } {
  for (let cell = CELL; ; cell -= 0.5) {
    let [x, y, row, right] = [0, 0, 0, 0];
    const corners: [number, number][] = [];
    for (const [across, up] of sizes) {
      const wide = LEFT + RIGHT + cell * (across + 0.6);
      if (x > 0 && x + wide > width) [x, y, row] = [0, y + row, 0];
      corners.push([x, y]);
      x += wide;
      right = Math.max(right, x);
      row = Math.max(row, TOP + BELOW + cell * (up + 0.6));
    }
    if ((right <= width && y + row <= height) || cell <= 4) return { cell, corners, size: [right, y + row] };
  }
}

/** That so many links do not fit the torus. */
export const astrayNote = (links: number): string =>
  links ? `${links} links are not drawn, as they lead to no neighbour on the torus` : "";

/** Coordinates that a slice leaves out. */
export const inside = (at: number[], slices: (number | null)[], free: number[]): boolean =>
  slices.every((slice, axis) => slice === null || free.includes(axis) || at[axis] === slice);

export function slabs(model: Model, slices: (number | null)[], width: number, height: number): Scene {
  const lengths = model.data.lengths.slice(0, AXES.length);
  const list = planes(lengths);
  const count = (axis: number): number => (axis < 0 ? 1 : Math.max(1, Math.ceil(lengths[axis]! / folded(lengths[axis]!))));
  const { cell, corners, size } = arrange(list.map(([a, b]) => [count(a), count(b)]), width, height);
  const scene: Scene = { width: size[0], height: size[1], marks: [], nodes: [], labels: [], limit: Infinity, bundled: false, cell, note: "", places: () => [] };
  const grids: ((at: number[]) => [number, number] | null)[] = [];
  const room = Math.min(8, Math.max(0.8, cell * 0.25));
  list.forEach((plane, index) => {
    const [cx, cy] = corners[index]!;
    const places = plane.map(count);
    const origin = [cx + LEFT + cell * 0.8, cy + TOP + cell * (places[1]! - 0.2)] as const;
    const pixel = (u: number, v: number): [number, number] => [origin[0] + u * cell, origin[1] - v * cell];
    const place = (at: number[]): [number, number] =>
      plane.map((axis) => (axis < 0 ? 0 : Math.floor(at[axis]! / folded(lengths[axis]!)))) as [number, number];
    const free = plane.filter((axis) => axis >= 0);
    grids.push((at) => (at.length ? pixel(...place(at)) : null));
    texts(scene, plane, lengths, slices, places, pixel, cell);
    const nodes = new Map<number, Node>();
    const marks = new Map<number, Mark>();
    for (let router = 0; router < model.routers; router++) {
      const at = model.at(router);
      if (at.length !== model.data.lengths.length || !inside(at, slices, free)) continue;
      const [u, v] = place(at);
      const key = u * places[1]! + v;
      const node = nodes.get(key);
      if (node) node.routers.push(router);
      else {
        const [x, y] = pixel(u, v);
        nodes.set(key, { x, y, r: Math.min(3, Math.max(0.6, cell * 0.11)), label: "", routers: [router], inside: [] });
      }
      for (let link = model.first[router]!; link < model.first[router + 1]!; link++) {
        const kind = model.data.links.class[link]!;
        const side = plane.indexOf(kind >> 1);
        if (side < 0 || kind >= 2 * lengths.length) continue;
        const plus = kind % 2 === 0;
        const id = ((key * 2 + side) << 1) | Number(plus);
        const mark = marks.get(id);
        if (mark) {
          mark.links.push(link);
          continue;
        }
        const round = [u, v][side] === (plus ? places[side]! - 1 : 0);
        const by = (round ? 0.6 : 1) * (plus ? 1 : -1);
        const end = side ? pixel(u, v + by) : pixel(u + by, v);
        const [x0, y0, x1, y1] = beside(...pixel(u, v), ...end, room / 2 + 0.35);
        marks.set(id, { x0, y0, x1, y1, bend: null, free: [cell * 0.17, round ? 0 : cell * 0.17], room, links: [link], round });
      }
    }
    scene.nodes.push(...nodes.values());
    for (const mark of marks.values()) scene.marks.push(mark);
  });
  let astray = 0;
  for (const kind of model.data.links.class) if (kind >= 2 * lengths.length) astray++;
  scene.note = [
    lengths.some((length) => folded(length) > 1) ? `axes longer than ${PLACES} are folded` : "",
    astrayNote(astray),
  ].filter(Boolean).join("; ");
  scene.places = (router) => {
    const at = model.at(router);
    return grids.map((grid) => grid(at)).filter((one): one is [number, number] => one !== null);
  };
  return scene;
}

function texts(scene: Scene, [a, b]: Plane, lengths: number[], slices: (number | null)[], places: number[], pixel: (u: number, v: number) => [number, number], cell: number): void {
  const [left, top] = pixel(-0.8, places[1]! - 0.2);
  const others = lengths.map((_, axis) => axis).filter((axis) => axis !== a && axis !== b && lengths[axis]! > 1);
  const over = others.filter((axis) => slices[axis] === null).map((axis) => AXES[axis]!);
  const at = others.filter((axis) => slices[axis] !== null).map((axis) => `${AXES[axis]} = ${slices[axis]}`);
  const says = [over.length ? `over ${over.join(" and ")}` : "", ...at].filter(Boolean).join(", ");
  const title = `${AXES[a]}${b < 0 ? "" : `-${AXES[b]}`}${says ? `, ${says}` : ""}`;
  scene.labels.push({ x: left, y: top - 8, anchor: "start", strong: true, text: title });
  const bottom = pixel(0, -0.8)[1] + 12;
  [a, b].forEach((axis, side) => {
    if (axis < 0) return;
    const every = Math.max(1, Math.ceil(26 / cell));
    const last = places[side]! - 1;
    for (let place = 0; place <= last; place++) {
      if (place !== last && (place % every || (last - place < every && place))) continue;
      const text = String(place * folded(lengths[axis]!));
      scene.labels.push(side
        ? { x: left - 4, y: pixel(0, place)[1] + 3.5, anchor: "end", strong: false, text }
        : { x: pixel(place, 0)[0], y: bottom, anchor: "middle", strong: false, text });
    }
    scene.labels.push(side
      ? { x: left - 4, y: top - 8, anchor: "end", strong: false, text: `${AXES[axis]} \u2191` }
      : { x: pixel(last, 0)[0] + cell * 0.8, y: bottom, anchor: "start", strong: false, text: `${AXES[axis]} \u2192` });
  });
}

/** Names of the axes that may be sliced. */
export const sliced = (lengths: number[]): { axis: number; name: string; length: number }[] =>
  lengths.slice(0, AXES.length).map((length, axis) => ({ axis, name: AXES[axis]!, length })).filter(({ length }) => length > 1);
