// One group of a dragonfly: its routers in rows and columns, the links between them, and a stub for what leads to other groups.

import type { Model } from "./model";
import type { Mark, Node, Scene } from "./scene";
import { beside } from "./scene";

/** Room for names at the left and above. */
const [LEFT, TOP] = [52, 34];

export function group(model: Model, id: number, width: number): Scene {
  const routers: number[] = [];
  model.data.parts.forEach((part, router) => { if (part === id) routers.push(router); });
  const grid = routers.every((router) => model.at(router).length === 3);
  const columns = grid ? Math.max(...routers.map((router) => model.at(router)[2]!)) + 1 : Math.ceil(Math.sqrt(routers.length));
  const place = (router: number, at: number): [number, number] => (grid ? [model.at(router)[2]!, model.at(router)[1]!] : [at % columns, Math.floor(at / columns)]);
  const rows = Math.max(...routers.map((router, at) => place(router, at)[1])) + 1;
  const wide = Math.min(90, (width - LEFT - 20) / columns);
  const high = Math.max(46, Math.min(84, wide * 1.1));
  const scene: Scene = {
    width: LEFT + wide * columns + 10, height: TOP + high * rows + 6, marks: [], nodes: [], labels: [], limit: 160, bundled: true,
    note: "", places: () => [],
  };
  const nodes = new Map<number, Node>();
  routers.forEach((router, at) => {
    const [column, row] = place(router, at);
    const node = { x: LEFT + wide * (column + 0.5), y: TOP + high * (row + 0.5), r: 3.5, label: model.name(router), routers: [router], inside: [] };
    nodes.set(router, node);
    scene.nodes.push(node);
    if (grid && row === 0) scene.labels.push({ x: node.x, y: TOP - 6, anchor: "middle", strong: false, text: String(column) });
    if (grid && column === 0) scene.labels.push({ x: LEFT - 8, y: node.y + 4, anchor: "end", strong: false, text: `row ${row}` });
  });
  const room = Math.min(4, wide * 0.1);
  for (const [router, node] of nodes) {
    const away: number[] = [];
    for (let link = model.first[router]!; link < model.first[router + 1]!; link++) {
      const other = nodes.get(model.to[link]!);
      if (!other) {
        away.push(link);
        continue;
      }
      const [x0, y0, x1, y1] = beside(node.x, node.y, other.x, other.y, room / 2 + 0.3);
      // Links over others' heads bend: within a row upwards or downwards by direction, within a column sideways.
      const far = Math.hypot(x1 - x0, y1 - y0);
      const [nx, ny] = [(y1 - y0) / far, -(x1 - x0) / far];
      const bow = Math.min(high * 0.8, far * 0.32);
      scene.marks.push({ x0, y0, x1, y1, bend: [(x0 + x1) / 2 + nx * bow, (y0 + y1) / 2 + ny * bow], free: [4.5, 4.5], room, links: [link] });
    }
    if (away.length) {
      const stub: Mark = { x0: node.x, y0: node.y, x1: node.x + wide * 0.2, y1: node.y + wide * 0.2, bend: null, free: [4.5, 0], room: room * 1.4, links: away };
      scene.marks.push(stub);
    }
  }
  scene.labels.push({ x: 4, y: 12, anchor: "start", strong: true, text: `group ${id}` });
  scene.note = "stubs down to the right: the most of what leaves for other groups";
  scene.places = (router) => {
    const node = nodes.get(router);
    return node ? [[node.x, node.y]] : [];
  };
  return scene;
}
