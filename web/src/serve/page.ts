// Interface between a page and the frame around it.

import type { Gap, Me } from "./answers";
import type { Route } from "./route";

export interface Frame {
  me: Me;
  /** Title of the page, and what is missing from its figures. */
  title(parts: (Node | string)[], text: string): void;
  gaps(all: Gap[]): void;
}

export interface Page {
  readonly element: HTMLElement;
  /** Asks again and changes what is shown, without taking away what is there until the answer is. */
  update(route: Route, signal: AbortSignal): Promise<void>;
  /** Colours have changed. */
  redraw?(): void;
  /** True where the figures change while one looks. */
  live(route: Route): boolean;
}

export const isLive = (route: Route): boolean => !route.params.get("from");
