// Libraries and executables over the whole machine: what it is spent on, by file, package, vendor or use, each with its interval.

import { button, h, name, plain } from "../report/dom";
import { Panel, saver } from "../report/panel";
import type { Column } from "../report/table";
import { Table } from "../report/table";
import { count, percent } from "../report/units";
import type { Share, Usage } from "./answers";
import { BUSY, proportion } from "./answers";
import { get, Refused, tried } from "./api";
import { packageOf } from "./packages";
import type { Frame, Page } from "./page";
import { isLive } from "./page";
import type { Route } from "./route";
import { asked, drift, go, link } from "./route";
import type { Said } from "./says";
import { Says, sum } from "./says";
import { core, exactCore, fine, part, span, value, whisker } from "./show";

const OF = ["library", "executable"] as const;
const WHAT = ["package", "vendor", "use", "file"] as const;
type What = (typeof WHAT)[number];
/** Files that one answer may have. */
const MOST = 20_000;

interface Row { what: What; name: string; vendor: string; use: string; files: number; samples: number; seconds: number; share: Share | null; used: number | null }

export class SoftwarePage implements Page {
  readonly element = h("div", { class: "sheet" });
  private readonly says = new Says();
  private readonly panel = new Panel("software", "core time");
  private readonly choices = h("div", { class: "choices" });
  private readonly none = h("p", { class: "empty", hidden: true });
  private readonly find = h("input", { type: "search", placeholder: "filter by name", "aria-label": "filter by name", maxlength: 200 });
  private table: Table<Row> | null = null;
  private shape = "";
  private usage: Usage | Refused | null = null;
  private used = 0;
  private top = 0;

  constructor(private readonly frame: Frame) {
    this.panel.tools.append(saver("software", () => this.table?.csv() ?? ""), button("print", "print this page", () => print()));
    this.find.addEventListener("input", () => { drift({ q: this.find.value }); this.show(); });
    this.panel.body.append(h("div", { class: "bar" }, this.choices, this.find));
    this.element.append(this.says.element, this.panel.element);
  }

  live = isLive;

  async update(route: Route, signal: AbortSignal): Promise<void> {
    const of = this.of(route);
    const [activities, usage] = await Promise.all([
      tried(get<Usage>("usage", { ...asked(route), by: "activity", limit: 10 }, signal)),
      tried(get<Usage>("usage", { ...asked(route), by: of, limit: MOST }, signal)),
    ]);
    if (signal.aborted) return;
    this.usage = usage;
    this.used = sum(activities, BUSY);
    this.frame.title([this.frame.me.operator ? "software of the machine" : "software of your jobs"], "software");
    this.says.activities(activities, this.frame.me.operator ? "time of the machine" : "time of your jobs");
    this.frame.gaps(usage instanceof Refused ? [] : usage.gaps);
    this.show();
  }

  private of(route: Route): (typeof OF)[number] {
    return route.params.get("of") === "executable" ? "executable" : "library";
  }

  private what(route: Route): What {
    const asked = route.params.get("what") as What;
    return WHAT.includes(asked) ? asked : "package";
  }

  /** From the answer and the address to the table. */
  private show(): void {
    const params = new URLSearchParams(location.hash.split("?")[1] ?? "");
    const route: Route = { page: "software", params };
    const [of, what] = [this.of(route), this.what(route)];
    if (document.activeElement !== this.find) this.find.value = params.get("q") ?? "";
    this.choose(of, what, params.get("package"));
    const { usage } = this;
    if (!usage) return;
    if (usage instanceof Refused) {
      this.says.set([{ text: plain(usage.message, 300), to: "software", bad: true }]);
      return;
    }
    const chosen = params.get("package");
    const all = this.rows(usage, of, what);
    const looked = this.find.value.toLowerCase();
    const rows = all.filter((row) => (chosen === null || what !== "file" || packageOf(row.name).name === chosen) && (!looked || `${row.name} ${row.vendor} ${row.use}`.toLowerCase().includes(looked)));
    this.top = rows.reduce((most, row) => Math.max(most, row.share?.high ?? 0), 0);
    this.says.set(this.sentences(usage, of));
    this.draw(of, what, rows, params);
    this.none.hidden = rows.length > 0;
    this.none.textContent = all.length ? "Nothing is like that." : usage.samples ? "No file had samples in this time." : "Nothing was observed in this time.";
    const when = usage.begin_ns === null || usage.end_ns === null ? "" : `; ${span(usage.begin_ns, usage.end_ns)}`;
    this.panel.note.textContent = !all.length ? "" : `${count(rows.length)} of ${count(all.length)} ${what === "file" ? `${of === "library" ? "libraries" : "executables"}` : `${what}s`}, bars to ${percent(this.top)}${when}`;
  }

  private rows(usage: Usage, of: "library" | "executable", what: What): Row[] {
    const sums = new Map<string, Row>();
    for (const one of usage.rows) {
      const path = one[of];
      if (path === null || path === undefined) continue;
      const found = packageOf(String(path));
      const key = what === "file" ? String(path) : what === "package" ? found.name : found[what];
      const row = sums.get(key) ?? { what, name: key, vendor: found.vendor, use: found.use, files: 0, samples: 0, seconds: 0, share: null, used: null };
      row.files++;
      row.samples += one.samples;
      row.seconds += one.core_seconds;
      if (row.vendor !== found.vendor) row.vendor = "several";
      if (row.use !== found.use) row.use = "several";
      sums.set(key, row);
    }
    return [...sums.values()].map((row) => ({ ...row, share: proportion(row.samples, usage.samples), used: this.used ? row.samples / this.used : null }));
  }

  private draw(of: string, what: What, rows: Row[], params: URLSearchParams): void {
    const columns: Column<Row>[] = [
      { head: what === "file" ? of : what, text: true, value: (row) => row.name, show: (row) => this.named(row, of) },
      ...(what === "package" || what === "file" ? [{ head: what === "file" ? "package" : "vendor", text: true, value: (row: Row) => (what === "file" ? packageOf(row.name).name : row.vendor) }] : []),
      ...(what === "use" ? [] : [{ head: "use", text: true, value: (row: Row) => row.use }]),
      ...(what === "file" ? [] : [{ head: "files", value: (row: Row) => row.files }]),
      { head: "core seconds", short: "core time", value: (row) => row.seconds, show: (row) => h("span", { title: exactCore(row.seconds) }, core(row.seconds)) },
      { head: "share of all", short: "of all", title: "share of all samples, those of idle cores included", value: (row) => row.share?.share ?? null,
        show: (row) => h("span", { class: "sharecell" }, whisker(row.share, this.top), h("b", {}, row.share ? fine(row.share.share, row.share) : "-")) },
      { head: "low", short: "95 % from", value: (row) => row.share?.low ?? null, show: (row) => (row.share ? fine(row.share.low, row.share) : "-") },
      { head: "high", short: "to", value: (row) => row.share?.high ?? null, show: (row) => (row.share ? fine(row.share.high, row.share) : "-") },
      { head: "share of used", short: "of used", title: "share of the samples of cores that did something", value: (row) => row.used, show: (row) => (row.used === null ? "-" : percent(row.used)) },
      { head: "samples", value: (row) => row.samples, show: (row) => count(row.samples) },
    ];
    const shape = `${of}/${what}`;
    if (shape !== this.shape || !this.table) {
      this.shape = shape;
      const usual = columns.findIndex((one) => one.head === "core seconds");
      const asked = columns.findIndex((one) => one.head === params.get("sort"));
      this.table?.element.remove();
      this.table = new Table<Row>({
        label: `core time by ${what}`, columns, first: 50, sort: asked >= 0 ? asked : usual, ...(asked >= 0 && { ascending: params.get("dir") === "up" }),
        sorted: (column, down) => drift({ sort: columns[column]?.head, dir: down ? null : "up" }),
      });
      this.panel.body.append(this.table.element, this.none);
    }
    this.table.set(rows);
  }

  private named(row: Row, of: string): HTMLElement {
    if (row.what === "file") return value(of, row.name);
    if (row.what !== "package") return name(row.name);
    const params = new URLSearchParams(location.hash.split("?")[1] ?? "");
    return h("a", { href: link("software", { ...Object.fromEntries(params), what: "file", package: row.name, sort: null, dir: null }), title: "the files of this package" }, name(row.name));
  }

  private choose(of: string, what: What, chosen: string | null): void {
    const focused = this.choices.contains(document.activeElement) ? document.activeElement?.textContent : null;
    const make = (label: string, title: string, on: boolean, change: Record<string, string | null>): HTMLElement => {
      const made = button(label, title, () => go({ sort: null, dir: null, ...change }));
      made.setAttribute("aria-pressed", String(on));
      return made;
    };
    this.choices.replaceChildren(
      make("libraries", "where the sampled address lies", of === "library", { of: null, package: null }), make("executables", "what the process executes", of === "executable", { of: "executable", package: null }),
      h("span", { class: "dim" }, "by"), ...WHAT.map((one) => make(one, `put together by ${one}`, one === what, { what: one === "package" ? null : one, package: null })),
      ...(chosen !== null && what === "file" ? [make(`${plain(chosen, 60)} \u00d7`, "files of all packages", true, { package: null })] : []),
    );
    for (const one of this.choices.querySelectorAll("button")) if (one.textContent === focused) one.focus();
  }

  private sentences(usage: Usage, of: "library" | "executable"): Said[] {
    if (!usage.samples) return [{ text: "Nothing was observed in this time.", to: "software" }];
    const said: Said[] = [{ text: `${core(usage.core_seconds)} of cores were observed; ${part(this.used, usage.samples)} of that did something.`, to: "software" }];
    const packages = this.rows(usage, of, "package").sort((a, b) => b.samples - a.samples);
    const first = packages[0];
    if (!first || !this.used) return said;
    let most = 0;
    let these = 0;
    for (const one of packages) {
      if (most >= 0.8 * this.used) break;
      most += one.samples;
      these++;
    }
    said.push({ text: `\`${plain(first.name, 60)}\` has the most, ${part(first.samples, this.used)} of what is used; ${these} of ${packages.length} packages make ${percent(most / this.used)}.`, to: "software" });
    const own = this.rows(usage, of, "use").find((row) => row.name === "own builds");
    if (own) said.push({ text: `Own builds of users have ${part(own.samples, this.used)} of what is used, in ${count(own.files)} file${own.files === 1 ? "" : "s"}.`, to: "#/software?what=file&q=own+builds" });
    const unknown = packages.find((row) => row.name === "unclassified");
    if (unknown && unknown.samples > 0.05 * this.used) said.push({ text: `No rule names the package of ${part(unknown.samples, this.used)}.`, to: "software" });
    return said;
  }
}
