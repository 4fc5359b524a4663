// Puts the page together: findings, picture, monitors, time and table, all of one view that the address keeps.

import type { Data } from "./data";
import type { View } from "./state";
import { Axis } from "./axis";
import { load } from "./data";
import { button, h, name } from "../report/dom";
import { Key } from "./key";
import { Model } from "./model";
import { Panel } from "../report/panel";
import { Picture } from "./picture";
import { runPanel } from "./run";
import { amount } from "./scale";
import { State } from "./state";
import { themes } from "../report/theme";
import { time } from "../report/units";

/** Gaps that stand above the picture; more of them open on a click. */
const FEW_GAPS = 3;

interface Row { object: number; place: number }

/** Monitors to begin with: the first of each level, so that all of them can be seen. */
function beginning(data: Data): number[] {
  const silent = new Set(data.recordings[0]?.data.silent ?? []);
  const levels = new Set<string>();
  const out: number[] = [];
  data.monitors.forEach(({ level }, at) => {
    if (levels.has(level) || silent.has(at)) return;
    levels.add(level);
    out.push(at);
  });
  return out.length ? out : data.monitors.map((_, at) => at).slice(0, 1);
}

function start(data: Data, app: HTMLElement): void {
  const model = new Model(data);
  const state = new State(data.monitors.map((one) => one.name), data.recordings.length > 1, data.objects.length, beginning(data));
  const theme = themes();
  const picture = new Picture(model, state);
  const key = new Key(model, state);
  const axis = new Axis(model, state);
  const table = values(model, state);
  const { run } = model.first.data;
  const findings = h("ol", { class: "hints" });
  const facts = h("div", { class: "facts dim" });
  const gaps = h("section", { class: "gaps", "aria-label": "gaps" });
  const title = h("h1");
  const when = h("span");

  let shownOf = "";
  const words = (view: View): void => {
    const recording = model.recording(view);
    const now = `${view.show} ${recording.frames}`;
    if (now === shownOf) return;
    shownOf = now;
    const second = model.second && view.show === "difference" ? ` \u2194 ${model.second.data.name}` : "";
    title.replaceChildren(name(recording.data.name + second, 160));
    facts.replaceChildren(...recording.data.facts.map((one) => h("span", {}, name(one))), when);
    const all = view.show === "difference" ? data.recordings.flatMap((one) => one.data.gaps) : recording.data.gaps;
    gaps.className = all.length ? "gaps" : "gaps none";
    const lines = all.map((one) => h("li", {}, name(one, 300)));
    const rest = lines.splice(lines.length > FEW_GAPS ? FEW_GAPS - 1 : FEW_GAPS);
    gaps.replaceChildren(all.length ? h("ul", {}, ...lines) : "gaps: none");
    if (rest.length) gaps.append(h("details", {}, h("summary", {}, `${rest.length} more gaps`), h("ul", {}, ...rest)));
    const { hints } = recording.data;
    findings.replaceChildren(...hints.map((hint, at) => {
      const region = hint.region ? `, ${hint.region}` : "";
      const go = button("", "go to where it begins", () =>
        state.set({ t: (hint.from - recording.begin + Math.min(hint.to - hint.from, 1e6)) / 1e9, mean: false, object: hint.objects[0] ?? null }));
      go.append(h("b", { class: "number" }, String(at + 1)), name(hint.sentence, 400),
        h("span", { class: "dim" }, ` ${time(hint.from - recording.begin)} to ${time(hint.to - recording.begin)}${region}`));
      return h("li", {}, go);
    }));
    findings.hidden = !hints.length;
    picture.mark(view.show === "difference" ? [] : hints.map((hint, at) => ({ number: at + 1, objects: hint.objects })));
  };
  const update = (view: View): void => {
    words(view);
    const recording = model.recording(view);
    const values = `${recording.frames} value${recording.frames === 1 ? "" : "s"} in ${time(model.length)}`;
    when.textContent = view.mean ? `mean of ${values}` : `value ${model.frame(recording, view) + 1} of ${values}`;
    when.hidden = !recording.frames;
    picture.update(view);
    key.update(view);
    axis.update(view);
    table.refresh();
  };
  app.replaceChildren(
    h("header", { class: "top" },
      h("div", { class: "name" }, h("b", {}, "talea"), title),
      h("div", { class: "tools" }, button("light/dark", "light or dark", theme.toggle)), facts),
    gaps,
    h("div", { class: "stage" }, h("div", {}, picture.element, axis.element), h("aside", { class: "side", "aria-label": "findings and monitors" }, findings, key.element)),
    table.element, ...(run ? [runPanel(run).element] : []),
  );
  theme.listen(() => axis.again());
  state.listen(update);
  update(state.view);
}

/** The table behind the picture. */
function values(model: Model, state: State): Panel {
  const panel = new Panel("values", "values");
  const info = () => model.monitor(state.view.monitor);
  const rows = (): Row[] => (info()?.objects ?? []).map((object, place) => ({ object, place }));
  const at = (row: Row, view: View): number | null => {
    const value = model.value(view.monitor, row.place, view);
    return Number.isNaN(value) ? null : value;
  };
  const show = (value: number | null): string => (value === null ? "absent" : amount(value, info()?.unit ?? ""));
  panel.behind<Row>({
    name: "values of the monitor",
    rows,
    columns: [
      { head: "object", text: true, value: (row) => model.data.objects[row.object]?.label ?? "" },
      { head: "monitor", text: true, value: () => info()?.name ?? "" },
      { head: "value", value: (row) => at(row, state.view), show: (row) => show(at(row, state.view)) },
      { head: "mean of the recording", value: (row) => at(row, { ...state.view, mean: true }), show: (row) => show(at(row, { ...state.view, mean: true })) },
      { head: "unit", text: true, value: () => info()?.unit ?? "" },
    ],
  });
  const refresh = panel.refresh;
  panel.refresh = () => {
    panel.note.textContent = `${info()?.name ?? "no monitor"}, ${state.view.mean ? "mean of the recording" : `at ${state.view.t.toFixed(3)} s`}`;
    refresh();
  };
  panel.body.append(h("p", { class: "dim" }, "Every value of the chosen monitor: as a table, or as a CSV file."));
  return panel;
}

load().then(
  (data) => {
    const app = document.getElementById("app");
    if (app && data.recordings.length) start(data, app);
  },
  (error: unknown) => {
    document.getElementById("app")?.prepend(h("p", { class: "empty bad" }, `The values in this page could not be read: ${String(error)}`));
  },
);
