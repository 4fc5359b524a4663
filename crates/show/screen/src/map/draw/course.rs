//! The phases of a run on the ruler of time: the extent of its loop, slow iterations, and the phase
//! of the displayed frame.
//!
//! Owns two rows within the ruler. A column may hold many iterations: it shows a slow one if it has
//! any. Shape carries the same information as colour.

use ratatui::layout::Rect;
use ratatui::style::Style;
use talea_model::Nanos;
use talea_topology::phases::{Phase, PhaseKind, Phases};

use super::View;
use crate::pen::Pen;

/// Draws names above and marks below; the line goes from the first of `ends` to the other.
pub(super) fn draw(
    pen: &mut Pen<'_>,
    area: Rect,
    view: &View<'_>,
    run: &Phases,
    ends: (Nanos, Nanos),
) {
    let columns = area.width.max(1);
    let length = (ends.1 - ends.0).0.max(1);
    let time = |column: u16| {
        ends.0 + Nanos((u128::from(length) * u128::from(column) / u128::from(columns)) as u64)
    };
    let mut next = 0;
    for column in 0..columns {
        let (from, to) = (time(column), time(column + 1));
        next += run.all[next..].partition_point(|phase| phase.to <= from);
        let here = run.all[next..].iter().take_while(|phase| phase.from < to);
        let (mark, style) = mark(pen, here.max_by_key(|phase| weight(phase)));
        pen.text(area.x + column, area.y + 1, 1, mark, style);
    }
    let Some(frame) = view.frame else { return };
    let text = words(run, frame.at - frame.span, frame.at, view.feed.phase_name(frame.phase));
    let wide = (text.chars().count() as u16).min(columns);
    // In the middle above the moment, as far as the ends of the line permit.
    let part = (frame.at - ends.0).0 as f64 / length as f64;
    let middle = (part.clamp(0.0, 1.0) * f64::from(columns)) as u16;
    let x = area.x + middle.saturating_sub(wide / 2).min(columns - wide);
    pen.text(x, area.y, wide, &text, pen.colours.strong());
}

/// Slow iterations have priority, then any, then their surroundings.
fn weight(phase: &Phase) -> u8 {
    match phase.kind {
        PhaseKind::Iterations => 1 + u8::from(phase.slow),
        _ => 0,
    }
}

fn mark(pen: &Pen<'_>, phase: Option<&Phase>) -> (&'static str, Style) {
    let colours = pen.colours;
    match phase {
        None => ("┈", colours.absent()),
        Some(phase) if phase.slow => ("▲", colours.warning()),
        Some(phase) if phase.kind == PhaseKind::Iterations => ("━", colours.phase(0)),
        Some(_) => ("╌", colours.faint()),
    }
}

/// Text of a frame's phases: the program's own phase, the part of the run, and its duration.
fn words(run: &Phases, from: Nanos, to: Nanos, phase: Option<&str>) -> String {
    let during = run.during(from, to).or_else(|| run.at(to).map(|phase| run.name(phase)));
    let touched = run.at(to).filter(|phase| during.as_deref() == Some(&run.name(phase)));
    let time = touched.map(|phase| {
        let slow = if phase.slow { ", slow" } else { "" };
        format!("{}{slow}", phase.longest)
    });
    let parts = phase.map(str::to_owned).into_iter().chain(during).chain(time);
    parts.collect::<Vec<_>>().join(" · ")
}
