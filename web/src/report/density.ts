// Messages of a timeline where they are too many for lines: how many each row sends and receives, column by column.

import type { Lane } from "./lanes";
import type { Timeline } from "./types";

export type Message = Timeline["messages"][number];

/** More lines than this cannot be distinguished. */
export const LINES = 200;
/** Pixels of one column. */
export const COLUMN = 5;

export interface Density {
  /** By lane: messages of each column. */
  counts: (Float32Array | undefined)[];
  /** Bytes likewise. */
  bytes: (Float64Array | undefined)[];
  /** The most messages of any column. */
  most: number;
  /** Time of a column. */
  step: number;
}

/** Messages that are under way in a part of the timeline, between rows that are drawn. */
export function visible(data: Timeline, lanes: Lane[], from: number, to: number): Message[] {
  const drawn = new Set(lanes.filter((lane) => lane.rows.length === 1).map((lane) => lane.rows[0]!));
  return data.messages.filter((one) => one[3] >= from && one[1] <= to && drawn.has(one[0]) && drawn.has(one[2]));
}

/** A message counts at its sender where it is sent, and at its receiver where it has arrived. */
export function density(messages: Message[], lanes: Lane[], from: number, to: number, columns: number): Density {
  const places = new Map<number, number>();
  for (const [at, lane] of lanes.entries()) if (lane.rows.length === 1) places.set(lane.rows[0]!, at);
  const counts = lanes.map((lane) => (lane.rows.length === 1 ? new Float32Array(columns) : undefined));
  const bytes = lanes.map((lane) => (lane.rows.length === 1 ? new Float64Array(columns) : undefined));
  let most = 0;
  const add = (row: number, time: number, size: number): void => {
    const place = places.get(row);
    const column = Math.floor(((time - from) / (to - from)) * columns);
    const list = place === undefined ? undefined : counts[place];
    if (!list || column < 0 || column >= columns) return;
    list[column]! += 1;
    bytes[place!]![column]! += size;
    most = Math.max(most, list[column]!);
  };
  for (const [sender, sent, receiver, received, size] of messages) {
    add(sender, sent, size);
    add(receiver, received, size);
  }
  return { counts, bytes, most, step: (to - from) / columns };
}
