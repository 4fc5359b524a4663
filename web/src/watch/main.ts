// The page of `talea watch --page`: a running program, look by look.
//
// The newest look is drawn unless the page is paused or hidden; all looks are kept as points.

import { h } from "../report/dom";
import { themes } from "../report/theme";
import { Clusters } from "./clusters";
import type { RunHead, WatchData } from "./data";
import { Iterations } from "./iterations";
import { Lanes } from "./lanes";
import { Looks } from "./looks";
import type { Stream } from "./notes";
import { notes } from "./notes";
import { Cursor } from "./plot";
import { Range } from "./range";
import { Ranks } from "./ranks";
import { reading } from "./reading";
import { Says } from "./says";
import { Sites } from "./sites";
import { follow } from "./stream";
import { Strip } from "./strip";
import { Title } from "./title";

/** Intervals without a look after which the page says so, and the shortest such time. */
const [LATE, SHORTEST] = [3, 5000];
/** Fewer ranks than this leave room for the call sites below them. */
const FEW = 16;

function start(app: HTMLElement): void {
  const theme = themes();
  const looks = new Looks();
  const [cursor, range] = [new Cursor(), new Range()];
  const stream: Stream = { state: "connecting", since: null, silent: null, paused: null, look: null };
  let head: RunHead | null = null;
  let newest: WatchData | null = null;
  let shown: WatchData | null = null;
  let refusal: string | null = null;
  let late = 0;

  const title = new Title(theme.toggle, () => pause());
  const strip = new Strip();
  const says = new Says();
  const [iterations, lanes, ranks] = [new Iterations(cursor, range), new Lanes(looks, cursor, range), new Ranks()];
  const [sites, clusters] = [new Sites(), new Clusters()];
  const all = [iterations, lanes, sites, clusters, ranks];
  const views = h("div", { class: "views" }, ...all.map((one) => one.panel.element));
  const main = h("main", { id: "main", tabindex: -1, hidden: true }, says.element, views, reading());
  app.replaceChildren(
    h("a", { class: "skip", href: "#main", onclick: (event: Event) => { event.preventDefault(); main.focus(); } }, "to the findings"),
    title.element, strip.element, main);

  const state = (): void => {
    stream.look = shown?.look ?? null;
    if (stream.paused) stream.paused.newer = (newest?.look ?? 0) - stream.paused.look;
    const said = notes(stream, head);
    if (refusal !== null) said.push({ kind: "damaged", text: `message: it cannot be read as a look (${refusal})`, isCalm: false });
    strip.set(said, shown?.gaps ?? null);
    if (shown) title.set(shown, head, stream);
  };
  const draw = (): void => {
    if (newest && !stream.paused && !document.hidden && newest !== shown) {
      shown = newest;
      main.hidden = false;
      views.classList.toggle("wide", shown.ranks.some((one) => one.host !== shown!.ranks[0]!.host));
      views.classList.toggle("few", shown.ranks.length <= FEW);
      says.set(shown);
      for (const view of all) view.set(shown);
    }
    state();
  };
  const pause = (): void => {
    stream.paused = stream.paused || !shown || stream.state === "ended" ? null : { look: shown.look, newer: 0 };
    draw();
  };
  const wait = (): void => {
    clearTimeout(late);
    stream.silent = null;
    const from = new Date();
    late = setTimeout(() => {
      stream.silent = from;
      state();
    }, Math.max(SHORTEST, LATE * ((head?.every_ns ?? 1e9) / 1e6))) as unknown as number;
  };

  follow("looks", {
    head: (one) => {
      head = one;
      title.head(one);
      state();
    },
    look: (data) => {
      newest = data;
      refusal = null;
      looks.add(data);
      wait();
      draw();
    },
    open: () => {
      stream.state = "open";
      wait();
      state();
    },
    lost: () => {
      clearTimeout(late);
      stream.state = "lost";
      stream.since = new Date();
      state();
    },
    ended: () => {
      clearTimeout(late);
      stream.state = "ended";
      stream.paused = null;
      draw();
    },
    refused: (why) => {
      refusal = why;
      state();
    },
  });
  theme.listen(() => ranks.redraw());
  document.addEventListener("visibilitychange", draw);
  addEventListener("keydown", (event) => {
    // A button that has the focus is what the space bar presses.
    if (event.key !== " " || (event.target instanceof Element && event.target.closest("button, a, summary, input"))) return;
    event.preventDefault();
    pause();
  });
}

const app = document.getElementById("app");
if (app) start(app);
