// One view as a picture: slabs, the torus that turns, groups or levels; pointing, choosing routers, keys.

import type { Mark, Node, Scene } from "./scene";
import type { Model, Range } from "./model";
import type { Seen } from "./turn";
import type { Shown } from "./paint";
import type { State } from "./state";
import { h, hideTip, name, plain, showTip } from "../report/dom";
import { count } from "../report/units";
import { group } from "./group";
import { Ink } from "./ink";
import { amount, QUANTITIES, QUANTITY_NAMES } from "./model";
import { outline, paint, says } from "./paint";
import { hit, nearest, placed } from "./scene";
import { slabs } from "./slabs";
import { turned } from "./turn";

/** Common parts of every picture of a page. */
export interface Common { range: Range | null; ways: [Set<number>, Set<number>] }

/** Pixels that a picture may be high. */
const HEIGHT = { wide: 520, narrow: 860, solid: 600 };

export class Picture {
  readonly element: HTMLElement;
  private readonly head = h("div", { class: "head" });
  private readonly figures = h("div", { class: "figures dim" });
  private readonly canvas = h("canvas", { tabindex: 0, role: "img" });
  private readonly opened = h("canvas", { tabindex: 0, role: "img", hidden: true });
  private readonly note = h("p", { class: "note" });
  private scene: Scene | undefined;
  private inner: Scene | undefined;
  private key = "";
  private seen: Seen[] = [];
  private cursor: Node | null = null;
  private shown: Shown | undefined;
  private last: [number, number] = [0, 0];

  constructor(private readonly model: Model, private readonly state: State, private readonly place: number) {
    this.element = h("section", { class: "view" }, this.head, this.figures, this.canvas, this.opened, this.note);
    for (const canvas of [this.canvas, this.opened]) {
      canvas.addEventListener("pointermove", (event) => this.point(event));
      canvas.addEventListener("pointerleave", () => { hideTip(); this.repaint(); });
      canvas.addEventListener("pointerdown", (event) => {
        this.last = [event.clientX, event.clientY];
        if (this.state.choice.solid) canvas.setPointerCapture(event.pointerId);
      });
      canvas.addEventListener("click", (event) => this.click(event));
      canvas.addEventListener("keydown", (event) => this.keyed(event));
    }
  }

  /** Where a picture of so many pixels is drawn; lines of one pixel stay sharp. */
  private pen(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
    const ratio = devicePixelRatio || 1;
    const [w, t] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== w || canvas.height !== t) {
      canvas.width = w;
      canvas.height = t;
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const pen = canvas.getContext("2d")!;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    return pen;
  }

  update(width: number, common: Common): void {
    const { choice } = this.state;
    const view = choice.views[this.place];
    this.element.hidden = view === undefined;
    if (view === undefined) return;
    const of = this.model.view(view);
    this.head.replaceChildren(h("h2", {}, name(of.name, 80)), h("span", { class: "source" }, of.source),
      ...(this.model.data.opens?.recommended === view ? [h("span", { class: "source" }, "recommended")] : []));
    this.figures.replaceChildren(...of.figures.map(([what, value]) => h("span", {}, `${plain(what, 60)} `, h("b", {}, plain(value, 60)))));
    this.shown = { model: this.model, view, choice, range: common.range, ways: common.ways, ink: new Ink() };
    this.canvas.setAttribute("aria-label", `${QUANTITY_NAMES[choice.shows]} of links, ${plain(of.name, 80)}, ${of.source}; the table of links has every number`);
    this.canvas.classList.toggle("turns", choice.solid);
    const two = choice.views.length > 1;
    const key = JSON.stringify([width, two, choice.slices, choice.group]);
    if (key !== this.key) {
      this.key = key;
      this.cursor = null;
      this.scene = this.model.data.form === "torus"
        ? slabs(this.model, choice.slices, width, width < 600 ? HEIGHT.narrow : HEIGHT.wide)
        : placed(this.model, width);
      this.inner = choice.group === null ? undefined : group(this.model, choice.group, width);
    }
    this.width = width;
    this.repaint();
  }

  private width = 0;
  private over: Mark | Node | Seen | null = null;

  private repaint(hover?: Mark | Node | Seen | null, inner = false): void {
    const { shown, scene } = this;
    if (!shown || !scene) return;
    if (shown.choice.solid) {
      const height = Math.min(HEIGHT.solid, this.width * 0.8);
      const pen = this.pen(this.canvas, this.width, height);
      const { seen, note } = turned(pen, shown, this.width, height);
      this.seen = seen;
      this.note.textContent = note;
      if (hover && "link" in hover) {
        pen.strokeStyle = shown.ink.accent;
        pen.lineWidth = 4;
        pen.beginPath();
        pen.moveTo(hover.x0, hover.y0);
        pen.lineTo(hover.x1, hover.y1);
        pen.stroke();
      }
      return;
    }
    const pen = this.pen(this.canvas, scene.width, scene.height);
    const left = paint(pen, scene, shown);
    if (hover && !("link" in hover) && !inner) outline(pen, hover, shown.ink);
    if (this.cursor && document.activeElement === this.canvas) outline(pen, this.cursor, shown.ink);
    this.opened.hidden = !this.inner;
    if (this.inner) {
      const pen = this.pen(this.opened, this.inner.width, this.inner.height);
      paint(pen, this.inner, shown);
      if (hover && !("link" in hover) && inner) outline(pen, hover, shown.ink);
    }
    this.note.textContent = [scene.note, left, this.inner?.note ?? ""].filter(Boolean).join("; ");
  }

  private find(event: MouseEvent): { what: Mark | Node | Seen | null; inner: boolean; x: number; y: number } {
    const canvas = event.currentTarget as HTMLCanvasElement;
    const box = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const inner = canvas === this.opened;
    if (this.state.choice.solid) {
      let [best, least]: [Seen | null, number] = [null, 5];
      // The last one is on top.
      for (const one of this.seen) {
        const [dx, dy] = [one.x1 - one.x0, one.y1 - one.y0];
        const t = Math.min(1, Math.max(0, ((x - one.x0) * dx + (y - one.y0) * dy) / (dx * dx + dy * dy || 1)));
        const far = Math.hypot(x - one.x0 - dx * t, y - one.y0 - dy * t);
        if (far <= least) [best, least] = [one, far];
      }
      return { what: best, inner, x, y };
    }
    const scene = inner ? this.inner : this.scene;
    return { what: scene ? hit(scene, x, y) : null, inner, x, y };
  }

  private point(event: PointerEvent): void {
    const { choice } = this.state;
    if (choice.solid && event.buttons & 1) {
      const [yaw, pitch] = choice.turn;
      const [dx, dy] = [event.clientX - this.last[0], event.clientY - this.last[1]];
      this.last = [event.clientX, event.clientY];
      this.state.set({ turn: [yaw + dx * 0.008, Math.min(1.57, Math.max(-1.57, pitch + dy * 0.008))] });
      return;
    }
    const { what, inner } = this.find(event);
    if (what !== this.over) this.repaint(what, inner);
    this.over = what;
    if (what) showTip(event.clientX, event.clientY, this.lines(what));
    else hideTip();
  }

  /** Tooltip. */
  private lines(what: Mark | Node | Seen): string[] {
    const { model } = this;
    if ("link" in what) return this.link(what.link, 1);
    if ("links" in what) return this.link(says(this.shown!, what.links, 1).link, what.links.length);
    const router = this.router(what);
    const hosts = model.hostsOf(router);
    const lines = [what.label && what.routers.length > 1 ? plain(what.label, 80) : model.name(router)];
    if (what.group !== undefined) return [...lines, `${count(what.routers.length)} routers, ${count(what.inside.length)} links between them`, "a click opens it"];
    if (what.routers.length > 1) lines.push(`one of ${count(what.routers.length)} routers here`);
    if (hosts.length) lines.push(`hosts ${plain(hosts.slice(0, 4).join(", "), 80)}${hosts.length > 4 ? ` and ${hosts.length - 4} more` : ""}`);
    const { route } = this.state.choice;
    return [...lines, route[0] === null || route[1] !== null ? "a click: way from here" : "a click: way to here"];
  }

  private link(link: number, many: number): string[] {
    const { model, shown } = this;
    const capacity = model.capacity[link]!;
    const lines = [model.ends(link)];
    if (many > 1) lines.push(`the most of ${count(many)} links here`);
    lines.push(`${model.className(link)}, ${model.made(link)}: ${Number.isNaN(capacity) ? "capacity not known" : amount(capacity, "B/s")}`);
    for (const quantity of QUANTITIES) {
      if (!model.known.includes(quantity)) continue;
      const value = model.values(shown!.view, quantity)[link]!;
      lines.push(`${QUANTITY_NAMES[quantity]}: ${model.text(value, quantity, shown!.view)}`);
    }
    const worse = model.degraded.get(link);
    if (worse) lines.push(`degraded: ${plain(worse, 80)}`);
    return lines;
  }

  /** Of several routers at a place the one that is nearest to the other end, on axes that the slab does not show. */
  private router(node: Node): number {
    const { route } = this.state.choice;
    const other = route[0] !== null && route[1] === null ? this.model.at(route[0]) : [];
    const far = (router: number): number => this.model.at(router).reduce((sum, at, axis) => sum + Math.abs(at - (other[axis] ?? 0)), 0);
    return node.routers.reduce((best, router) => (far(router) < far(best) ? router : best), node.routers[0]!);
  }

  private click(event: MouseEvent): void {
    if (this.state.choice.solid) return;
    const { inner, x, y } = this.find(event);
    const scene = inner ? this.inner : this.scene;
    const node = scene ? nearest(scene, x, y) : null;
    if (node) this.choose(node);
  }

  private choose(node: Node): void {
    const { route, group } = this.state.choice;
    if (node.group !== undefined) return this.state.set({ group: node.group === group ? null : node.group });
    const router = this.router(node);
    this.state.set({ route: route[0] === null || route[1] !== null ? [router, null] : [route[0], router] });
  }

  private keyed(event: KeyboardEvent): void {
    const by = ({ ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] } as Record<string, [number, number]>)[event.key];
    const { choice } = this.state;
    if (by && choice.solid) {
      this.state.set({ turn: [choice.turn[0] + by[0] * 0.12, Math.min(1.57, Math.max(-1.57, choice.turn[1] + by[1] * 0.12))] });
    } else if (by && this.scene?.nodes.length) {
      this.step(by);
    } else if ((event.key === "Enter" || event.key === " ") && this.cursor) {
      this.choose(this.cursor);
    } else return;
    event.preventDefault();
  }

  /** The nearest router in a direction. */
  private step([dx, dy]: [number, number]): void {
    const { nodes } = this.scene!;
    const here = this.cursor ?? nodes[0]!;
    let [best, least]: [Node | null, number] = [null, Infinity];
    for (const node of nodes) {
      const [x, y] = [node.x - here.x, node.y - here.y];
      const ahead = x * dx + y * dy;
      const far = ahead + 3 * Math.abs(x * dy - y * dx);
      if (ahead > 0.5 && far < least) [best, least] = [node, far];
    }
    this.cursor = this.cursor ? (best ?? this.cursor) : here;
    this.repaint();
    const box = this.canvas.getBoundingClientRect();
    showTip(box.left + this.cursor.x, box.top + this.cursor.y, this.lines(this.cursor));
  }
}
