//! The node as panels of cells, one for each object, coloured by value.
//!
//! Owns the content of a cell - its figure, a digit for the tenth of the scale, or the number of
//! threads there - and scrolling where a node has more objects than the screen has cells.

use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use talea_topology::ObjectId;

use super::View;
use super::arrange::{Arranged, arrange};
use super::figures::{figure, short, signed};
use crate::colour::Colours;
use crate::glyphs::{ABSENT, digit, upwards};
use crate::map::groups::number;
use crate::pen::Pen;

/// Draws the monitor's objects into `area`. Returns the rows used.
pub(super) fn draw(pen: &mut Pen<'_>, area: Rect, view: &View<'_>) -> u16 {
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    let groups = &view.state.groups;
    let arranged = arrange(groups, width, height);
    let scroll = scroll(&arranged, view.state.selected, height);
    // The row on the screen of a row of the arrangement, if it is in sight.
    let row = |y: usize| y.checked_sub(scroll).filter(|&y| y < height).map(|y| area.y + y as u16);
    for (panel, &(x, y, columns)) in groups.panels.iter().zip(&arranged.panels) {
        if let Some(y) = row(y) {
            let value = panel.object.map_or(String::new(), |object| elsewhere(view, object));
            title(pen, (x as u16, y, columns as u16), &panel.title, &value);
        }
    }
    for (block, &(x, y, columns)) in groups.blocks().zip(&arranged.labels) {
        if let Some(y) = row(y).filter(|_| !block.label.is_empty()) {
            let style = pen.colours.faint();
            let label = fitting(&block.label, columns);
            let end = pen.text(x as u16, y, columns as u16, label, style);
            let value = block.object.map_or(String::new(), |object| elsewhere(view, object));
            let rest = (x + columns) as u16 - end;
            if value.chars().count() < usize::from(rest) {
                pen.right((x + columns) as u16, y, rest, &value, style);
            }
        }
    }
    let threads = view.state.placement.then(|| threads(view));
    for (place, &(x, y)) in arranged.cells.iter().enumerate() {
        if let Some(y) = row(y) {
            let count = threads.as_ref().map(|threads| threads[place]);
            let tall = arranged.tall.min(usize::from(area.bottom() - y)) as u16;
            cell(
                pen,
                Rect::new(area.x + x as u16, y, arranged.cell as u16, tall),
                view,
                place,
                count,
            );
        }
    }
    let hidden = arranged.height.saturating_sub(scroll + height);
    if hidden > 0 || scroll > 0 {
        let text = format!(" ↑ {scroll} rows  ↓ {hidden} rows ");
        let y = area.bottom() - 1;
        pen.right(area.right(), y, area.width, &text, pen.colours.warning());
    }
    arranged.height.min(height) as u16
}

/// Number of rows above the screen, such that the selected object is in sight.
fn scroll(arranged: &Arranged, selected: usize, height: usize) -> usize {
    let most = arranged.height.saturating_sub(height);
    let y = arranged.cells.get(selected).map_or(0, |&(_, y)| y);
    y.saturating_sub(height / 2).min(most)
}

/// The value of the same monitor at an object of another level, or empty text.
fn elsewhere(view: &View<'_>, object: ObjectId) -> String {
    let unit = &view.monitor.unit;
    let text = |value| if view.difference { signed(value, unit) } else { figure(value, unit) };
    view.elsewhere(object).map_or(String::new(), text)
}

/// A name, or the part of it that fits: `Package P#3 · NUMA 3`, `Package P#3`, `P#3`, `3`; empty
/// rather than half a number.
fn fitting(name: &str, columns: usize) -> &str {
    let first = name.split(" · ").next().unwrap_or(name);
    let last = first.rsplit(' ').next().unwrap_or(first);
    let fits = |text: &&str| text.chars().count() <= columns;
    let digits = last.rsplit('#').next().unwrap_or(last);
    [name, first, last, digits].into_iter().find(fits).unwrap_or("")
}

/// A panel's name at the left, its value at the right, a line between.
fn title(pen: &mut Pen<'_>, (x, y, columns): (u16, u16, u16), name: &str, value: &str) {
    let colours = pen.colours;
    let name = fitting(name, usize::from(columns));
    let end = pen.text(x, y, columns, name, colours.strong());
    let end = end + u16::from(end > x && end < x + columns);
    let mut rest = (x + columns).saturating_sub(end);
    let needed = value.chars().count() as u16;
    if needed > 0 && needed + 1 < rest {
        pen.right(x + columns, y, rest, value, colours.strong());
        rest -= needed + 1;
    }
    pen.text(end, y, rest, &"─".repeat(usize::from(rest)), colours.absent());
}

fn cell(pen: &mut Pen<'_>, at: Rect, view: &View<'_>, place: usize, threads: Option<usize>) {
    let colours = pen.colours;
    let value = view.values[place];
    let part = view.scale.fraction(value);
    // Large cells are separated by free columns and rows; small ones by their colours and digits.
    let filled = if at.width > 2 { at.width - 1 } else { at.width };
    let high = if at.height > 2 { at.height - 1 } else { at.height };
    let selected = place == view.state.selected;
    let style = part.map_or(colours.absent(), |part| colours.cell(part, view.difference));
    let style = if selected { chosen(colours, style) } else { style };
    let text = match (threads, part) {
        (Some(0), Some(_)) => "·".to_owned(),
        (Some(threads @ 1..=9), _) => threads.to_string(),
        (Some(10..), _) => "+".to_owned(),
        (_, None) => ABSENT.repeat(usize::from(filled)),
        (None, Some(_)) if filled >= 6 => wide(view, value, filled),
        (None, Some(part)) if view.difference => tenths(part, at.width),
        (None, Some(part)) if colours == Colours::None && filled > 1 => {
            upwards(part).repeat(usize::from(filled))
        }
        (None, Some(part)) => digit(part).to_owned(),
    };
    let text = match filled {
        // A figure does not touch the next cell if possible.
        6.. if text.chars().count() < usize::from(filled) => {
            // Without colour a block before the figure shows its size.
            let block = part.filter(|_| colours == Colours::None && threads.is_none());
            let (block, after) = (block.map_or(" ", upwards), if filled > 6 { " " } else { "" });
            let width = usize::from(filled) - 1 - after.len();
            format!("{block}{text:>width$}{after}")
        }
        // The mark of the selected cell does not depend on colour.
        2 if selected && text.chars().count() == 1 => format!("›{text}"),
        filled => format!("{text:<0$}", usize::from(filled)),
    };
    let blank = if part.is_none() { ABSENT } else { " " }.repeat(usize::from(filled));
    for row in 0..high {
        let text = if row + 1 == high { &text } else { &blank };
        pen.text(at.x, at.y + row, filled, text, style);
    }
    // Name top left, value right: there is room for both in a cell of two rows.
    if high > 1 && filled >= 6 && part.is_some() {
        let name = number(view.feed.topology(), view.monitor.objects[place]).to_string();
        pen.text(at.x + 1, at.y, filled - 1, &name, style.remove_modifier(Modifier::BOLD));
    }
}

/// A figure for a wide cell, with its unit where that fits.
fn wide(view: &View<'_>, value: f64, filled: u16) -> String {
    let unit = &view.monitor.unit;
    let text = if view.difference { signed(value, unit) } else { figure(value, unit) };
    let fits = text.chars().count() < usize::from(filled);
    if fits { text } else { short(value, view.difference) }
}

/// The selected cell: white, which is in no ramp, or reversed.
fn chosen(colours: Colours, style: Style) -> Style {
    match colours {
        Colours::Many => colours.strong().bg(Color::Indexed(231)).fg(Color::Indexed(16)),
        Colours::None => style.patch(colours.chosen()),
    }
}

/// A difference in tenths of the scale's end, with its sign where there is room.
fn tenths(part: f64, columns: u16) -> String {
    let text = digit((part - 0.5).abs() * 2.0);
    match (columns, part) {
        // A tenth that rounds to zero has no sign either.
        (2.., _) if text == "0" => " ·".to_owned(),
        (1, part) if part < 0.45 => "-".to_owned(),
        (1, part) if part > 0.55 => "+".to_owned(),
        (1, _) => "·".to_owned(),
        (_, part) if part < 0.5 => format!("-{text}"),
        (_, _) => format!("+{text}"),
    }
}

/// Number of threads that run on the PUs of each object.
fn threads(view: &View<'_>) -> Vec<usize> {
    let topology = view.feed.topology();
    let number = view.state.number(view.feed).unwrap_or(0);
    let running: Vec<usize> =
        view.feed.threads(number).iter().filter(|t| t.running).map(|t| t.pu as usize).collect();
    let on =
        |&id: &ObjectId| running.iter().filter(|&&pu| topology.get(id).cpuset.contains(pu)).count();
    view.monitor.objects.iter().map(on).collect()
}
