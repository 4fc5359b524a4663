// The structure tree: the spine that filters every view.

import type { Model } from "./model";
import type { Selection, State } from "./state";
import type { Category, RankClass, TreeNode } from "./types";
import { CATEGORIES } from "./colours";
import { h, name, plain, short, swatch } from "./dom";
import { atMost, count, exact, percent, time } from "./units";

/** More nodes than this start with short parts folded. */
const LARGE = 150;
/** Of more children than this only the longest half of as many are shown at first. */
const LONG = 60;

/** As `analysis::tree::guard_in_words`: `4-59 every 5` for `4,59,5,1`. */
function guardInWords(guard: string): string {
  const end = guard.indexOf(" of ");
  const [parts, of] = end < 0 ? [guard, ""] : [guard.slice(0, end), guard.slice(end)];
  return parts.split("|").map((part) => {
    const found = /^(\d+),(\d+),(\d+),(\d+)$/.exec(part);
    if (!found) return part;
    const [, first, last, stride, block] = found;
    if (stride === "0") return first === last ? first : `${first}-${last}`;
    return `${first}-${last} ${block === "1" ? "" : `${block} of `}every ${stride}`;
  }).join(", ") + of;
}

function subtree(root: TreeNode): TreeNode[] {
  const out: TreeNode[] = [];
  const stack = [root];
  for (let node = stack.pop(); node; node = stack.pop()) {
    out.push(node);
    stack.push(...node.children);
  }
  return out;
}

export class Tree {
  readonly element = h("div", { class: "tree", role: "tree", "aria-label": "structure" });
  /** Shows only what has the text in its name or place, and what is around it. */
  readonly find = h("input", { type: "search", placeholder: "find  (/)", "aria-label": "find in the structure", spellcheck: "false" });
  private readonly closed = new Set<number>();
  private readonly spread = new Set<number>();
  private readonly seen = new Set<number>();
  /** Shares of the run in calls of each category, for each part. */
  private readonly spent = new WeakMap<TreeNode, Map<Category, number>>();
  private cls: RankClass | undefined;
  private shown: number | null = null;

  constructor(private readonly model: Model, private readonly state: State) {
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.find.addEventListener("input", () => this.draw(this.state.selection));
    this.find.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.find.value) {
        this.find.value = "";
        this.draw(this.state.selection);
        event.stopPropagation();
      } else if (event.key === "ArrowDown" || event.key === "Enter") {
        (this.element.querySelector<HTMLElement>(".match") ?? this.element.querySelector<HTMLElement>("[data-node]"))?.focus();
        event.preventDefault();
      }
    });
  }

  update(selection: Selection): void {
    this.cls = this.model.cls(selection);
    if (this.cls && !this.seen.has(this.cls.id)) {
      this.seen.add(this.cls.id);
      this.foldShort(this.cls.tree);
    }
    // A choice elsewhere is not hidden by an earlier search.
    if (selection.node !== null && selection.node !== this.shown && !this.matches()?.all.has(selection.node)) this.find.value = "";
    this.draw(selection);
    if (selection.node !== this.shown) this.element.querySelector(".chosen")?.scrollIntoView({ block: "nearest" });
    this.shown = selection.node;
  }

  /** A tree too large to read starts with its short parts folded. */
  private foldShort(root: TreeNode): void {
    const all = subtree(root);
    if (all.length <= LARGE) return;
    for (const node of all) if (node.children.length && node.share < 0.02) this.closed.add(node.id);
  }

  /** Nodes that have the text, with all around them; undefined for no text. */
  private matches(): { own: Set<number>; all: Set<number> } | undefined {
    const text = this.find.value.trim().toLowerCase();
    if (!text || !this.cls) return undefined;
    const own = new Set<number>();
    const all = new Set<number>();
    for (const node of subtree(this.cls.tree)) {
      const site = this.model.site(node.site);
      const words = [node.label, site?.function, site?.file, site?.line && String(site.line)].join(" ");
      if (!words.slice(0, 2000).toLowerCase().includes(text)) continue;
      own.add(node.id);
      for (let at = this.model.places.get(node.id) ?? null; at; at = at.parent) all.add(at.node.id);
    }
    return { own, all };
  }

  /** The children to draw; of a long list those that take time, and the number of the others. */
  private parts(node: TreeNode, chosen: Set<number>): { shown: TreeNode[]; rest: number } {
    if (node.children.length <= LONG || this.spread.has(node.id)) return { shown: node.children, rest: 0 };
    const by = node.children.slice().sort((a, b) => b.time - a.time).slice(0, LONG / 2);
    const keep = new Set(by.map((one) => one.id));
    const shown = node.children.filter((one) => keep.has(one.id) || chosen.has(one.id));
    return { shown, rest: node.children.length - shown.length };
  }

  private draw(selection: Selection): void {
    const held = this.element.contains(document.activeElement);
    if (!this.cls) {
      this.element.replaceChildren(h("p", { class: "empty" }, "no structure was recorded"));
      return;
    }
    const chosen = selection.node !== null && this.model.places.get(selection.node)?.cls === this.cls ? selection.node : this.cls.tree.id;
    // The chosen node is never inside a folded one.
    const above = new Set([chosen]);
    for (let at = this.model.places.get(chosen)?.parent; at; at = at.parent) {
      this.closed.delete(at.node.id);
      above.add(at.node.id);
    }
    const found = this.matches();
    const rows: HTMLElement[] = [];
    const stack: ({ node: TreeNode; depth: number } | { rest: number; of: TreeNode; depth: number })[] = [{ node: this.cls.tree, depth: 0 }];
    for (let item = stack.pop(); item; item = stack.pop()) {
      if ("rest" in item) {
        rows.push(this.more(item.rest, item.of, item.depth));
        continue;
      }
      const { node, depth } = item;
      if (found && !found.all.has(node.id)) continue;
      const row = this.row(node, depth, node.id === chosen, selection.node !== null);
      if (found?.own.has(node.id)) row.classList.add("match");
      rows.push(row);
      if (found) for (const child of node.children.slice().reverse()) stack.push({ node: child, depth: depth + 1 });
      else if (!this.closed.has(node.id)) {
        const { shown, rest } = this.parts(node, above);
        if (rest) stack.push({ rest, of: node, depth: depth + 1 });
        for (const child of shown.slice().reverse()) stack.push({ node: child, depth: depth + 1 });
      }
    }
    if (!rows.length) rows.push(h("p", { class: "empty" }, "nothing has this text"));
    if (!rows.some((row) => row.tabIndex === 0) && rows[0]) rows[0].tabIndex = 0;
    this.element.replaceChildren(...rows);
    if (held) this.element.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
  }

  private more(rest: number, of: TreeNode, depth: number): HTMLElement {
    const row = h("button", { type: "button", class: "more", onclick: () => {
      this.spread.add(of.id);
      this.draw(this.state.selection);
    } }, `${count(rest)} shorter parts`);
    row.style.marginLeft = `${depth * 13 + 17}px`;
    return row;
  }

  private row(node: TreeNode, depth: number, chosen: boolean, filtered: boolean): HTMLElement {
    const open = !this.closed.has(node.id);
    const site = this.model.site(node.site);
    const bar = h("span", { class: "share", "aria-hidden": "true" }, ...this.mix(node).map(([category, share]) => {
      const part = h("i", { class: category });
      part.style.width = `${share * 100}%`;
      return part;
    }));
    const iterations = node.kind === "loop" ? `\u00d7${node.count === null ? plain(node.range, 20) : count(node.count)}` : "";
    const place = site?.place ?? "";
    const row = h(
      "div",
      {
        role: "treeitem",
        class: `row ${node.kind} ${chosen && filtered ? "chosen" : ""}`,
        tabindex: chosen ? 0 : -1,
        "aria-level": depth + 1,
        "aria-selected": chosen && filtered,
        "data-node": node.id,
        ...(node.children.length ? { "aria-expanded": open } : {}),
        title: `${plain(node.label, 300)}${place ? ` at ${plain(place, 200)}` : ""}${site?.function ? ` in ${plain(site.function, 200)}` : ""}\n${time(node.time)} (${percent(node.share)}), ${percent(node.mpi_share)} of it in MPI\n${count(node.events)} calls${node.guard ? `\nonly on iterations ${plain(guardInWords(node.guard), 200)}` : ""}`,
        onclick: (event: MouseEvent) => {
          if ((event.target as HTMLElement).classList.contains("twist")) this.fold(node.id);
          else this.state.choose({ node: node === this.cls?.tree ? null : node.id }, node !== this.cls?.tree);
        },
      },
      h("span", { class: "twist", "aria-hidden": "true" }, node.children.length ? (open ? "\u25be" : "\u25b8") : ""),
      site && swatch(site.category),
      // Where a line does not fit, the name is cut, never the number and time of its runs.
      h("span", { class: "label" }, node.kind === "loop" ? h("em", {}, "loop\u00a0") : null,
        node.label ? h("span", { class: "what" }, name(short(node.label), 120)) : node.guard ? null : h("em", {}, "sequence"),
        iterations && h("b", {}, `\u00a0${iterations}`), node.guard && h("small", { class: "guard" }, `${node.label ? "\u00a0" : ""}[${plain(guardInWords(node.guard), 40)}]`),
        site && node.label === site.procedure && h("small", {}, "\u00a0", name(site.function || place, 60))),
      h("span", { class: "figure", title: exact(node.time, "ns") }, atMost(node.time, node.events * this.model.report.run.times_resolution)),
      bar,
    );
    row.style.setProperty("--depth", String(depth));
    return row;
  }

  /** Shares of the run by what the time of a part is spent on, as calls are coloured; what no single call has is MPI alone. */
  private mix(node: TreeNode): [Category | "mpi", number][] {
    const mpi = node.share * node.mpi_share;
    const sums = this.categories(node);
    const known = [...sums.values()].reduce((a, b) => a + b, 0);
    const scale = known > mpi && known > 0 ? mpi / known : 1;
    const parts: [Category | "mpi", number][] = CATEGORIES.flatMap((one) => (sums.has(one) ? [[one, sums.get(one)! * scale] as [Category, number]] : []));
    return [...parts, ["mpi", Math.max(0, mpi - known)], ["computation", node.share - mpi]].filter(([, share]) => share as number > 0) as [Category | "mpi", number][];
  }

  private categories(node: TreeNode): Map<Category, number> {
    const found = this.spent.get(node);
    if (found) return found;
    const sums = new Map<Category, number>();
    const site = this.model.site(node.site);
    if (site) sums.set(site.category, node.share * node.mpi_share);
    for (const child of node.children) {
      // MPI_Init and MPI_Finalize are no part of the time around them.
      if (this.model.site(child.site)?.share === 0) continue;
      for (const [one, share] of this.categories(child)) sums.set(one, (sums.get(one) ?? 0) + share);
    }
    this.spent.set(node, sums);
    return sums;
  }

  private fold(id: number): void {
    if (!this.closed.delete(id)) this.closed.add(id);
    this.draw(this.state.selection);
  }

  private key(event: KeyboardEvent): void {
    const row = (event.target as HTMLElement).closest<HTMLElement>("[data-node]");
    if (!row) return;
    const id = Number(row.dataset["node"]);
    const place = this.model.places.get(id);
    const rows = [...this.element.querySelectorAll<HTMLElement>("[data-node]")];
    const go = (to: HTMLElement | undefined | null): void => {
      if (!to) return;
      for (const one of rows) one.tabIndex = -1;
      to.tabIndex = 0;
      to.focus();
    };
    const at = rows.indexOf(row);
    const open = place?.node.children.length && !this.closed.has(id);
    const again = (): void => {
      this.fold(id);
      go(this.element.querySelector<HTMLElement>(`[data-node="${id}"]`));
    };
    switch (event.key) {
      case "ArrowDown": go(rows[at + 1]); break;
      case "ArrowUp": go(rows[at - 1]); break;
      case "Home": go(rows[0]); break;
      case "End": go(rows[rows.length - 1]); break;
      case "ArrowRight": if (open) go(rows[at + 1]); else if (place?.node.children.length) again(); break;
      case "ArrowLeft": if (open) again(); else go(rows.find((one) => one.dataset["node"] === String(place?.parent?.node.id))); break;
      case "Enter": case " ": row.click(); break;
      default: return;
    }
    event.preventDefault();
  }
}
