// Drawing without values: places of routers, and marks that stand for one link or several. As crates/show/report/src/network/scene.rs.

import type { Model } from "./model";

export interface Mark {
  x0: number; y0: number; x1: number; y1: number;
  /** Point that it bends towards. */
  bend: [number, number] | null;
  /** Length that is left free at both ends. */
  free: [number, number];
  /** Width of the largest capacity. */
  room: number;
  links: number[];
  /** It leads round an axis. */
  round?: boolean;
}

export interface Node {
  x: number; y: number; r: number; label: string;
  /** One of its routers, or all of them. */
  routers: number[];
  /** Links between them, whose most colours it. */
  inside: number[];
  /** A disk or box that opens. */
  group?: number;
}

export interface Label { x: number; y: number; anchor: "start" | "middle" | "end"; strong: boolean; text: string }

export interface Scene {
  width: number; height: number;
  marks: Mark[]; nodes: Node[]; labels: Label[];
  /** Lines that cross each other: of more than these only those with most are coloured. */
  limit: number;
  /** A line is as wide as all its links together. */
  bundled: boolean;
  /** The largest capacity of a line. */
  widest?: number;
  /** Pixels between neighbours of slabs. */
  cell?: number;
  note: string;
  places: (router: number) => [number, number][];
}

/** The line moved so far to its right-hand side. */
export function beside(x0: number, y0: number, x1: number, y1: number, by: number): [number, number, number, number] {
  const length = Math.hypot(x1 - x0, y1 - y0) || 1;
  const [x, y] = [(-(y1 - y0) / length) * by, ((x1 - x0) / length) * by];
  return [x0 + x, y0 + y, x1 + x, y1 + y];
}

/** Room for texts beside levels and around groups, which stay as large in a narrow picture. */
const BESIDE = { groups: [62, 62], levels: [96, 16], torus: [0, 0] } as const;

/** Pixels of a character of a label. */
const LETTER = 6.4;

/** The page's own places of groups and levels, in a room of this width. */
export function placed(model: Model, width: number): Scene {
  const data = model.data.scene!;
  const groups = model.data.form === "groups";
  const [left, right] = BESIDE[model.data.form];
  const fits = Math.max(60, width - left - right) / (data.size[0] - left - right);
  const k = groups ? Math.min(1, fits) : fits;
  const ky = groups ? k : Math.min(1, Math.max(k, 0.8));
  const top = groups ? left : 0;
  const px = (x: number): number => left + (x - left) * k;
  const py = (y: number): number => top + (y - top) * ky;
  const marks: Mark[] = data.marks.map(([x0, y0, x1, y1, before, after, room, bend]) => ({
    x0: px(x0), y0: py(y0), x1: px(x1), y1: py(y1), bend: bend && [px(bend[0]), py(bend[1])],
    free: [before, after], room: room * Math.min(1, Math.max(0.6, k)), links: [],
  }));
  const nodes: Node[] = data.nodes.map(([x, y, r, , label]) => ({ x: px(x), y: py(y), r: r * Math.min(1, Math.max(0.5, k)), label, routers: [], inside: [] }));
  data.mark_of.forEach((mark, link) => {
    if (mark >= 0) marks[mark]!.links.push(link);
    else nodes[data.node_of[model.from[link]!]!]!.inside.push(link);
  });
  data.node_of.forEach((node, router) => nodes[node]!.routers.push(router));
  if (groups) for (const node of nodes) if (node.routers.length > 1) node.group = model.data.parts[node.routers[0]!]!;
  const labels = data.labels.map(([x, y, anchor, strong, text]) => ({ x: x < 10 ? x : px(x), y: py(y), anchor, strong, text }));
  const places = (router: number): [number, number][] => {
    const node = nodes[data.node_of[router]!];
    return node ? [[node.x, node.y]] : [];
  };
  return { width: px(data.size[0] - right) + right, height: py(data.size[1] - top) + top, marks, nodes, labels: groups ? labels : apart(labels), limit: 400, bundled: true, note: data.note, places };
}

/** Names of switches of a row where they have room, else none of the row: pointing at a switch tells its name. */
function apart(labels: Label[]): Label[] {
  const rows = new Map<number, Label[]>();
  for (const label of labels) if (label.x >= 10) rows.set(label.y, [...(rows.get(label.y) ?? []), label]);
  const crowded = [...rows.values()].filter((row) => {
    const begin = ({ anchor, text, x }: Label): number => (anchor === "middle" ? x - text.length * LETTER / 2 : x);
    row.sort((a, b) => a.x - b.x);
    return row.some((label, at) => at > 0 && begin(row[at - 1]!) + row[at - 1]!.text.length * LETTER + 4 > begin(label));
  });
  const out = new Set(crowded.flat());
  return labels.filter((label) => !out.has(label));
}

/** The largest capacity of a line: of one link in slabs, of all links of a bundle elsewhere; 0 where none is known. */
export function widest(model: Model, scene: Scene): number {
  if (scene.widest !== undefined) return scene.widest;
  const of = (mark: Mark): number => mark.links.reduce((sum, link) => {
    const capacity = model.capacity[link] || 0;
    return scene.bundled ? sum + capacity : Math.max(sum, capacity);
  }, 0);
  scene.widest = scene.marks.reduce((most, mark) => Math.max(most, of(mark)), 0);
  return scene.widest;
}

/** Both ends of what is seen of a mark. */
export function seen({ x0, y0, x1, y1, bend, free }: Mark, cut: boolean): [number, number, number, number] {
  if (!cut) return [x0, y0, x1, y1];
  const towards = (x: number, y: number, tx: number, ty: number, by: number): [number, number] => {
    const part = by / (Math.hypot(tx - x, ty - y) || 1);
    return [x + (tx - x) * part, y + (ty - y) * part];
  };
  return [...towards(x0, y0, ...(bend ?? [x1, y1] as const), free[0]), ...towards(x1, y1, ...(bend ?? [x0, y0] as const), free[1])];
}

/** The same line, so far to its right-hand side. */
export function shifted(mark: Mark, by: number): Mark {
  const [x0, y0, x1, y1] = beside(mark.x0, mark.y0, mark.x1, mark.y1, by);
  const [dx, dy] = [x0 - mark.x0, y0 - mark.y0];
  return { ...mark, x0, y0, x1, y1, bend: mark.bend && [mark.bend[0] + dx, mark.bend[1] + dy] };
}

/** A point of a mark, from 0 to 1. */
export function along(mark: Mark, t: number): [number, number] {
  const { bend } = mark;
  const [x0, y0, x1, y1] = seen(mark, true);
  if (!bend) return [x0 + (x1 - x0) * t, y0 + (y1 - y0) * t];
  const [a, b, c] = [(1 - t) * (1 - t), 2 * t * (1 - t), t * t];
  return [a * x0 + b * bend[0] + c * x1, a * y0 + b * bend[1] + c * y1];
}

function distance(px: number, py: number, x0: number, y0: number, x1: number, y1: number): number {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const t = Math.min(1, Math.max(0, ((px - x0) * dx + (py - y0) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(px - x0 - dx * t, py - y0 - dy * t);
}

/** The mark or the node at a place. */
export function hit(scene: Scene, x: number, y: number): Mark | Node | null {
  let best: Mark | Node | null = null;
  let least = 5;
  for (const node of scene.nodes) {
    const far = Math.hypot(node.x - x, node.y - y) - node.r;
    if (far < Math.min(least, 1.5)) {
      best = node;
      least = far;
    }
  }
  if (best) return best;
  for (const mark of scene.marks) {
    let far = Infinity;
    if (!mark.bend) far = distance(x, y, mark.x0, mark.y0, mark.x1, mark.y1);
    else {
      let before = along(mark, 0);
      for (let step = 1; step <= 10; step++) {
        const point = along(mark, step / 10);
        far = Math.min(far, distance(x, y, ...before, ...point));
        before = point;
      }
    }
    if (far < least) {
      best = mark;
      least = far;
    }
  }
  return best;
}

/** The router or disk that is nearest, for clicks beside it. */
export function nearest(scene: Scene, x: number, y: number): Node | null {
  let best: Node | null = null;
  let least = 14;
  for (const node of scene.nodes) {
    const far = Math.hypot(node.x - x, node.y - y) - node.r;
    if (far < least) {
      best = node;
      least = far;
    }
  }
  return best;
}
