// Activity of ranks at a look: outside MPI, in calls of each kind, or ended.

import type { Category } from "../report/types";
import { category } from "./category";
import type { RankNow } from "./data";

export type Place = Category | "ended";

export const PLACES: [Place, string][] = [
  ["computation", "outside MPI"], ["waiting", "receive & wait"], ["transfer", "transfer"],
  ["collective", "collective"], ["io", "I/O"], ["setup", "set-up"], ["ended", "ended"],
];

export function placeOf({ state, inside }: RankNow): Place {
  if (state !== "running") return "ended";
  return inside ? category(inside.site) : "computation";
}

export function whereabouts(ranks: RankNow[]): Map<Place, number> {
  const counts = new Map<Place, number>(PLACES.map(([place]) => [place, 0]));
  for (const rank of ranks) {
    const place = placeOf(rank);
    counts.set(place, counts.get(place)! + 1);
  }
  return counts;
}
