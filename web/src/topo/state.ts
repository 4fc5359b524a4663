// State of the page, kept in the address: `#t=4.2&monitor=busy&with=L3+misses&scale=log&range=robust&show=difference`.

export type Show = "first" | "second" | "difference";

export interface View {
  /** Seconds since the recording began. */
  t: number;
  /** The monitor of the time axis and the table. */
  monitor: number;
  /** All monitors that colour objects. */
  shown: number[];
  scale: "linear" | "log" | null;
  range: "auto" | "robust" | "fixed" | null;
  show: Show;
  /** Means over the whole recording instead of a time. */
  mean: boolean;
  object: number | null;
  /** Shared marks that are open, by their first device. */
  open: number[];
}

export class State {
  view: View;
  private readonly listeners: ((view: View) => void)[] = [];
  private timer = 0;

  constructor(private readonly names: string[], private readonly second: boolean, private readonly objects: number, private readonly first: number[]) {
    this.view = this.read();
    addEventListener("hashchange", () => {
      this.view = this.read();
      this.tell();
    });
  }

  listen(listener: (view: View) => void): void {
    this.listeners.push(listener);
  }

  set(change: Partial<View>): void {
    this.view = { ...this.view, ...change };
    this.tell();
    // While time plays, the address would change too often for the browser's history.
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => history.replaceState(null, "", `#${this.write()}`), 150);
  }

  tell(): void {
    for (const listener of this.listeners) listener(this.view);
  }

  private write(): string {
    const { t, monitor, shown, scale, range, show, mean, object, open } = this.view;
    const words = new URLSearchParams({ t: t.toFixed(3) });
    if (this.names[monitor] !== undefined) words.set("monitor", this.names[monitor]!);
    for (const one of shown) if (one !== monitor) words.append("with", this.names[one] ?? "");
    if (scale) words.set("scale", scale);
    if (range) words.set("range", range);
    if (show !== "first") words.set("show", show);
    if (mean) words.set("mean", "1");
    if (object !== null) words.set("object", String(object));
    for (const one of open) words.append("open", String(one));
    return words.toString();
  }

  private read(): View {
    const words = new URLSearchParams(location.hash.slice(1));
    const one = <T extends string>(key: string, all: readonly T[]): T | null => all.find((word) => word === words.get(key)) ?? null;
    const named = this.names.indexOf(words.get("monitor") ?? "");
    const monitor = named >= 0 ? named : (this.first[0] ?? 0);
    const others = words.getAll("with").map((name) => this.names.indexOf(name)).filter((at) => at >= 0);
    const plain = named < 0 && !others.length ? this.first : others;
    // Before anyone has chosen a time, all of it is shown.
    const t = Number(words.get("t"));
    const mean = words.get("mean") === "1" || !words.has("t");
    const known = (id: number): boolean => Number.isInteger(id) && id >= 0 && id < this.objects;
    const object = Number(words.get("object") ?? NaN);
    const open = words.getAll("open").map(Number).filter(known);
    return {
      t: Number.isFinite(t) && t >= 0 ? t : 0,
      monitor,
      shown: [...new Set([monitor, ...plain])].filter((at) => at < this.names.length),
      scale: one("scale", ["linear", "log"]),
      range: one("range", ["auto", "robust", "fixed"]),
      show: this.second ? (one("show", ["first", "second", "difference"]) ?? "first") : "first",
      mean,
      object: known(object) ? object : null,
      open: [...new Set(open)],
    };
  }
}
