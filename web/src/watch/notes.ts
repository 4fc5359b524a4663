// Sentences of the strip under the title about the stream: lost, ended, paused, without looks.

import type { Gap } from "../report/types";
import { count } from "../report/units";
import type { RunHead } from "./data";
import { clock, code, lasting, plural, word } from "./words";

/** Characters of a command. */
const LONGEST = 270;
/** Ranks that a gap names. */
const NAMED = 8;

export interface Note { kind: string; text: string; isCalm: boolean }

/** How the page gets its looks. */
export interface Stream {
  state: "connecting" | "open" | "lost" | "ended";
  /** When it was lost. */
  since: Date | null;
  /** When looks should have come and did not. */
  silent: Date | null;
  paused: { look: number; newer: number } | null;
  /** Number of the look that is shown. */
  look: number | null;
}

export function notes(stream: Stream, head: RunHead | null): Note[] {
  const out: Note[] = [];
  const values = stream.look === null ? "no look was received" : `values are of look ${count(stream.look)}`;
  if (stream.state === "lost") {
    const text = `to talea since ${clock(stream.since ?? new Date())}; ${values}`;
    out.push({ kind: "no connection", text, isCalm: false });
  } else if (stream.state === "ended") {
    const run = word(head?.path ?? head?.name ?? "RUN");
    const text = `${code(`talea show ${run} structure`, LONGEST)} shows its structure, ${code(`talea report ${run}`, LONGEST)} writes its report`;
    out.push({ kind: "the run has ended:", text, isCalm: true });
  } else if (stream.silent) {
    const every = head ? `; one is due every ${lasting(head.every_ns)}` : "";
    out.push({ kind: "no look", text: `since ${clock(stream.silent)}${every}; ${values}`, isCalm: false });
  } else if (stream.look === null) {
    out.push({ kind: "waiting", text: "for the first look", isCalm: true });
  }
  if (stream.paused && stream.state !== "ended") {
    const { look, newer } = stream.paused;
    const since = newer > 0 ? `; ${count(newer)} newer ${plural(newer, "look")}` : "";
    out.push({ kind: "paused", text: `at look ${count(look)}${since}`, isCalm: true });
  }
  return out;
}

/** Gaps of the same kind and text as one, with the ranks that have it. */
export function gathered(gaps: Gap[]): Gap[] {
  const out = new Map<string, { gap: Gap; ranks: number[] }>();
  for (const gap of gaps) {
    const key = `${gap.kind}|${gap.detail}|${gap.count}`;
    const one = out.get(key) ?? { gap, ranks: [] };
    if (gap.rank !== undefined) one.ranks.push(gap.rank);
    out.set(key, one);
  }
  return [...out.values()].map(({ gap, ranks }) => {
    const named = ranks.slice(0, NAMED).join(", ");
    const more = ranks.length > NAMED ? ` and ${count(ranks.length - NAMED)} more` : "";
    const who = ranks.length ? `${plural(ranks.length, "rank")} ${named}${more}: ` : "";
    return { ...gap, detail: `${who}${gap.detail}` };
  });
}

/** A gap's sentence with its count, unless the sentence has it (`Gap::sentence`). */
export function gapSentence({ detail, count: missing }: Gap): string {
  const numbers = detail.match(/[\d,]+/g)?.map((one) => one.replace(/,/g, "")) ?? [];
  return missing === 0 || numbers.includes(String(missing)) ? detail : `${detail} (${count(missing)})`;
}
