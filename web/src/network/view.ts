// A network as a part of a page: pictures, what is chosen, histograms, tables, all of one choice.

import type { NetworkData } from "./data";
import type { Range } from "./model";
import type { Way } from "./route";
import { h, hideTip } from "../report/dom";
import { Panel, watchWidth } from "../report/panel";
import { counts, Histogram } from "./histogram";
import { Key } from "./key";
import { Model } from "./model";
import { Picture } from "./picture";
import { Ways } from "./route";
import { State } from "./state";
import { degradedPanel, dimensionsPanel, linksPanel, routersPanel, waysPanel } from "./tables";

export class NetworkView {
  readonly element: HTMLElement;
  private readonly model: Model;
  private readonly state: State;
  private readonly ways: Ways;
  private readonly pictures: Picture[];
  private readonly histograms: Histogram[];
  private readonly key: Key;
  private readonly stage = h("div", { class: "pictures" });
  private readonly bars: Panel;
  private readonly tables = h("div", { class: "network-tables" });
  private readonly beside = h("div");
  private width = 0;
  private tabled = "";
  private frame = 0;

  /** `keeps`: the page's address keeps the choice. */
  constructor(data: NetworkData, keeps: boolean) {
    this.model = new Model(data);
    this.state = new State(this.model, keeps);
    this.ways = new Ways(this.model);
    this.pictures = [0, 1].map((place) => new Picture(this.model, this.state, place));
    this.histograms = [0, 1].map((place) => new Histogram(this.model, this.state, place));
    this.key = new Key(this.model, this.state, keeps ? "page" : "part");
    this.bars = new Panel("histograms", "how many links carry how much");
    this.bars.body.append(...this.histograms.map((one) => one.element));
    this.bars.note.textContent = "a drag keeps only some coloured; a click takes it back";
    this.stage.append(...this.pictures.map((one) => one.element));
    this.element = h("div", { class: "network" },
      h("div", { class: "network-stage" }, this.stage, this.key.element),
      h("div", { class: "network-lower" }, this.bars.element, this.beside), this.tables);
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.target instanceof HTMLInputElement) return;
      hideTip();
      this.state.set({ route: [null, null], brush: null, group: null });
    });
    this.state.listen(() => this.update());
    watchWidth(this.stage, (width) => {
      this.width = width;
      this.draw();
    });
  }

  /** Draws in the next frame, once however often it is asked. */
  update(): void {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  }

  private draw(): void {
    if (!this.width) return;
    const { choice } = this.state;
    // Loads in different units have no scale in common.
    const units = new Set(choice.views.map((view) => (choice.shows === "load" ? this.model.view(view).unit : "")));
    const ranges: (Range | null)[] = choice.views.map((view) => this.model.range(units.size > 1 ? [view] : choice.views, choice.shows, choice.log));
    const [from, to] = choice.route;
    const ways: [Way, Way] = from === null || to === null ? [[], []] : [this.ways.way(from, to), this.ways.way(to, from)];
    const sets = ways.map((way) => new Set(typeof way === "string" ? [] : way)) as [Set<number>, Set<number>];
    const two = choice.views.length > 1;
    this.stage.classList.toggle("two", two);
    const width = two ? Math.floor((this.width - 28) / 2) : this.width;
    this.key.update(ranges, units.size > 1);
    this.pictures.forEach((picture, place) => picture.update(width, { range: ranges[place] ?? null, ways: sets }));
    const all = choice.views.map((view, place) => counts(this.model, this.state, view, ranges[place] ?? null).bins);
    const most = Math.max(1, ...all.flat());
    const least = Math.min(...all.flat().filter((one) => one > 0), most);
    this.element.classList.toggle("two-views", two);
    const whole = this.bars.element.clientWidth || this.width;
    this.histograms.forEach((one, place) => one.update(two ? (whole - 28) / 2 : whole, ranges[place] ?? null, most, most > 30 * least));
    this.table(ways);
  }

  /** Tables change with the choice of views and ways, not while something turns. */
  private table(ways: [Way, Way]): void {
    const { views, shows, route } = this.state.choice;
    const key = JSON.stringify([views, shows, route]);
    if (key === this.tabled) return;
    this.tabled = key;
    const { model, state } = this;
    const degraded = degradedPanel(model, state);
    const hops = waysPanel(model, state, ways, this.ways.why).element;
    const links = linksPanel(model, state).element;
    this.beside.replaceChildren(dimensionsPanel(model, state).element);
    this.tables.replaceChildren(
      // A requested value comes first.
      ...(route[1] === null ? [links, hops] : [hops, links]),
      ...(degraded ? [degraded.element] : []),
      routersPanel(model, state).element,
    );
  }
}
