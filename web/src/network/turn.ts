// A torus of three axes as a picture that turns: all routers and links, the nearest on top.

import type { Shown } from "./paint";
import { count } from "../report/units";
import { coloured } from "./cut";
import { Ink } from "./ink";
import { chosen, end } from "./paint";
import { astrayNote, AXES, inside } from "./slabs";

/** About so many links are coloured; of more those with most, the others are hairlines. */
const MOST = 1500;
/** Of hairlines no more than these are drawn, evenly chosen. */
const HAIRLINES = 6000;

/** A link on the screen, for what is pointed at. */
export interface Seen { x0: number; y0: number; x1: number; y1: number; link: number }

export function turned(pen: CanvasRenderingContext2D, shown: Shown, width: number, height: number): { seen: Seen[]; note: string } {
  const { model, choice, range, ink } = shown;
  const lengths = model.data.lengths;
  const [yaw, pitch] = choice.turn;
  const [cy, sy, cp, sp] = [Math.cos(yaw), Math.sin(yaw), Math.cos(pitch), Math.sin(pitch)];
  // Axes are as long as they have routers, the longest one as the picture.
  const size = Math.hypot(...lengths.slice(0, 3));
  const scale = (Math.min(width, height * 1.5) * 0.8) / size;
  const project = (x: number, y: number, z: number): [number, number, number] => {
    const [a, b, c] = [x - (lengths[0]! - 1) / 2, y - (lengths[1]! - 1) / 2, z - (lengths[2]! - 1) / 2];
    const across = a * cy + c * sy;
    const away = -a * sy + c * cy;
    const up = b * cp - away * sp;
    const depth = b * sp + away * cp;
    const near = 1 / (1 + (depth / size) * 0.35);
    return [width / 2 + across * scale * near, height / 2 - up * scale * near, depth];
  };
  const at = (router: number): [number, number, number] => {
    const place = model.at(router);
    return project(place[0] ?? 0, place[1] ?? 0, place[2] ?? 0);
  };
  pen.clearRect(0, 0, width, height);
  const flat = model.data.lengths.map((_, axis) => axis).filter((axis) => axis > 2);
  const values = model.values(shown.view, choice.shows);
  const list: number[] = [];
  let astray = 0;
  for (let link = 0; link < model.links; link++) {
    const axis = model.data.links.class[link]! >> 1;
    if (axis >= lengths.length) {
      astray++;
      continue;
    }
    if (axis > 2 || (!flat.length && choice.slices.every((one) => one === null))) {
      if (axis <= 2) list.push(link);
      continue;
    }
    const slices = choice.slices.map((one, k) => (one === null && k > 2 ? 0 : one));
    if (inside(model.at(model.from[link]!), slices, [axis])) list.push(link);
  }
  const rank = (link: number): number => (Number.isNaN(values[link]!) ? -1 : Math.abs(values[link]!));
  const some = list.filter((link) => rank(link) > 0 && chosen(shown, values[link]!));
  const cut = coloured(some.map(rank), MOST);
  const lit = some.filter((_, at) => cut[at]);
  const bright = new Set(lit);
  for (const way of shown.ways) for (const link of way) bright.add(link);
  const rest = list.filter((link) => !bright.has(link));
  const ends = (link: number): [number, number, number, number, number] => {
    const [from, to] = [model.at(model.from[link]!), model.at(model.to[link]!)];
    const axis = model.data.links.class[link]! >> 1;
    const [a, b] = [from.slice(0, 3), to.slice(0, 3)] as [number[], number[]];
    // The link round an axis is a stub that leaves the machine.
    if (Math.abs(a[axis]! - b[axis]!) > 1) {
      b[axis] = a[axis]! + (a[axis] === 0 ? -0.7 : 0.7);
    }
    const [x0, y0, d0] = project(a[0]!, a[1]!, a[2]!);
    const [x1, y1, d1] = project(b[0]!, b[1]!, b[2]!);
    // Both directions beside each other.
    const length = Math.hypot(x1 - x0, y1 - y0) || 1;
    const [nx, ny] = [(-(y1 - y0) / length) * 1.3, ((x1 - x0) / length) * 1.3];
    return [x0 + nx, y0 + ny, x1 + nx, y1 + ny, (d0 + d1) / 2];
  };
  pen.strokeStyle = ink.line;
  pen.lineWidth = 0.4;
  pen.beginPath();
  const every = Math.ceil(rest.length / HAIRLINES);
  for (let k = 0; k < rest.length; k += every) {
    const [x0, y0, x1, y1] = ends(rest[k]!);
    pen.moveTo(x0, y0);
    pen.lineTo(x1, y1);
  }
  pen.stroke();
  const drawn = [...bright].map((link) => ({ link, place: ends(link) })).sort((a, b) => b.place[4] - a.place[4]);
  const seen: Seen[] = [];
  for (const { link, place: [x0, y0, x1, y1, depth] } of drawn) {
    const step = Ink.step(range, values[link]!);
    const back = shown.ways[1].has(link);
    const way = back || shown.ways[0].has(link);
    pen.strokeStyle = way ? ink.way : step < 0 || !range ? ink.dim : ink.colour(range, step);
    const wide = model.most ? 0.25 + (0.75 * (model.capacity[link] || model.most)) / model.most : 0.7;
    pen.lineWidth = way ? 3 : Math.max(0.6, wide * 3.2 * (1 - (depth / size) * 0.5));
    if (back) pen.setLineDash([5, 4]);
    pen.beginPath();
    pen.moveTo(x0, y0);
    pen.lineTo(x1, y1);
    pen.stroke();
    if (back) pen.setLineDash([]);
    seen.push({ x0, y0, x1, y1, link });
    if (model.degraded.has(link)) {
      const [x, y] = [(x0 + x1) / 2, (y0 + y1) / 2];
      pen.strokeStyle = ink.bad;
      pen.lineWidth = 2.4;
      pen.beginPath();
      pen.moveTo(x - 4, y - 4);
      pen.lineTo(x + 4, y + 4);
      pen.moveTo(x - 4, y + 4);
      pen.lineTo(x + 4, y - 4);
      pen.stroke();
    }
  }
  pen.font = `600 12px ${ink.sans}`;
  pen.fillStyle = ink.text;
  pen.textAlign = "center";
  lengths.slice(0, 3).forEach((length, axis) => {
    const tip: [number, number, number] = [-0.5, -0.5, -0.5];
    tip[axis] = length + 0.6;
    const [x0, y0] = project(-0.5, -0.5, -0.5);
    const [x1, y1] = project(...tip);
    pen.strokeStyle = ink.dim;
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(x0, y0);
    pen.lineTo(x1, y1);
    pen.stroke();
    pen.fillText(`${AXES[axis]} ${length}`, x1, y1 - 4);
  });
  pen.textAlign = "left";
  choice.route.forEach((router, place) => {
    if (router === null) return;
    const [x, y] = at(router);
    end(pen, x, y, place ? "B" : "A", ink);
  });
  const absent = list.filter((link) => rank(link) < 0).length;
  const more = some.length - lit.length;
  const note = [
    flat.length ? `links of ${flat.map((axis) => AXES[axis]).join(", ")} are not in it` : "",
    more > 0 && !choice.brush
      ? `${count(lit.length)} links with most are coloured, ${count(more)} with less are hairlines`
      : "",
    absent ? `${count(absent)} links are not known: hairlines too` : "",
    astrayNote(astray),
  ].filter(Boolean).join("; ");
  return { seen, note };
}
