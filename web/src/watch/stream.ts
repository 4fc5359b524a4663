// The stream of looks: an EventSource that connects again until the run has ended.
//
// A browser connects again by itself after a lost connection, but not after an answer that is no
// stream; this does so after a while. The stream ends with the last look.

import type { RunHead, WatchData } from "./data";
import { isLast } from "./data";

export interface Handlers {
  head: (head: RunHead) => void;
  look: (data: WatchData) => void;
  open: () => void;
  lost: () => void;
  ended: () => void;
  /** A message that is no look. */
  refused: (why: string) => void;
}

/** Time until the next connection where the browser makes none; milliseconds. */
const AGAIN = 3000;

export function follow(address: string, handlers: Handlers): void {
  const source = new EventSource(address);
  let isLost = false;
  source.addEventListener("open", () => {
    isLost = false;
    handlers.open();
  });
  source.addEventListener("run", (event) => read(event, handlers.head));
  source.addEventListener("message", (event) => read(event, (data: WatchData) => {
    handlers.look(data);
    if (!isLast(data)) return;
    source.close();
    handlers.ended();
  }));
  source.addEventListener("error", () => {
    if (!isLost) handlers.lost();
    isLost = true;
    if (source.readyState === EventSource.CLOSED) setTimeout(() => follow(address, handlers), AGAIN);
  });
  const read = <Value>(event: MessageEvent<string>, use: (value: Value) => void): void => {
    let value: Value;
    try {
      value = JSON.parse(event.data) as Value;
    } catch (error) {
      return handlers.refused(String(error));
    }
    use(value);
  };
}
