// The panels that tell a selection apart by everything that it is not chosen by already.

import type { Dimension, Usage } from "./answers";
import type { Questions } from "./api";
import { get, Refused, tried } from "./api";
import type { Kind } from "./breakdown";
import { Breakdown } from "./breakdown";
import { LATELY, lately } from "./route";

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

  /** Each panel is filled when its answer comes; what came is given back by the panel's name. */
  async load(question: Questions, signal: AbortSignal): Promise<Map<string, Usage | Refused>> {
    const out = new Map<string, Usage | Refused>();
    await Promise.all(this.all.map(async ({ kind, view }) => {
      const { question: own, cut } = kind.by.includes("function") ? lately(question) : { question, cut: false };
      const usage = await tried(get<Usage>("usage", { ...own, by: kind.by.join(","), limit: 200 }, signal));
      if (signal.aborted) return;
      view.set(usage, cut ? `its last ${LATELY / 3600} hours` : "");
      out.set(kind.id, usage);
    }));
    return out;
  }
}
