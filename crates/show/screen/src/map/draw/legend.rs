//! The legend - ramp, ends, unit, kind of scale, cut values - and the imbalance of each level.
//!
//! Owns the definition of imbalance: the largest value divided by the mean, of all objects and
//! inside each object of the levels above (the worst is named). It needs no rule for adding values,
//! so it is right for ratios too.

use ratatui::layout::Rect;
use talea_topology::{ObjectId, ObjectKind};

use super::View;
use super::figures::{figure, signed, width};
use crate::colour::Colours;
use crate::glyphs::upwards;
use crate::map::groups::HOLDERS;
use crate::pen::Pen;

/// The scale of the displayed values.
pub(super) fn draw(pen: &mut Pen<'_>, area: Rect, view: &View<'_>) {
    let colours = pen.colours;
    let scale = &view.scale;
    let unit = &view.monitor.unit;
    let text = |value| if view.difference { signed(value, unit) } else { figure(value, unit) };
    let mut x = area.x;
    if view.difference {
        let mark =
            view.state.mark.as_ref().map_or(String::new(), |mark| super::figures::time(mark.at));
        x = pen.pieces(
            x,
            area.y,
            area.right(),
            &[("minus ", colours.faint()), (&mark, colours.strong()), ("  ", colours.faint())],
        );
    }
    let figures = width(unit);
    pen.right(x + figures, area.y, figures, &text(scale.scale.low), colours.faint());
    x += figures + 1;
    for step in 0..9 {
        let part = f64::from(step) / 8.0;
        let glyph = match colours {
            Colours::Many => "  ",
            Colours::None => &upwards(part).repeat(2),
        };
        x = pen.text(x, area.y, 2, glyph, colours.cell(part, view.difference));
    }
    x += 1;
    pen.text(x, area.y, figures, &text(scale.scale.high), colours.faint());
    x += figures;
    let how = [
        if scale.scale.log { "logarithmic" } else { "linear" },
        if scale.fixed { "fixed" } else { "auto" },
    ];
    let (below, above) = scale.scale.cut(view.values.iter().copied());
    let cut = match (below, above) {
        (0, 0) => String::new(),
        (0, above) => format!(" · cut: {above} above"),
        (below, 0) => format!(" · cut: {below} below"),
        (below, above) => format!(" · cut: {below} below, {above} above"),
    };
    let absent = view.values.iter().filter(|value| value.is_nan()).count();
    let absent = if absent > 0 { format!(" · ░ {absent} absent") } else { String::new() };
    let level = format!(
        "{} · {} · {} {}",
        how.join(", "),
        unit_words(unit),
        view.values.len(),
        view.monitor.level
    );
    pen.pieces(
        x + 1,
        area.y,
        area.right(),
        &[(&level, colours.faint()), (&cut, colours.warning()), (&absent, colours.warning())],
    );
}

fn unit_words(unit: &str) -> &str {
    if unit.is_empty() { "ratio" } else { unit }
}

/// Imbalance of all objects and inside those above; for differences the largest change.
pub(super) fn imbalance(pen: &mut Pen<'_>, area: Rect, view: &View<'_>) {
    let colours = pen.colours;
    let topology = view.feed.topology();
    let unit = &view.monitor.unit;
    if view.difference {
        let known = view.values.iter().enumerate().filter(|(_, value)| !value.is_nan());
        let most = known.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
        let mean = mean(view.values.iter().copied()).map_or("–".to_owned(), |m| signed(m, unit));
        let most = most.map_or(String::new(), |(place, value)| {
            format!(
                " · most {} at {}",
                signed(*value, unit),
                topology.label(view.monitor.objects[place])
            )
        });
        pen.pieces(
            area.x,
            area.y,
            area.right(),
            &[
                ("change  ", colours.faint()),
                ("mean ", colours.faint()),
                (&mean, colours.strong()),
                (&most, ratatui::style::Style::new()),
            ],
        );
        return;
    }
    let all = ratio(view.values.iter().copied());
    let mut x = pen.text(area.x, area.y, area.width, "imbalance (max/mean)  ", colours.faint());
    let text = all.map_or("–".to_owned(), |ratio| format!("{ratio:.2}"));
    x = pen.pieces(
        x,
        area.y,
        area.right(),
        &[(&text, colours.strong()), (" over all", colours.faint())],
    );
    let mut named: Option<ObjectId> = None;
    for kind in HOLDERS {
        let Some((ratio, holder)) = worst(view, kind) else { continue };
        // A package with one NUMA node is named once.
        let set = |id: ObjectId| &topology.get(id).cpuset;
        if named.is_some_and(|named| set(named) == set(holder)) {
            continue;
        }
        named = Some(holder);
        let words = format!(" in {}", topology.label(holder));
        let text = format!(" · {ratio:.2}");
        // A part that does not fit is left out completely: half a figure would be another figure.
        if usize::from(area.right().saturating_sub(x))
            < text.chars().count() + words.chars().count()
        {
            break;
        }
        x = pen.pieces(
            x,
            area.y,
            area.right(),
            &[(&text, colours.strong()), (&words, colours.faint())],
        );
    }
}

/// The object of a kind whose own objects differ most. `None` if no two objects share one, or one
/// contains all.
fn worst(view: &View<'_>, kind: ObjectKind) -> Option<(f64, ObjectId)> {
    let holders = view.state.groups.holders.iter().filter(|(of, ..)| *of == kind);
    let ratios = holders.filter_map(|(_, id, cells)| {
        Some((ratio(cells.iter().map(|&cell| view.values[cell]))?, *id))
    });
    // The first of equals is named, independent of the order of a maximum.
    ratios.reduce(|worst, next| if next.0 > worst.0 { next } else { worst })
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) =
        values.filter(|v| v.is_finite()).fold((0.0, 0_u32), |(sum, n), v| (sum + v, n + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// The largest value divided by the mean, where that has a meaning.
fn ratio(values: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let max = values.clone().filter(|v| v.is_finite()).fold(f64::NEG_INFINITY, f64::max);
    let negative = values.clone().any(|value| value < 0.0);
    mean(values).filter(|&mean| mean > 0.0 && !negative).map(|mean| max / mean)
}
