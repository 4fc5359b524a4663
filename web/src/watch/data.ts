// One look at a running program, as `talea watch` sends it.
//
// The keys are those of `talea_results::watch`: those that end in `_ns` are nanoseconds, shares
// are of 1. Texts in it come from the program and its machine: they reach the page as text only.

import type { Gap } from "../report/types";

/** What is watched: the first event of the stream. */
export interface RunHead {
  name: string;
  command: string;
  /** Time between two looks. */
  every_ns: number;
  /** The run as a command of the reader's shell names it; the name where absent. */
  path?: string;
}

/** The state of a run at one look. */
export interface WatchData {
  look: number;
  running: boolean;
  time_ns: number;
  interval_ns: number;
  took_ns: number;
  events: number;
  new_events: number;
  left_events: number;
  nodes: number;
  edges: number;
  change: number | null;
  steady_since_ns: number | null;
  mpi_share: number;
  recent_mpi_share: number;
  main_loop: LoopNow | null;
  clusters?: ClustersNow | null;
  sites: SiteNow[];
  ranks: RankNow[];
  gaps: Gap[];
}

/** The main loop; durations and iterations are those of `rank`. */
export interface LoopNow {
  place: string;
  counted_by: string;
  rank: number;
  iterations: number;
  min_iterations: number;
  max_iterations: number;
  share: number;
  mean_ns: number;
  variation: number;
  history: IterationGroup[];
}

/** Neighbouring iterations. */
export interface IterationGroup {
  begin_ns: number;
  count: number;
  mean_ns: number;
  min_ns: number;
  max_ns: number;
}

/** Clusters of computation between two calls of a thread (bursts). */
export interface ClustersNow {
  bursts: number;
  time_ns: number;
  by_calls: boolean;
  short_share: number;
  noise_share: number;
  others_share: number;
  stable_since_ns: number | null;
  lowered: number;
  clusters: ClusterNow[];
}

export interface ClusterNow {
  id: number;
  share: number;
  recent_share: number;
  bursts: number;
  mean_ns: number;
  min_ns: number;
  max_ns: number;
  threads: number;
  after: string;
  before: string;
}

export interface SiteNow {
  site: string;
  calls: number;
  time_ns: number;
  share: number;
  recent_share: number;
}

export interface RankNow {
  rank: number | null;
  world: number;
  host: string;
  state: RankState;
  events: number;
  iterations: number | null;
  mpi_share: number;
  recent_mpi_share: number;
  inside: { site: string; since_ns: number } | null;
}

export type RankState = "running" | "finalized" | "aborted" | "exited" | "killed";

/** True of the last look of a run. A damaged record may have calls that are never read. */
export const isLast = (data: WatchData): boolean =>
  !data.running && (data.left_events === 0 || data.new_events === 0);

/** The rank's number, after that of its world where it is not the first: `1:3`. */
export const rankNumber = ({ rank, world }: RankNow): string =>
  `${world > 0 ? `${world}:` : ""}${rank ?? "?"}`;
