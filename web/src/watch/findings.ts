// Findings of one look as sentences with values, each with the panel that has the evidence.
//
// Everything is computed from the look alone. Grave ones follow the first, those that come and go
// stand last, so that the others keep their places; back-ticks set off what is code.

import { count, percent } from "../report/units";
import { isBracket } from "./category";
import type { LoopNow, RankNow, RankState, WatchData } from "./data";
import { isLast, rankNumber } from "./data";
import { code, lasting, latest, plural } from "./words";

/** Id of the panel that a sentence leads to. */
export type Evidence = "iterations" | "looks" | "ranks" | "sites" | "clusters";

export interface Said {
  /** The same in every look: the kind of sentence. */
  key: string;
  text: string;
  to: Evidence;
  /** True where something may be wrong. */
  bad: boolean;
}

/** Time inside one call from which it is worth a sentence; nanoseconds. */
const LONG = 5e9;
/** Difference of shares in MPI from which a rank stands apart, if it has at most half as much. */
const APART = 0.1;
/** Ratio of durations from which iterations are slower or faster, and standard errors beyond it. */
const [RATIO, ERRORS] = [1.2, 3];
/** Ranks that a sentence names. */
const NAMED = 3;

export function findings(data: WatchData): Said[] {
  if (!data.ranks.length) {
    return [{ key: "loop", text: "No process has called `MPI_Init` yet.", to: "ranks", bad: false }];
  }
  const said = [
    loop(data), ...endings(data), stuck(data), behind(data),
    inMpi(data), site(data), computation(data), graph(data), spread(data), pace(data), apart(data),
  ];
  return said.filter((one) => one !== null);
}

function loop(data: WatchData): Said {
  const main = data.main_loop;
  const said = { key: "loop", to: "iterations", bad: false } as const;
  if (!main) return { ...said, text: `No main loop is known${data.running ? " yet" : ""}.` };
  const longest = main.history.reduce((most, one) => Math.max(most, one.max_ns), 0);
  const takes = longest > 0
    ? `; an iteration takes ${lasting(main.mean_ns)} on average, the longest took ${lasting(longest)}` : "";
  const text = `${percent(main.share)} of the time of rank ${main.rank} is one loop of ` +
    `${count(main.iterations)} ${plural(main.iterations, "iteration")} (${code(main.place)})${takes}.`;
  return { ...said, text };
}

/** Durations of the last iterations beside those before, where the difference is no chance. */
function pace(data: WatchData): Said | null {
  const main = data.main_loop;
  if (!data.running || !main) return null;
  const { tail, before } = lastIterations(main);
  if (tail.count < 4 || before.count < 12) return null;
  const error = (main.variation * main.mean_ns) / Math.sqrt(tail.count);
  const ratio = tail.mean / before.mean;
  if (Math.abs(tail.mean - before.mean) < ERRORS * error) return null;
  if (ratio < RATIO && ratio > 1 / RATIO) return null;
  const than = ratio > 1 ? `${percent(ratio - 1)} longer` : `${percent(1 - ratio)} shorter`;
  const text = `The last ${count(tail.count)} iterations took ${lasting(tail.mean)} on average, ` +
    `${than} than those before.`;
  return { key: "pace", text, to: "iterations", bad: ratio > 1 };
}

interface Mean { count: number; mean: number }

/** About the last sixteenth of the iterations, and the others. */
function lastIterations({ history }: LoopNow): { tail: Mean; before: Mean } {
  const total = history.reduce((sum, one) => sum + one.count, 0);
  let [at, tail] = [history.length, 0];
  while (at > 0 && tail < Math.max(4, total / 16)) tail += history[--at]!.count;
  const mean = (groups: LoopNow["history"]): Mean => {
    const count = groups.reduce((sum, one) => sum + one.count, 0);
    const sum = groups.reduce((all, one) => all + one.count * one.mean_ns, 0);
    return { count, mean: sum / Math.max(1, count) };
  };
  return { tail: mean(history.slice(at)), before: mean(history.slice(0, at)) };
}

function inMpi(data: WatchData): Said {
  const said = { key: "mpi", to: "looks", bad: false } as const;
  const whole = `${percent(data.mpi_share)} of the ranks' time`;
  if (isLast(data)) return { ...said, text: `${whole} was in MPI.` };
  const recent = `${percent(data.recent_mpi_share)} in ${latest(data.interval_ns)}`;
  return { ...said, text: `${whole} is in MPI, ${recent}.` };
}

/** The call site with the maximum time, but for those that begin and end MPI. */
function site(data: WatchData): Said | null {
  const sites = data.sites.filter((one) => !isBracket(one.site));
  // A call that lasted longer than the interval has more than its time.
  const isRecent = !isLast(data) && sites.some((one) => one.recent_share > 0)
    && sites.every((one) => one.recent_share <= 1);
  const share = (one: WatchData["sites"][number]): number => (isRecent ? one.recent_share : one.share);
  const first = sites.reduce((top, one) => (share(one) > share(top) ? one : top), sites[0]!);
  if (!first || share(first) < 0.01) return null;
  const when = isRecent ? ` in ${latest(data.interval_ns)}` : " since the start";
  const than = sites.length > 1 ? `, the highest of ${count(sites.length)} call sites${sites.length < data.sites.length ? " (without `MPI_Init` and `MPI_Finalize`)" : ""}` : "";
  const text = `${code(first.site)} took ${percent(share(first))} of all threads' time${when}${than}.`;
  return { key: "site", text, to: "sites", bad: false };
}

/** The cluster with the maximum time of the computation. */
function computation({ clusters }: WatchData): Said | null {
  const first = clusters?.clusters[0];
  if (!first || first.share < 0.1) return null;
  const text = `${percent(first.share)} of the computing time is one cluster: bursts of ${lasting(first.mean_ns)} ` +
    `on average, most time after ${code(first.after)}.`;
  return { key: "computation", text, to: "clusters", bad: false };
}

/** Few ranks that are in MPI for much less of the time than the others, which then wait. */
function apart(data: WatchData): Said | null {
  const ranks = data.ranks.filter((one) => one.state === "running");
  if (!data.running || ranks.length < 2) return null;
  const order = [...ranks].sort((a, b) => a.recent_mpi_share - b.recent_mpi_share);
  const [lowest, median] = [order[0]!, order[Math.floor(order.length / 2)]!].map((one) => one.recent_mpi_share) as [number, number];
  if (median - lowest < APART || lowest > median / 2) return null;
  const low = order.filter((one) => one.recent_mpi_share < (lowest + median) / 2);
  if (low.length > Math.max(1, ranks.length / 8)) return null;
  const highest = low.at(-1)!.recent_mpi_share;
  const share = low.length > 1 ? `at most ${percent(highest)}` : percent(highest);
  const text = `${capital(list(low))} ${low.length > 1 ? "were" : "was"} in MPI for ${share} of ` +
    `${latest(data.interval_ns)}, the median rank for ${percent(median)}: others may wait for ${low.length > 1 ? "them" : "it"}.`;
  return { key: "apart", text, to: "ranks", bad: true };
}

function spread(data: WatchData): Said | null {
  const main = data.main_loop;
  if (!main || main.min_iterations === main.max_iterations) return null;
  const text = `Ranks have begun ${count(main.min_iterations)} to ${count(main.max_iterations)} iterations.`;
  return { key: "spread", text, to: "ranks", bad: false };
}

/** Time inside one call from which a rank counts as stuck: iterations may be long, too. */
export const longCall = (data: WatchData): number => Math.max(LONG, 2 * (data.main_loop?.mean_ns ?? 0));

/** Ranks that have been inside one call for long. */
function stuck(data: WatchData): Said | null {
  const limit = longCall(data);
  const running = data.ranks.filter((one) => one.state === "running");
  const inside = running.filter((one) => (one.inside?.since_ns ?? 0) > limit);
  if (!data.running || !inside.length) return null;
  const longest = inside.reduce((top, one) => (one.inside!.since_ns > top.inside!.since_ns ? one : top));
  const { site, since_ns } = longest.inside!;
  const where = `in ${code(site)} for ${lasting(since_ns)}`;
  const said = { key: "stuck", to: "ranks", bad: true } as const;
  if (inside.length === 1) return { ...said, text: `${capital(list(inside))} has been ${where}.` };
  const others = running.filter((one) => !inside.includes(one));
  // The few that are elsewhere are those that the others may wait for.
  const who = !others.length ? `All ${count(inside.length)} ranks`
    : others.length <= Math.min(NAMED, inside.length / 2) ? `All ranks but ${list(others)}`
    : `${count(inside.length)} of ${count(running.length)} ranks`;
  return { ...said, text: `${who} have been in their current calls for more than ${lasting(limit)}; ${list([longest])} ${where}.` };
}

const ENDINGS: [RankState, string][] = [
  ["killed", "ended without `MPI_Finalize` (killed or crashed)"], ["aborted", "called `MPI_Abort`"],
  ["exited", "exited without `MPI_Finalize`"],
];

function endings(data: WatchData): Said[] {
  const said = ENDINGS.flatMap(([state, did]): Said[] => {
    const ranks = data.ranks.filter((one) => one.state === state);
    return ranks.length ? [{ key: state, text: `${capital(list(ranks))} ${did}.`, to: "ranks", bad: true }] : [];
  });
  const finalized = data.ranks.filter((one) => one.state === "finalized").length;
  if (data.running && finalized > 0) {
    const text = `${count(finalized)} of ${count(data.ranks.length)} ranks called \`MPI_Finalize\`.`;
    said.push({ key: "finalized", text, to: "ranks", bad: false });
  }
  return said;
}

function graph(data: WatchData): Said | null {
  const said = { key: "graph", to: "looks", bad: false } as const;
  const since = data.steady_since_ns;
  if (since !== null) {
    const text = `The graph ${data.running ? "is" : "was"} steady from ${lasting(since)} on: at most 1 % of the time is on new edges.`;
    return { ...said, text };
  }
  if (!data.running) return null;
  const why = data.change === null ? "no call ended since the previous look"
    : `${percent(data.change)} of the time since the previous look is on new edges`;
  return { ...said, text: `The graph is not known to be steady yet: ${why}.` };
}

function behind(data: WatchData): Said | null {
  if (data.left_events === 0) return null;
  const calls = `${count(data.left_events)} ${plural(data.left_events, "call")}`;
  const are = data.left_events === 1 ? "is" : "are";
  const text = isLast(data) ? `${calls} ${are} not read; no value includes them.`
    : `${calls} ${are} left for the next look: looks read more slowly than the program calls.`;
  return { key: "behind", text, to: "looks", bad: true };
}

/** `rank 3`, `ranks 3, 7 and 9`, `ranks 3, 7 and 12 more`. */
function list(ranks: RankNow[]): string {
  const numbers = ranks.map(rankNumber);
  if (numbers.length === 1) return `rank ${numbers[0]}`;
  const named = numbers.length > NAMED ? numbers.slice(0, NAMED - 1) : numbers.slice(0, -1);
  const last = numbers.length > NAMED ? `${count(numbers.length - named.length)} more` : numbers.at(-1);
  return `ranks ${named.join(", ")} and ${last}`;
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
