//! Folded curves as a picture: a panel for each model and counter, below them the call stack on the
//! same axis.
//!
//! Owns the layout, the title and the choice of panels. Below each column of panels lie the
//! routines and the lines, whose x is exactly that of the panels. Parts (ranks, runs) are drawn
//! over each other, a colour each, without their bands.

mod panel;

use std::fmt::Write;

use talea_model::Nanos;

use self::panel::Panel;
use crate::data::folded::{FoldedData, FoldedGroup};
use crate::fold_strip::{self, STRIP};
use crate::plot::{Area, category, document};
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
/// Maximum number of panels.
const MOST: usize = 40;
/// Maximum number of parts that are drawn over each other.
const MOST_PARTS: usize = 16;
/// Maximum length of a name.
const LONGEST: usize = 64;

/// Styles of these pictures beside those of all plots.
const STYLE: &str = "\
.plot .title{font-size:14px}.plot .note{font-weight:400}.plot .faint{opacity:.75}.plot .dots{stroke:var(--dim);stroke-width:2.2;stroke-linecap:round;opacity:.32;fill:none}
.plot .share{stroke-width:1;opacity:.55}.plot .jump{stroke-dasharray:3 3}.plot .line.thin{stroke-width:1.1}
.plot .line.mean{stroke:var(--ink);stroke-width:1.4}.plot .hover rect{fill:transparent}.plot .hover rect:hover{fill:var(--dim);fill-opacity:.14}
.plot .run{fill-opacity:.85}.plot .turns{fill:url(#turns)}.plot .hatch{stroke:var(--noise);stroke-width:2.4;opacity:.6}
.plot text.inside{fill:#fff;font-weight:600;paint-order:stroke;stroke:#0006;stroke-width:2px}
.plot text.outside{fill:var(--ink);paint-order:stroke;stroke:var(--paper);stroke-width:4px}
";

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
            body.push_str(&panel::draw(one, area, data));
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
        "{} · {} of {} instances · {}",
        data.region.name,
        group.folded,
        group.found,
        talea_model::units::mean_and_median(group.mean_ns, group.median_ns)
    );
    let _ = writeln!(
        out,
        "<text class=\"strong title\" x=\"12\" y=\"22\">{}</text>",
        xml(&whole, 2 * LONGEST)
    );
    let samples: u64 = data.all.counters.iter().map(|one| one.samples).max().unwrap_or_default();
    let shown = data.all.counters.iter().map(|one| one.points.len()).max().unwrap_or_default();
    let mut note =
        "rate with its 95 % band; thin: share counted so far (right scale); dashed: jumps"
            .to_owned();
    if shown > 0 && (shown as u64) < samples {
        let _ = write!(
            note,
            "; dots: up to {shown} of {samples} samples, evenly chosen, those beyond a panel at its edge"
        );
    }
    let curves = data.all.models.len() + data.all.counters.len();
    for (what, all, most) in [("curves", curves, MOST), ("parts", data.parts.len(), MOST_PARTS)] {
        if all > most {
            let _ = write!(note, "; {most} of {all} {what}");
        }
    }
    let _ = writeln!(out, "<text class=\"name\" x=\"12\" y=\"38\">{}</text>", xml(&note, 240));
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

/// Shares of the region, and the corresponding time.
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
