// Where ranks ran: each host with its objects, what is odd about the places of its ranks, and a row for each rank.

import type { Model } from "./model";
import type { Selection, State } from "./state";
import type { Host, PlaceRow } from "./types";
import { h, name, plain } from "./dom";
import { Panel, saver } from "./panel";
import { Table } from "./table";
import { count } from "./units";

/** Hosts that are described; of many more the page would be a list of hosts. */
const CARDS = 12;

interface PlaceLine extends PlaceRow {
  host: string;
}

export class Hosts {
  readonly panel = new Panel("hosts", "hosts");
  private readonly table: Table<PlaceLine>;
  private readonly rows: PlaceLine[];

  constructor(private readonly model: Model, private readonly state: State) {
    const { hosts } = model.report;
    this.rows = hosts.flatMap((host) => host.ranks.map((row) => ({ ...row, host: host.name })));
    const text = (value: string): Node => (value ? name(value, 30) : h("span", { class: "dim" }, "unknown"));
    this.table = new Table<PlaceLine>({
      label: "places of ranks", sort: 0, ascending: true, first: 24,
      columns: [
        { head: "rank", value: (row) => row.rank },
        ...(hosts.length > 1 ? [{ head: "host", text: true, value: (row: PlaceLine) => row.host, show: (row: PlaceLine) => name(row.host, 30) }] : []),
        { head: "may run on PUs", short: "may run on", text: true, title: "PUs on which the threads that work may run", value: (row) => row.allowed, show: (row) => text(row.allowed) },
        { head: "inside", text: true, title: "the smallest object that has all these PUs", value: (row) => row.inside, show: (row) => text(row.inside) },
        { head: "ran last on", text: true, value: (row) => row.last, show: (row) => text(row.last) },
        { head: "threads", value: (row) => row.threads },
        { head: "working", title: "threads that were on PUs for at least a tenth of the run", value: (row) => row.working },
        { head: "process", extra: true, value: (row) => row.pid },
      ],
      choose: (row) => this.state.choose({ rank: row.rank }, true),
      chosen: (row) => this.state.selection.rank === row.rank,
    });
    const pictures = hosts.filter((host) => host.picture);
    const told = hosts.filter((host) => host.picture || host.notes.length || host.gaps.length || hosts.length === 1);
    const order = (host: Host): number => (host.picture ? 0 : host.notes.length ? 1 : 2);
    told.sort((a, b) => order(a) - order(b));
    this.panel.body.append(...told.slice(0, CARDS).map(card));
    const more = told.length - CARDS;
    if (more > 0) this.panel.body.append(h("p", { class: "dim" }, `${count(more)} more host${more === 1 ? " has" : "s have"} notes or gaps; `, h("code", {}, "talea show RUN hosts"), " prints them."));
    if (hosts.length > 1 && pictures.length < hosts.length) this.panel.body.append(h("p", { class: "dim" }, `${pictures.length ? `The first ${pictures.length} hosts are` : "No host is"} drawn; all ranks stand in the table.`));
    this.panel.body.append(this.table.element);
    this.panel.tools.append(saver("places of ranks", () => this.table.csv()));
    this.panel.note.textContent = hosts.length === 1 ? plain(hosts[0]?.name ?? "", 60) : count(hosts.length);
  }

  update(_: Selection): void {
    if (!this.model.report.hosts.length) this.panel.empty("no rank left a record");
    else this.table.set(this.rows);
  }
}

function card(host: Host): HTMLElement {
  const drawn = h("div", { class: "machine" });
  // The picture is the report's own, in which every name is escaped; the page's policy lets nothing in it run.
  drawn.innerHTML = host.picture ?? "";
  drawn.querySelector("svg")?.setAttribute("aria-label", `objects of ${plain(host.name, 60)}`);
  return h("section", { class: "host" },
    h("h3", {}, name(host.name, 60), " ", h("span", { class: "dim" }, plain(host.machine, 200))),
    ...host.notes.map((note) => h("p", { class: "odd" }, plain(note, 300))),
    ...host.gaps.map((gap) => h("p", { class: "dim" }, plain(gap, 300))),
    drawn);
}
