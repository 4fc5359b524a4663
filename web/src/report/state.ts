// The selection: kept in the address, so that a link or a reload shows the same.

export interface Selection {
  /** A node of a structure tree. */
  node: number | null;
  /** A class of ranks. */
  cls: number | null;
  rank: number | null;
  iteration: number | null;
}

const KEYS = [["node", "node"], ["cls", "class"], ["rank", "rank"], ["iteration", "iteration"]] as const;
export const NOTHING: Selection = { node: null, cls: null, rank: null, iteration: null };

export class State {
  selection: Selection = { ...NOTHING };
  private readonly listeners: ((selection: Selection) => void)[] = [];

  /** `settle` drops what names nothing or contradicts what was chosen last. */
  constructor(private readonly settle: (next: Selection, change: Partial<Selection>, before: Selection) => Selection) {
    this.selection = this.read();
    addEventListener("hashchange", () => {
      this.selection = this.read();
      this.tell();
    });
  }

  listen(listener: (selection: Selection) => void): void {
    this.listeners.push(listener);
  }

  /** Changes some parts; the same choice twice takes it back where `toggle` says so. */
  choose(change: Partial<Selection>, toggle = false): void {
    const next = { ...this.selection, ...change };
    if (toggle) {
      for (const key of Object.keys(change) as (keyof Selection)[]) {
        if (this.selection[key] === change[key]) next[key] = null;
      }
    }
    this.selection = this.settle(next, change, this.selection);
    const text = KEYS.filter(([key]) => this.selection[key] !== null)
      .map(([key, word]) => `${word}=${this.selection[key]}`)
      .join("&");
    const address = text ? `#${text}` : location.pathname + location.search;
    if (text !== location.hash.slice(1)) history.pushState(null, "", address);
    this.tell();
  }

  tell(): void {
    for (const listener of this.listeners) listener(this.selection);
  }

  private read(): Selection {
    const words = new URLSearchParams(location.hash.slice(1));
    const out = { ...NOTHING };
    for (const [key, word] of KEYS) {
      const text = words.get(word);
      if (text !== null && /^\d{1,15}$/.test(text)) out[key] = Number(text);
    }
    return this.settle(out, out, out);
  }
}
