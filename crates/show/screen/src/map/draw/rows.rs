//! The node as rows, one for each object: name, bar, value and its values in the last frames.
//!
//! Owns the columns, which depend on the width of the screen and the monitor only, never on values.

use ratatui::layout::Rect;
use talea_topology::ObjectId;

use super::View;
use super::figures::{figure, signed, width};
use crate::pen::Pen;

/// Maximum number of objects as rows; more are drawn as a grid.
pub(super) const MOST: usize = 24;

/// Draws the monitor's objects into `area`, which has a row for each of them. Returns the rows
/// used.
pub(super) fn draw(pen: &mut Pen<'_>, area: Rect, view: &View<'_>) -> u16 {
    let topology = view.feed.topology();
    let labels: Vec<String> = view.monitor.objects.iter().map(|&id| topology.label(id)).collect();
    let longest = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let name = (longest as u16).clamp(8, 20);
    let figures = width(&view.monitor.unit);
    let rest = area.width.saturating_sub(2 + name + 1 + figures + 2);
    let bar = rest * 3 / 5;
    let spark = rest.saturating_sub(bar + 1);
    // Panels have a line of their own where there is room for them.
    let panels = &view.state.groups.panels;
    let titled = panels.len() > 1 && labels.len() + panels.len() <= usize::from(area.height);
    let mut y = area.y;
    for panel in panels {
        if titled {
            pen.text(area.x, y, area.width, &panel.title, pen.colours.strong());
            y += 1;
        }
        for &place in panel.blocks.iter().flat_map(|block| &block.cells) {
            let selected = place == view.state.selected;
            let style = if selected { pen.colours.chosen() } else { ratatui::style::Style::new() };
            pen.text(area.x, y, 2, if selected { "▸ " } else { "  " }, pen.colours.strong());
            pen.text(area.x + 2, y, name, &labels[place], style);
            let value = view.values[place];
            let part = view.scale.fraction(value);
            let x = area.x + 2 + name + 1;
            let text = if view.difference {
                pen.bar_of_difference(x, y, bar, part);
                signed(value, &view.monitor.unit)
            } else {
                pen.bar(x, y, bar, part);
                figure(value, &view.monitor.unit)
            };
            pen.right(x + bar + 1 + figures, y, figures, &text, pen.colours.strong());
            let x = x + bar + figures + 3;
            if view.state.placement {
                let names = threads(view, view.monitor.objects[place]);
                pen.text(x, y, spark, &names, pen.colours.faint());
            } else {
                let past = view.past(place, usize::from(spark));
                let scale = view.state.scale(view.monitor);
                let parts: Vec<_> = past.into_iter().map(|value| scale.fraction(value)).collect();
                pen.spark(x, y, spark, &parts);
            }
            y += 1;
        }
    }
    y - area.y
}

/// The names of the threads on an object, those that run first.
pub(super) fn threads(view: &View<'_>, object: ObjectId) -> String {
    let cpuset = &view.feed.topology().get(object).cpuset;
    let number = view.state.number(view.feed).unwrap_or(0);
    let mut here: Vec<_> =
        view.feed.threads(number).iter().filter(|t| cpuset.contains(t.pu as usize)).collect();
    here.sort_by_key(|thread| (!thread.running, thread.pu, thread.tid));
    let names = here.iter().map(|thread| {
        let asleep = if thread.running { "" } else { " (asleep)" };
        format!("{} {}{asleep}", thread.label, thread.tid)
    });
    names.collect::<Vec<_>>().join(", ")
}
