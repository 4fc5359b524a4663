//! Drawing: the clusters of computation.

use ratatui::layout::Rect;
use ratatui::style::Style;
use talea_model::notation::grouped;
use talea_results::watch::ClustersNow;

use super::percent;
use crate::pen::Pen;

/// Rows of a table with all clusters, its head included.
pub(super) fn rows(now: &ClustersNow) -> u16 {
    // There are at most 32 of them.
    2 + now.clusters.len() as u16
}

/// Draws the clusters by time, one a row.
pub(super) fn table(pen: &mut Pen<'_>, area: Rect, now: &ClustersNow) {
    let colours = pen.colours;
    let faint = colours.faint();
    let ends = [area.x + 8, area.x + 17, area.x + 21, area.x + 31];
    pen.right(ends[0], area.y, area.width, "now", faint);
    pen.right(ends[1], area.y, area.width, "all", faint);
    pen.right(ends[2], area.y, area.width, "id", faint);
    pen.right(ends[3], area.y, area.width, "mean", faint);
    let state = match now.stable_since_ns {
        Some(since) => format!("computation, clusters stable from {since} on"),
        None => "computation, clusters not stable".to_owned(),
    };
    let width = area.right().saturating_sub(ends[3] + 2);
    pen.text(ends[3] + 2, area.y, width, &state, faint);
    let rows = usize::from(area.height.saturating_sub(1));
    for (y, one) in (area.y + 1..).zip(now.clusters.iter().take(rows)) {
        pen.right(ends[0], y, area.width, &percent(one.recent_share), colours.strong());
        pen.right(ends[1], y, area.width, &percent(one.share), Style::new());
        pen.right(ends[2], y, area.width, &format!("{}", one.id), faint);
        pen.right(ends[3], y, area.width, &one.mean_ns.to_string(), Style::new());
        let text = format!("{} bursts after {}", grouped(one.bursts), one.after);
        pen.text(ends[3] + 2, y, width, &text, Style::new());
    }
}
