// Figures and names as the pages show them: shares with their intervals, core time, moments, paths, links.

import { h, name, plain } from "../report/dom";
import { count, percent } from "../report/units";
import type { Activity, Gap, Key, Share } from "./answers";
import { DIMENSIONS, proportion } from "./answers";
import type { Change } from "./route";
import { link, read, times } from "./route";

const grouped = (value: number): string => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");
const digits = (value: number): string => (value >= 99.95 ? grouped(value) : value.toFixed(value >= 9.995 ? 1 : 2));

/** Core seconds for people: hours as soon as there is one. */
export function core(seconds: number): string {
  if (seconds >= 3600) return `${digits(seconds / 3600)} h`;
  return seconds >= 60 ? `${digits(seconds / 60)} min` : `${digits(seconds)} s`;
}

export const exactCore = (seconds: number): string => `${seconds} core seconds`;

/** 41.2 % with the interval in figures. */
export const sure = (share: Share | null): string =>
  share ? `${percent(share.share)}, 95 % interval ${percent(share.low)} to ${percent(share.high)}` : "no samples";

/** A part in a sentence, rounded no finer than its interval is wide. */
export function part(hits: number, n: number): string {
  const share = proportion(hits, n);
  if (!share) return "nothing";
  const half = Math.max(share.high - share.share, share.share - share.low) * 100;
  // Near an end the interval leans to one side: what it leaves out of the other is more than there can be.
  if (share.share * 100 + half > 100.5 || share.share * 100 - half < -0.5) return `${(share.low * 100).toFixed(0)} to ${(share.high * 100).toFixed(0)} %`;
  return half < 0.05 ? percent(share.share) : `${(share.share * 100).toFixed(half >= 1 ? 0 : 1)} \u00b1 ${half.toFixed(half >= 1 ? 0 : 1)} %`;
}

/** A share and its ends with as many digits as tell the ends apart. */
export function fine(part: number, share: Share): string {
  const half = ((share.high - share.low) / 2) * 100;
  return `${(part * 100).toFixed(half > 0 ? Math.min(4, Math.max(1, Math.ceil(-Math.log10(half)))) : 1)} %`;
}

const two = (value: number): string => String(value).padStart(2, "0");
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
export const day = (date: Date): string => `${date.getDate()} ${MONTHS[date.getMonth()]}`;
export const clock = (date: Date): string => `${two(date.getHours())}:${two(date.getMinutes())}`;

/** A moment in the reader's time zone. */
export function moment(nanos: number): string {
  const date = new Date(nanos / 1e6);
  return `${day(date)} ${clock(date)}`;
}

export function span(begin: number, end: number): string {
  const [from, to] = [new Date(begin / 1e6), new Date(end / 1e6)];
  return from.toDateString() === to.toDateString() ? `${day(from)} ${clock(from)}\u2013${clock(to)}` : `${moment(begin)} \u2013 ${moment(end)}`;
}

export function lasting(nanos: number): string {
  const minutes = Math.round(nanos / 60e9);
  if (minutes < 1) return `${Math.round(nanos / 1e9)} s`;
  if (minutes < 120) return `${minutes} min`;
  return minutes < 2880 ? `${(minutes / 60).toFixed(1)} h` : `${(minutes / 1440).toFixed(1)} d`;
}

/** The file's name stands out, its folder follows; the whole is in the title. */
export function file(path: string): HTMLElement {
  const cut = path.lastIndexOf("/");
  const base = cut >= 0 && cut < path.length - 1 ? path.slice(cut + 1) : path;
  const folder = base === path ? "" : path.slice(0, cut);
  return h("span", { class: "file", title: plain(path, 2000) }, name(base, 120, "base"), folder && name(folder.length > 90 ? `\u2026${folder.slice(-89)}` : folder, 120, "folder"));
}

/** Text for no value of a dimension. */
export const NONE: Record<string, string> = {
  node: "no node", job: "outside jobs", user: "no user", executable: "no program: idle cores, kernel threads", library: "no file: idle cores, generated code",
  function: "no function", phase: "outside phases", core: "not kept so long", activity: "not known", package: "no package",
};

/** To the page of one job, one node, or whatever the name names, at the times that are shown. */
export function to(kind: string, value: Key): string {
  const route = read(location.hash);
  const carried: Change = times(route);
  if (kind === "job") return link("job", { id: value });
  if (kind === "node") return link("machine", { node: value, ...carried });
  return link("of", { [kind]: value, ...carried });
}

/** A value of a dimension, leading to what is known of it. */
export function value(kind: string, key: Key): HTMLElement {
  if (key === null) return h("span", { class: "dim" }, NONE[kind] ?? "none");
  const text = String(key);
  const isFile = kind === "executable" || kind === "library";
  const shown = isFile ? file(text) : name(kind === "user" ? `user ${text}` : text, 120);
  if (!isFile) shown.title = plain(text, 2000);
  const known = (DIMENSIONS as readonly string[]).includes(kind) && !["function", "core", "activity"].includes(kind);
  // An empty name would be left out of the question and ask for everything.
  return known && text !== "" ? h("a", { href: to(kind, key) }, shown) : shown;
}

/** A bar from 0 to `top` with the interval drawn as a whisker. */
export function whisker(share: Share | null, top: number, className = ""): HTMLElement {
  if (!share || !(top > 0)) return h("span", { class: "dim" }, "-");
  const place = (part: number): string => `${Math.min(100, (part / top) * 100).toFixed(2)}%`;
  const bar = h("i", { class: `amount ${className}` });
  bar.style.width = place(share.share);
  const line = h("i", { class: "interval" });
  line.style.left = place(share.low);
  line.style.width = place(share.high - share.low);
  return h("span", { class: "whisker", title: sure(share), role: "img", "aria-label": sure(share) }, bar, line);
}

/** Times of a text that says them in UTC, as all others on the page are. */
const dated = (text: string): string =>
  text.replace(/\b(\d{4}-\d\d-\d\dT[\d:.]{8,18}Z) to (\d{4}-\d\d-\d\dT[\d:.]{8,18}Z)/g, (_, from: string, to: string) => span(Date.parse(from) * 1e6, Date.parse(to) * 1e6));

/** Gaps, as a strip; counts of many intervals are those of all. */
export function gaps(all: Gap[]): HTMLElement {
  const seen = new Map<string, Gap>();
  for (const gap of all) seen.set(`${gap.kind}|${gap.detail}`, gap);
  if (!seen.size) return h("div", { class: "gaps none" }, "gaps: none");
  return h("ul", { class: "gaps", "aria-label": "what is missing" }, ...[...seen.values()].map((gap) =>
    h("li", {}, h("span", { class: "kind" }, plain(String(gap.kind), 30).replace(/-/g, " ")), " ", name(dated(gap.detail), 400), gap.count > 0 ? ` (${count(gap.count)})` : "")));
}

/** Why there are no figures: the gaps' own words, else the plain truth. */
export function absence(all: Gap[], otherwise: string): string {
  // That times are rounded takes nothing away.
  const said = all.filter((gap) => gap.kind !== "estimated").map((gap) => plain(gap.detail, 300));
  return said.length ? said.join("; ") : otherwise;
}

export const ACTIVITY_WORDS: Record<Activity, string> = { user: "user", kernel: "kernel", mpi: "in MPI", waiting: "waiting", idle: "idle" };
/** Text between the word of an activity and its share: time in MPI is a lower bound. */
export const bound = (activity: Activity): string => (activity === "mpi" ? "\u2265" : "");

export const ACTIVITY_TITLES: Record<Activity, string> = {
  user: "code of programs", kernel: "the kernel, for a program or for itself",
  mpi: "code of programs in libraries of MPI and networks; a lower bound, as the kernel and the C library below MPI count as kernel and user, and MPI linked into the executable counts as user", waiting: "nothing, on a core that a job has", idle: "nothing",
};
