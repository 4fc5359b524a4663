// All ranks at once: a cell each, in the order of their numbers, coloured by the share in MPI.

import { hatch, ink } from "../report/colours";
import { h, hideTip, plain, showTip } from "../report/dom";
import { watchWidth } from "../report/panel";
import { percent } from "../report/units";
import { shade } from "../serve/ramp";
import type { RankNow } from "./data";
import { rankNumber } from "./data";
import { roundUp } from "./durations";
import { setText } from "./live-table";

/** Height that the cells are to fill, and their sizes. */
const ROOM = 110;
const [SMALLEST, LARGEST] = [4, 18];
/** Space for the numbers at the left. */
const GUTTER = 44;

export class Heat {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas", { tabindex: 0, role: "img" });
  private readonly ramp = h("canvas", { class: "scaleramp", width: 120, height: 8, "aria-hidden": "true" });
  private ranks: RankNow[] = [];
  private share: (rank: RankNow) => number = () => 0;
  private width = 0;
  private cell = LARGEST;
  private columns = 1;
  private focus = 0;
  /** Share at the end of the scale. */
  private top = 1;
  private readonly end = h("span");

  constructor(private readonly choose: (rank: RankNow) => void) {
    this.element = h("div", { class: "heat" }, this.canvas,
      h("div", { class: "legend scale" }, "0 %", this.ramp, this.end, h("span", {}, h("i", { class: "swatch lost" }), "ended")));
    this.canvas.addEventListener("mousemove", (event) => this.tell(this.at(event), event.clientX, event.clientY));
    this.canvas.addEventListener("mouseleave", hideTip);
    this.canvas.addEventListener("blur", hideTip);
    this.canvas.addEventListener("click", (event) => this.open(this.at(event)));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    watchWidth(this.element, (width) => {
      this.width = width;
      this.draw();
    });
  }

  /** `when`: the time that the shares are of. */
  set(ranks: RankNow[], share: (rank: RankNow) => number, when: string): void {
    this.ranks = ranks;
    this.share = share;
    this.top = Math.min(1, roundUp(ranks.reduce((top, one) => Math.max(top, share(one)), 0)));
    setText(this.end, `${Math.round(this.top * 100)} % in MPI ${when}`);
    this.draw();
  }

  draw(): void {
    const pen = this.canvas.getContext("2d");
    if (!pen || this.width < 100 || !this.ranks.length) return;
    const { length } = this.ranks;
    const room = this.width - GUTTER;
    this.cell = Math.max(SMALLEST, Math.min(LARGEST, Math.floor(Math.sqrt((room * ROOM) / length))));
    // Rows begin at multiples of eight where they can.
    const columns = Math.max(1, Math.floor(room / this.cell));
    this.columns = Math.min(length, columns > 16 ? columns - (columns % 8) : columns);
    const height = Math.ceil(length / this.columns) * this.cell;
    const sharp = devicePixelRatio || 1;
    const size = [Math.round(this.width * sharp), Math.round(height * sharp)] as const;
    if (this.canvas.width !== size[0]) this.canvas.width = size[0];
    if (this.canvas.height !== size[1]) this.canvas.height = size[1];
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${height}px`;
    pen.setTransform(sharp, 0, 0, sharp, 0, 0);
    pen.clearRect(0, 0, this.width, height);
    const colours = ink();
    const lost = hatch(pen, colours.dim);
    const gap = this.cell > 5 ? 1 : 0;
    this.ranks.forEach((rank, at) => {
      const [x, y] = [GUTTER + (at % this.columns) * this.cell, Math.floor(at / this.columns) * this.cell];
      pen.fillStyle = shade(this.share(rank) / this.top, colours.dark);
      pen.fillRect(x, y, this.cell - gap, this.cell - gap);
      if (rank.state === "running") return;
      pen.fillStyle = lost;
      pen.fillRect(x, y, this.cell - gap, this.cell - gap);
    });
    pen.font = `11px ${getComputedStyle(document.documentElement).getPropertyValue("--mono")}`;
    pen.fillStyle = colours.dim;
    pen.textAlign = "right";
    pen.textBaseline = "top";
    const every = Math.max(1, Math.ceil(13 / this.cell));
    for (let at = 0; at * this.columns < length; at += every) {
      pen.fillText(rankNumber(this.ranks[at * this.columns]!), GUTTER - 6, at * this.cell + Math.max(0, (this.cell - 12) / 2));
    }
    this.canvas.setAttribute("aria-label", `shares in MPI of ${length} ranks; arrows move, enter shows the row`);
    this.legend(colours.dark);
  }

  private legend(dark: boolean): void {
    const pen = this.ramp.getContext("2d");
    for (let x = 0; pen && x < this.ramp.width; x++) {
      pen.fillStyle = shade(x / (this.ramp.width - 1), dark);
      pen.fillRect(x, 0, 1, this.ramp.height);
    }
  }

  private at(event: MouseEvent): number {
    const column = Math.floor((event.offsetX - GUTTER) / this.cell);
    return column < 0 || column >= this.columns ? -1 : Math.floor(event.offsetY / this.cell) * this.columns + column;
  }

  private tell(at: number, x: number, y: number): void {
    const rank = this.ranks[at];
    if (!rank) return hideTip();
    this.focus = at;
    const inside = rank.state === "running" ? rank.inside?.site ?? "outside MPI" : rank.state;
    showTip(x, y, [`rank ${rankNumber(rank)} on ${plain(rank.host, 60)}`, `${percent(this.share(rank))} in MPI`, plain(inside, 200)]);
  }

  private open(at: number): void {
    const rank = this.ranks[at];
    if (!rank) return;
    hideTip();
    this.choose(rank);
  }

  private key(event: KeyboardEvent): void {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.columns, ArrowDown: this.columns }[event.key];
    if (event.key === "Enter") return this.open(this.focus);
    if (step === undefined) return;
    event.preventDefault();
    const at = Math.max(0, Math.min(this.ranks.length - 1, this.focus + step));
    const box = this.canvas.getBoundingClientRect();
    this.tell(at, box.left + GUTTER + ((at % this.columns) + 0.5) * this.cell, box.top + (Math.floor(at / this.columns) + 0.5) * this.cell);
  }
}
