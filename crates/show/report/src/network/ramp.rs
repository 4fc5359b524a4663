//! Colours of links, as rules of a style sheet in light and dark.
//!
//! Owns the ramp for lines in twelve classes. It is cividis (Nunez, Anderton and Renslow 2018) with
//! a low end near the paper, as in the server's heat map (`web/src/serve/ramp.ts`): links with
//! small loads are inconspicuous.

use std::fmt::Write;

use super::quantity::STEPS;

type Rgb = [f64; 3];

const LIGHT: [Rgb; 7] = [
    [249.0, 245.0, 224.0],
    [232.0, 220.0, 166.0],
    [195.0, 179.0, 105.0],
    [138.0, 134.0, 120.0],
    [87.0, 93.0, 109.0],
    [31.0, 61.0, 108.0],
    [0.0, 34.0, 78.0],
];
const DARK: [Rgb; 7] = [
    [27.0, 35.0, 48.0],
    [18.0, 53.0, 112.0],
    [72.0, 82.0, 109.0],
    [112.0, 113.0, 115.0],
    [165.0, 156.0, 116.0],
    [214.0, 194.0, 92.0],
    [254.0, 232.0, 56.0],
];

fn sequential(part: f64, dark: bool) -> Rgb {
    let stops = if dark { DARK } else { LIGHT };
    // A thin line with a small load must still be visible on the paper.
    let at = (0.06 + 0.94 * part).clamp(0.0, 1.0) * 6.0;
    let low = (at as usize).min(5);
    [0, 1, 2].map(|i| stops[low][i] + (stops[low + 1][i] - stops[low][i]) * (at - low as f64))
}

fn variables(dark: bool) -> String {
    let mut out = if dark {
        "--there:#2fc79a;--halt:#ff7a2f;--bad:#ff8a7a".to_owned()
    } else {
        "--there:#00805e;--halt:#e07b00;--bad:#b42318".to_owned()
    };
    for step in 0..STEPS {
        let [r, g, b] = sequential(step as f64 / (STEPS - 1) as f64, dark)
            .map(|channel| channel.round().clamp(0.0, 255.0) as u8);
        let _ = write!(out, ";--q{step}:#{r:02x}{g:02x}{b:02x}");
    }
    out
}

/// Rules for pictures of networks, and the pattern of absent values.
pub(super) fn style() -> String {
    let (light, dark) = (variables(false), variables(true));
    let mut out = format!(
        "<style>svg.plot{{{light}}}\n@media (prefers-color-scheme:dark){{:root:not([data-theme=light]) svg.plot,svg.plot:root{{{dark}}}}}\n\
         :root[data-theme=dark] svg.plot{{{dark}}}\n\
         .plot .l{{fill:none}}.plot .thin{{stroke:var(--line)}}.plot .l.na{{stroke:url(#hatch)}}.plot .d.na{{fill:url(#hatch)}}\
         .plot .hatch{{stroke:var(--dim);fill:none}}.plot .r{{fill:var(--dim)}}.plot circle.d,.plot .na.d{{stroke:var(--dim);stroke-width:.6}}\n\
         .plot .notch{{fill:none;stroke:var(--halt)}}.plot .worse{{fill:none;stroke:var(--bad);stroke-width:2.4}}\n\
         .plot .halo{{fill:none;stroke:var(--paper);stroke-width:5}}.plot .halo.there,.plot .halo.back{{stroke-width:3.6}}.plot .way{{fill:none;stroke:var(--there);stroke-width:2.4}}\
         .plot .way.back{{stroke-dasharray:5 4;stroke-width:2.2}}\n\
         .plot .end{{fill:var(--there);stroke:var(--paper);stroke-width:1.5}}.plot .endname{{fill:var(--paper);font-weight:700;font-size:10px}}\
         .plot .over{{paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}}.plot .bad{{fill:var(--bad)}}.plot .title{{font:600 16px ui-sans-serif,system-ui,sans-serif}}\
         .plot .view{{font:600 13.5px ui-sans-serif,system-ui,sans-serif}}.plot .say{{font-size:12.5px}}.plot .dim{{fill:var(--dim)}}\
         .plot .mono{{font:11px ui-monospace,monospace}}\n"
    );
    for step in 0..STEPS {
        let _ = write!(
            out,
            ".plot .l.q{step}{{stroke:var(--q{step})}}.plot .d.q{step}{{fill:var(--q{step})}}"
        );
    }
    out.push_str(
        "</style>\n<defs><pattern id=\"hatch\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\">\
         <path class=\"hatch\" d=\"M-1 5L5 -1M-1 1L1 -1M3 5L5 3\"/></pattern></defs>\n",
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_stands_out_more() {
        for dark in [false, true] {
            let light = |part: f64| sequential(part, dark).iter().sum::<f64>();
            let all: Vec<f64> = (0..STEPS).map(|step| light(step as f64 / 11.0)).collect();
            let sign = if dark { 1.0 } else { -1.0 };
            assert!(all.windows(2).all(|pair| (pair[1] - pair[0]) * sign > 0.0), "{all:?}");
        }
    }
}
