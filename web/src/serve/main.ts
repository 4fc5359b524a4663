// The program of the server's pages: finds out who asks, shows the page that the address names, and asks again while one looks.

import { h, plain } from "../report/dom";
import { themes } from "../report/theme";
import type { Me } from "./answers";
import { get, onStranger, post, Refused } from "./api";
import { FindingsPage } from "./findings";
import { Around } from "./frame";
import { JobPage } from "./job";
import { JobsPage } from "./jobs";
import { login } from "./login";
import { MachinePage } from "./machine";
import { OfPage } from "./of";
import type { Frame, Page } from "./page";
import type { Route } from "./route";
import { DIMENSIONS } from "./answers";
import { link, read, wrongTimes } from "./route";
import { SearchPage } from "./search";
import { SoftwarePage } from "./software";

/** Between two questions of a page that shows what is now. */
const EVERY = 30_000;

const PAGES: Record<string, (frame: Frame, route: Route) => Page> = {
  machine: (frame) => new MachinePage(frame),
  job: (frame) => new JobPage(frame),
  jobs: (frame, route) => new JobsPage(frame, route),
  software: (frame) => new SoftwarePage(frame),
  findings: (frame, route) => new FindingsPage(frame, route),
  of: (frame, route) => new OfPage(frame, route),
  search: (frame) => new SearchPage(frame),
};

/** Routes with the same text are one page with changed parameters; others begin anew. */
const same = (route: Route): string => [route.page, ...(route.page === "of" ? DIMENSIONS.map((one) => route.params.get(one)) : route.page === "job" ? [route.params.get("id"), route.params.get("user")] : [])].join("\n");

const theme = themes();
const app = document.getElementById("app")!;
let stop: () => void = () => undefined;

function inside(me: Me): void {
  stop();
  const around = new Around(me, {
    theme: theme.toggle,
    again: () => void show(),
    logout: () => { post("logout", {}).catch(() => undefined).finally(outside); },
  });
  const frame: Frame = { me, title: (parts, text) => around.title(parts, text), gaps: (all) => around.gaps(all) };
  let page: Page | null = null;
  let shown = "";
  let asking = new AbortController();
  let timer = 0;

  const show = async (): Promise<void> => {
    asking.abort();
    clearTimeout(timer);
    asking = new AbortController();
    const { signal } = asking;
    const route = read(location.hash);
    if (!Object.hasOwn(PAGES, route.page)) route.page = "machine";
    const key = same(route);
    around.show(route);
    // Figures of another time than the address says would be taken for those of the address.
    const wrong = wrongTimes(route);
    if (wrong !== null) {
      page = null;
      around.title([route.page], route.page);
      around.gaps([]);
      around.main.replaceChildren(h("p", { class: "empty wrong", role: "alert" }, plain(wrong, 200), ". ", h("a", { href: link(route.page, { ...Object.fromEntries(route.params), last: null, from: null, to: null }) }, "Show the usual time.")));
      around.main.dataset["shown"] = location.hash;
      around.main.removeAttribute("aria-busy");
      return around.says("nothing is shown", true);
    }
    const fresh = key !== shown || !page;
    if (fresh) {
      page = PAGES[route.page]!(frame, route);
      shown = key;
      around.main.replaceChildren(page.element);
      around.title([route.page === "of" ? "selection" : route.page], route.page);
      around.main.setAttribute("aria-busy", "true");
      scrollTo(0, 0);
    }
    const current = page!;
    around.says("asking \u2026", false);
    try {
      await current.update(route, signal);
      if (signal.aborted) return;
      around.main.dataset["shown"] = location.hash;
      around.says(`as of ${new Date().toLocaleTimeString("en-GB")}${current.live(route) ? ", asked again every 30 s" : ""}`, false);
    } catch (error) {
      if (signal.aborted || (error instanceof Refused && error.status === 401)) return;
      around.says(`${error instanceof Error ? error.message : String(error)}; the figures are older`, true);
      if (!(error instanceof Refused)) console.error(error);
    }
    around.main.removeAttribute("aria-busy");
    if (current.live(route)) timer = setTimeout(() => void soon(), EVERY) as unknown as number;
  };
  // Nobody looks at a hidden page: it asks again when it is seen.
  const soon = async (): Promise<void> => {
    if (document.hidden) document.addEventListener("visibilitychange", () => void soon(), { once: true });
    else await show();
  };
  const changed = (): void => void show();
  addEventListener("hashchange", changed);
  theme.listen(() => page?.redraw?.());
  stop = () => {
    removeEventListener("hashchange", changed);
    asking.abort();
    clearTimeout(timer);
    stop = () => undefined;
  };
  app.replaceChildren(around.element);
  void show();
}

function outside(): void {
  stop();
  document.title = "talea";
  app.replaceChildren(login(() => begin()));
}

function begin(): void {
  get<Me>("me", {}).then(inside, (error: unknown) => {
    if (error instanceof Refused && error.status === 401) return;
    app.replaceChildren(h("p", { class: "empty" }, error instanceof Error ? error.message : String(error)));
  });
}

// On paper tables are whole.
addEventListener("beforeprint", () => { for (const more of document.querySelectorAll<HTMLElement>("main .more")) more.click(); });
onStranger(() => { if (!app.querySelector(".login")) outside(); });
begin();
