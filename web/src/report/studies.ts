// Time between calls: the inside of an iteration, kinds of computation, how these change. One panel for each kind of study.

import type { Model } from "./model";
import type { Selection, State } from "./state";
import type { Study } from "./types";
import { button, h, name, plain, short } from "./dom";
import { sentence } from "./header";
import { Panel, saver } from "./panel";
import { Table } from "./table";
import { percent, si } from "./units";

type Line = (number | string | null)[];

const TITLES: Record<Study["kind"], string> = {
  inside: "inside the iteration", kinds: "kinds of computation", drift: "change over the run",
};

class StudyView {
  readonly panel: Panel;
  private shown: Study | undefined;
  /** One without a loop that was chosen since the selection changed: others are chosen by their loops. */
  private chosen: Study | undefined;
  private node: number | null = null;
  private table: Table<Line> | undefined;

  constructor(private readonly model: Model, private readonly state: State, private readonly kind: Study["kind"], private readonly all: Study[]) {
    this.panel = new Panel(kind, TITLES[kind]);
    this.panel.tools.append(saver(TITLES[kind], () => this.table?.csv() ?? ""));
  }

  update(selection: Selection): void {
    const { loops } = this.model.scope(selection);
    if (selection.node !== this.node) this.chosen = undefined;
    this.node = selection.node;
    // The loop that is selected, or the innermost around what is selected, of which there is a study; else the main loop, which comes first.
    const of = (loop: number): Study | undefined => this.all.find((one) => one.loop_id !== undefined && this.model.same(one.loop_id, loop));
    const near = loops.map(of).find((one) => one !== undefined);
    const study = this.chosen ?? near ?? this.all[0];
    if (!study || study === this.shown) return;
    this.shown = study;
    this.draw(study);
  }

  private choose(study: Study): void {
    const loop = study.loop_id === undefined ? undefined : this.model.loops.get(study.loop_id);
    if (loop?.parent) return this.state.choose({ node: loop.node.id });
    this.chosen = study;
    this.update(this.state.selection);
  }

  private draw(study: Study): void {
    this.panel.note.textContent = `${short(study.title)} \u00b7 ${plain(study.note, 120)}`;
    const table = new Table<Line>({
      label: TITLES[this.kind], sort: -1, first: 12,
      columns: study.columns.map((column, at) => ({
        head: column.head, text: study.rows.every((row) => typeof row[at] !== "number"),
        value: (row: Line) => row[at] ?? "", show: (row: Line) => cell(row[at], column.unit),
      })),
    });
    this.table = table;
    const choices = this.all.length < 2 ? undefined : h("p", { class: "choices" }, ...this.all.map((one) => {
      const choice = button(short(one.title), `show ${plain(one.title, 300)}`, () => this.choose(one));
      choice.setAttribute("aria-pressed", String(one === study));
      return choice;
    }));
    this.panel.body.replaceChildren(
      ...(choices ? [choices] : []),
      h("ul", { class: "says" }, ...study.findings.map((text) => h("li", {}, ...sentence(text)))),
      ...study.pictures.map((picture) => {
        const drawn = h("div", { class: "picture" });
        // The picture is the report's own, in which every name is escaped; the page's policy lets nothing in it run.
        drawn.innerHTML = picture.svg;
        return h("figure", {}, drawn, picture.caption ? h("figcaption", { class: "dim" }, plain(picture.caption, 200)) : undefined);
      }),
      ...(study.rows.length ? [table.element] : []),
      ...(study.gaps.length ? [h("details", { class: "lacks" }, h("summary", {}, `${study.gaps.length} gaps`), ...study.gaps.map((gap) => h("p", { class: "dim" }, plain(gap, 300))))] : []),
    );
    if (study.rows.length) table.set(study.rows);
  }
}

function cell(value: number | string | null | undefined, unit: string): Node {
  if (value === null || value === undefined) return h("span", { class: "dim" }, "-");
  if (typeof value === "string") return name(value, 80);
  return h("span", { title: `${value} ${unit === "%" ? "" : unit}` }, unit === "%" ? percent(value) : si(value, unit));
}

export class Studies {
  readonly views: StudyView[];
  readonly elements: HTMLElement[];

  constructor(model: Model, state: State) {
    const kinds: Study["kind"][] = ["inside", "kinds", "drift"];
    this.views = kinds.flatMap((kind) => {
      const all = model.report.studies.filter((study) => study.kind === kind);
      return all.length ? [new StudyView(model, state, kind, all)] : [];
    });
    this.elements = this.views.map((view) => view.panel.element);
  }

  update(selection: Selection): void {
    for (const view of this.views) view.update(selection);
  }
}
