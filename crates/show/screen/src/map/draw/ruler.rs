//! The ruler of time: phases above, the displayed moment and the marked one on the line below.
//!
//! Owns two rows; where a recording is shown with a run, `course` draws the run's phases on them.
//! Time runs right over the available frames; a live view's right end is the newest.

use ratatui::layout::Rect;
use talea_model::Nanos;

use super::figures::time;
use super::{View, course};
use crate::map::feed::Feed;
use crate::pen::Pen;

/// Columns for a time at each end.
const END: u16 = 11;

/// Draws the two rows.
pub(super) fn draw(pen: &mut Pen<'_>, area: Rect, view: &View<'_>) {
    let colours = pen.colours;
    let feed = view.feed;
    let range = feed.frames();
    let (Some(first), Some(last)) =
        (feed.frame(range.start), range.end.checked_sub(1).and_then(|last| feed.frame(last)))
    else {
        return;
    };
    let left = area.x + END + 1;
    let columns = area.width.saturating_sub(2 * (END + 1));
    pen.right(area.x + END, area.y + 1, END, &time(first.at), colours.faint());
    pen.text(area.right() - END, area.y + 1, END, &time(last.at), colours.faint());
    let length = (last.at - first.at).0.max(1) as f64;
    let column = |at: Nanos| {
        let part = (at - first.at).0 as f64 / length;
        left + (part.clamp(0.0, 1.0) * f64::from(columns.saturating_sub(1))).round() as u16
    };
    if let Some(run) = feed.run() {
        let room = Rect { x: left, width: columns, ..area };
        course::draw(pen, room, view, run, (first.at, last.at));
    } else {
        phases(pen, Rect { x: left, width: columns, ..area }, feed, (first.at, length));
    }
    if let Some(mark) = view.state.mark.as_ref().filter(|mark| mark.at >= first.at) {
        pen.text(column(mark.at), area.y + 1, 1, "×", colours.strong());
    }
    if let Some(frame) = view.frame {
        pen.text(column(frame.at), area.y + 1, 1, "●", colours.strong());
    }
}

/// The program's own phases: a colour each, and their names as far as there is room.
fn phases(pen: &mut Pen<'_>, area: Rect, feed: &dyn Feed, (begin, length): (Nanos, f64)) {
    let (colours, left, columns) = (pen.colours, area.x, area.width);
    let mut named: Option<(u32, u16)> = None;
    for step in 0..columns {
        let part = f64::from(step) / f64::from(columns.saturating_sub(1).max(1));
        let at = begin + Nanos((part * length) as u64);
        let phase = phase_at(feed, at);
        pen.text(left + step, area.y + 1, 1, "━", colours.phase(phase));
        if named.is_none_or(|(known, _)| known != phase) {
            let name =
                feed.phase_name(phase).map_or_else(|| format!("phase {phase}"), str::to_owned);
            // A name that begins inside another's text would make both unreadable.
            let free = named.is_none_or(|(_, end)| left + step >= end);
            let end = if free {
                pen.text(left + step, area.y, columns - step, &name, colours.phase(phase)) + 1
            } else {
                named.map_or(left, |(_, end)| end)
            };
            named = Some((phase, end));
        }
    }
}

/// The phase of the last frame that is not after a time.
fn phase_at(feed: &dyn Feed, at: Nanos) -> u32 {
    let range = feed.frames();
    let (mut low, mut high) = (range.start, range.end);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if feed.frame(middle).is_some_and(|frame| frame.at <= at) {
            low = middle;
        } else {
            high = middle;
        }
    }
    feed.frame(low).map_or(0, |frame| frame.phase)
}
