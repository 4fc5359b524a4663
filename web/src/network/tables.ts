// Figures behind the pictures: links, routers, dimensions, hops of a way, degraded links; each a table and a CSV file.

import type { Column } from "../report/table";
import type { Model, Quantity } from "./model";
import type { State } from "./state";
import type { Way } from "./route";
import { h, name, plain } from "../report/dom";
import { Panel, saver } from "../report/panel";
import { Table } from "../report/table";
import { count } from "../report/units";
import { amount, QUANTITY_NAMES } from "./model";

const or = (value: number): number | null => (Number.isNaN(value) ? null : value);

/** Columns that say what a link is. */
function described(model: Model): Column<number>[] {
  const { data } = model;
  return [
    { head: "from", text: true, value: (link) => data.routers.names[model.from[link]!]!, show: (link) => model.name(model.from[link]!) },
    { head: "to", text: true, value: (link) => data.routers.names[model.to[link]!]!, show: (link) => model.name(model.to[link]!) },
    { head: "way", text: true, value: (link) => model.className(link) },
    { head: "made of", text: true, value: (link) => model.made(link) },
    { head: "capacity (B/s)", short: "capacity", value: (link) => or(model.capacity[link]!), show: (link) => (Number.isNaN(model.capacity[link]!) ? "not known" : amount(model.capacity[link]!, "B/s")) },
  ];
}

/** Columns of what a link carries in a view. */
function carried(model: Model, view: number, named: boolean): Column<number>[] {
  return model.known.map((quantity: Quantity) => {
    const values = model.values(view, quantity);
    const unit = quantity === "load" ? ` (${model.view(view).unit})` : "";
    const of = named ? `${plain(model.view(view).name, 40)}: ` : "";
    const begin = named ? `${plain(model.view(view).name, 9)}: ` : "";
    const short = { used: "used", load: "load", stalled: "stalled", deviation: "deviation" }[quantity];
    return {
      head: `${of}${QUANTITY_NAMES[quantity]}${unit}`, short: `${begin}${short}`,
      value: (link: number) => or(values[link]!), show: (link: number) => model.text(values[link]!, quantity, view),
    };
  });
}

const cross = (model: Model, link: number): string => (model.degraded.has(link) ? model.degraded.get(link)! : "");

/** All links, those with most first. */
export function linksPanel(model: Model, state: State): Panel {
  const { views, shows } = state.choice;
  const panel = new Panel("links", "links");
  const first = views[0] ?? 0;
  const values = model.values(first, shows);
  const size = (link: number): number => (Number.isNaN(values[link]!) ? -1 : Math.abs(values[link]!));
  let sorted: number[] | undefined;
  const rows = (): number[] => (sorted ??= Array.from({ length: model.links }, (_, link) => link).sort((a, b) => size(b) - size(a) || a - b));
  const columns = [...described(model), ...views.flatMap((view) => carried(model, view, views.length > 1))];
  if (model.degraded.size) columns.push({ head: "degraded", text: true, value: (link) => cross(model, link) });
  panel.behind<number>({ name: "links", rows, columns });
  panel.note.textContent = `${count(model.links)} links, one way each, the most first`;
  // The first ones are on the page without asking.
  const some: number[] = [];
  for (let link = 0; link < model.links; link++) {
    if (size(link) <= 0 || (some.length >= 8 && size(link) <= size(some[7]!))) continue;
    const at = some.findIndex((one) => size(one) < size(link));
    some.splice(at < 0 ? some.length : at, 0, link);
    some.length = Math.min(some.length, 8);
  }
  const table = new Table<number>({
    label: "links with most", sort: -1, first: 8, columns,
    choose: (link) => state.set({ route: [model.from[link]!, model.to[link]!] }),
  });
  table.set(some);
  if (some.length) panel.body.append(table.element);
  else panel.empty("no link carries anything that is known");
  return panel;
}

export function routersPanel(model: Model, state: State): Panel {
  const panel = new Panel("routers", "routers");
  const { views } = state.choice;
  const sums = views.map((view) => {
    const values = model.values(view, "load");
    const [out, into] = [new Float64Array(model.routers).fill(NaN), new Float64Array(model.routers).fill(NaN)];
    const add = (to: Float64Array, at: number, value: number): void => { to[at] = (Number.isNaN(to[at]!) ? 0 : to[at]!) + value; };
    for (let link = 0; link < model.links; link++) {
      if (Number.isNaN(values[link]!)) continue;
      add(out, model.from[link]!, values[link]!);
      add(into, model.to[link]!, values[link]!);
    }
    return { view, out, into };
  });
  const columns: Column<number>[] = [
    { head: "router", text: true, value: (router) => model.data.routers.names[router]! },
    { head: "coordinate", text: true, value: (router) => (model.at(router).length ? `(${model.at(router).join(",")})` : "") },
    { head: "hosts", text: true, value: (router) => model.hostsOf(router).join(" "), show: (router) => plain(model.hostsOf(router).join(" "), 60) },
    { head: "links", value: (router) => model.first[router + 1]! - model.first[router]! },
    ...sums.flatMap(({ view, out, into }) => {
      const { unit, name: of } = model.view(view);
      const named = views.length > 1 ? `${plain(of, 40)}: ` : "";
      return ([["leaves", out], ["arrives", into]] as const).map(([word, list]) => ({
        head: `${named}${word} over links (${unit})`, short: `${named}${word}`, value: (router: number) => or(list[router]!), show: (router: number) => model.text(list[router]!, "load", view),
      }));
    }),
  ];
  panel.behind<number>({ name: "routers", rows: () => Array.from({ length: model.routers }, (_, at) => at), columns });
  panel.note.textContent = `${count(model.routers)} routers, ${count(model.data.hosts.names.length)} hosts`;
  panel.body.append(h("p", { class: "dim" }, "Each router with its hosts and what leaves and reaches it over links: as a table, or as a CSV file."));
  return panel;
}

interface Dimension { name: string; links: number; view: number; most: number; mean: number; zero: number }

/** The most and the mean by axis, or inside and between groups, or up and down. */
export function dimensionsPanel(model: Model, state: State): Panel {
  const panel = new Panel("dimensions", "by direction");
  const { views, shows } = state.choice;
  const rows: Dimension[] = model.data.links.dimensions.flatMap((name, at) => views.map((view) => {
    const values = model.values(view, shows);
    const row = { name, view, links: 0, most: NaN, mean: 0, zero: 0 };
    let known = 0;
    for (let link = 0; link < model.links; link++) {
      if (model.dimension(link) !== at) continue;
      row.links++;
      const value = values[link]!;
      if (Number.isNaN(value)) continue;
      known++;
      row.mean += value;
      if (value === 0) row.zero++;
      if (!(row.most >= value)) row.most = value;
    }
    row.mean = known ? row.mean / known : NaN;
    if (!known) row.zero = NaN;
    return row;
  })).filter((row) => row.links);
  const text = (row: Dimension, value: number): string => model.text(value, shows, row.view);
  const table = new Table<Dimension>({
    label: "links by direction", sort: -1, first: 40,
    columns: [
      { head: "direction", text: true, value: (row) => row.name },
      ...(views.length > 1 ? [{ head: "view", text: true, value: (row: Dimension) => model.view(row.view).name, show: (row: Dimension) => name(model.view(row.view).name, 40) }] : []),
      { head: "links", value: (row) => row.links, show: (row) => count(row.links) },
      { head: "at most", value: (row) => or(row.most), show: (row) => text(row, row.most) },
      { head: "mean", value: (row) => or(row.mean), show: (row) => text(row, row.mean) },
      { head: "with none", value: (row) => or(row.zero), show: (row) => (Number.isNaN(row.zero) ? "not known" : count(row.zero)) },
    ],
  });
  table.set(rows);
  panel.note.textContent = QUANTITY_NAMES[shows];
  panel.tools.append(saver("links by direction", () => table.csv()));
  panel.body.append(table.element);
  return panel;
}

interface Hop { way: string; hop: number; link: number }

/** Both ways, hop by hop. */
export function waysPanel(model: Model, state: State, ways: [Way, Way], why: string): Panel {
  const panel = new Panel("ways", "way from A to B and back");
  const [from, to] = state.choice.route;
  const { views } = state.choice;
  if (from === null || to === null) {
    panel.body.append(h("p", { class: "dim" }, why ? `No way can be shown: ${why}.` : from === null ? "A click on two routers, or two names at the right, shows the way and the way back." : "A click on another router shows the way."));
    return panel;
  }
  const rows: Hop[] = [];
  const words = ways.map((way, back) => {
    const [a, b] = back ? [to, from] : [from, to];
    if (typeof way === "string") return `no way from ${model.name(a)} to ${model.name(b)}: ${way}`;
    way.forEach((link, at) => rows.push({ way: back ? "back" : "there", hop: at + 1, link }));
    return `${way.length} ${way.length === 1 ? "link" : "links"} ${back ? "back" : `from ${model.name(a)} to ${model.name(b)}`}`;
  });
  const columns: Column<Hop>[] = [
    { head: "way", text: true, value: (row) => row.way },
    { head: "hop", value: (row) => row.hop },
    ...[...described(model), ...views.flatMap((view) => carried(model, view, views.length > 1))].map(({ show, value, head, ...rest }): Column<Hop> => ({
      ...rest, head: head === "way" ? "direction" : head, value: (row) => value(row.link),
      ...(show && { show: (row: Hop) => show(row.link) }),
    })),
  ];
  const table = new Table<Hop>({ label: "hops", sort: -1, first: 200, columns });
  table.set(rows);
  const rule = model.data.ways.name;
  panel.note.textContent = rule ? `${plain(rule, 40)} ways` : "";
  panel.tools.append(saver("hops", () => table.csv()));
  panel.body.append(h("p", { class: "says-of-ways" }, words.join("; ")), ...(rows.length ? [table.element] : []));
  return panel;
}

export function degradedPanel(model: Model, state: State): Panel | null {
  if (!model.degraded.size) return null;
  const panel = new Panel("degraded", "degraded links");
  const { views } = state.choice;
  const table = new Table<number>({
    label: "degraded links", sort: -1, first: 12,
    columns: [{ head: "why", text: true, value: (link) => cross(model, link), show: (link) => name(cross(model, link), 80) }, ...described(model),
      ...views.flatMap((view) => carried(model, view, views.length > 1))],
    choose: (link) => state.set({ route: [model.from[link]!, model.to[link]!] }),
  });
  table.set([...model.degraded.keys()]);
  panel.note.textContent = model.degraded.size === 1 ? "1 link is worse than it should be" : `${count(model.degraded.size)} links are worse than they should be`;
  panel.tools.append(saver("degraded links", () => table.csv()));
  panel.body.append(table.element);
  return panel;
}
