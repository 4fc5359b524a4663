// Questions to the server. Every answer is for the one who is logged in; without one, the page to log in comes.

import type { Asked } from "./route";

export class Refused extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

export type Questions = Record<string, string | number | null | undefined>;

let stranger: () => void = () => undefined;

/** Called when nobody is logged in, or no longer. */
export function onStranger(action: () => void): void {
  stranger = action;
}

async function answer(path: string, options: RequestInit): Promise<unknown> {
  const response = await fetch(`api/v1/${path}`, { credentials: "same-origin", cache: "no-store", ...options }).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Refused(0, "the server does not answer");
  });
  const text = await response.text();
  let value: unknown;
  try {
    value = text ? JSON.parse(text) : {};
  } catch {
    throw new Refused(response.status, `the server's answer to ${path.split("?")[0]} is no JSON (${response.status})`);
  }
  if (response.ok) return value;
  if (response.status === 401 && path !== "login") stranger();
  const why = (value as { error?: unknown } | null)?.error;
  throw new Refused(response.status, typeof why === "string" ? why : `the server answered ${response.status}`);
}

export async function get<T>(path: string, questions: Questions, signal?: AbortSignal): Promise<T> {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(questions)) if (value !== null && value !== undefined) params.set(key, String(value));
  const text = params.toString();
  return (await answer(text ? `${path}?${text}` : path, signal ? { signal } : {})) as T;
}

export async function post<T>(path: string, body: unknown): Promise<T> {
  return (await answer(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) })) as T;
}

/**
 * An answer or why there is none: one panel without its figures does not take the others away. A server that is away
 * or has no room is no answer to anything: then the page keeps what it has.
 */
export async function tried<T>(asking: Promise<T>): Promise<T | Refused> {
  try {
    return await asking;
  } catch (error) {
    if (error instanceof Refused && ![0, 401, 502, 503, 504].includes(error.status)) return error;
    throw error;
  }
}

export type Times = Asked;
