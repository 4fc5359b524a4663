// Data of the page: a JSON part, and behind it the values as three planes of bytes (see topo_page.rs).

export interface ObjectData { label: string; kind: string; os: number | null; facts?: string[] }
export interface MonitorData {
  name: string; counter: string; unit: string; level: string; aggregate: string;
  log: boolean; min: number | null; max: number | null; objects: number[];
}
export interface HintData {
  kind: string; objects: number[]; figure: string; from: number; to: number; region: string | null; sentence: string;
}
/** Kind, first and last iteration, begin, end, longest iteration, 1 where it is slow. */
export type PhaseData = [number, number, number, number, number, number, number];
export interface RunData { summary: string; place: string; median: number; merged: number | null; phases: PhaseData[] }
export interface RecordingData {
  name: string; facts: string[]; gaps: string[]; phases: [number, string][]; run: RunData | null;
  at: number[]; span: number[]; phase: [number, number][];
  hints: HintData[]; threads: string[]; placement: { at: number; on: [number, number][] }[]; silent: number[];
}
interface Payload { version: number; objects: ObjectData[]; monitors: MonitorData[]; recordings: RecordingData[] }

/** Values of a monitor: those of an object stand one after the other by time. */
export interface Values { frames: number; all: Float32Array }

export class Recording {
  constructor(readonly data: RecordingData, readonly values: Values[]) {}

  get frames(): number {
    return this.data.at.length;
  }

  /** Where the recording begins and ends, in nanoseconds. */
  get begin(): number {
    return this.frames ? this.data.at[0]! - this.data.span[0]! : 0;
  }

  get end(): number {
    return this.frames ? this.data.at[this.frames - 1]! : 0;
  }

  value(monitor: number, object: number, frame: number): number {
    const { frames, all } = this.values[monitor]!;
    return frame >= 0 && frame < frames ? all[object * frames + frame]! : NaN;
  }

  /** The frame that a time lies in: the first that ends at it or after it. */
  frameAt(time: number): number {
    const { at } = this.data;
    let low = 0;
    let high = at.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (at[middle]! < time) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low);
  }

  /** The threads on PUs at a frame, by the PU's number. */
  threadsAt(frame: number): Map<number, string[]> {
    const out = new Map<number, string[]>();
    const { placement, threads, at } = this.data;
    const time = at[frame] ?? 0;
    let low = 0;
    let high = placement.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (placement[middle]!.at <= time) low = middle + 1;
      else high = middle;
    }
    for (const [pu, thread] of placement[low - 1]?.on ?? []) {
      const list = out.get(pu) ?? [];
      list.push(threads[thread] ?? "");
      out.set(pu, list);
    }
    return out;
  }

  phaseAt(frame: number): number {
    let phase = 0;
    for (const [first, number] of this.data.phase) if (first <= frame) phase = number;
    return phase;
  }

  phaseName(phase: number): string {
    return this.data.phases.find(([number]) => number === phase)?.[1] ?? `phase ${phase}`;
  }
}

export interface Data { objects: ObjectData[]; monitors: MonitorData[]; recordings: Recording[] }

export async function load(): Promise<Data> {
  const element = document.getElementById("talea-data");
  const packed = Uint8Array.from(atob(element?.textContent ?? ""), (one) => one.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const json = Number(element?.dataset["json"]);
  const { objects, monitors, recordings } = JSON.parse(new TextDecoder().decode(bytes.subarray(0, json))) as Payload;
  let from = json;
  const unpack = (frames: number, count: number): Values => {
    const length = frames * count;
    const bits = new Uint32Array(length);
    for (let at = 0; at < length; at++) {
      bits[at] = (bytes[from + at]! << 24) | (bytes[from + length + at]! << 16) | (bytes[from + 2 * length + at]! << 8);
    }
    from += 3 * length;
    return { frames, all: new Float32Array(bits.buffer) };
  };
  return {
    objects,
    monitors,
    recordings: recordings.map((one) => new Recording(one, monitors.map((monitor) => unpack(one.at.length, monitor.objects.length)))),
  };
}
