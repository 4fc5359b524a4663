// The top of the page: the run, its state, and figures of it as a whole.

import { button, h, name, plain } from "../report/dom";
import { count, exact, si } from "../report/units";
import type { RunHead, WatchData } from "./data";
import { isLast } from "./data";
import { setText, setTitle } from "./live-table";
import type { Stream } from "./notes";
import { lasting, plural } from "./words";

/** A text of figures that only grows, so that those beside it stay in place. */
class Fact {
  readonly element: HTMLElement;
  private widest = 0;

  constructor(className = "") {
    this.element = h("span", { class: className });
  }

  set(text: string, title = ""): void {
    setText(this.element, text);
    setTitle(this.element, title);
    if (text.length > this.widest) {
      this.widest = text.length;
      this.element.style.minWidth = `${this.widest}ch`;
    }
  }
}

export class Title {
  readonly element: HTMLElement;
  private readonly heading = h("h1", {}, "talea watch");
  private readonly state = new Fact("state");
  private readonly where = new Fact();
  private readonly wall = new Fact();
  private readonly calls = new Fact();
  private readonly look = new Fact("dim");
  private readonly pause: HTMLButtonElement;

  constructor(theme: () => void, pause: () => void) {
    this.pause = button("pause", "stop at this look (space)", pause);
    this.element = h("header", { class: "top" },
      h("div", { class: "name" }, h("b", {}, "talea"), this.heading),
      h("div", { class: "tools" }, this.pause, button("light/dark", "change between light and dark", theme)),
      h("div", { class: "facts" }, ...[this.state, this.where, this.wall, this.calls, this.look].map((one) => one.element)));
  }

  head(head: RunHead): void {
    this.heading.replaceChildren(name(head.name, 80), " ", name(head.command, 240, "command"));
    this.heading.title = plain(head.command, 2000);
  }

  set(data: WatchData, head: RunHead | null, stream: Stream): void {
    const hosts = [...new Set(data.ranks.map((one) => one.host))];
    const on = hosts.length === 1 ? ` on ${plain(hosts[0]!, 60)}` : hosts.length ? ` on ${count(hosts.length)} hosts` : "";
    this.where.set(`${count(data.ranks.length)} ${plural(data.ranks.length, "rank")}${on}`, plain(hosts.join(", "), 400));
    this.wall.set(`${lasting(data.time_ns)} since MPI_Init`, `${exact(data.time_ns, "ns")} since the first process called MPI_Init`);
    const rate = isLast(data) || data.interval_ns <= 0 ? "" : `, ${si((data.new_events / data.interval_ns) * 1e9, "/s")}`;
    this.calls.set(`${count(data.events)} calls${rate}`, exact(data.events, "calls of all threads"));
    const every = head && data.running ? `, one every ${lasting(head.every_ns)}` : "";
    this.look.set(`look ${count(data.look)}${every}`, `this look took ${lasting(data.took_ns)}`);
    this.mark(data, stream);
    document.title = `${plain(head?.name ?? "run", 60)} \u00b7 ${data.running ? "running" : "ended"} \u00b7 talea`;
  }

  private mark(data: WatchData, stream: Stream): void {
    const ended = isLast(data);
    const paused = stream.paused !== null;
    const word = ended ? "ended" : stream.state === "lost" ? "no connection" : paused ? "paused" : data.running ? "running" : "ending";
    this.state.set(word);
    this.state.element.className = `state ${word.replace(" ", "-")}`;
    this.pause.hidden = ended;
    if (ended) for (const one of [this.state, this.wall, this.calls, this.look]) one.element.style.minWidth = "";
    setText(this.pause, paused ? "continue" : "pause");
    this.pause.title = paused ? "show the newest look (space)" : "stop at this look (space)";
    this.pause.setAttribute("aria-label", this.pause.title);
    this.pause.setAttribute("aria-pressed", String(paused));
  }
}
