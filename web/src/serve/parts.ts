// The panels that tell a selection apart by everything that it is not chosen by already.

import type { Dimension, Key, Usage, UsageRow } from "./answers";
import type { Questions } from "./api";
import { get, Refused, tried } from "./api";
import type { Kind } from "./breakdown";
import { Breakdown } from "./breakdown";
import { lately } from "./route";

export const KINDS: Kind[] = [
  { id: "by-job", title: "by job", by: ["job", "user"], first: 10, none: false, empty: "No job had samples." },
  { id: "by-user", title: "by user", by: ["user"], first: 10, empty: "No user had samples." },
  { id: "by-executable", title: "by executable", by: ["executable"], first: 10, empty: "No program had samples." },
  { id: "by-library", title: "by library", by: ["library"], first: 12, empty: "No file had samples." },
  { id: "by-function", title: "by function", by: ["function", "library"], key: "library", first: 15, empty: "No function had samples; addresses are kept for some days only." },
  { id: "by-phase", title: "by phase", by: ["phase"], first: 12, none: true, empty: "No phase was marked: programs name their phases by Talea's markers or those of other tools." },
  { id: "by-node", title: "by node", by: ["node"], first: 10, empty: "No node had samples." },
];

export class Parts {
  readonly all: { kind: Kind; view: Breakdown }[];

  /** `chosen`: dimensions that the selection has one value of. */
  constructor(chosen: Dimension[]) {
    this.all = KINDS.filter((kind) => !chosen.includes(kind.by[0]!)).map((kind) => ({ kind, view: new Breakdown(kind) }));
  }

  get elements(): HTMLElement[] {
    return this.all.map(({ view }) => view.panel.element);
  }

  /** Each panel is filled when its answer comes; what came is given back by the panel's name. `nodes`: how many it is about, for which only functions wait. */
  async load(question: Questions, nodes: number | Promise<number>, signal: AbortSignal): Promise<Map<string, Usage | Refused>> {
    const out = new Map<string, Usage | Refused>();
    const set = ({ kind, view }: { kind: Kind; view: Breakdown }, usage: Usage | Refused, times = ""): void => {
      if (signal.aborted) return;
      view.set(usage, times);
      out.set(kind.id, usage);
    };
    const one = async (part: { kind: Kind; view: Breakdown }): Promise<void> => {
      const { question: own, times } = part.kind.by.includes("function") ? lately(question, await nodes) : { question, times: "" };
      set(part, await tried(get<Usage>("usage", { ...own, by: part.kind.by.join(","), limit: 200 }, signal)), times);
    };
    // Dimensions with few values are queried together: the store goes through the same rows for one as for all.
    const few = this.all.filter(({ kind }) => FEW.includes(kind.id));
    const together = async (): Promise<void> => {
      const by = few.map(({ kind }) => kind.by[0]!);
      const usage = few.length > 1 ? await tried(get<Usage>("usage", { ...question, by: by.join(","), limit: MOST }, signal)) : null;
      if (usage === null || usage instanceof Refused || usage.rows.length >= MOST) await Promise.all(few.map(one));
      else for (const part of few) set(part, sumBy(usage, part.kind.by[0]!));
    };
    await Promise.all([together(), ...this.all.filter((part) => !few.includes(part)).map(one)]);
    return out;
  }
}

const FEW = ["by-executable", "by-library", "by-phase"];
/** Rows of what is asked for together. */
const MOST = 20_000;

/** An answer of several dimensions, summed by one of them. */
function sumBy(usage: Usage, by: Dimension): Usage {
  const rows = new Map<Key, UsageRow>();
  for (const { [by]: value = null, samples, core_seconds } of usage.rows) {
    const row = rows.get(value) ?? { [by]: value, samples: 0, core_seconds: 0, share: null, low: null, high: null };
    row.samples += samples;
    row.core_seconds += core_seconds;
    rows.set(value, row);
  }
  return { ...usage, by: [by], rows: [...rows.values()].sort((a, b) => b.samples - a.samples) };
}
