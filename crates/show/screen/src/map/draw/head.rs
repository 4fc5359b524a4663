//! The top of the screen: the watched process and the time, the gaps, and the list of monitors.
//!
//! Owns the words for the state of a view: live, paused, playing, end.

use ratatui::layout::Rect;
use ratatui::style::Style;

use super::View;
use super::figures::time;
use crate::map::feed::Feed;
use crate::map::state::{Moment, State, names};
use crate::pen::Pen;

/// Columns of the time and the state at the right of the title.
const RIGHT: u16 = 34;

/// Host, source, time, state.
pub(super) fn title(pen: &mut Pen<'_>, area: Rect, feed: &dyn Feed, state: &State) {
    let colours = pen.colours;
    let end = area.right() - RIGHT;
    let source = format!(" · {}", feed.source());
    pen.pieces(
        area.x,
        area.y,
        end,
        &[
            ("talea topo", colours.strong()),
            (" · ", colours.faint()),
            (feed.title(), Style::new()),
            (&source, colours.faint()),
        ],
    );
    let at = state.frame(feed).map_or("–".to_owned(), |frame| time(frame.at));
    pen.right(end + 11, area.y, 11, &at, colours.strong());
    let (mark, words, style) = status(feed, state, pen);
    pen.pieces(end + 13, area.y, area.right(), &[(mark, style), (" ", style), (&words, style)]);
}

fn status(feed: &dyn Feed, state: &State, pen: &Pen<'_>) -> (&'static str, String, Style) {
    let colours = pen.colours;
    let behind = || {
        let number = state.number(feed).unwrap_or(0);
        feed.frames().end.saturating_sub(number + 1)
    };
    match (state.moment, feed.is_live()) {
        (Moment::Newest, true) if state.ended => ("■", "ended".to_owned(), colours.strong()),
        (Moment::Newest, true) => ("●", "live".to_owned(), colours.key()),
        (Moment::At(_), true) => ("‖", format!("paused, {} newer", behind()), colours.warning()),
        _ if state.playing => ("▶", format!("playing {}", speed(state.speed)), colours.key()),
        _ if behind() == 0 => ("■", "end".to_owned(), colours.strong()),
        _ => ("‖", format!("paused, speed {}", speed(state.speed)), colours.warning()),
    }
}

fn speed(power: i8) -> String {
    if power >= 0 {
        format!("x{}", 1_u32 << power.min(30))
    } else {
        format!("x1/{}", 1_u32 << (-power).min(30))
    }
}

/// Gaps; the strip is always present, so that nothing moves when a gap appears.
pub(super) fn gaps(pen: &mut Pen<'_>, area: Rect, feed: &dyn Feed) {
    let gaps = feed.gaps();
    let Some(first) = gaps.iter().next() else {
        pen.text(area.x, area.y, area.width, "gaps: none", pen.colours.faint());
        return;
    };
    let style = pen.colours.warning();
    let count = gaps.iter().count();
    let more = if count > 1 { format!("  (and {} more)", count - 1) } else { String::new() };
    let room = area.width.saturating_sub(8 + more.chars().count() as u16);
    let end = pen.pieces(area.x, area.y, area.right(), &[("░ gaps: ", style)]);
    let end = pen.text(end, area.y, room.saturating_sub(1), &first.detail, style);
    pen.text(end, area.y, area.right().saturating_sub(end), &more, style);
}

/// The monitors by name, with the keys that choose them, and the levels of the chosen one.
pub(super) fn monitors(pen: &mut Pen<'_>, area: Rect, view: &View<'_>) {
    let colours = pen.colours;
    let monitors = view.feed.monitors();
    let names = names(monitors);
    let here = names.iter().position(|levels| levels.contains(&view.state.monitor)).unwrap_or(0);
    let levels: Vec<String> = names[here]
        .iter()
        .map(|&level| {
            let name = &monitors[level].level;
            if level == view.state.monitor { format!("[{name}]") } else { format!(" {name} ") }
        })
        .collect();
    let levels = format!("level {}", levels.join(""));
    let room = (levels.chars().count() as u16).min(area.width / 2);
    pen.right(area.right(), area.y, room, &levels, colours.faint());
    let end = area.right() - room - 1;
    // The chosen name is always in sight: those before it that do not fit are left out.
    let width = |place: usize| monitors[names[place][0]].name.chars().count() + 5;
    let mut first = here;
    let mut used = width(here);
    while first > 0 && used + width(first - 1) <= usize::from(end) {
        first -= 1;
        used += width(first);
    }
    let mut x = area.x;
    for (place, levels) in names.iter().enumerate().skip(first) {
        let name = format!(" {} ", monitors[levels[0]].name);
        let style = if place == here { colours.chosen() } else { Style::new() };
        let number = if place < 9 { (place + 1).to_string() } else { "·".to_owned() };
        if usize::from(end.saturating_sub(x)) < name.chars().count() + 2 && place != here {
            pen.text(x, area.y, end.saturating_sub(x), "…", colours.faint());
            break;
        }
        x = pen.pieces(
            x,
            area.y,
            end,
            &[(&number, colours.key()), (&name, style), (" ", Style::new())],
        );
    }
}
