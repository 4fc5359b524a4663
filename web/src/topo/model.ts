// The figures behind the views: values at a time, means, spreads over time, scales. Each is computed once and kept.

import type { Data, MonitorData, Recording } from "./data";
import type { RangeKind, Scale } from "./scale";
import type { View } from "./state";
import { ends } from "./scale";

/** For every frame the least, mean and most of all objects, and most / mean. */
export interface Spread { min: Float32Array; mean: Float32Array; max: Float32Array; imbalance: Float32Array; highest: number; worst: number }

export class Model {
  private readonly means = new Map<string, Float32Array>();
  private readonly spreads = new Map<string, Spread>();
  private readonly ranges = new Map<string, [number, number]>();
  /** The longer recording's length in nanoseconds. */
  readonly length: number;

  constructor(readonly data: Data) {
    this.length = Math.max(0, ...data.recordings.map((one) => one.end - one.begin));
  }

  get first(): Recording {
    return this.data.recordings[0]!;
  }

  get second(): Recording | undefined {
    return this.data.recordings[1];
  }

  monitor(at: number): MonitorData | undefined {
    return this.data.monitors[at];
  }

  /** The recording that time axis, threads and findings are of. */
  recording(view: View): Recording {
    return view.show === "second" && this.second ? this.second : this.first;
  }

  frame(recording: Recording, view: View): number {
    return recording.frameAt(recording.begin + view.t * 1e9);
  }

  /** The value of an object's place in a monitor, as the view asks: at a time or as a mean, or the difference of two. */
  value(monitor: number, object: number, view: View): number {
    const of = (recording: Recording, which: number): number =>
      view.mean ? this.mean(which, monitor)[object]! : recording.value(monitor, object, this.past(recording, view) ? -1 : this.frame(recording, view));
    if (view.show === "difference" && this.second) return of(this.second, 1) - of(this.first, 0);
    return view.show === "second" && this.second ? of(this.second, 1) : of(this.first, 0);
  }

  /** A time after a recording's end has no values. */
  private past(recording: Recording, view: View): boolean {
    return recording.begin + view.t * 1e9 > recording.end + 1;
  }

  private mean(which: number, monitor: number): Float32Array {
    const key = `${which} ${monitor}`;
    const known = this.means.get(key);
    if (known) return known;
    const { frames, all } = this.data.recordings[which]!.values[monitor]!;
    const out = new Float32Array(this.data.monitors[monitor]!.objects.length).fill(NaN);
    for (let object = 0; object < out.length; object++) {
      let sum = 0;
      let count = 0;
      for (let at = object * frames; at < (object + 1) * frames; at++) {
        if (!Number.isNaN(all[at]!)) {
          sum += all[at]!;
          count++;
        }
      }
      if (count) out[object] = sum / count;
    }
    this.means.set(key, out);
    return out;
  }

  scale(monitor: number, view: View): Scale {
    const info = this.data.monitors[monitor]!;
    const change = view.show === "difference" && !!this.second;
    const fixed = info.min !== null || info.max !== null;
    const kind: RangeKind = view.range ?? (fixed && !change ? "fixed" : "auto");
    const [low, high] = this.range(monitor, kind === "robust");
    if (change) {
      const most = kind === "fixed" && info.max !== null ? info.max : Math.max(Math.abs(low), Math.abs(high));
      return { log: false, min: -most, max: most, kind, change };
    }
    const log = view.scale ? view.scale === "log" : info.log;
    // Bars and shares begin at nothing unless the user or a logarithm says otherwise.
    const min = kind === "fixed" ? (info.min ?? 0) : log || low < 0 || kind === "robust" ? low : 0;
    const max = kind === "fixed" ? (info.max ?? high) : high;
    return { log, min, max, kind, change };
  }

  private range(monitor: number, robust: boolean): [number, number] {
    const key = `${monitor} ${robust}`;
    const known = this.ranges.get(key);
    if (known) return known;
    const all = this.data.recordings.map((one) => ends(one.values[monitor]!.all, robust));
    const range: [number, number] = [Math.min(...all.map(([low]) => low)), Math.max(...all.map(([, high]) => high))];
    this.ranges.set(key, range);
    return range;
  }

  spread(recording: Recording, monitor: number): Spread {
    const key = `${this.data.recordings.indexOf(recording)} ${monitor}`;
    const known = this.spreads.get(key);
    if (known) return known;
    const { frames, all } = recording.values[monitor]!;
    const make = (value: number): Float32Array => new Float32Array(frames).fill(value);
    const [min, max, sum, count] = [make(Infinity), make(-Infinity), new Float64Array(frames), new Uint32Array(frames)];
    // Values of an object stand together, so that objects are the outer loop.
    for (let from = 0; from + frames <= all.length && frames; from += frames) {
      for (let at = 0; at < frames; at++) {
        const value = all[from + at]!;
        if (Number.isNaN(value)) continue;
        if (value < min[at]!) min[at] = value;
        if (value > max[at]!) max[at] = value;
        sum[at]! += value;
        count[at]!++;
      }
    }
    const mean = make(NaN);
    const imbalance = make(NaN);
    let highest = 0;
    let worst = 1;
    for (let at = 0; at < frames; at++) {
      if (!count[at]) {
        min[at] = max[at] = NaN;
        continue;
      }
      mean[at] = sum[at]! / count[at]!;
      if (mean[at]! > 0) imbalance[at] = max[at]! / mean[at]!;
      highest = Math.max(highest, max[at]!);
      if (imbalance[at]! > worst) worst = imbalance[at]!;
    }
    const out = { min, mean, max, imbalance, highest, worst };
    this.spreads.set(key, out);
    return out;
  }
}
