// Frame of every page: links, the user, the time of the figures, gaps.

import { button, h, plain } from "../report/dom";
import type { Gap, Me } from "./answers";
import type { Route } from "./route";
import { changed, LASTS, link, times } from "./route";
import { search } from "./search";
import { gaps } from "./show";

const PAGES: [string, string, string[]][] = [["machine", "machine", ["machine"]], ["jobs", "jobs", ["jobs", "job"]], ["software", "software", ["software", "of"]], ["findings", "findings", ["findings"]]];

export interface Doing { logout: () => void; theme: () => void; again: () => void }

/** A moment as the browser's field for it has it: local, to the minute. */
const local = (date: Date): string => {
  const shifted = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
};

export class Around {
  readonly element: HTMLElement;
  readonly main = h("main", { id: "main", tabindex: -1 });
  private readonly links: { link: HTMLAnchorElement; page: string; under: string[] }[];
  private readonly heading = h("h1");
  private readonly facts = h("div", { class: "facts" });
  private readonly missing = h("div");
  private readonly state = h("span", { class: "state", role: "status" });
  private readonly select = h("select", { "aria-label": "time that is shown" });
  private readonly from = h("input", { type: "datetime-local", "aria-label": "from", required: true });
  private readonly to = h("input", { type: "datetime-local", "aria-label": "to", required: true });
  private readonly between: HTMLFormElement;
  private timed = "";
  private route: Route = { page: "machine", params: new URLSearchParams() };

  constructor(me: Me, doing: Doing) {
    this.links = PAGES.map(([page, label, under]) => ({ link: h("a", { href: link(page, {}) }, label), page, under }));
    this.between = h("form", { class: "between", hidden: true, onsubmit: (event: Event) => {
      event.preventDefault();
      const [from, to] = [new Date(this.from.value), new Date(this.to.value)];
      if (Number.isNaN(from.getTime()) || Number.isNaN(to.getTime()) || to <= from) return this.to.setCustomValidity("must be after the beginning"), void this.to.reportValidity();
      location.hash = changed(this.route, { last: null, from: from.toISOString(), to: to.toISOString(), rows: null });
    } }, this.from, "\u2013", this.to, h("button", { type: "submit" }, "show"));
    this.to.addEventListener("input", () => this.to.setCustomValidity(""));
    this.select.addEventListener("change", () => {
      const chosen = this.select.value;
      if (chosen === "between") {
        this.between.hidden = false;
        this.from.focus();
      } else {
        location.hash = changed(this.route, { from: null, to: null, last: chosen || null, rows: null });
      }
    });
    const who = h("span", { class: "who" }, h("b", {}, h("bdi", {}, plain(me.name, 40))),
      me.operator ? h("span", { class: "dim" }, " operator") : h("strong", { class: "own", title: "what others use is in none of these figures" }, "your jobs only"));
    this.element = h("div", { class: "frame" },
      h("a", { class: "skip", href: "#main", onclick: (event: Event) => { event.preventDefault(); this.main.focus(); } }, "to the figures"),
      h("header", { class: "masthead" },
        h("b", { class: "mark" }, "talea"),
        h("nav", { "aria-label": "pages" }, ...this.links.map((one) => one.link)),
        search(),
        h("span", { class: "times" }, this.select, this.between),
        who,
        h("span", { class: "tools" }, button("refresh", "ask again now", doing.again), button("light/dark", "change between light and dark", doing.theme), button("log out", "log out", doing.logout))),
      h("div", { class: "title" }, this.heading, this.facts, this.state),
      this.missing, this.main);
  }

  show(route: Route): void {
    this.route = route;
    const carried = times(route);
    for (const one of this.links) {
      one.link.href = link(one.page, carried);
      if (one.under.includes(route.page)) one.link.setAttribute("aria-current", "page");
      else one.link.removeAttribute("aria-current");
    }
    // A choice in progress stays while the page queries again.
    const key = JSON.stringify([route.page, carried]);
    if (key === this.timed) return;
    this.timed = key;
    const [from, to] = [route.params.get("from"), route.params.get("to")];
    const last = route.params.get("last");
    const options: [string, string][] = [...(route.page === "job" ? [["", "whole job"] as [string, string]] : []), ...LASTS];
    if (last && !options.some(([value]) => value === last)) options.push([last, `last ${last}`]);
    this.select.replaceChildren(...[...options, ["between", "from \u2013 to"] as [string, string]].map(([value, label]) => h("option", { value }, label)));
    this.select.value = from ? "between" : last ?? (route.page === "job" ? "" : "1h");
    this.between.hidden = !from;
    const day = 86_400_000;
    const moment = (text: string | null, otherwise: number): string => {
      const at = text === null ? NaN : /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text);
      return local(new Date(Number.isNaN(at) ? otherwise : at));
    };
    this.from.value = moment(from, Date.now() - day);
    this.to.value = moment(to, Date.now());
  }

  title(parts: (Node | string)[], text: string): void {
    const [first, ...rest] = parts;
    this.heading.replaceChildren(...(typeof first === "string" && rest.every((one) => typeof one === "string") ? [h("bdi", {}, first)] : [h("bdi", {}, ...parts)]));
    this.facts.replaceChildren(...(typeof first === "string" && rest.every((one) => typeof one === "string") ? rest.map((one) => h("span", {}, one)) : []));
    document.title = `${plain(text, 80)} \u00b7 talea`;
  }

  gaps(all: Gap[]): void {
    this.missing.replaceChildren(gaps(all));
  }

  /** When the figures are of, or why there are no newer ones. */
  says(text: string, bad: boolean): void {
    if (this.state.textContent !== text) this.state.textContent = text;
    this.state.title = `times are those of ${Intl.DateTimeFormat().resolvedOptions().timeZone}`;
    this.state.classList.toggle("bad", bad);
  }
}
