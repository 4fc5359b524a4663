// Colours of a share in the heat map: cividis, but near the paper where there is little, so that an idle machine is a calm picture.

const LIGHT: [number, number, number][] = [[249, 245, 224], [232, 220, 166], [195, 179, 105], [138, 134, 120], [87, 93, 109], [31, 61, 108], [0, 34, 78]];
const DARK: [number, number, number][] = [[27, 35, 48], [18, 53, 112], [72, 82, 109], [112, 113, 115], [165, 156, 116], [214, 194, 92], [254, 232, 56]];

/** Steps that a share is drawn in: smaller differences are invisible. */
const STEPS = 64;
const known = new Map<number, string>();

export function shade(part: number, dark: boolean): string {
  const step = Math.round(Math.min(1, Math.max(0, part)) * STEPS);
  const key = step * 2 + Number(dark);
  let colour = known.get(key);
  if (!colour) {
    const stops = dark ? DARK : LIGHT;
    const at = (step / STEPS) * (stops.length - 1);
    const low = Math.min(stops.length - 2, Math.floor(at));
    const [a, b] = [stops[low]!, stops[low + 1]!];
    colour = `rgb(${a.map((one, k) => Math.round(one + (b[k]! - one) * (at - low))).join(",")})`;
    known.set(key, colour);
  }
  return colour;
}
