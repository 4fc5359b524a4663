// The network between nodes: the same pictures and tables as in its own page, without the address, which belongs to the report.

import type { NetworkData } from "../network/data";
import { NetworkView } from "../network/view";
import { h, plain } from "./dom";
import { sentence } from "./header";
import { Panel } from "./panel";

export class Network {
  readonly panel = new Panel("network", "network");
  private readonly view: NetworkView | undefined;

  constructor(data: NetworkData | undefined) {
    this.panel.element.hidden = !data;
    if (!data) return;
    this.view = new NetworkView(data, false);
    this.panel.note.textContent = plain([data.title, ...data.facts].join(" \u00b7 "), 160);
    this.panel.body.append(
      h("ul", { class: "says" }, ...data.findings.map((text) => h("li", {}, ...sentence(text)))),
      ...data.gaps.map((gap) => h("p", { class: "dim" }, plain(gap, 300))),
      this.view.element);
  }

  redraw(): void {
    this.view?.update();
  }
}
