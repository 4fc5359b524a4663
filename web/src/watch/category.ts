// The kind of time in an MPI procedure, by its name, as `talea_analysis::procedures::category`.

import type { Category } from "../report/types";

const WAITING = new RegExp(`^(?:${[
  "(?:Wait|Test)(?:all|any|some)?", "Recv|Mrecv|Probe|Iprobe|Mprobe|Improbe|Parrived",
  "Win_(?:wait|test|start|complete)", "Win_(?:flush|lock|unlock)(?:_all|_local|_local_all)?",
  "Buffer_(?:detach|flush)", "Request_get_status.*",
].join("|")})$`);

const COLLECTIVE = new RegExp(`^(?:Win_fence|I?(?:${[
  "barrier|bcast|exscan|scan|reduce|allreduce|reduce_scatter|reduce_scatter_block",
  "(?:neighbor_)?allgatherv?|gatherv?|scatterv?|(?:neighbor_)?alltoall[vw]?",
].join("|")}))$`, "i");

const TRANSFER = new RegExp(`^(?:${[
  "I?[bsr]?send", "I?sendrecv(?:_replace)?", "Irecv|Imrecv", "Start|Startall",
  "R?(?:put|get|accumulate|get_accumulate)", "Fetch_and_op|Compare_and_swap",
  "Pready(?:_list|_range)?", "Win_post|Cancel",
].join("|")})$`, "i");

/** The procedure of a call site: `MPI_Waitall` of `MPI_Waitall halo.c:120`. */
export const procedure = (site: string): string => site.split(" ", 1)[0] ?? "";

/** Calls that begin and end MPI: shares of ranks exclude them. */
export const isBracket = (site: string): boolean =>
  /^MPI_(?:Init|Init_thread|Finalize|Session_init|Session_finalize)$/.test(procedure(site));

export function category(site: string): Category {
  const base = procedure(site).replace(/^MPI_/, "").replace(/_c$/, "");
  if (base.startsWith("File_")) return "io";
  if (base.endsWith("_init")) return "setup";
  if (WAITING.test(base)) return "waiting";
  if (COLLECTIVE.test(base)) return "collective";
  return TRANSFER.test(base) ? "transfer" : "setup";
}
