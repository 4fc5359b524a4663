// Puts the page together: one selection, kept in the address, that every view follows.

import type { Finding } from "./types";
import type { Selection } from "./state";
import { h } from "./dom";
import { Findings, crumbs, gaps, title } from "./header";
import { Iterations } from "./iterations";
import { GraphView } from "./graph";
import { Hosts } from "./hosts";
import { MatrixView } from "./matrix";
import { Model, load } from "./model";
import { Network } from "./network";
import { RankTable } from "./ranks";
import { Sites } from "./sites";
import { State } from "./state";
import { Studies } from "./studies";
import { TimelineView } from "./timeline";
import { Ranks } from "./classes";
import { themes } from "./theme";
import { Tree } from "./tree";

function start(model: Model, app: HTMLElement): void {
  const state = new State((selection: Selection): Selection => {
    const { classes, ranks } = model.report;
    const place = selection.node === null ? undefined : model.places.get(selection.node);
    const cls = selection.cls !== null && classes[selection.cls] ? selection.cls : null;
    // A node of another class than the chosen one moves the choice of class with it.
    return {
      node: place?.parent ? place.node.id : null,
      cls: place?.parent && cls !== null ? place.cls.id : cls,
      rank: ranks.some((row) => row.rank === selection.rank) ? selection.rank : null,
      iteration: selection.iteration,
    };
  });
  const theme = themes();
  const tree = new Tree(model, state);
  const ranks = new Ranks(model, state);
  const timeline = new TimelineView(model, state);
  const iterations = new Iterations(model, state);
  const graph = new GraphView(model, state);
  const sites = new Sites(model, state);
  const matrix = new MatrixView(model, state);
  const table = new RankTable(model, state);
  const hosts = new Hosts(model, state);
  const studies = new Studies(model);
  const network = new Network(model.report.network);
  const where = h("div", { class: "where" });

  const show = (finding: Finding): void => {
    const { target } = finding;
    const panel = {
      run: timeline, loop: timeline, iteration: iterations, site: sites, rank: timeline, class: timeline, matrix, hosts, network,
    }[target.kind].panel;
    const loop = target.kind === "loop" || target.kind === "iteration" ? model.loops.get(target.id) : undefined;
    switch (target.kind) {
      case "run": state.choose({ node: null, cls: null, rank: null, iteration: null }); break;
      case "loop": if (loop) state.choose({ node: loop.node.id, iteration: null }); break;
      case "iteration": state.choose({ ...(loop && { node: loop.node.id }), iteration: target.iteration }); break;
      case "site": { const leaf = model.leaf(target.id, state.selection.cls ?? undefined); if (leaf) state.choose({ node: leaf.node.id }); break; }
      case "rank": state.choose({ rank: target.rank }); break;
      case "class": state.choose({ cls: target.id, node: null }); break;
      case "matrix": case "hosts": case "network": break;
    }
    panel.element.scrollIntoView({ block: "nearest" });
    panel.element.focus({ preventScroll: true });
  };
  const findings = new Findings(model, show);
  // With no calls at all the findings say so once; empty frames would only repeat it.
  if (!model.report.sites.length) {
    for (const view of [timeline, iterations, graph, matrix, sites]) view.panel.element.hidden = true;
    where.hidden = true;
  }
  const views = [tree, ranks, findings, timeline, iterations, graph, sites, matrix, table, hosts, studies];
  const update = (): void => {
    where.replaceChildren(crumbs(model, state));
    for (const view of views) view.update(state.selection);
  };

  app.replaceChildren(
    h("a", { class: "skip", href: "#main", onclick: (event: Event) => { event.preventDefault(); document.getElementById("main")?.focus(); } }, "to the findings"),
    title(model, theme.toggle),
    gaps(model),
    h("div", { class: "page" },
      h("aside", { "aria-label": "structure and ranks" }, h("div", { class: "asidehead" }, h("h2", {}, "structure"), tree.find), tree.element, ranks.element),
      h("main", { id: "main", tabindex: -1 },
        findings.element, where, timeline.panel.element, ...studies.elements,
        h("div", { class: "columns" },
          iterations.panel.element, graph.panel.element, matrix.panel.element, sites.panel.element, table.panel.element, hosts.panel.element),
        network.panel.element)),
  );
  state.listen(update);
  theme.listen(() => {
    update();
    network.redraw();
  });
  update();
  addEventListener("keydown", (event) => {
    const typing = event.target instanceof HTMLInputElement;
    if (event.key === "/" && !typing) {
      event.preventDefault();
      tree.find.focus();
    }
    if (event.key === "Escape" && !typing) state.choose({ node: null, cls: null, rank: null, iteration: null });
  });
}

const app = document.getElementById("app");
if (app) {
  load().then((payload) => start(new Model(payload), app)).catch((error: unknown) => {
    app.replaceChildren(h("p", { class: "empty" }, `This report cannot be read: ${String(error)}`));
    throw error;
  });
}
