// Elements without markup: every text from the data goes through `plain` into a text node or an attribute.
// Nothing in this program sets innerHTML.

export type Child = Node | string | null | undefined | false;
type Props = Record<string, string | number | boolean | ((event: any) => void) | undefined>;

/** Characters that readers do not see or that turn the direction of writing; the same as `talea_model::text`, and halves of pairs. */
const HIDDEN = /[\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\u2028\u2029\ufff9-\ufffb]/gu;

/** At most `longest` characters without hidden ones; what was cut or replaced can be seen. */
export function plain(text: string, longest = 160): string {
  const cut = text.length > longest ? text.slice(0, longest) + "\u2026" : text;
  return cut.replace(HIDDEN, "\ufffd");
}

/** The same of text that may have lines: nothing gets into a page around this. */
const visible = (text: string): string => text.replace(HIDDEN, (c) => (c === "\n" || c === "\t" ? c : "\ufffd"));

/** Attributes that people read. */
const READ = new Set(["title", "aria-label", "placeholder", "alt"]);

function fill(element: Element, props: Props, children: Child[]): void {
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined) element.setAttribute(name, READ.has(name) ? visible(String(value)) : String(value));
  }
  for (const child of children) if (child) element.append(typeof child === "string" ? visible(child) : child);
}

export function h<K extends keyof HTMLElementTagNameMap>(
  name: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  fill(element, props, children);
  return element;
}

export function s<K extends keyof SVGElementTagNameMap>(
  name: K,
  props: Props = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  fill(element, props, children);
  return element;
}

/** A name from the data, kept from turning the text around it. */
export function name(text: string, longest = 160, className = ""): HTMLElement {
  return h("bdi", className ? { class: className } : {}, plain(text, longest));
}

export function button(label: string, title: string, action: (event: Event) => void): HTMLButtonElement {
  return h("button", { type: "button", title, "aria-label": title, onclick: action }, label);
}

/** A square of the category's colour; text beside it says the same. */
export function swatch(category: string): HTMLElement {
  return h("i", { class: `swatch ${category}`, "aria-hidden": "true" });
}

const tip = h("div", { class: "bubble", role: "status" });

/** Lines beside the pointer or the focused mark; the first stands out. */
export function showTip(x: number, y: number, lines: (string | Node)[]): void {
  if (!tip.isConnected) document.body.append(tip);
  tip.replaceChildren(...lines.map((line) => h("div", {}, line)));
  tip.style.display = "block";
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, x + 14 + width > innerWidth ? x - width - 10 : x + 14)}px`;
  tip.style.top = `${Math.max(4, y + 16 + height > innerHeight ? y - height - 10 : y + 16)}px`;
}

export function hideTip(): void {
  tip.style.display = "none";
}

/** Without the outer parts of C++ names and a file said twice: `LAMMPS_NS::CommBrick::borders` is `CommBrick::borders`,
 * `halo.c:84 < halo.c:98` is `halo.c:84 < :98`. */
export function short(label: string): string {
  return plain(label, 300).replace(/(?<![\w:])(?:[A-Za-z_]\w*::)+(?=[A-Za-z_]\w*::[~A-Za-z_])/g, "")
    .replace(/(\S+)(:\d+) < \1(?=:\d+$)/, "$1$2 < ");
}
