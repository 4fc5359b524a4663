// Answers of the server, as docs/server.md has them, and the one thing that is computed here: the interval of a share.

export interface Gap { kind: string; detail: string; count: number }
export interface Me { name: string; uid: number | null; operator: boolean; version: string }

/** Dimensions by which rows of a query are grouped and filtered. */
export const DIMENSIONS = ["node", "job", "user", "executable", "library", "function", "phase", "core", "activity"] as const;
export type Dimension = (typeof DIMENSIONS)[number];
export type Key = string | number | null;

export type UsageRow = Partial<Record<Dimension, Key>> & { samples: number; core_seconds: number; share: number | null; low: number | null; high: number | null };
export interface Usage {
  begin_ns: number | null;
  end_ns: number | null;
  samples: number;
  core_seconds: number;
  matched_samples: number;
  matched_core_seconds: number;
  by: Dimension[];
  rows: UsageRow[];
  gaps: Gap[];
}

export interface Point { begin_ns: number; all_samples: number; samples: number; by_key: number[]; core_seconds: number[] }
export interface Series { by: Dimension[]; keys: Key[][]; step_ns: number; points: Point[]; gaps: Gap[] }

export interface NodeSeen { name: string; first_ns: number; last_ns: number; cores: number; sampler: string; interval_ns: number | null }
/** Requests of a node that the server refused since it was started, for operators. */
export interface NodeRefused { node: string; requests: number; last_ns: number; why: string }
export interface JobSeen { job: string; user: number | null; first_ns: number; last_ns: number; nodes: number; samples: number; core_seconds: number }
export interface Spread { counter: string; unit: string; cores: number; quantiles: number[] }
export interface Finding {
  rule: string;
  job: string | null;
  user: number | null;
  node: string | null;
  begin_ns: number;
  end_ns: number;
  severity: string;
  title: string;
  hint: string;
  values: unknown;
}
export type Job = JobSeen & { spreads?: Spread[]; findings?: Finding[]; gaps?: Gap[] };
export type RateRow = Partial<Record<Dimension, Key>> & { counter: string; unit: string; rate: number | null; seconds: number; samples: number; count: number };
/** `groups`: number of groups, with those beyond the limit. */
export interface Rates { groups: number; rows: RateRow[]; gaps: Gap[] }
export interface Hit { kind: string; name: string }

export interface Share { share: number; low: number; high: number }

const Z = 1.959963984540054;

/** `hits` of `n` with its 95 % interval after Wilson, as `talea_store::Proportion`; null for no samples. */
export function proportion(hits: number, n: number): Share | null {
  if (!(n > 0)) return null;
  const p = Math.min(1, hits / n);
  const middle = (p + (Z * Z) / (2 * n)) / (1 + (Z * Z) / n);
  const half = (Z / (1 + (Z * Z) / n)) * Math.sqrt((p * (1 - p)) / n + (Z * Z) / (4 * n * n));
  return { share: p, low: Math.min(p, Math.max(0, middle - half)), high: Math.max(p, Math.min(1, middle + half)) };
}

export type Activity = "user" | "kernel" | "mpi" | "waiting" | "idle";
/** In the order in which they are shown. */
export const ACTIVITIES: Activity[] = ["user", "kernel", "mpi", "waiting", "idle"];
/** Something runs, and something that is not MPI. */
export const BUSY: Activity[] = ["user", "kernel", "mpi"];
export const COMPUTING: Activity[] = ["user", "kernel"];
