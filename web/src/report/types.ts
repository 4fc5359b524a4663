// The data inside a report, as crates/show/report/src/data.rs documents them: its keys are these keys.
// Times are nanoseconds, amounts bytes.

import type { NetworkData } from "../network/data";

export type Category = "computation" | "waiting" | "transfer" | "collective" | "io" | "setup";

export interface Payload {
  version: number;
  report: Report;
  layouts: Layout[];
  /** Replacement of a class's graph where that is too large. */
  drawn: (Graph | null)[];
}

export interface Report {
  run: Run;
  gaps: Gap[];
  findings: Finding[];
  classes: RankClass[];
  sites: Site[];
  lines: SiteGroup[];
  routines: SiteGroup[];
  ranks: RankRow[];
  timelines: Timeline[];
  iterations: Series[];
  matrices: Matrix[];
  hosts: Host[];
  studies: Study[];
  network?: NetworkData;
}

export interface Study {
  kind: "inside" | "kinds" | "drift";
  loop_id?: number;
  title: string;
  note: string;
  findings: string[];
  pictures: { caption: string; svg: string }[];
  columns: { head: string; unit: string }[];
  rows: (number | string | null)[][];
  gaps: string[];
}

export interface Host {
  name: string;
  machine: string;
  pus: string;
  notes: string[];
  gaps: string[];
  ranks: PlaceRow[];
  picture?: string;
}

export interface PlaceRow {
  rank: number;
  pid: number;
  allowed: string;
  inside: string;
  last: string;
  threads: number;
  working: number;
}

export interface Run {
  command: string;
  hosts: string[];
  ranks: number;
  wall: number;
  started: string;
  mpi: string;
  talea: string;
  times_mode: string;
  times_bound: string;
  times_resolution: number;
  exit: string;
  ok: boolean;
}

export interface Gap {
  kind: string;
  rank?: number;
  detail: string;
  count: number;
}

export type Target =
  | { kind: "run" }
  | { kind: "loop"; id: number }
  | { kind: "iteration"; id: number; iteration: number }
  | { kind: "site"; id: number }
  | { kind: "rank"; rank: number }
  | { kind: "class"; id: number }
  | { kind: "matrix" }
  | { kind: "hosts" }
  | { kind: "network" };

export interface Finding {
  text: string;
  target: Target;
}

export interface RankClass {
  id: number;
  name: string;
  ranks: string;
  /** As `ranks`, with threads where a rank has several: 0-3.1-2. */
  locations: string;
  count: number;
  representative: number;
  thread: number;
  tree: TreeNode;
  graph: Graph;
}

export interface TreeNode {
  id: number;
  kind: "root" | "sequence" | "loop" | "call";
  loop_id: number | null;
  label: string;
  count: number | null;
  range: string;
  iterations: number | null;
  guard: string;
  time: number;
  share: number;
  mpi_share: number;
  events: number;
  site: number | null;
  children: TreeNode[];
}

export interface Site {
  id: number;
  procedure: string;
  category: Category;
  function: string;
  file: string;
  line: number;
  address: string;
  place: string;
  path: string[];
  count: number;
  time: number;
  share: number;
  bytes: number | null;
  min: number;
  median: number;
  max: number;
  imbalance: number;
  rank_min: number;
  rank_max: number;
  rank_times: number[];
  rank_counts: number[];
}

/** Call sites of one line, or of one routine. */
export interface SiteGroup {
  procedures: string[];
  category: Category;
  function: string;
  file: string;
  line: number;
  label: string;
  /** Their numbers, most time first. */
  sites: number[];
  paths: number;
  count: number;
  time: number;
  share: number;
  bytes: number | null;
  min: number;
  median: number;
  max: number;
  imbalance: number;
  rank_min: number;
  rank_max: number;
}

export interface RankRow {
  rank: number;
  host: string;
  class: number;
  wall: number;
  mpi: number;
  compute: number;
  bytes: number;
  events: number;
  end: string;
  ok: boolean;
  /** Where there are several. */
  threads?: ThreadRow[];
}

export interface ThreadRow {
  thread: number;
  class: number;
  begin: number;
  end: number;
  mpi: number;
  compute: number;
  events: number;
}

export interface Timeline {
  loop_id: number | null;
  iteration: number;
  why: string;
  begin: number;
  end: number;
  bounds: number[];
  rows: { rank: number; thread: number; class: number; begin: number; end: number }[];
  /** row, begin, duration, site, args */
  bars: [number, number, number, number, number][];
  args: string[];
  /** from row, sent, to row, received, bytes */
  messages: [number, number, number, number, number][];
}

export interface Series {
  loop_id: number;
  class: number | null;
  stride: number;
  begin: number[];
  min: number[];
  median: number[];
  max: number[];
  /** Duration of an iteration, one line. */
  takes: string;
  /** Mean of each point's durations. */
  mean: number[];
  ranks: { rank: number; thread?: number; durations: number[] }[];
  outliers: { iteration: number; rank: number; thread?: number; duration: number }[];
}

export interface Matrix {
  loop_id: number | null;
  site: number | null;
  ranks: number;
  block: number;
  what: string;
  /** from, to, bytes, messages */
  cells: [number, number, number, number][];
}

export interface Graph {
  nodes: GraphNode[];
  edges: GraphEdge[];
  loops: { id: number; parent: number | null; iterations: number; label: string }[];
}

export interface GraphNode {
  id: number;
  label: string;
  procedure: string;
  site: number | null;
  visits: number;
  time: number;
  loop_id: number | null;
  category: Category;
  calls: { label: string; site: number | null; time: number; category: Category }[];
}

export interface GraphEdge {
  from: number;
  to: number;
  transitions: number;
  gap: number;
  label: string;
  back: boolean;
}

/** Rectangles are x, y, width, height; edges x, y, x, y, ... */
export interface Layout {
  width: number;
  height: number;
  nodes: [number, number, number, number][];
  edges: number[][];
  loops: [number, number, number, number][];
  /** x, y, 1 where the text ends there */
  labels: ([number, number, number] | null)[];
}
