// Where the reader is: page, filters and times, all in the address, so that a link shows the same and Back goes back.
//
// `#/job?id=4711&last=1h`: everything is a parameter, so that no name from the data can be taken for a path.

export interface Route { page: string; params: URLSearchParams }

export const LASTS: [string, string][] = [
  ["15m", "last 15 min"], ["1h", "last hour"], ["6h", "last 6 hours"], ["24h", "last 24 hours"], ["7d", "last 7 days"], ["30d", "last 30 days"],
];
const USUAL = "1h";
const TIMES = ["last", "from", "to"];

export function read(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { page: path || "machine", params: new URLSearchParams(query) };
}

export type Change = Record<string, string | number | null | undefined>;

/** Absent and empty values leave their parameter out. */
export function link(page: string, change: Change): string {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(change)) if (value !== null && value !== undefined && value !== "") params.set(key, String(value));
  const text = params.toString();
  return `#/${page}${text ? `?${text}` : ""}`;
}

/** The times of a route, to be carried along to other pages. */
export function times(route: Route): Change {
  return Object.fromEntries(TIMES.map((key) => [key, route.params.get(key)]));
}

/** The same page with some parameters changed. */
export function changed(route: Route, change: Change): string {
  return link(route.page, { ...Object.fromEntries(route.params), ...change });
}

/** Changes parameters of the page that is shown, as one step of the history. */
export function go(change: Change): void {
  location.hash = changed(read(location.hash), change);
}

/** The same without a step of its own: what is typed or sorted need not be undone key by key. */
export function drift(change: Change): void {
  history.replaceState(null, "", changed(read(location.hash), change));
}

export type Asked = { last: string } | { from: string; to: string };

/** Times of the queries of a route. */
export function asked(route: Route): Asked {
  const [last, from, to] = TIMES.map((key) => route.params.get(key));
  if (from && to && instant(from) !== null && instant(to) !== null) return { from, to };
  return { last: last && seconds(last) !== null ? last : USUAL };
}

/** Mistake in the times of an address; null where they can be read, or are not there. */
export function wrongTimes(route: Route): string | null {
  const [last, from, to] = TIMES.map((key) => route.params.get(key) || null) as [string | null, string | null, string | null];
  if (last !== null && seconds(last) === null) return `last=${last} is no time: expected such as 15m, 1h or 7d`;
  for (const [key, text] of [["from", from], ["to", to]] as const) {
    if (text !== null && instant(text) === null) return `${key}=${text} is no time: expected such as 2026-05-04T10:00:00Z, or seconds since 1970`;
  }
  if ((from === null) !== (to === null)) return `${from === null ? "to" : "from"} stands alone: expected both from and to`;
  if (from !== null && to !== null && instant(from)! >= instant(to)!) return `from=${from} is not before to=${to}`;
  return null;
}

/** Times of the query of findings: without chosen times the current ones, however long back the page looks. */
export function ruledTimes(route: Route): { from: string; to: string } | Record<string, never> {
  const times = asked(route);
  return "from" in times ? times : {};
}

/** True for names that a filter asks for, where `*` stands for any characters and `?` for one. */
export function like(pattern: string, name: string): boolean {
  let [at, star, from] = [0, -1, 0];
  let here = 0;
  while (here < name.length) {
    if (pattern[at] === "*") [star, from] = [at++, here];
    else if (at < pattern.length && (pattern[at] === "?" || pattern[at] === name[here])) { at++; here++; }
    else if (star >= 0) { at = star + 1; here = ++from; }
    else return false;
  }
  while (pattern[at] === "*") at++;
  return at === pattern.length;
}

/** Seconds of `15m`, `1h`, `7d`. */
export function seconds(text: string): number | null {
  const found = /^(\d{1,6})(s|m|h|d)$/.exec(text);
  return found ? Number(found[1]) * { s: 1, m: 60, h: 3600, d: 86_400 }[found[2] as "s" | "m" | "h" | "d"] : null;
}

/** Seconds since 1970 of a time in an address. */
export function instant(text: string): number | null {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : at / 1000;
}

/** How long the asked time is, in seconds. */
export function length(times: Asked): number {
  return "last" in times ? seconds(times.last) ?? 3600 : Math.max(1, (instant(times.to) ?? 0) - (instant(times.from) ?? 0));
}

/**
 * A question about so many nodes with its times cut to the last part of them, and how that part is called; empty if nothing was cut. Addresses and single
 * cores are kept in the finest slices, of which a long time has millions: six hours of one node are asked for, less of many, as many have more samples.
 */
export function lately<T extends Record<string, unknown>>(question: T, nodes: number): { question: T; times: string } {
  const span = Math.max(600, Math.min(6 * 3600, Math.floor((6 * 3600) / Math.max(1, nodes) / 600) * 600));
  const times = `its last ${span % 3600 ? `${span / 60} min` : `${span / 3600} h`}`;
  const { last, from, to } = question as { last?: string; from?: string; to?: string };
  if (last !== undefined) return (seconds(last) ?? 0) > span ? { question: { ...question, last: `${span}s` }, times } : { question, times: "" };
  const [begin, end] = [instant(String(from)), instant(String(to))];
  if (begin === null || end === null || end - begin <= span) return { question, times: "" };
  return { question: { ...question, from: (end - span).toFixed(6) }, times };
}

const STEPS = [10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400];

/** Seconds of a step that makes at most `most` of the time. */
export function step(times: Asked, most: number): number {
  const span = length(times);
  return STEPS.find((one) => span / one <= most) ?? 86_400;
}
