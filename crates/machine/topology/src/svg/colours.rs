//! The colours of pictures, as classes of a style sheet in light and dark.
//!
//! Owns the ramps. Little is near the paper: light in light mode, dark in dark mode. The sequential
//! ramp is cividis (Nunez, Anderton and Renslow 2018), which colour-blind readers perceive alike;
//! its low end is mixed with the paper, so that an idle machine is inconspicuous. The diverging one
//! goes from blue over grey to orange, with grey at no change.

use std::fmt::Write;

/// Classes of the sequential ramp: `q0` to `q11`.
pub const STEPS: usize = 12;
/// Classes of the diverging ramp: `d0` to `d10`; `d5` is no change.
pub const CHANGES: usize = 11;

type Rgb = [f64; 3];

/// Cividis at nine places, from dark blue to yellow.
const CIVIDIS: [Rgb; 9] = [
    [0.0, 34.0, 78.0],
    [18.0, 53.0, 112.0],
    [59.0, 73.0, 108.0],
    [87.0, 93.0, 109.0],
    [112.0, 113.0, 115.0],
    [138.0, 134.0, 120.0],
    [165.0, 156.0, 116.0],
    [195.0, 179.0, 105.0],
    [254.0, 232.0, 56.0],
];

fn mix(a: Rgb, b: Rgb, part: f64) -> Rgb {
    [0, 1, 2].map(|i| a[i] + (b[i] - a[i]) * part)
}

fn paper(dark: bool) -> Rgb {
    if dark { [20.0, 24.0, 29.0] } else { [255.0, 255.0, 255.0] }
}

/// The colour of a part of the sequential ramp, from 0 to 1.
fn sequential(part: f64, dark: bool) -> Rgb {
    let at = (if dark { part } else { 1.0 - part }).clamp(0.0, 1.0) * 8.0;
    let low = (at as usize).min(7);
    let colour = mix(CIVIDIS[low], CIVIDIS[low + 1], at - low as f64);
    // The minimum must still differ from an absent value.
    let faded = if dark { 0.35 } else { 0.72 };
    mix(colour, paper(dark), faded * (1.0 - part).powi(3))
}

/// The colour of a part of the diverging ramp, from -1 to 1.
fn diverging(part: f64, dark: bool) -> Rgb {
    let (less, none, more) = if dark {
        ([88.0, 166.0, 235.0], [58.0, 64.0, 71.0], [245.0, 160.0, 50.0])
    } else {
        ([0.0, 94.0, 170.0], [222.0, 224.0, 227.0], [205.0, 95.0, 0.0])
    };
    mix(none, if part < 0.0 { less } else { more }, part.abs().clamp(0.0, 1.0).powf(0.85))
}

fn hex(colour: Rgb) -> String {
    let [r, g, b] = colour.map(|channel| channel.round().clamp(0.0, 255.0) as u8);
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Relative luminance (WCAG 2).
fn luminance(colour: Rgb) -> f64 {
    let [r, g, b] = colour.map(|channel| {
        let part = channel / 255.0;
        if part <= 0.039_28 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

/// Anything lighter than black would fall below a contrast of 4.5 on the colours in the middle.
const INK: Rgb = [0.0; 3];
const CHALK: Rgb = [255.0, 255.0, 255.0];

fn contrast(a: Rgb, b: Rgb) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// The ink with more contrast.
fn ink_on(ground: Rgb) -> Rgb {
    if contrast(ground, INK) >= contrast(ground, CHALK) { INK } else { CHALK }
}

/// Colours without values: paper, text, dim, line, faint, frame, accent; PU, core, cache, memory,
/// device.
const LIGHT: [&str; 12] = [
    "#ffffff", "#1b2128", "#59636e", "#c9d0d7", "#edf0f3", "#aab4be", "#0b5cad", "#dbe6f1",
    "#d0dbe7", "#e3e7ec", "#f3ead8", "#e2efe6",
];
const DARK: [&str; 12] = [
    "#14181d", "#e4e8ec", "#9aa5b1", "#38414b", "#20262d", "#4a545f", "#79b8ff", "#27384a",
    "#31465b", "#2a323b", "#3a311f", "#1e3328",
];

/// All rules for one mode; every selector begins with `before`.
pub(super) fn rules(dark: bool, before: &str) -> String {
    let [paper, text, dim, line, faint, frame, accent, pu, core, cache, memory, device] =
        if dark { DARK } else { LIGHT };
    let area = if dark { "#cfe3ff" } else { "#0a2a4a" };
    let mut out = String::new();
    let mut rule = |selector: &str, body: &str| {
        let selectors = selector.split(',').map(|one| format!("{before}{one}"));
        let _ = writeln!(out, "{}{{{body}}}", selectors.collect::<Vec<_>>().join(","));
    };
    rule(".paper", &format!("fill:{paper}"));
    rule(".topo text", &format!("fill:{text}"));
    rule(".topo .dim,.topo .dim text", &format!("fill:{dim}"));
    rule(".o .f", &format!("fill:{area};fill-opacity:.025;stroke:{frame}"));
    rule(".o .b", &format!("fill:{faint}"));
    rule(".core .b,.cache .b", &format!("fill:{cache}"));
    for (class, fill) in
        [("pu", pu), ("core", core), ("cache", cache), ("mem", memory), ("io", device)]
    {
        rule(&format!(".plain .{class} .b"), &format!("fill:{fill}"));
    }
    rule(".head .b", "fill:none");
    rule(".mem .b,.io .b", &format!("stroke:{line}"));
    for step in 0..STEPS {
        let colour = sequential(step as f64 / (STEPS - 1) as f64, dark);
        ramp_rule(&mut rule, &format!("q{step}"), colour);
    }
    for step in 0..CHANGES {
        let half = (CHANGES / 2) as f64;
        ramp_rule(&mut rule, &format!("d{step}"), diverging((step as f64 - half) / half, dark));
    }
    rule(".pu .b", &format!("stroke:{paper};stroke-width:.8"));
    rule(".na .b", "fill:url(#hatch)");
    rule(".na text", &format!("fill:{text};paint-order:stroke;stroke:{paper};stroke-width:3px"));
    rule(".hatch", &format!("stroke:{dim}"));
    rule(".ground", &format!("fill:{paper}"));
    rule(".mark circle", &format!("fill:{paper};stroke:{accent}"));
    rule(".mark text", &format!("fill:{accent}"));
    rule(".deny", &format!("stroke:{text}"));
    rule(".thread", &format!("fill:{accent};stroke:{paper}"));
    rule(".who", &format!("fill:{accent}"));
    rule(".tick", &format!("stroke:{dim}"));
    rule(".rule", &format!("stroke:{line}"));
    out
}

fn ramp_rule(rule: &mut impl FnMut(&str, &str), class: &str, colour: Rgb) {
    rule(&format!(".topo .{class} .b,.topo .{class}.b"), &format!("fill:{}", hex(colour)));
    rule(&format!(".topo .{class} text"), &format!("fill:{}", hex(ink_on(colour))));
}

/// Rules that light and dark share.
pub(super) const SHAPES: &str = "\
.topo text{font:10px ui-monospace,'Cascadia Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace}
.topo .big{font:600 16px system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif}
.topo .name{font:600 12px system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif}
.topo .say{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif}
.topo .head>.n{font-weight:600}
.topo .v{text-anchor:end;font-weight:600}
.topo .s{text-anchor:middle}
.o .f{stroke-width:1}
.hatch,.tick,.rule{fill:none;stroke-width:1}
.deny{fill:none;stroke-width:1.4}
.k0{fill:#0072b2}.k1{fill:#e69f00}.k2{fill:#009e73}.k3{fill:#cc79a7}
.mark circle{stroke-width:1.6}
.topo .mark text{font-weight:700;text-anchor:middle}
.thread{stroke-width:1}
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_can_be_read_on_every_colour() {
        for dark in [false, true] {
            for step in 0..=100 {
                for ground in [
                    sequential(f64::from(step) / 100.0, dark),
                    diverging(f64::from(step) / 50.0 - 1.0, dark),
                ] {
                    assert!(contrast(ground, ink_on(ground)) >= 4.5, "{step} {ground:?}");
                }
            }
        }
    }

    #[test]
    fn neighbours_differ_in_lightness() {
        for dark in [false, true] {
            let all: Vec<f64> =
                (0..STEPS).map(|i| luminance(sequential(i as f64 / 11.0, dark))).collect();
            let sign = if dark { 1.0 } else { -1.0 };
            assert!(all.windows(2).all(|pair| (pair[1] - pair[0]) * sign > 0.003), "{all:?}");
        }
    }
}
