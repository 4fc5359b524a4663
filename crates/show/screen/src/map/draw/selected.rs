//! The selected object: its value to the last digit, those of the objects that contain it, the
//! threads on it.
//!
//! Owns three rows. Levels that the monitor does not measure are named with a dash, so that the
//! path upwards is complete.

use ratatui::layout::Rect;
use ratatui::style::Style;
use talea_topology::ObjectKind as K;

use super::View;
use super::figures::{exact, figure, signed, width};
use super::rows::threads;
use crate::pen::Pen;

/// Draws the three rows.
pub(super) fn draw(pen: &mut Pen<'_>, area: Rect, view: &View<'_>) {
    let colours = pen.colours;
    let topology = view.feed.topology();
    let place = view.state.selected;
    let Some(&object) = view.monitor.objects.get(place) else { return };
    let unit = &view.monitor.unit;
    let value = view.values[place];
    let text = |value| if view.difference { signed(value, unit) } else { figure(value, unit) };

    let name = format!("▸ {}", topology.label(object));
    pen.text(area.x, area.y, 22, &name, colours.strong());
    let mut x = area.x + 16.max(name.chars().count() as u16 + 1).min(23);
    let figures = width(unit);
    pen.right(x + figures, area.y, figures, &text(value), colours.strong());
    x += figures + 2;
    let all = if value.is_nan() { "no value could be had".to_owned() } else { exact(value) };
    // Nineteen columns: the longest exact figure below 10^12 with six digits after the point.
    pen.right(x + 21, area.y, 21, &all, colours.faint());
    x += 23;
    let spark = area.right().saturating_sub(x);
    let scale = view.state.scale(view.monitor);
    let past = view.past(place, usize::from(spark));
    let parts: Vec<_> = past.into_iter().map(|value| scale.fraction(value)).collect();
    pen.spark(x, area.y, spark, &parts);

    let mut holders = topology.ancestors(object);
    holders.reverse();
    let mut x = pen.text(area.x + 2, area.y + 1, area.width - 2, "in  ", colours.faint());
    let mut between = "";
    for holder in holders {
        let value = view.elsewhere(holder);
        // The innermost caches and hwloc's groups are of no interest here unless they are measured.
        let kind = topology.get(holder).kind;
        let plain = matches!(kind, K::Group | K::L1Cache | K::L1ICache | K::L2ICache | K::L3ICache);
        if plain && value.is_none() {
            continue;
        }
        let name = format!("{between}{} ", topology.label(holder));
        let value = value.map_or("–".to_owned(), text);
        let needed = name.chars().count() + value.chars().count();
        if usize::from(area.right().saturating_sub(x)) < needed {
            pen.text(x, area.y + 1, area.right().saturating_sub(x), " …", colours.faint());
            break;
        }
        x = pen.pieces(
            x,
            area.y + 1,
            area.right(),
            &[(&name, colours.faint()), (&value, Style::new())],
        );
        between = "  ‹  ";
    }

    let names = threads(view, object);
    let names = if names.is_empty() { "none known" } else { &names };
    pen.pieces(
        area.x + 2,
        area.y + 2,
        area.right(),
        &[("threads  ", colours.faint()), (names, Style::new())],
    );
}
