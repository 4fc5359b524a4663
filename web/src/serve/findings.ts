// Findings of rules in jobs, the gravest first, with their advice.

import { h, name, plain } from "../report/dom";
import { sentence } from "../report/header";
import { Panel, saver } from "../report/panel";
import { csv } from "../report/csv";
import type { Finding, Gap } from "./answers";
import { get, Refused, tried } from "./api";
import type { Frame, Page } from "./page";
import { isLive } from "./page";
import type { Route } from "./route";
import { drift, ruledTimes } from "./route";
import { span, value } from "./show";

const GRAVEST = ["critical", "error", "high", "warning", "medium", "low", "info", "hint"];
const place = (severity: string): number => { const at = GRAVEST.indexOf(severity); return at < 0 ? GRAVEST.length : at; };

/** Values of a finding as text, whatever form they have. */
function figures(values: unknown): string {
  if (!values || typeof values !== "object") return "";
  return Object.entries(values).slice(0, 12).map(([key, one]) => {
    const text = typeof one === "number" ? String(Number(one.toPrecision(4))) : typeof one === "string" ? one : JSON.stringify(one);
    return `${plain(key, 60)} ${plain(text ?? "", 80)}`;
  }).join(" \u00b7 ");
}

export class FindingsPage implements Page {
  readonly element = h("div", { class: "sheet" });
  private readonly panel = new Panel("rules", "findings of the rules");
  private readonly find = h("input", { type: "search", placeholder: "rule, job, user, node or words", "aria-label": "filter findings", maxlength: 200 });
  private readonly list = h("ol", { class: "ruled" });
  private all: Finding[] = [];
  private missing: Gap[] = [];
  private refused: string | null = null;
  private now = true;

  constructor(private readonly frame: Frame, route: Route) {
    this.find.value = route.params.get("q") ?? "";
    this.find.addEventListener("input", () => { drift({ q: this.find.value }); this.show(); });
    this.panel.tools.append(saver("findings", () => csv(
      ["severity", "rule", "job", "user", "node", "begin_ns", "end_ns", "title", "hint", "values"],
      this.shown().map((one) => [one.severity, one.rule, one.job, one.user, one.node, one.begin_ns, one.end_ns, one.title, one.hint, JSON.stringify(one.values ?? null)]))));
    this.panel.body.append(h("div", { class: "bar" }, this.find), this.list);
    this.element.append(this.panel.element);
  }

  live = isLive;

  async update(route: Route, signal: AbortSignal): Promise<void> {
    const answer = await tried(get<{ findings: Finding[]; gaps?: Gap[] }>("findings", { ...ruledTimes(route) }, signal));
    if (signal.aborted) return;
    this.now = !("from" in ruledTimes(route));
    this.frame.title([this.now ? "findings now" : "findings"], "findings");
    this.missing = answer instanceof Refused ? [{ kind: "missing", detail: answer.message, count: 0 }] : answer.gaps ?? [];
    this.refused = answer instanceof Refused ? answer.message : null;
    this.all = answer instanceof Refused ? [] : answer.findings;
    if (document.activeElement !== this.find) this.find.value = route.params.get("q") ?? "";
    this.frame.gaps(this.missing);
    this.show();
  }

  private shown(): Finding[] {
    const looked = this.find.value.toLowerCase();
    return this.all.filter((one) => !looked || [one.rule, one.job, one.user, one.node, one.title, one.hint, one.severity].some((text) => String(text ?? "").toLowerCase().includes(looked)))
      .sort((a, b) => place(a.severity) - place(b.severity) || b.end_ns - a.end_ns);
  }

  /** That rules found nothing stands beside what they could not know; only an answer that did not come says nothing of either. */
  private nothing(): string {
    if (this.refused !== null) return plain(this.refused, 300);
    const unknown = this.missing.some((gap) => gap.kind !== "estimated");
    return `The rules ${this.now ? "find nothing now" : "found nothing in this time"}${unknown ? "; what they could not know is said above" : ""}.`;
  }

  private show(): void {
    const shown = this.shown();
    this.panel.note.textContent = `${shown.length} of ${this.all.length}`;
    if (!shown.length) {
      return this.list.replaceChildren(h("li", { class: "empty" }, this.all.length ? "No finding is like that." : this.nothing()));
    }
    this.list.replaceChildren(...shown.slice(0, 500).map((one) => h("li", { class: place(one.severity) <= 3 ? "grave" : "" },
      h("span", { class: "severity" }, plain(one.severity, 20)),
      h("div", {},
        h("div", { class: "finding" }, ...sentence(one.title)), h("div", { class: "hint" }, ...sentence(one.hint, false)),
        h("div", { class: "dim" }, one.job === null ? "" : "job ", one.job === null ? "" : value("job", one.job), one.user === null ? "" : " of ", one.user === null ? "" : value("user", one.user),
          one.node === null ? "" : " on ", one.node === null ? "" : value("node", one.node), ` \u00b7 ${span(one.begin_ns, one.end_ns)} \u00b7 rule `, name(one.rule, 60)),
        h("div", { class: "dim figures" }, figures(one.values))))));
  }
}
