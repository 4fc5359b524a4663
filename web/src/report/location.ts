// Ranks and their threads: which of them have threads, how they are named, and how long they were there.

import type { RankClass, RankRow, Report } from "./types";

export function hasThreads(report: Report): boolean {
  return report.ranks.some((row) => row.threads);
}

/** `rank 2`, or `rank 2, thread 1` where the rank has several. */
export function location(rank: number, thread?: number): string {
  return thread === undefined ? `rank ${rank}` : `rank ${rank}, thread ${thread}`;
}

/** The thread that stands for a class, as a person reads it. */
export function representative(report: Report, cls: RankClass): string {
  const row = report.ranks.find((one) => one.rank === cls.representative);
  return location(cls.representative, row?.threads ? cls.thread : undefined);
}

/** Whether a rank, or one of its threads, is in a class. */
export function isIn(row: RankRow, cls: number): boolean {
  return row.threads ? row.threads.some((one) => one.class === cls) : row.class === cls;
}

/** Part of its threads' time from the end of MPI_Init to the begin of MPI_Finalize that is spent in MPI. */
export function mpiShare(row: RankRow): number {
  const whole = row.mpi + row.compute;
  return whole > 0 ? row.mpi / whole : 0;
}
