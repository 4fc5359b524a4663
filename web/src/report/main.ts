// Puts the page together: one selection, kept in the address, that every view follows.

import type { Finding } from "./types";
import { NOTHING, type Selection } from "./state";
import { h, hideTip } from "./dom";
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
  const state = new State((next, change, before) => model.settle(next, change, before));
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
  const studies = new Studies(model, state);
  const network = new Network(model.report.network);
  const where = h("div", { class: "where" });

  // The evidence of a finding is all that is selected: nothing stays of what was looked at before.
  const evidence = ({ target }: Finding): Selection => {
    switch (target.kind) {
      case "loop": return { ...NOTHING, node: model.loops.get(target.id)?.node.id ?? null };
      case "iteration": return { ...NOTHING, node: model.loops.get(target.id)?.node.id ?? null, iteration: target.iteration };
      case "site": return { ...NOTHING, node: model.leaf(target.id, undefined)?.node.id ?? null };
      case "rank": return { ...NOTHING, rank: target.rank };
      case "class": return { ...NOTHING, cls: target.id };
      case "run": case "matrix": case "hosts": case "network": return NOTHING;
    }
  };
  const show = (finding: Finding): void => {
    const { panel } = {
      run: timeline, loop: timeline, iteration: timeline, site: sites, rank: timeline, class: timeline, matrix, hosts, network,
    }[finding.target.kind];
    state.choose(evidence(finding));
    timeline.reset();
    panel.element.scrollIntoView({ block: "nearest" });
    panel.element.focus({ preventScroll: true });
  };
  const findings = new Findings(model, evidence, show);
  // With no calls at all the findings say so once; empty frames would only repeat it.
  if (!model.report.sites.length) {
    for (const view of [timeline, iterations, graph, matrix, sites]) view.panel.element.hidden = true;
    where.hidden = true;
  }
  // A sampled program without MPI has no ranks to list.
  if (!model.report.ranks.length && model.report.studies.length) table.panel.element.hidden = true;
  const views = [tree, ranks, findings, timeline, iterations, graph, sites, matrix, table, hosts, studies];
  const update = (): void => {
    hideTip();
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
        findings.element, where, timeline.panel.element,
        h("div", { class: `columns ${studies.elements.length ? "studied" : ""}` },
          iterations.panel.element, graph.panel.element, h("div", { class: "studies" }, ...studies.elements), matrix.panel.element, sites.panel.element, table.panel.element, hosts.panel.element),
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
    if (event.key === "Escape" && !typing) {
      state.choose(NOTHING);
      timeline.reset();
    }
  });
}

const app = document.getElementById("app");
if (app) {
  load().then((payload) => start(new Model(payload), app)).catch((error: unknown) => {
    app.replaceChildren(h("p", { class: "empty" }, `This report cannot be read: ${String(error)}`));
    throw error;
  });
}
