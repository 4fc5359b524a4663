//! The selected object over time, where the node leaves room: a column for each of the last frames.
//!
//! Owns the plot's rows and its axis, which is the scale of the cells. Dots are the largest value
//! of all objects, so that one sees whether the selected one is high or all are.

use ratatui::layout::Rect;
use ratatui::style::{Color, Style};

use super::View;
use super::figures::{figure, width};
use crate::glyphs::upwards;
use crate::pen::Pen;

/// Minimum number of rows; fewer show nothing that the sparkline does not.
pub(super) const FEWEST: u16 = 5;
/// Maximum number of rows; more are not needed to compare.
const MOST: u16 = 11;

/// Draws into the first rows of `area`.
pub(super) fn draw(pen: &mut Pen<'_>, area: Rect, view: &View<'_>) {
    let colours = pen.colours;
    let place = view.state.selected;
    let Some(&object) = view.monitor.objects.get(place) else { return };
    let rows = area.height.min(MOST) - 1;
    let unit = &view.monitor.unit;
    let axis = width(unit);
    let left = area.x + axis + 2;
    let columns = area.right().saturating_sub(left);
    let scale = view.state.scale(view.monitor);

    let name = view.feed.topology().label(object);
    let end = pen.pieces(
        left,
        area.y,
        area.right(),
        &[
            (&name, colours.strong()),
            (" over the last frames, ", colours.faint()),
            ("•", colours.warning()),
            (" largest of all", colours.faint()),
        ],
    );
    let (top, bottom) = (area.y + 1, area.y + rows);
    if end < area.right() {
        pen.right(area.x + axis, top, axis, &figure(scale.scale.high, unit), colours.faint());
        pen.right(area.x + axis, bottom, axis, &figure(scale.scale.low, unit), colours.faint());
    }
    for row in top..=bottom {
        pen.text(area.x + axis + 1, row, 1, "│", colours.absent());
    }
    let past = view.past(place, usize::from(columns));
    let most = largest(view, past.len());
    // Time runs right, and the newest frame is at the same place as in the sparklines.
    let first = area.right() - past.len() as u16;
    for ((column, now), most) in (first..).zip(past).zip(most) {
        match scale.fraction(now) {
            Some(part) => self::column(pen, column, (top, rows), part),
            None => {
                pen.text(column, bottom, 1, "·", colours.absent());
            }
        }
        if let Some(part) = most.and_then(|most| scale.fraction(most)) {
            let up = (part * f64::from(rows - 1)).round() as u16;
            let own = scale.fraction(now).map_or(0.0, |own| own * f64::from(rows));
            // A dot inside the column would be invisible; then the column itself is the largest
            // value.
            if f64::from(up) >= own {
                pen.text(column, bottom - up, 1, "•", colours.warning());
            }
        }
    }
}

fn column(pen: &mut Pen<'_>, x: u16, (top, rows): (u16, u16), part: f64) {
    let style = pen.colours.bar(part, false);
    let style = Style { bg: style.bg.map(|_| Color::Reset), ..style };
    let filled = part * f64::from(rows);
    for row in 0..rows {
        let rest = filled - f64::from(row);
        if rest > 0.0625 || row == 0 {
            pen.text(x, top + rows - 1 - row, 1, upwards(rest), style);
        }
    }
}

/// The largest value of all objects in each of the last `count` frames.
fn largest(view: &View<'_>, count: usize) -> Vec<Option<f64>> {
    let Some(number) = view.state.number(view.feed) else { return Vec::new() };
    let first = (number + 1).saturating_sub(count as u64);
    let frames = (first..=number).map(|number| view.feed.frame(number));
    let most = frames.map(|frame| {
        let all = frame.and_then(|frame| frame.values.get(view.state.monitor))?;
        let most = all.iter().copied().filter(|v| v.is_finite()).fold(f64::NEG_INFINITY, f64::max);
        most.is_finite().then_some(most)
    });
    most.collect()
}
