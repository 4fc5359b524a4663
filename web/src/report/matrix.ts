// Messages between ranks: rows send, columns receive, one cell a pair of ranks or of blocks of ranks.

import type { Model } from "./model";
import type { Selection, State } from "./state";
import type { Matrix } from "./types";
import { ink, sequential } from "./colours";
import { button, h, hideTip, plain, showTip } from "./dom";
import { Panel, watchWidth } from "./panel";
import { bytes, count } from "./units";

const LEFT = 44;
const TOP = 30;

export class MatrixView {
  readonly panel = new Panel("matrix", "messages between ranks");
  private readonly canvas = h("canvas", { tabindex: 0, role: "application" });
  private readonly scale = h("div", { class: "scale" });
  private readonly what = h("p", { class: "caption" });
  private readonly unit = button("messages", "colour by messages instead of bytes", () => {
    this.messages = !this.messages;
    this.draw();
  });
  private data: Matrix | undefined;
  private messages = false;
  private width = 0;
  private cursor: [number, number] | undefined;

  constructor(private readonly model: Model, private readonly state: State) {
    this.panel.tools.append(this.unit);
    this.panel.body.append(this.canvas, this.scale, this.what);
    this.panel.behind({
      name: "communication matrix",
      columns: [
        { head: "from", value: (cell: Matrix["cells"][number]) => this.ranks(cell[0]), text: true },
        { head: "to", value: (cell) => this.ranks(cell[1]), text: true },
        { head: "bytes", value: (cell) => cell[2] },
        { head: "messages", value: (cell) => cell[3] },
      ],
      rows: () => this.data?.cells ?? [],
    });
    watchWidth(this.panel.element, (width) => {
      this.width = width;
      this.draw();
    });
    this.listen();
  }

  update(selection: Selection): void {
    const found = this.model.matrix(this.model.scope(selection));
    this.data = found?.matrix;
    const empty = !this.data?.cells.length;
    this.panel.tools.hidden = empty;
    this.canvas.hidden = this.scale.hidden = empty;
    if (empty) {
      this.panel.note.textContent = "";
      this.what.className = "empty";
      this.what.textContent = "no messages between ranks were recorded";
      return;
    }
    this.what.className = "caption";
    const place = this.data?.loop_id ?? null;
    this.panel.note.textContent = found?.fits ? (place === null ? "whole run" : plain(this.model.loopName(place), 40))
      : place === null ? "whole run (not kept for the selection alone)" : `${plain(this.model.loopName(place), 40)} (not kept for the selection alone)`;
    this.panel.refresh();
    this.draw();
  }

  private side(): number {
    return this.data ? Math.max(1, Math.ceil(this.data.ranks / Math.max(1, this.data.block))) : 1;
  }

  /** The ranks of a cell's side as text. */
  private ranks(at: number): string {
    const block = this.data?.block ?? 1;
    const last = Math.min((at + 1) * block, this.data?.ranks ?? 0) - 1;
    return block > 1 && last > at * block ? `${at * block}-${last}` : String(at * block);
  }

  private size(): number {
    return Math.max(80, Math.min(this.width - LEFT - 6, 380, this.side() * 72));
  }

  draw(): void {
    const { data } = this;
    if (!data?.cells.length || this.width < 120) return;
    const colours = ink();
    const side = this.side();
    const size = this.size();
    const cell = size / side;
    const ratio = devicePixelRatio || 1;
    this.canvas.width = (LEFT + size + 4) * ratio;
    this.canvas.height = (TOP + size + 4) * ratio;
    this.canvas.style.width = `${LEFT + size + 4}px`;
    this.canvas.style.height = `${TOP + size + 4}px`;
    const pen = this.canvas.getContext("2d");
    if (!pen) return;
    pen.scale(ratio, ratio);
    pen.font = `11px ${getComputedStyle(document.documentElement).getPropertyValue("--mono")}`;
    pen.fillStyle = colours.faint;
    pen.fillRect(LEFT, TOP, size, size);
    const value = (one: Matrix["cells"][number]): number => (this.messages ? one[3] : one[2]);
    const values = data.cells.map(value).filter((one) => one > 0);
    const high = values.reduce((a, b) => Math.max(a, b), 1);
    const low = values.reduce((a, b) => Math.min(a, b), high);
    const even = high / low < 30;
    // Even values keep a linear scale from zero, values over orders of magnitude a logarithmic one.
    const part = (one: number): number => even ? one / high : 0.12 + (0.88 * Math.log(one / low)) / Math.log(high / low);
    const gap = cell > 8 ? 1 : 0;
    for (const one of data.cells) {
      if (!(value(one) > 0)) continue;
      pen.fillStyle = sequential(part(value(one)), colours.dark);
      pen.fillRect(LEFT + one[1] * cell, TOP + one[0] * cell, Math.max(1, cell - gap), Math.max(1, cell - gap));
      if (cell < 60) continue;
      const bright = colours.dark === part(value(one)) > 0.5;
      pen.fillStyle = bright ? "#10151b" : "#ffffff";
      pen.textAlign = "center";
      pen.fillText(this.messages ? count(one[3]) : bytes(one[2]), LEFT + (one[1] + 0.5) * cell, TOP + (one[0] + 0.5) * cell + 4);
    }
    pen.strokeStyle = colours.line;
    pen.strokeRect(LEFT - 0.5, TOP - 0.5, size + 1, size + 1);
    pen.fillStyle = colours.dim;
    const step = Math.max(1, Math.ceil(side / 8));
    for (let at = 0; at < side; at += step) {
      pen.textAlign = "right";
      pen.fillText(String(at * data.block), LEFT - 5, TOP + (at + 0.5) * cell + 4);
      pen.textAlign = "center";
      pen.fillText(String(at * data.block), LEFT + (at + 0.5) * cell, TOP - 5);
    }
    pen.textAlign = "left";
    pen.fillText("to \u2192", LEFT, 11);
    pen.fillText("from \u2193", 0, 22);
    this.mark(pen, cell, size, colours.accent);
    this.unit.textContent = this.messages ? "bytes" : "messages";
    this.unit.title = this.messages ? "colour by bytes" : "colour by messages";
    const show = (amount: number): string => (this.messages ? `${count(amount)} messages` : bytes(amount));
    this.scale.replaceChildren(h("span", {}, even ? "0" : show(low)), h("i", { class: "ramp" }), h("span", {}, show(high)),
      h("span", { class: "dim" }, even ? "linear" : "logarithmic"));
    this.what.textContent = `${plain(data.what, 120)}${data.block > 1 ? ` \u00b7 a cell is ${data.block} \u00d7 ${data.block} ranks` : ""}`;
    this.canvas.setAttribute("aria-label", `communication matrix of ${data.ranks} ranks, ${data.cells.length} cells; arrows move between cells`);
  }

  private mark(pen: CanvasRenderingContext2D, cell: number, size: number, colour: string): void {
    pen.strokeStyle = colour;
    pen.lineWidth = 1.5;
    const { rank, cls } = this.state.selection;
    const block = this.data?.block ?? 1;
    if (rank !== null) {
      const at = Math.floor(rank / block) * cell;
      pen.strokeRect(LEFT, TOP + at, size, cell);
      pen.strokeRect(LEFT + at, TOP, cell, size);
    }
    if (cls !== null && this.model.report.classes.length > 1) {
      pen.fillStyle = colour;
      for (const row of this.model.report.ranks) {
        if (row.class !== cls) continue;
        const at = Math.floor(row.rank / block) * cell;
        pen.fillRect(LEFT - 3, TOP + at, 3, Math.max(1, cell));
        pen.fillRect(LEFT + at, TOP - 3, Math.max(1, cell), 3);
      }
    }
    if (this.cursor) pen.strokeRect(LEFT + this.cursor[1] * cell, TOP + this.cursor[0] * cell, Math.max(3, cell), Math.max(3, cell));
  }

  private tell(from: number, to: number, x: number, y: number): void {
    const found = this.data?.cells.find((one) => one[0] === from && one[1] === to);
    showTip(x, y, [
      `${this.ranks(from)} \u2192 ${this.ranks(to)}`,
      found ? `${bytes(found[2])} in ${count(found[3])} messages` : "nothing",
      found && found[3] ? `${bytes(Math.round(found[2] / found[3]))} each` : "",
    ].filter(Boolean));
  }

  private listen(): void {
    const at = (event: MouseEvent): [number, number] | undefined => {
      const cell = this.size() / this.side();
      const [to, from] = [Math.floor((event.offsetX - LEFT) / cell), Math.floor((event.offsetY - TOP) / cell)];
      return from >= 0 && to >= 0 && from < this.side() && to < this.side() ? [from, to] : undefined;
    };
    this.canvas.addEventListener("mousemove", (event) => {
      const cell = at(event);
      if (cell) this.tell(...cell, event.clientX, event.clientY);
      else hideTip();
    });
    this.canvas.addEventListener("mouseleave", hideTip);
    this.canvas.addEventListener("click", (event) => {
      const cell = at(event);
      if (cell) this.state.choose({ rank: cell[0] * (this.data?.block ?? 1) }, true);
    });
    this.canvas.addEventListener("blur", () => {
      this.cursor = undefined;
      hideTip();
      this.draw();
    });
    this.canvas.addEventListener("keydown", (event) => {
      const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!step) return;
      event.preventDefault();
      const clamp = (value: number): number => Math.max(0, Math.min(this.side() - 1, value));
      const now = this.cursor ?? [0, 0];
      this.cursor = [clamp(now[0] + step[0]!), clamp(now[1] + step[1]!)];
      const box = this.canvas.getBoundingClientRect();
      const cell = this.size() / this.side();
      this.tell(...this.cursor, box.left + LEFT + this.cursor[1] * cell, box.top + TOP + this.cursor[0] * cell);
      this.draw();
    });
  }
}
