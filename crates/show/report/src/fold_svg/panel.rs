//! One panel of folded curves: a counter or a model over the region.
//!
//! Owns its layers, from the back: the part without samples, samples as dots, the band, the share
//! counted so far, jumps, the curve (those of parts over each other), and bars that show the value
//! under the pointer. It also decides the ends of the value axis.

use std::fmt::Write;

use talea_model::Nanos;
use talea_model::units::{si, three_digits};

use super::LONGEST;
use crate::data::folded::{FoldedBand, FoldedCounter, FoldedData};
use crate::plot::{Area, Plot, Scale, Spacing, category};
use crate::text::xml;

/// One panel.
pub(super) struct Panel<'a> {
    pub(super) name: &'a str,
    pub(super) note: String,
    pub(super) unit: &'a str,
    pub(super) mean: f64,
    pub(super) curve: &'a FoldedBand,
    pub(super) counter: Option<&'a FoldedCounter>,
    /// The curve of each part.
    pub(super) parts: Vec<Option<&'a FoldedBand>>,
}

/// The maximum value of a panel: that of the curves, and of the band unless it is extreme.
fn highest(panel: &Panel<'_>) -> f64 {
    let most =
        |values: &[f64]| values.iter().copied().filter(|v| v.is_finite()).fold(0.0, f64::max);
    let curves = panel
        .parts
        .iter()
        .flatten()
        .map(|one| most(&one.value))
        .fold(most(&panel.curve.value), f64::max);
    let mut ends: Vec<f64> = panel.curve.high.iter().copied().filter(|v| v.is_finite()).collect();
    ends.sort_by(f64::total_cmp);
    // A band is widest at its ends and at jumps, and must not flatten the curve.
    let usual = ends.get((0.98 * ends.len() as f64) as usize).copied().unwrap_or(0.0);
    curves.max(usual.min(2.0 * curves))
}

/// Begin of the axis: at 0 except where curves vary and stay far above it.
fn lowest(panel: &Panel<'_>, most: f64) -> f64 {
    let least =
        |values: &[f64]| values.iter().copied().filter(|v| v.is_finite()).fold(most, f64::min);
    let parts = panel.parts.iter().flatten().map(|one| least(&one.value));
    let low = parts.fold(least(&panel.curve.value), f64::min);
    if low > 0.55 * most && most - low > 0.05 * most { low - 0.25 * (most - low) } else { 0.0 }
}

/// Draws it at `area`.
pub(super) fn draw(panel: &Panel<'_>, area: Area, data: &FoldedData) -> String {
    let unit = if matches!(panel.unit, "MIPS" | "GHz") { "" } else { panel.unit };
    let most = highest(panel);
    let bottom = lowest(panel, most);
    let plot = Plot {
        area,
        x: Scale::new("", "", [0.0, 1.0], Spacing::Linear),
        y: Scale::new("", unit_of(unit), [bottom, most + 0.06 * (most - bottom)], Spacing::Linear),
    };
    let mut out = String::new();
    let mean = number(panel, panel.mean);
    let cut = if bottom > 0.0 { "axis cut · " } else { "" };
    let mean = format!("mean {mean}");
    // Letters are about 6 pixels wide; text that does not fit beside the mean is left out.
    let room = area.width
        - 6.4 * (mean.len() + cut.len()) as f64
        - 7.2 * panel.name.chars().count() as f64;
    let note = xml(&panel.note, ((room - 20.0) / 6.0).clamp(0.0, LONGEST as f64) as usize);
    let note = if room < 80.0 { String::new() } else { note };
    let _ = writeln!(
        out,
        "<text class=\"strong\" x=\"{:.1}\" y=\"{:.1}\">{}<tspan class=\"name note\" dx=\"8\">{note}</tspan></text>\
         <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{cut}{}</text>",
        area.x,
        area.y - 9.0,
        xml(panel.name, LONGEST),
        area.x + area.width,
        area.y - 9.0,
        xml(&mean, LONGEST),
    );
    out.push_str(&plot.axis_y());
    for tenth in [0, 2, 4, 6, 8, 10] {
        let at = plot.px(f64::from(tenth) / 10.0);
        let _ =
            write!(out, "<path class=\"grid\" d=\"M{at:.1} {:.1}v{:.1}\"/>", area.y, area.height);
    }
    out.push('\n');
    let top = plot.y_end();
    out.push_str(&hole(&plot, data));
    if let Some(counter) = panel.counter {
        out.push_str(&dots(&plot, counter, top));
    }
    let overlaid = panel.parts.iter().any(Option::is_some);
    if !overlaid {
        out.push_str(&band(&plot, panel.curve, top));
    }
    if let Some(counter) = panel.counter {
        out.push_str(&accumulated(area, counter));
        out.push_str(&jumps(&plot, counter, data.all.mean_ns));
    }
    if overlaid {
        for (at, part) in panel.parts.iter().enumerate() {
            if let Some(part) = part {
                let tip = data.parts.get(at).map_or("", |part| part.name.as_str());
                out.push_str(&line(
                    &plot,
                    &part.value,
                    &format!("line thin {}", category(at)),
                    tip,
                ));
            }
        }
        out.push_str(&line(&plot, &panel.curve.value, "line mean", "all together"));
    } else {
        let tip = format!("{}: mean {mean}", panel.name);
        out.push_str(&line(&plot, &panel.curve.value, &format!("line {}", category(0)), &tip));
    }
    out.push_str(&hover(&plot, panel, data.all.mean_ns));
    out
}

/// A value with its unit.
fn number(panel: &Panel<'_>, value: f64) -> String {
    match panel.unit {
        "/s" | "ns/s" => si(value, panel.unit),
        unit => format!("{} {unit}", three_digits(value)).trim_end().to_owned(),
    }
}

/// Units after numbers on an axis.
fn unit_of(unit: &str) -> &str {
    if unit.ends_with("/s") { unit } else { "" }
}

/// Pixels of the values at equal steps; pieces end at an absent value.
fn path(plot: &Plot, values: &[f64], top: f64) -> String {
    let steps = values.len().saturating_sub(1).max(1) as f64;
    let mut out = String::new();
    let mut begun = false;
    for (at, &value) in values.iter().enumerate() {
        if !value.is_finite() {
            begun = false;
            continue;
        }
        let (x, y) = (plot.px(at as f64 / steps), plot.py(value.clamp(plot.y_begin(), top)));
        let _ = write!(out, "{}{x:.1} {y:.1}", if begun { "L" } else { "M" });
        begun = true;
    }
    out
}

fn line(plot: &Plot, values: &[f64], class: &str, tip: &str) -> String {
    let path = path(plot, values, plot.y_end());
    if path.is_empty() {
        return String::new();
    }
    format!("<path class=\"{class}\" d=\"{path}\"><title>{}</title></path>\n", xml(tip, LONGEST))
}

/// The band as areas between its ends, one for each piece that has both.
fn band(plot: &Plot, curve: &FoldedBand, top: f64) -> String {
    let steps = curve.value.len().saturating_sub(1).max(1) as f64;
    let mut out = String::new();
    let known = |at: usize| {
        let (low, high) = (curve.low.get(at)?, curve.high.get(at)?);
        (low.is_finite() && high.is_finite()).then_some((*low, *high))
    };
    let mut at = 0;
    while at < curve.value.len() {
        let mut end = at;
        let (mut upper, mut lower) = (String::new(), Vec::new());
        while let Some((low, high)) = known(end).filter(|_| end < curve.value.len()) {
            let x = plot.px(end as f64 / steps);
            let _ = write!(
                upper,
                "{}{x:.1} {:.1}",
                if end == at { "M" } else { "L" },
                plot.py(high.clamp(plot.y_begin(), top))
            );
            lower.push(format!("L{x:.1} {:.1}", plot.py(low.clamp(plot.y_begin(), top))));
            end += 1;
        }
        if end > at {
            lower.reverse();
            let _ = writeln!(
                out,
                "<path class=\"band {}\" d=\"{upper}{}Z\"/>",
                category(0),
                lower.concat()
            );
        }
        at = end.max(at + 1);
    }
    out
}

/// The part of the region without samples, where curves are guesses.
fn hole(plot: &Plot, data: &FoldedData) -> String {
    let coverage = &data.all.coverage;
    if coverage.samples == 0 || coverage.hole <= (3.0 * coverage.hole_expected).max(0.02) {
        return String::new();
    }
    let from = plot.px(coverage.hole_at);
    format!(
        "<rect class=\"turns\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>no sample here: curves are \
         guesses</title></rect>\n",
        plot.area.y,
        plot.px(coverage.hole_at + coverage.hole) - from,
        plot.area.height
    )
}

/// Samples; those above the panel lie at its edge.
fn dots(plot: &Plot, counter: &FoldedCounter, top: f64) -> String {
    let mut out = String::new();
    for &[x, rate] in counter.points.iter().filter(|point| point[1].is_finite()) {
        let (x, y) = (plot.px(x), plot.py(rate.clamp(plot.y_begin(), top)));
        let _ = write!(out, "M{x:.1} {y:.1}h0");
    }
    if out.is_empty() { out } else { format!("<path class=\"dots\" d=\"{out}\"/>\n") }
}

/// The share counted so far, with its scale at the right.
fn accumulated(area: Area, counter: &FoldedCounter) -> String {
    let plot = Plot {
        area,
        x: Scale::new("", "", [0.0, 1.0], Spacing::Linear),
        y: Scale::new("", "", [0.0, 1.0], Spacing::Linear),
    };
    let mut out = line(&plot, &counter.accumulated.value, "mark share", "share counted so far");
    for (share, text) in [(0.0, "0"), (0.5, "50 %"), (1.0, "100 %")] {
        let _ = write!(
            out,
            "<text class=\"tick faint\" x=\"{:.1}\" y=\"{:.1}\">{text}</text>",
            area.x + area.width + 5.0,
            plot.py(share) + 3.5
        );
    }
    out.push('\n');
    out
}

fn jumps(plot: &Plot, counter: &FoldedCounter, mean: Nanos) -> String {
    let mut out = String::new();
    let Area { y, height, .. } = plot.area;
    for jump in &counter.jumps {
        let x = plot.px(jump.at);
        let at = Nanos((jump.at * mean.0 as f64) as u64);
        let known = if jump.within.is_finite() {
            format!(", place known to {:.2} %", 100.0 * jump.within)
        } else {
            String::new()
        };
        let step = si(jump.height, &counter.unit);
        let tip = format!("jump of {step} at {:.2} % ({at}){known}", 100.0 * jump.at);
        let _ = writeln!(
            out,
            "<path class=\"mark jump\" d=\"M{x:.1} {y:.1}v{height:.1}\"><title>{}</title></path>",
            xml(&tip, 120)
        );
    }
    out
}

/// Invisible bars that show the value under the pointer.
fn hover(plot: &Plot, panel: &Panel<'_>, mean: Nanos) -> String {
    const BARS: usize = 50;
    let values = &panel.curve.value;
    let steps = values.len().saturating_sub(1);
    if steps == 0 {
        return String::new();
    }
    let mut out = String::from("<g class=\"hover\">");
    for bar in 0..BARS {
        let x = (bar as f64 + 0.5) / BARS as f64;
        let at = (x * steps as f64).round() as usize;
        let value = values.get(at).copied().unwrap_or(f64::NAN);
        if !value.is_finite() {
            continue;
        }
        let ends = match (panel.curve.low.get(at), panel.curve.high.get(at)) {
            (Some(low), Some(high)) if low.is_finite() && high.is_finite() => {
                format!(" ({} to {})", number(panel, *low), number(panel, *high))
            }
            _ => String::new(),
        };
        let time = Nanos((x * mean.0 as f64) as u64);
        let tip = format!("{:.0} % ({time}): {}{ends}", 100.0 * x, number(panel, value));
        let from = plot.px(bar as f64 / BARS as f64);
        let _ = write!(
            out,
            "<rect x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}</title></rect>",
            plot.area.y,
            plot.area.width / BARS as f64,
            plot.area.height,
            xml(&tip, 120)
        );
    }
    out.push_str("</g>\n");
    out
}
