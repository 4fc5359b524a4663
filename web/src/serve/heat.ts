// Nodes x time: a strip of all nodes above, one band of pixels for each node or few, hatched where a node was silent.

import { button, h, hideTip, plain, showTip } from "../report/dom";
import { Panel, watchWidth } from "../report/panel";
import { count, percent } from "../report/units";
import type { Activity, Gap, NodeSeen } from "./answers";
import { ACTIVITIES } from "./answers";
import type { Cell } from "./heat-model";
import { bands, MEASURE_LEGENDS, MEASURE_WORDS, measured, MEASURES, NodeTimes } from "./heat-model";
import { AXIS, GUTTER, MARKS, paint, STRIP } from "./heat-paint";
import type { Route } from "./route";
import { go } from "./route";
import { absence, ACTIVITY_TITLES, ACTIVITY_WORDS, span, to } from "./show";

const ROOM = 360;

interface Row { name: string; parts: (number | null)[]; samples: number; silent: number; last: number | null }

export class Heat {
  readonly panel: Panel;
  private readonly canvas = h("canvas", { tabindex: 0, role: "img" });
  private readonly choices = h("div", { class: "choices", role: "group", "aria-label": "what colours show" });
  private readonly legend = h("div", { class: "legend heatlegend" });
  private width = 0;
  private data: NodeTimes | null = null;
  private bands: number[][] = [];
  private seen = new Map<string, NodeSeen>();
  private measure = "busy";
  private order = "name";
  private rows: [number, number] | null = null;
  private cursor: [number, number] | null = null;
  private height = 12;

  /**
   * `hatches`: nodes without samples are silent; where one sees only own work they are not.
   * `of`: what the selection is a share of, where not activities are shown but the selection (counted as `user`) and the rest (as `idle`).
   */
  constructor(id: string, private readonly title: string, private hatches: boolean, private readonly of: string | null = null) {
    this.panel = new Panel(id, title);
    this.panel.behind<Row>({
      name: title,
      columns: [
        { head: "node", value: (row) => row.name, text: true },
        ...this.kinds().map(({ activity, word }) => ({ at: ACTIVITIES.indexOf(activity), word })).map(({ at, word }) => ({ head: word, value: (row: Row) => row.parts[at] ?? null, show: (row: Row) => (row.parts[at] == null ? "-" : percent(row.parts[at]!)) })),
        { head: "samples", value: (row) => row.samples, show: (row) => count(row.samples) },
        { head: "silent columns", value: (row) => row.silent },
      ],
      rows: () => this.table(),
    });
    this.canvas.addEventListener("mousemove", (event) => this.point(event));
    this.canvas.addEventListener("mouseleave", () => hideTip());
    this.canvas.addEventListener("blur", () => { this.cursor = null; hideTip(); this.draw(); });
    this.canvas.addEventListener("click", (event) => this.open(this.place(event)[0]));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.panel.body.append(this.choices, this.canvas, this.legend);
    this.panel.body.addEventListener("again", () => this.draw());
    watchWidth(this.panel.body, (width) => { this.width = width; this.draw(); });
  }

  set(data: NodeTimes | null, nodes: NodeSeen[], route: Route, gaps: Gap[], operator: boolean): void {
    // Of no node there is nothing to draw.
    this.data = data = data?.names.length ? data : null;
    this.hatches &&= operator;
    this.seen = new Map(nodes.map((node) => [node.name, node]));
    const measure = route.params.get("show") ?? "busy";
    this.measure = this.of === null && Object.hasOwn(MEASURES, measure) ? measure : "busy";
    this.order = route.params.get("order") === "value" ? "value" : "name";
    const rows = /^(\d{1,6})-(\d{1,6})$/.exec(route.params.get("rows") ?? "");
    this.rows = rows && Number(rows[1]) <= Number(rows[2]) ? [Number(rows[1]), Number(rows[2])] : null;
    this.canvas.hidden = this.legend.hidden = this.choices.hidden = !data;
    this.panel.body.querySelector(".empty")?.remove();
    if (!data) {
      this.panel.note.textContent = "";
      this.panel.body.append(h("p", { class: "empty" }, absence(gaps, "Nothing was observed in this time.")));
    }
    this.choose();
    this.draw();
    this.panel.refresh();
  }

  /** Dimension that groups samples, in the strip and under the pointer. */
  private kinds(): { activity: Activity; word: string; title: string }[] {
    return this.of === null ? ACTIVITIES.map((activity) => ({ activity, word: ACTIVITY_WORDS[activity] + (activity === "mpi" ? " (lower bound)" : ""), title: ACTIVITY_TITLES[activity] }))
      : [{ activity: "user", word: "this selection", title: "what is asked for" }, { activity: "idle", word: "the rest", title: `everything else of ${this.of}` }];
  }

  private choose(): void {
    const focused = this.choices.contains(document.activeElement) ? document.activeElement?.textContent : null;
    const pressed = (label: string, title: string, on: boolean, change: Record<string, string | null>): HTMLElement => {
      const made = button(label, title, () => go(change));
      made.setAttribute("aria-pressed", String(on));
      return made;
    };
    const zoom = this.rows && this.data ? [pressed(`nodes ${this.rows[0] + 1} to ${Math.min(this.rows[1] + 1, this.data.names.length)} \u00d7`, "show all nodes", true, { rows: null })] : [];
    this.choices.replaceChildren(
      ...(this.of === null ? Object.keys(MEASURES) : []).map((one) => pressed(MEASURE_WORDS[one]!, `colour by the share of samples that are ${MEASURE_LEGENDS[one] ?? one}`, one === this.measure, { show: one === "busy" ? null : one })),
      h("span", { class: "dim" }, "order"),
      pressed("name", "nodes by name", this.order === "name", { order: null, rows: null }),
      pressed("value", "silent nodes first, then by what the colour shows", this.order === "value", { order: "value", rows: null }),
      ...zoom,
    );
    for (const one of this.choices.querySelectorAll("button")) if (one.textContent === focused) one.focus();
  }

  private ordered(data: NodeTimes): number[] {
    const all = data.names.map((_, row) => row);
    if (this.order !== "value") return all;
    const last = data.columns.length - 1;
    const keys = all.map((row) => {
      const silent = this.hatches && data.cell([row], last).silent > 0;
      return silent ? 2 : measured(data.whole([row]), this.measure) ?? -1;
    });
    return all.sort((a, b) => keys[b]! - keys[a]! || a - b);
  }

  draw(): void {
    const { data, canvas } = this;
    if (!data || !this.width || this.panel.body.hidden) return;
    const order = this.ordered(data);
    const shown = this.rows ? order.slice(this.rows[0], this.rows[1] + 1) : order;
    const silence = (row: number): boolean => this.hatches && data.cell([row], data.columns.length - 1).silent > 0;
    const silent = shown.filter(silence).length;
    this.bands = bands(shown, ROOM / 3, this.order === "value" ? silent : 0);
    this.height = Math.max(3, Math.min(15, Math.floor(ROOM / Math.max(1, this.bands.length))));
    const tall = STRIP + 6 + this.bands.length * this.height + AXIS;
    const scale = devicePixelRatio || 1;
    canvas.width = Math.round(this.width * scale);
    canvas.height = Math.round(tall * scale);
    canvas.style.width = `${this.width}px`;
    canvas.style.height = `${tall}px`;
    const pen = canvas.getContext("2d");
    if (!pen) return;
    pen.scale(scale, scale);
    pen.clearRect(0, 0, this.width, tall);
    paint(pen, { data, shown, bands: this.bands, height: this.height, width: this.width, measure: this.measure, hatches: this.hatches, cursor: this.cursor });
    const size = Math.max(1, ...this.bands.map((rows) => rows.length));
    this.panel.note.textContent = `${count(shown.length)} node${shown.length === 1 ? "" : "s"}${size > 1 ? `, ${size} to a row` : ""}${silent ? `, ${count(silent)} silent now` : ""}; ` +
      `a column is ${this.columnText(data.width)}; ${span(data.columns[0]!.begin, data.columns.at(-1)!.end)}`;
    canvas.setAttribute("aria-label", `${this.title}: ${this.panel.note.textContent}. The same figures are in the table.`);
    this.explain();
  }

  private columnText(width: number): string {
    const seconds = width / 1e9;
    return seconds < 120 ? `${Math.round(seconds)} s` : seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
  }

  /** Meaning of colours, with their range. */
  private explain(): void {
    this.legend.replaceChildren(
      h("span", { class: "scale" }, "0 %", h("i", { class: "ramp", "aria-hidden": "true" }), `100 % ${this.of ?? MEASURE_LEGENDS[this.measure] ?? this.measure}`),
      ...(this.hatches ? [h("span", {}, h("i", { class: "swatch lost" }), "silent"), h("span", {}, h("i", { class: "silentmark", "aria-hidden": "true" }, "\u25c2"), "silent now")] : []),
      h("span", { class: "together" }, h("span", {}, "strip:"),
        ...this.kinds().map(({ activity, word, title }) => h("span", { title }, h("i", { class: `swatch ${activity}` }), word))),
    );
  }

  private place(event: MouseEvent): [number, number] {
    const box = this.canvas.getBoundingClientRect();
    const columns = this.data?.columns.length ?? 1;
    return [
      Math.floor((event.clientY - box.top - STRIP - 6) / this.height),
      Math.floor(((event.clientX - box.left - GUTTER) / Math.max(1, this.width - GUTTER - MARKS)) * columns),
    ];
  }

  private point(event: MouseEvent): void {
    const [band, column] = this.place(event);
    this.tell(band, column, event.clientX, event.clientY);
  }

  private tell(band: number, column: number, x: number, y: number): void {
    const { data } = this;
    const when = data?.columns[column];
    const rows = band < 0 ? this.bands.flat() : this.bands[band];
    if (!data || !when || !rows) return hideTip();
    const cell: Cell = data.cell(rows, column);
    const names = rows.length === 1 ? plain(data.names[rows[0]!]!, 60) : band < 0 ? "all nodes shown" : `${plain(data.names[rows[0]!]!, 40)} \u2026 ${plain(data.names[rows.at(-1)!]!, 40)} (${rows.length} nodes)`;
    showTip(x, y, [
      names, span(when.begin, when.end),
      ...(cell.all ? this.kinds().map(({ activity, word }) => `${word} ${percent(cell.counts[ACTIVITIES.indexOf(activity)]! / cell.all)}`) : [this.hatches && cell.silent ? "silent: no samples came" : "no samples"]),
      ...(cell.all && this.hatches && cell.silent ? [`${cell.silent} silent`] : []),
      ...(cell.all ? [`${count(cell.all)} samples`] : []),
    ]);
  }

  private open(band: number): void {
    const rows = this.bands[band];
    if (!rows || !this.data) return;
    hideTip();
    if (rows.length === 1) {
      location.hash = to("node", this.data.names[rows[0]!]!);
    } else {
      const begin = (this.rows?.[0] ?? 0) + this.bands.slice(0, band).reduce((sum, one) => sum + one.length, 0);
      go({ rows: `${begin}-${begin + rows.length - 1}` });
    }
  }

  private key(event: KeyboardEvent): void {
    if (!this.data) return;
    const moves: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const move = moves[event.key];
    const columns = this.data.columns.length;
    if (move) {
      const [band, column] = this.cursor ?? [0, columns - 1 - move[1]];
      this.cursor = [Math.min(this.bands.length - 1, Math.max(0, band + (this.cursor ? move[0] : 0))), Math.min(columns - 1, Math.max(0, column + move[1]))];
      const box = this.canvas.getBoundingClientRect();
      this.draw();
      this.tell(...this.cursor, box.left + GUTTER + (this.cursor[1] / columns) * (this.width - GUTTER - MARKS), box.top + STRIP + 6 + this.cursor[0] * this.height);
    } else if (event.key === "Enter" && this.cursor) {
      this.open(this.cursor[0]);
    } else {
      return;
    }
    event.preventDefault();
  }

  private table(): Row[] {
    const { data } = this;
    if (!data) return [];
    return this.ordered(data).map((row) => {
      const cell = data.whole([row]);
      const name = data.names[row]!;
      return { name, parts: cell.counts.map((one) => (cell.all ? one / cell.all : null)), samples: cell.all, silent: cell.silent, last: this.seen.get(name)?.last_ns ?? null };
    });
  }
}
