// A scene with the values of a view, on a canvas: colour by value, width by capacity, a notch where it was stalled, a cross where it is degraded.

import type { Choice } from "./state";
import type { Mark, Node, Scene } from "./scene";
import type { Model, Range } from "./model";
import { plain } from "../report/dom";
import { coloured, note } from "./cut";
import { Ink } from "./ink";
import { fraction } from "./model";
import { along, seen, shifted, widest } from "./scene";

/** A link that was stalled for this share of the time has a notch, and from the second one on two. */
export const NOTCHES = [0.1, 0.4];
/** From the side of a link to the middle of the way that passes it. */
const WAY = 1.9;
export interface Shown {
  model: Model;
  view: number;
  choice: Choice;
  range: Range | null;
  /** Links of the way, and of the way back. */
  ways: [Set<number>, Set<number>];
  ink: Ink;
}

/** Text of a mark on its links. */
export interface Said { value: number; link: number; stalled: number; width: number }

export function says(shown: Shown, links: number[], room: number, scene?: Scene): Said {
  const { model, view, choice } = shown;
  const values = model.values(view, choice.shows);
  const stalls = model.values(view, "stalled");
  const said: Said = { value: NaN, link: links[0] ?? -1, stalled: 0, width: room * 0.7 };
  let [sum, count, size] = [0, 0, -1];
  for (const link of links) {
    const value = values[link]!;
    const stalled = stalls[link]!;
    if (stalled > said.stalled) said.stalled = stalled;
    if (Number.isNaN(value)) continue;
    sum += value;
    count++;
    if (Math.abs(value) > size) {
      size = Math.abs(value);
      said.value = value;
      said.link = link;
    }
  }
  if (choice.reduce === "mean" && count) said.value = sum / count;
  const most = scene ? widest(model, scene) : 0;
  if (scene && most > 0) {
    const capacity = scene.bundled ? links.reduce((sum, link) => sum + (model.capacity[link] || 0), 0) : model.capacity[said.link] || 0;
    if (capacity > 0) said.width = room * (0.25 + (0.75 * capacity) / most);
  }
  return said;
}

/** Whether the histogram's selection leaves a value. */
export function chosen(shown: Shown, value: number): boolean {
  const { brush } = shown.choice;
  if (!brush || !shown.range) return true;
  const part = fraction(shown.range, value);
  return part >= brush[0] && part <= brush[1];
}

export function trace(pen: CanvasRenderingContext2D, mark: Mark, cut: boolean): void {
  const [x0, y0, x1, y1] = seen(mark, cut);
  pen.moveTo(x0, y0);
  if (mark.bend) pen.quadraticCurveTo(...mark.bend, x1, y1);
  else pen.lineTo(x1, y1);
}

export function paint(pen: CanvasRenderingContext2D, scene: Scene, shown: Shown): string {
  const { ink, range } = shown;
  pen.clearRect(0, 0, scene.width, scene.height);
  pen.lineCap = "butt";
  const said = scene.marks.map((mark) => says(shown, mark.links, mark.room, scene));
  const size = (at: number): number => Math.abs(said[at]!.value);
  const all = scene.marks.map((_, at) => at).filter((at) => scene.marks[at]!.links.length);
  // An unknown value cannot be left out by a selection.
  const left = all.filter((at) => Number.isNaN(said[at]!.value) || chosen(shown, said[at]!.value));
  const sizes = left.map(size);
  const lit = coloured(sizes, scene.limit);
  const bright = new Set(left.filter((_, at) => lit[at]));
  const hairlines = all.filter((at) => !bright.has(at));
  // One path for each class and width: what is most comes last and is on top.
  const order = [...bright].sort((a, b) => (size(a) || 0) - (size(b) || 0) || a - b);
  const strokes = new Map<string, number[]>();
  for (const at of order) {
    const { value, width } = said[at]!;
    const key = `${Ink.step(range, value)} ${width.toFixed(1)}`;
    const list = strokes.get(key);
    if (list) list.push(at);
    else strokes.set(key, [at]);
  }
  const stroke = (list: number[], colour: string | CanvasPattern, width: number): void => {
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.beginPath();
    for (const at of list) trace(pen, scene.marks[at]!, true);
    pen.stroke();
  };
  stroke(hairlines, ink.line, 0.5);
  for (const [key, list] of strokes) {
    const [step, width] = key.split(" ").map(Number) as [number, number];
    stroke(list, step < 0 || !range ? ink.hatched(pen) : ink.colour(range, step), width);
  }
  texts(pen, scene, ink);
  nodes(pen, scene, shown);
  pen.strokeStyle = ink.halt;
  // Thin where marks are short, as a notch must not hide the colour.
  const fine = Math.min(1.6, Math.max(0.7, scene.cell === undefined ? 1.6 : scene.cell * 0.06));
  pen.lineWidth = fine;
  pen.beginPath();
  scene.marks.forEach((mark, at) => {
    if (chosen(shown, said[at]!.value)) notches(pen, mark, said[at]!.stalled, fine * 1.9);
  });
  pen.stroke();
  crosses(pen, scene, shown);
  route(pen, scene, shown);
  return note(sizes, lit);
}

function nodes(pen: CanvasRenderingContext2D, scene: Scene, shown: Shown): void {
  const { ink, range } = shown;
  pen.fillStyle = ink.dim;
  for (const node of scene.nodes) {
    if (node.inside.length || node.group !== undefined) continue;
    pen.fillRect(node.x - node.r, node.y - node.r, 2 * node.r, 2 * node.r);
  }
  for (const node of scene.nodes) {
    if (!node.inside.length && node.group === undefined) continue;
    const step = Ink.step(range, says(shown, node.inside, 1).value);
    pen.beginPath();
    pen.arc(node.x, node.y, node.r, 0, 7);
    pen.fillStyle = step < 0 || !range ? ink.hatched(pen) : ink.colour(range, step);
    pen.fill();
    pen.lineWidth = node.group !== undefined && node.group === shown.choice.group ? 2.5 : 0.8;
    pen.strokeStyle = pen.lineWidth > 1 ? ink.accent : ink.dim;
    pen.stroke();
  }
}

/** Cuts across a link: one, or two where it stood still for long. */
function notches(pen: CanvasRenderingContext2D, mark: Mark, stalled: number, apart: number): void {
  const count = NOTCHES.filter((least) => stalled >= least).length;
  if (!count) return;
  const [x, y] = along(mark, 0.5);
  const length = Math.hypot(mark.x1 - mark.x0, mark.y1 - mark.y0) || 1;
  const [dx, dy] = [(mark.x1 - mark.x0) / length, (mark.y1 - mark.y0) / length];
  const half = mark.room / 2 + 0.2;
  for (let at = 0; at < count; at++) {
    const by = (at - (count - 1) / 2) * apart;
    pen.moveTo(x + dx * by - dy * half, y + dy * by + dx * half);
    pen.lineTo(x + dx * by + dy * half, y + dy * by - dx * half);
  }
}

function crosses(pen: CanvasRenderingContext2D, scene: Scene, { model, ink }: Shown): void {
  if (!model.degraded.size) return;
  const places = scene.marks.filter((mark) => mark.links.some((link) => model.degraded.has(link))).map((mark) => along(mark, 0.5));
  for (const [width, colour] of [[5, ink.paper], [2.4, ink.bad]] as const) {
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.beginPath();
    for (const [x, y] of places) {
      pen.moveTo(x - 4, y - 4);
      pen.lineTo(x + 4, y + 4);
      pen.moveTo(x - 4, y + 4);
      pen.lineTo(x + 4, y - 4);
    }
    pen.stroke();
  }
}

/** Ways lead beside the links that they pass, whose colours stay to be seen. */
function route(pen: CanvasRenderingContext2D, scene: Scene, { ways, ink, choice }: Shown): void {
  ways.forEach((way, back) => {
    if (!way.size) return;
    const marks = scene.marks.filter((mark) => mark.links.some((link) => way.has(link)));
    for (const [width, colour] of [[3.6, ink.paper], [back ? 2.2 : 2.4, ink.way]] as const) {
      pen.setLineDash(back && colour !== ink.paper ? [5, 4] : []);
      pen.strokeStyle = colour;
      pen.lineWidth = width;
      pen.beginPath();
      for (const mark of marks) trace(pen, shifted(mark, mark.room / 2 + WAY), false);
      pen.stroke();
    }
    pen.setLineDash([]);
  });
  pen.font = `700 10px ${ink.sans}`;
  pen.textAlign = "center";
  choice.route.forEach((router, at) => {
    if (router === null) return;
    for (const [x, y] of scene.places(router)) end(pen, x, y, at ? "B" : "A", ink);
  });
}

/** The name of an end of a way. */
export function end(pen: CanvasRenderingContext2D, x: number, y: number, name: string, ink: Ink): void {
  pen.beginPath();
  pen.arc(x, y, 7.5, 0, 7);
  pen.fillStyle = ink.way;
  pen.fill();
  pen.strokeStyle = ink.paper;
  pen.lineWidth = 1.5;
  pen.stroke();
  pen.fillStyle = ink.paper;
  pen.textAlign = "center";
  pen.font = `700 10px ${ink.sans}`;
  pen.fillText(name, x, y + 3.6);
}

function texts(pen: CanvasRenderingContext2D, scene: Scene, ink: Ink): void {
  for (const { x, y, anchor, strong, text } of scene.labels) {
    pen.font = strong ? `600 11.5px ${ink.sans}` : `10.5px ${ink.mono}`;
    pen.fillStyle = strong ? ink.text : ink.dim;
    pen.textAlign = anchor === "middle" ? "center" : anchor;
    if (scene.bundled) {
      // Lines pass below names.
      pen.strokeStyle = ink.paper;
      pen.lineWidth = 3;
      pen.strokeText(plain(text, 60), x, y);
    }
    pen.fillText(plain(text, 60), x, y);
  }
  pen.textAlign = "left";
}

/** A ring around what is pointed at. */
export function outline(pen: CanvasRenderingContext2D, what: Mark | Node, ink: Ink): void {
  pen.strokeStyle = ink.accent;
  pen.beginPath();
  if ("links" in what) {
    pen.lineWidth = Math.max(3, what.room + 2);
    pen.globalAlpha = 0.55;
    trace(pen, what, true);
  } else {
    pen.lineWidth = 2;
    pen.arc(what.x, what.y, what.r + 4, 0, 7);
  }
  pen.stroke();
  pen.globalAlpha = 1;
}
