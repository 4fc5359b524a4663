//! Drawing: from a feed and the selection to the cells of a terminal.
//!
//! Owns the place of each part of the screen; each file beside this one draws one part. Pure: the
//! same feed, state and size give the same cells. Follows LOOK's page "Terminal": name and value,
//! legend, visible gaps, values in fixed columns.

mod arrange;
mod course;
mod figures;
mod grid;
mod head;
mod help;
mod legend;
mod plot;
mod rows;
mod ruler;
mod selected;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use talea_topology::{Frame, MonitorInfo};

use super::feed::Feed;
use super::keys::KEYS;
use super::scale::Shown;
use super::state::State;
use crate::colour::Colours;
use crate::keys::footer;
use crate::pen::Pen;

/// The minimum size of a terminal that shows everything.
pub(crate) const SMALLEST: (u16, u16) = (60, 16);

/// The displayed data, computed once for all parts.
struct View<'a> {
    feed: &'a dyn Feed,
    state: &'a State,
    monitor: &'a MonitorInfo,
    frame: Option<&'a Frame>,
    /// One for each object; differences if `difference`.
    values: Vec<f64>,
    scale: Shown,
    difference: bool,
}

impl<'a> View<'a> {
    fn new(feed: &'a dyn Feed, state: &'a State) -> Option<Self> {
        let monitor = feed.monitors().get(state.monitor)?;
        let frame = state.frame(feed);
        let mark = state.mark.as_ref().filter(|_| state.difference);
        let values: Vec<f64> = (0..monitor.objects.len())
            .map(|place| {
                let now = value(frame, state.monitor, place);
                mark.map_or(now, |mark| now - value(Some(mark), state.monitor, place))
            })
            .collect();
        let scale = match mark {
            Some(_) => Shown::of_differences(values.iter().copied()),
            None => state.scale(monitor),
        };
        Some(Self { feed, state, monitor, frame, values, scale, difference: mark.is_some() })
    }

    /// The value of the same monitor at another level's object, if it is measured there.
    fn elsewhere(&self, object: talea_topology::ObjectId) -> Option<f64> {
        let monitors = self.feed.monitors().iter().enumerate();
        let mut same = monitors.filter(|(_, other)| other.name == self.monitor.name);
        same.find_map(|(number, other)| {
            let place = other.objects.iter().position(|&id| id == object)?;
            let now = value(self.frame, number, place);
            let mark = self.state.mark.as_ref().filter(|_| self.difference);
            Some(mark.map_or(now, |mark| now - value(Some(mark), number, place)))
        })
    }

    /// The value of an object of the monitor in the frames that end with the displayed one, oldest
    /// first, at most `count`.
    fn past(&self, place: usize, count: usize) -> Vec<f64> {
        let Some(number) = self.state.number(self.feed) else { return Vec::new() };
        let first = (number + 1).saturating_sub(count as u64).max(self.feed.frames().start);
        let frames = (first..=number).map(|number| self.feed.frame(number));
        frames.map(|frame| value(frame, self.state.monitor, place)).collect()
    }
}

/// A value of a frame; absent where the frame has none.
fn value(frame: Option<&Frame>, monitor: usize, place: usize) -> f64 {
    let values = frame.and_then(|frame| frame.values.get(monitor));
    values.and_then(|values| values.get(place)).copied().unwrap_or(f64::NAN)
}

/// Draws the whole screen.
pub(crate) fn screen(buffer: &mut Buffer, feed: &dyn Feed, state: &State, colours: Colours) {
    let area = buffer.area;
    let mut pen = Pen::new(buffer, colours);
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        let have = format!("{} x {}", area.width, area.height);
        let need = format!("{} x {}", SMALLEST.0, SMALLEST.1);
        pen.text(0, 0, area.width, "talea topo: the terminal is too small", colours.strong());
        pen.text(
            0,
            1,
            area.width,
            &format!("it has {have}, this view needs {need}"),
            colours.faint(),
        );
        pen.text(0, 2, area.width, "q leaves", colours.faint());
        return;
    }
    if state.help {
        return help::draw(&mut pen, area);
    }
    let line = |y: u16, height: u16| Rect { y, height, ..area };
    head::title(&mut pen, line(0, 1), feed, state);
    head::gaps(&mut pen, line(1, 1), feed);
    let Some(view) = View::new(feed, state) else {
        pen.text(2, 4, area.width - 2, "no monitor is defined", colours.faint());
        return footer(&mut pen, line(area.height - 1, 1), &KEYS, 1, state.note);
    };
    head::monitors(&mut pen, line(2, 1), &view);
    legend::draw(&mut pen, line(3, 1), &view);
    // A free line around the node where there is room for it.
    let air = u16::from(area.height >= 28);
    let top = 4 + air;
    let bottom = area.height - 8 - air;
    node(&mut pen, line(top, bottom - top + 1), &view);
    let below = bottom + 1 + air;
    legend::imbalance(&mut pen, line(below, 1), &view);
    selected::draw(&mut pen, line(below + 1, 3), &view);
    ruler::draw(&mut pen, line(below + 4, 2), &view);
    footer(&mut pen, line(below + 6, 1), &KEYS, 1, state.note);
}

/// Rows where there are few objects, else a grid; below it a plot over time if there is room.
fn node(pen: &mut Pen<'_>, area: Rect, view: &View<'_>) {
    let count = view.monitor.objects.len();
    if count == 0 {
        pen.text(
            2,
            area.y,
            area.width,
            "this node has no object of this level",
            pen.colours.faint(),
        );
    } else if view.frame.is_none() {
        pen.text(2, area.y, area.width, "waiting for the first values", pen.colours.faint());
    } else {
        let few = count <= rows::MOST && count <= usize::from(area.height);
        let used = if few { rows::draw(pen, area, view) } else { grid::draw(pen, area, view) };
        let rest = area.height.saturating_sub(used + 1);
        if rest >= plot::FEWEST {
            plot::draw(pen, Rect { y: area.y + used + 1, height: rest, ..area }, view);
        }
    }
}
