//! Folded curves as a picture: a panel for each model and counter, below them the call stack on the same axis.
//!
//! Owns the layout. Every panel has the rate with its 95 % band, samples behind it, and jumps as dashed lines; the share counted so far is a thin
//! line with a scale of its own at the right. Below each column of panels lie the routines and the lines, whose x is exactly that of the panels.
//! Parts (ranks, runs) are drawn over each other, a colour each, without their bands.

use std::fmt::Write;

use talea_model::Nanos;
use talea_model::units::si;

use crate::data::folded::{FoldedBand, FoldedCounter, FoldedData, FoldedGroup};
use crate::fold_strip::{self, STRIP};
use crate::plot::{Area, Plot, Scale, Spacing, category, document};
use crate::text::xml;

/// Width of the picture.
const WIDTH: f64 = 1240.0;
/// Left of the area: numbers and their unit.
const LEFT: f64 = 62.0;
/// Right of it: the second scale.
const RIGHT: f64 = 40.0;
/// Height of a panel's area.
const HEIGHT: f64 = 104.0;
/// From one panel to the next: its title.
const BETWEEN: f64 = 50.0;
/// Below the lowest panel of a column: ticks.
const TICKS: f64 = 34.0;
/// Most panels.
const MOST: usize = 40;
/// Parts that are drawn over each other.
const MOST_PARTS: usize = 16;
/// Longest name.
const LONGEST: usize = 64;

/// What these pictures have beside what all plots have.
const STYLE: &str = "\
.plot .title{font-size:14px}.plot .note{font-weight:400}.plot .faint{opacity:.75}.plot .dots{stroke:var(--dim);stroke-width:2.2;stroke-linecap:round;opacity:.32;fill:none}
.plot .share{stroke-width:1;opacity:.55}.plot .jump{stroke-dasharray:3 3}.plot .line.thin{stroke-width:1.1}
.plot .line.mean{stroke:var(--ink);stroke-width:1.4}.plot .hover rect{fill:transparent}.plot .hover rect:hover{fill:var(--dim);fill-opacity:.14}
.plot .run{fill-opacity:.85}.plot .turns{fill:url(#turns)}.plot .hatch{stroke:var(--noise);stroke-width:2.4;opacity:.6}
.plot text.inside{fill:#fff;font-weight:600;paint-order:stroke;stroke:#0006;stroke-width:2px}
.plot text.outside{fill:var(--ink);paint-order:stroke;stroke:var(--paper);stroke-width:4px}
";

/// One panel.
struct Panel<'a> {
    name: &'a str,
    note: String,
    unit: &'a str,
    mean: f64,
    curve: &'a FoldedBand,
    counter: Option<&'a FoldedCounter>,
    /// The same of each part.
    parts: Vec<Option<&'a FoldedBand>>,
}

/// The picture of a folded region.
pub fn fold_svg(data: &FoldedData) -> String {
    let panels = panels(data);
    let columns = if panels.len() > 3 { 2 } else { 1 };
    let rows = panels.len().div_ceil(columns);
    let gap = 14.0;
    let column = (WIDTH - gap * (columns as f64 - 1.0)) / columns as f64;
    let strip = if data.all.stack.is_empty() { 0.0 } else { STRIP };
    let head = 46.0 + if data.parts.is_empty() { 0.0 } else { 20.0 };
    let height = head + rows as f64 * (HEIGHT + BETWEEN) + TICKS + strip;
    let mut body = title(data);
    let palette = fold_strip::palette(&data.all);
    for at in 0..columns {
        let left = at as f64 * (column + gap) + LEFT;
        let width = column - LEFT - RIGHT;
        // Columns are filled from top to bottom, so that reading order is that of the table.
        let own = panels.iter().skip(at * rows).take(rows);
        let mut y = head + BETWEEN - 14.0;
        let mut last = None;
        for one in own {
            let area = Area { x: left, y, width, height: HEIGHT };
            body.push_str(&panel(one, area, data));
            last = Some(area);
            y += HEIGHT + BETWEEN;
        }
        let bottom = last.map_or(head, |area| area.y + area.height);
        let axis = Area { x: left, y: bottom, width, height: 0.0 };
        body.push_str(&time_axis(axis, data.all.mean_ns));
        if strip > 0.0 {
            let top = bottom + TICKS + 12.0;
            body.push_str(&fold_strip::draw(&data.all, &palette, (left, top, width)));
        }
    }
    document((WIDTH, height.max(120.0)), &label(data), &format!("<style>\n{STYLE}</style>\n{body}"))
}

fn label(data: &FoldedData) -> String {
    let first = data.findings.first().map_or("", String::as_str);
    format!("{} folded: {first}", data.region.name)
}

fn title(data: &FoldedData) -> String {
    let mut out = String::from(
        "<defs><pattern id=\"turns\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
         <path class=\"hatch\" d=\"M0 0v6\"/></pattern></defs>\n",
    );
    let group = &data.all;
    let whole = format!(
        "{} · {} of {} instances · {} each",
        data.region.name, group.folded, group.found, group.mean_ns
    );
    let _ = writeln!(
        out,
        "<text class=\"strong title\" x=\"12\" y=\"22\">{}</text>",
        xml(&whole, 2 * LONGEST)
    );
    let samples: u64 = data.all.counters.iter().map(|one| one.samples).max().unwrap_or_default();
    let shown = data.all.counters.iter().map(|one| one.points.len()).max().unwrap_or_default();
    let mut note = if data.fit == "kriging" {
        "rate by kriging, without a band".to_owned()
    } else {
        "rate with its 95 % band; thin: share counted so far (right scale); dashed: jumps"
            .to_owned()
    };
    if shown > 0 && (shown as u64) < samples {
        let _ = write!(
            note,
            "; dots: up to {shown} of {samples} samples, evenly chosen, those beyond a panel at its edge"
        );
    }
    let _ = writeln!(out, "<text class=\"name\" x=\"12\" y=\"38\">{}</text>", xml(&note, 200));
    let mut x = 12.0;
    for (at, part) in data.parts.iter().take(MOST_PARTS).enumerate() {
        let name = xml(&part.name, 28);
        let _ = writeln!(
            out,
            "<rect class=\"{}\" x=\"{x:.1}\" y=\"49\" width=\"12\" height=\"4\"/><text x=\"{:.1}\" y=\"55\">{name}</text>",
            category(at),
            x + 16.0
        );
        x += 28.0 + 6.6 * part.name.chars().count().min(28) as f64;
    }
    out
}

fn panels(data: &FoldedData) -> Vec<Panel<'_>> {
    let group = &data.all;
    let mut found: Vec<Panel<'_>> = Vec::new();
    for model in &group.models {
        let parts = data.parts.iter().take(MOST_PARTS);
        let of = |part: &'_ FoldedGroup| part.models.iter().position(|one| one.name == model.name);
        found.push(Panel {
            name: &model.name,
            note: if model.name == model.expression {
                String::new()
            } else {
                model.expression.clone()
            },
            unit: &model.unit,
            mean: model.mean,
            curve: &model.curve,
            counter: None,
            parts: parts.map(|part| of(part).map(|at| &part.models[at].curve)).collect(),
        });
    }
    for counter in &group.counters {
        let parts = data.parts.iter().take(MOST_PARTS);
        let of =
            |part: &'_ FoldedGroup| part.counters.iter().position(|one| one.name == counter.name);
        let error = counter
            .error_held_out
            .map_or_else(String::new, |error| format!(", error {:.2} %", 100.0 * error));
        found.push(Panel {
            name: &counter.name,
            note: format!("{} samples of {} instances{error}", counter.samples, counter.instances),
            unit: &counter.unit,
            mean: counter.mean_rate,
            curve: &counter.rate,
            counter: Some(counter),
            parts: parts.map(|part| of(part).map(|at| &part.counters[at].rate)).collect(),
        });
    }
    found.truncate(MOST);
    found
}

/// The largest value that a panel shows: that of the curves, and of the band as far as it is not wild.
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

/// Where the axis begins: at 0 but where curves vary and stay far above it.
fn lowest(panel: &Panel<'_>, most: f64) -> f64 {
    let least =
        |values: &[f64]| values.iter().copied().filter(|v| v.is_finite()).fold(most, f64::min);
    let parts = panel.parts.iter().flatten().map(|one| least(&one.value));
    let low = parts.fold(least(&panel.curve.value), f64::min);
    if low > 0.55 * most && most - low > 0.05 * most { low - 0.25 * (most - low) } else { 0.0 }
}

/// Three digits without a prefix.
fn plain(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

fn panel(panel: &Panel<'_>, area: Area, data: &FoldedData) -> String {
    let unit = if matches!(panel.unit, "MIPS" | "GHz") { "" } else { panel.unit };
    let most = highest(panel);
    let bottom = lowest(panel, most);
    let plot = Plot {
        area,
        x: Scale::new("", "", [0.0, 1.0], Spacing::Linear),
        y: Scale::new("", unit_of(unit), [bottom, most + 0.06 * (most - bottom)], Spacing::Linear),
    };
    let mut out = String::new();
    let mean = match panel.unit {
        "/s" | "ns/s" => si(panel.mean, panel.unit),
        unit => format!("{} {unit}", plain(panel.mean)).trim_end().to_owned(),
    };
    let cut = if bottom > 0.0 { "axis cut · " } else { "" };
    let mean = format!("mean {mean}");
    // Letters are some 6 pixels wide; what does not fit beside the mean is left out.
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

/// Units that stand behind numbers on an axis.
fn unit_of(unit: &str) -> &str {
    if unit.ends_with("/s") { unit } else { "" }
}

/// Pixels of the values at equal steps; pieces end where there is none.
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
        let tip = format!(
            "jump of {} at {:.2} % ({at}), place known to {:.2} %",
            si(jump.height, &counter.unit),
            100.0 * jump.at,
            100.0 * jump.within
        );
        let _ = writeln!(
            out,
            "<path class=\"mark jump\" d=\"M{x:.1} {y:.1}v{height:.1}\"><title>{}</title></path>",
            xml(&tip, 120)
        );
    }
    out
}

/// Invisible bars that say the value when pointed at.
fn hover(plot: &Plot, panel: &Panel<'_>, mean: Nanos) -> String {
    const BARS: usize = 50;
    let values = &panel.curve.value;
    let steps = values.len().saturating_sub(1);
    if steps == 0 {
        return String::new();
    }
    let mut out = String::from("<g class=\"hover\">");
    let number = |value: f64| match panel.unit {
        "/s" | "ns/s" => si(value, panel.unit),
        unit => format!("{} {unit}", plain(value)).trim_end().to_owned(),
    };
    for bar in 0..BARS {
        let x = (bar as f64 + 0.5) / BARS as f64;
        let at = (x * steps as f64).round() as usize;
        let value = values.get(at).copied().unwrap_or(f64::NAN);
        if !value.is_finite() {
            continue;
        }
        let ends = match (panel.curve.low.get(at), panel.curve.high.get(at)) {
            (Some(low), Some(high)) if low.is_finite() && high.is_finite() => {
                format!(" ({} to {})", number(*low), number(*high))
            }
            _ => String::new(),
        };
        let time = Nanos((x * mean.0 as f64) as u64);
        let tip = format!("{:.0} % ({time}): {}{ends}", 100.0 * x, number(value));
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

/// Shares of the region, and the time that they stand for.
fn time_axis(area: Area, mean: Nanos) -> String {
    let mut out = String::new();
    for tenth in [0_u32, 2, 4, 6, 8, 10] {
        let share = f64::from(tenth) / 10.0;
        let x = area.x + area.width * share;
        let anchor = match tenth {
            0 => "start",
            10 => "end",
            _ => "middle",
        };
        let time = if tenth == 0 {
            "0 s".to_owned()
        } else {
            Nanos((share * mean.0 as f64) as u64).to_string()
        };
        let _ = write!(
            out,
            "<text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{} %</text>\
             <text class=\"tick faint\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{time}</text>",
            area.y + 14.0,
            10 * tenth,
            area.y + 27.0
        );
    }
    out.push('\n');
    out
}
