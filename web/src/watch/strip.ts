// The strip under the title: notes on the figures as a whole, and gaps in them.

import { h, plain } from "../report/dom";
import { sentence } from "../report/header";
import type { Gap } from "../report/types";
import { count } from "../report/units";
import type { Note } from "./notes";
import { gapSentence, gathered } from "./notes";

/** Gaps that are seen at once. */
const GAPS = 3;
export class Strip {
  readonly element = h("div", { class: "strip" });
  private readonly news = h("ul", { class: "news", role: "status" });
  private readonly gaps = h("div");
  private shown = ["", ""];

  constructor() {
    this.element.append(this.news, this.gaps);
  }

  set(all: Note[], gaps: Gap[] | null): void {
    const keys = [JSON.stringify(all), JSON.stringify(gaps)];
    if (keys[0] !== this.shown[0]) {
      this.news.replaceChildren(...all.map((one) => h("li", { class: one.isCalm ? "calm" : "" }, h("span", { class: "kind" }, one.kind), " ", ...sentence(one.text, false))));
      this.news.hidden = !all.length;
    }
    // Lists that the reader opened stay open.
    if (keys[1] !== this.shown[1]) this.gaps.replaceChildren(gaps ? list(gathered(gaps)) : "");
    this.shown = keys;
  }
}

function list(all: Gap[]): HTMLElement {
  if (!all.length) return h("div", { class: "gaps none" }, "gaps: none");
  const kind = (gap: Gap): string => plain(String(gap.kind), 30).replace(/-/g, " ");
  const line = (gap: Gap): HTMLElement => h("li", {}, h("span", { class: "kind" }, kind(gap)), " ", ...sentence(gapSentence(gap), false));
  const rest = all.length > GAPS + 1 ? all.slice(GAPS) : [];
  const kinds = [...new Set(rest.map(kind))].join(", ");
  return h("div", { class: "gaps" },
    h("ul", { "aria-label": "missing data" }, ...all.slice(0, all.length - rest.length).map(line)),
    rest.length > 0 && h("details", {}, h("summary", {}, `and ${count(rest.length)} more: ${kinds}`), h("ul", {}, ...rest.map(line))));
}
