// The top of a page: plain sentences with figures, each leading to its evidence, and where the time went.

import { h, plain, swatch } from "../report/dom";
import { count, percent } from "../report/units";
import { sentence } from "../report/header";
import type { Activity, Finding, Usage } from "./answers";
import { ACTIVITIES } from "./answers";
import { Refused } from "./api";
import { ACTIVITY_TITLES, ACTIVITY_WORDS, bound, core } from "./show";

/** `to` is an address in this program or an element of the page by its id. */
export interface Said { text: string; to: string; bad?: boolean; hint?: string }

export class Says {
  readonly element: HTMLElement;
  private readonly list = h("ol");
  private readonly mix = h("div", { class: "mix" });

  constructor() {
    this.element = h("section", { class: "panel findings", "aria-label": "what is to be said" }, this.list, this.mix);
  }

  set(all: Said[]): void {
    const place = [...this.list.children].findIndex((one) => one.contains(document.activeElement));
    this.list.replaceChildren(...all.map((one) => {
      const content = [...sentence(one.text), one.hint ? h("small", {}, ...sentence(one.hint, false)) : null];
      const target = one.to.startsWith("#/") ? h("a", { href: one.to }, ...content)
        : h("button", { type: "button", title: "show the evidence", onclick: () => {
          const element = document.getElementById(one.to);
          element?.scrollIntoView({ block: "nearest" });
          element?.focus({ preventScroll: true });
        } }, ...content);
      return h("li", { class: one.bad ? "warns" : "" }, target);
    }));
    if (place >= 0) (this.list.children[place]?.firstElementChild as HTMLElement | null)?.focus({ preventScroll: true });
  }

  /** Shares of the cores' activities, of an answer grouped by activity. */
  activities(usage: Usage | Refused, caption: string): void {
    if (usage instanceof Refused || !usage.matched_samples) return this.mix.replaceChildren();
    const rows = ACTIVITIES.map((activity) => ({ activity, row: usage.rows.find((row) => row.activity === activity) })).filter(({ row }) => row);
    const part = (samples: number): string => percent(samples / usage.matched_samples);
    this.mix.replaceChildren(
      h("div", { class: "caption" }, `${caption}: ${core(usage.matched_core_seconds)} of cores, ${count(usage.matched_samples)} samples` +
        (rows.some(({ activity }) => activity === "mpi") ? "; time in MPI is a lower bound" : "")),
      h("div", { class: "stack", role: "img", "aria-label": rows.map(({ activity, row }) => `${ACTIVITY_WORDS[activity]} ${bound(activity)}${part(row!.samples)}`).join(", ") },
        ...rows.map(({ activity, row }) => {
          const bar = h("i", { class: activity });
          bar.style.flexGrow = String(row!.samples / usage.matched_samples);
          return bar;
        })),
      h("ul", { class: "legend" }, ...rows.map(({ activity, row }) =>
        h("li", { title: `${ACTIVITY_TITLES[activity]}: ${row!.samples} samples` }, swatch(activity), `${ACTIVITY_WORDS[activity]} ${bound(activity)}`, h("b", { "data-activity": activity }, part(row!.samples))))),
    );
  }
}

/** A finding of a rule as a sentence with its hint. */
export const ruled = (finding: Finding, to: string): Said => ({ text: plain(finding.title, 500), hint: plain(finding.hint, 500), to, bad: true });

/** Of the samples of an answer by activity, those that were any of some. */
export function sum(usage: Usage | Refused, activities: Activity[]): number {
  return usage instanceof Refused ? 0 : usage.rows.reduce((all, row) => all + ((activities as unknown[]).includes(row.activity) ? row.samples : 0), 0);
}
