// The page of a network: what there is to see in words, then the pictures.

import type { NetworkData } from "./data";
import { button, h, name } from "../report/dom";
import { sentence } from "../report/header";
import { themes } from "../report/theme";
import { load } from "./data";
import { NetworkView } from "./view";

function start(data: NetworkData, app: HTMLElement): void {
  const view = new NetworkView(data, true);
  const theme = themes();
  const gaps = h("section", { class: data.gaps.length ? "gaps" : "gaps none", "aria-label": "gaps" },
    ...(data.gaps.length ? [h("ul", {}, ...data.gaps.map((one) => h("li", {}, name(one, 400))))] : ["gaps: none"]));
  app.replaceChildren(
    h("header", { class: "top" },
      h("div", { class: "name" }, h("b", {}, "talea"), h("h1", {}, name(data.title, 160))),
      h("div", { class: "tools" }, button("light/dark", "light or dark", theme.toggle)),
      h("div", { class: "facts dim" }, ...data.facts.map((one) => h("span", {}, name(one, 200))))),
    gaps,
    h("main", { class: "network-page" },
      ...(data.findings.length ? [h("ol", { class: "network-findings", "aria-label": "findings" }, ...data.findings.map((one) => h("li", {}, ...sentence(one))))] : []),
      view.element),
  );
  theme.listen(() => view.update());
}

load().then(
  (data) => {
    const app = document.getElementById("app");
    if (app) start(data, app);
  },
  (error: unknown) => {
    document.getElementById("app")?.prepend(h("p", { class: "empty bad" }, `The network in this page could not be read: ${String(error)}`));
  },
);
