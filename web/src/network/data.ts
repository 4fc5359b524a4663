// A network as crates/show/report/src/network/data.rs documents it: its keys are these keys. Lists of numbers are by link; what is absent is null.

export type Numbers = (number | null)[];

export interface ViewData {
  name: string; source: string; unit: string;
  load: Numbers; used: Numbers; stalled: Numbers; deviation: Numbers;
  figures: [string, string][];
}

/** x, y, x, y, what is left free at both ends, width of the largest capacity, what it bends towards. */
export type MarkData = [number, number, number, number, number, number, number, [number, number] | null];

export interface SceneData {
  size: [number, number];
  /** x, y, half the width, how many routers, name. */
  nodes: [number, number, number, number, string][];
  node_of: number[];
  marks: MarkData[];
  mark_of: number[];
  /** x, y, anchor, whether it stands out, text. */
  labels: [number, number, "start" | "middle" | "end", boolean, string][];
  note: string;
}

export interface WaysData {
  name: string;
  kind: "dimensions" | "kept" | "many" | "none";
  ends?: number[];
  ways?: (number[] | null)[];
}

export interface NetworkData {
  title: string; facts: string[]; findings: string[]; gaps: string[];
  form: "torus" | "groups" | "levels";
  lengths: number[];
  parts: number[];
  routers: { names: string[]; at: number[][] };
  hosts: { names: string[]; routers: number[] };
  links: {
    counts: number[]; to: number[]; class: number[]; made: number[];
    classes: [string, number][]; dimensions: string[]; kinds: [string, number | null][];
  };
  views: ViewData[];
  degraded: [number, string][];
  scene?: SceneData;
  ways: WaysData;
  /** First view of the page. */
  opens?: { views: number[]; route: [number, number] | null; recommended: number | null };
}

/** Reads the data that stand in the page. */
export async function load(): Promise<NetworkData> {
  const body = document.getElementById("talea-data")?.textContent ?? "";
  const packed = Uint8Array.from(atob(body), (one) => one.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text()) as NetworkData;
}
