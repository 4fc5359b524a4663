// The search box: names of every kind as one types, and all of them on a page of its own.

import { h, name, plain } from "../report/dom";
import type { Hit } from "./answers";
import { get, Refused, tried } from "./api";
import type { Frame, Page } from "./page";
import type { Asked, Route } from "./route";
import { asked, link, read, times } from "./route";
import { file, to } from "./show";

const KINDS = ["job", "node", "user", "executable", "library", "phase", "function"];
const PLURAL: Record<string, string> = { job: "jobs", node: "nodes", user: "users", executable: "executables", library: "libraries", phase: "phases", function: "functions" };

/** The times of the address, where it has some; else the server's own, which are long. */
const within = (route: Route): Partial<Asked> => (Object.values(times(route)).some((one) => one !== null) ? asked(route) : {});

function groups(hits: Hit[], most: number): HTMLElement[] {
  return KINDS.flatMap((kind) => {
    const some = hits.filter((hit) => hit.kind === kind);
    if (!some.length) return [];
    return [h("li", { class: "kind" }, some.length > most ? `${PLURAL[kind]}, ${most} of ${some.length}` : PLURAL[kind] ?? kind),
      ...some.slice(0, most).map((hit) => h("li", {}, h("a", { href: to(kind, hit.name) }, kind === "executable" || kind === "library" ? file(hit.name) : name(hit.name, 120))))];
  });
}

export function search(): HTMLElement {
  const input = h("input", { type: "search", placeholder: "search (/): jobs, nodes, libraries", "aria-label": "search", maxlength: 200, autocomplete: "off" });
  const list = h("ul", { class: "hits", hidden: true, "aria-label": "found" });
  let waiting = 0;
  let asking = new AbortController();
  const close = (): void => { list.hidden = true; };
  const ask = async (): Promise<void> => {
    asking.abort();
    asking = new AbortController();
    const { signal } = asking;
    const text = input.value.trim();
    if (!text) return close();
    const answer = await tried(get<{ hits: Hit[] }>("search", { q: text, ...within(read(location.hash)) }, signal));
    if (signal.aborted) return;
    const found = answer instanceof Refused ? [] : groups(answer.hits, 5);
    list.replaceChildren(...(found.length ? found : [h("li", { class: "dim" }, answer instanceof Refused ? plain(answer.message, 200) : "nothing is called so")]));
    list.hidden = false;
  };
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { ask().catch(close); }, 200) as unknown as number;
  });
  const form = h("form", { class: "search", role: "search",
    onsubmit: (event: Event) => {
      event.preventDefault();
      clearTimeout(waiting);
      asking.abort();
      close();
      if (input.value.trim()) location.hash = link("search", { ...times(read(location.hash)), q: input.value.trim() });
    },
    onkeydown: (event: KeyboardEvent) => {
      const links = [...list.querySelectorAll("a")];
      const at = links.indexOf(document.activeElement as HTMLAnchorElement);
      if (event.key === "Escape") { close(); input.focus(); }
      else if (event.key === "ArrowDown" && !list.hidden) { event.preventDefault(); links[Math.min(links.length - 1, at + 1)]?.focus(); }
      else if (event.key === "ArrowUp" && !list.hidden) { event.preventDefault(); (links[at - 1] ?? input).focus(); }
    },
    onfocusout: (event: FocusEvent) => { if (!form.contains(event.relatedTarget as Node | null)) close(); },
    onclick: (event: Event) => { if ((event.target as Element).closest("a")) close(); },
  }, input, list);
  addEventListener("keydown", (event) => {
    if (event.key === "/" && !(event.target instanceof HTMLInputElement) && form.isConnected) {
      event.preventDefault();
      input.focus();
    }
  });
  return form;
}

export class SearchPage implements Page {
  readonly element = h("div", { class: "sheet" });
  private readonly list = h("ul", { class: "found" });

  constructor(private readonly frame: Frame) {
    this.element.append(this.list);
  }

  live(): boolean { return false; }

  async update(route: Route, signal: AbortSignal): Promise<void> {
    const text = route.params.get("q") ?? "";
    const answer = text ? await tried(get<{ hits: Hit[] }>("search", { q: text, ...within(route) }, signal)) : { hits: [] };
    if (signal.aborted) return;
    this.frame.title(["what is called ", h("code", {}, name(text, 100))], `search ${text}`);
    this.frame.gaps([]);
    const found = answer instanceof Refused ? [] : groups(answer.hits, 200);
    this.list.replaceChildren(...(found.length ? found : [h("li", { class: "empty" }, answer instanceof Refused ? plain(answer.message, 200) : "Nothing is called so, or nothing that you may see.")]));
  }
}
