//! The selection on the screen: the monitor, the object, the moment, the scale.
//!
//! Owns its changes by keys ([`State::press`]) and by time ([`State::advance`]). Pure: times come
//! in as durations, so that every sequence of keys can be tested without a terminal or a clock.

use std::time::Duration;

use ratatui::crossterm::event::KeyEvent;
use talea_model::Nanos;
use talea_topology::scale::Wanted;
use talea_topology::{Frame, MonitorInfo};

use super::feed::Feed;
use super::groups::Groups;
use super::keys::{self, Command};
use super::scale::{Seen, Shown};
use crate::terminal::Action;

/// Powers of two of the speed.
const SPEEDS: std::ops::RangeInclusive<i8> = -4..=6;
/// Minimum interval between drawings of a recording; frames between are skipped.
const BRIEFEST: Duration = Duration::from_millis(33);

/// The displayed moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The newest frame at any time.
    Newest,
    /// This frame.
    At(u64),
}

/// The selection.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own on the keyboard")]
pub(crate) struct State {
    /// Place among the feed's monitors.
    pub(crate) monitor: usize,
    /// Place among the monitor's objects.
    pub(crate) selected: usize,
    /// The displayed moment.
    pub(crate) moment: Moment,
    /// True while a recording plays.
    pub(crate) playing: bool,
    /// Powers of two of its speed.
    pub(crate) speed: i8,
    /// The marked frame, kept although a history may drop it.
    pub(crate) mark: Option<Frame>,
    /// True if the difference to it is shown.
    pub(crate) difference: bool,
    /// True if threads are shown on the cells.
    pub(crate) placement: bool,
    /// True if the help is shown.
    pub(crate) help: bool,
    /// One sentence about the last key, in place of the footer.
    pub(crate) note: Option<&'static str>,
    /// True if no frames will follow.
    pub(crate) ended: bool,
    /// Groups of the monitor's objects.
    pub(crate) groups: Groups,
    /// For each monitor, true if its scale is logarithmic, and true if it is fixed.
    scales: Vec<(bool, bool)>,
    /// For each monitor, the range of its values so far.
    seen: Vec<Seen>,
    /// The first frame that is not in these ranges.
    unseen: u64,
    /// Position of a playing recording between two frames.
    playhead: Nanos,
}

impl State {
    /// Sets the speed of a recording, as a power of two.
    pub(crate) fn set_speed(&mut self, power: i8) {
        self.speed = power.clamp(*SPEEDS.start(), *SPEEDS.end());
    }

    /// Follows a live feed, plays a recording from its begin.
    pub(crate) fn new(feed: &dyn Feed) -> Self {
        let monitors = feed.monitors();
        let mut state = Self {
            monitor: 0,
            selected: 0,
            moment: if feed.is_live() { Moment::Newest } else { Moment::At(feed.frames().start) },
            playing: !feed.is_live(),
            speed: 0,
            mark: None,
            difference: false,
            placement: false,
            help: false,
            note: None,
            ended: false,
            groups: Groups::default(),
            scales: monitors.iter().map(|monitor| (monitor.scale.log, true)).collect(),
            seen: vec![Seen::default(); monitors.len()],
            unseen: 0,
            playhead: Nanos(0),
        };
        state.choose(0, feed);
        state.take(feed);
        state.playhead = state.frame(feed).map_or(Nanos(0), |frame| frame.at);
        state
    }

    /// The number of the displayed frame; `None` before the first frame.
    pub(crate) fn number(&self, feed: &dyn Feed) -> Option<u64> {
        let range = feed.frames();
        let last = range.end.checked_sub(1).filter(|last| *last >= range.start)?;
        match self.moment {
            Moment::Newest => Some(last),
            // The displayed frame may have left a bounded history.
            Moment::At(number) => Some(number.clamp(range.start, last)),
        }
    }

    /// The displayed frame.
    pub(crate) fn frame<'a>(&self, feed: &'a dyn Feed) -> Option<&'a Frame> {
        self.number(feed).and_then(|number| feed.frame(number))
    }

    /// The scale of the chosen monitor's values.
    pub(crate) fn scale(&self, monitor: &MonitorInfo) -> Shown {
        let (log, fixed) = self.scales.get(self.monitor).copied().unwrap_or((false, true));
        let seen = self.seen.get(self.monitor).copied().unwrap_or_default();
        let wanted = if fixed { monitor.scale } else { Wanted::default() };
        Shown::new(Wanted { log, ..wanted }, &seen)
    }

    /// Takes in the ranges of frames that have arrived.
    pub(crate) fn take(&mut self, feed: &dyn Feed) {
        let range = feed.frames();
        for frame in (self.unseen.max(range.start)..range.end).filter_map(|n| feed.frame(n)) {
            for (seen, values) in self.seen.iter_mut().zip(&frame.values) {
                for &value in values {
                    seen.add(value);
                }
            }
        }
        self.unseen = range.end;
    }

    /// Advances time. Returns the time until the picture next changes by itself, if it does.
    pub(crate) fn advance(&mut self, elapsed: Duration, feed: &dyn Feed) -> Option<Duration> {
        let (true, Some(number)) = (self.playing, self.number(feed)) else { return None };
        let range = feed.frames();
        let factor = 2_f64.powi(i32::from(self.speed));
        self.playhead += Nanos((elapsed.as_nanos() as f64 * factor) as u64);
        let at = |n: u64| feed.frame(n).map_or(self.playhead, |frame| frame.at);
        // Frames are in the order of their times: the last one that is not after the playhead.
        let (mut low, mut high) = (number, range.end);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if at(middle) <= self.playhead { low = middle } else { high = middle }
        }
        self.moment = Moment::At(low);
        if low + 1 >= range.end {
            self.playing = false;
            return None;
        }
        let rest = (at(low + 1) - self.playhead).0 as f64 / factor;
        Some(Duration::from_nanos(rest as u64).max(BRIEFEST))
    }

    /// Applies a key.
    pub(crate) fn press(&mut self, key: KeyEvent, feed: &dyn Feed) -> Action {
        let Some(command) = keys::command(key) else { return Action::Nothing };
        self.note = None;
        match command {
            Command::Leave => return Action::Leave,
            Command::Suspend => return Action::Suspend,
            Command::Help => self.help = !self.help,
            Command::Close => self.help = false,
            Command::Pause => self.pause(feed),
            Command::Scrub(by) => self.scrub(by, feed),
            Command::First => self.go(feed.frames().start, feed),
            Command::Newest if feed.is_live() => self.moment = Moment::Newest,
            Command::Newest => self.go(feed.frames().end.saturating_sub(1), feed),
            Command::Speed(_) if feed.is_live() => {
                self.note =
                    Some("a live view has the speed of the clock; + and - are for recordings");
            }
            Command::Speed(by) => {
                self.speed = (self.speed + by).clamp(*SPEEDS.start(), *SPEEDS.end());
            }
            Command::Monitor(by) => self.next_name(by, feed),
            Command::MonitorAt(place) => match names(feed.monitors()).get(usize::from(place)) {
                Some(levels) => self.choose(levels[0], feed),
                None => self.note = Some("there are not that many monitors"),
            },
            Command::Level(by) => self.next_level(by, feed),
            Command::Object(by) => self.select(self.selected as i64 + i64::from(by), feed),
            Command::Block(by) => self.next_block(by, feed),
            Command::Log => {
                if let Some((log, _)) = self.scales.get_mut(self.monitor) {
                    *log = !*log;
                }
                if self.difference {
                    self.note = Some("differences stay linear; the scale of values has changed");
                }
            }
            Command::Auto => self.toggle_fixed(feed),
            Command::Mark => {
                self.mark = self.frame(feed).cloned();
                self.note = Some("this moment is marked; d shows the difference to it");
            }
            Command::Difference if self.mark.is_none() => {
                self.note = Some("x marks a moment first; d then shows the difference to it");
            }
            Command::Difference => self.difference = !self.difference,
            Command::Placement => self.placement = !self.placement,
        }
        Action::Draw
    }

    fn pause(&mut self, feed: &dyn Feed) {
        let Some(number) = self.number(feed) else { return };
        if feed.is_live() {
            self.moment = match self.moment {
                Moment::Newest => Moment::At(number),
                Moment::At(_) => Moment::Newest,
            };
            return;
        }
        self.playing = !self.playing;
        if self.playing && number + 1 >= feed.frames().end {
            self.moment = Moment::At(feed.frames().start);
        }
        self.playhead = self.frame(feed).map_or(Nanos(0), |frame| frame.at);
    }

    fn scrub(&mut self, by: i64, feed: &dyn Feed) {
        let Some(number) = self.number(feed) else { return };
        self.go(number.saturating_add_signed(by), feed);
    }

    /// Pauses at a frame, or at the nearest available one.
    fn go(&mut self, number: u64, feed: &dyn Feed) {
        self.playing = false;
        self.moment = Moment::At(number);
        if let Some(number) = self.number(feed) {
            self.moment = Moment::At(number);
        }
    }

    fn toggle_fixed(&mut self, feed: &dyn Feed) {
        let Some(monitor) = feed.monitors().get(self.monitor) else { return };
        let has_ends = monitor.scale.min.is_some() || monitor.scale.max.is_some();
        match self.scales.get_mut(self.monitor) {
            Some((_, fixed)) if has_ends => *fixed = !*fixed,
            _ => self.note = Some("this monitor has no MIN or MAX; its scale is from the values"),
        }
    }

    fn next_name(&mut self, by: i8, feed: &dyn Feed) {
        let names = names(feed.monitors());
        let here = names.iter().position(|levels| levels.contains(&self.monitor));
        if let Some(place) = here.and_then(|here| turn(here, by, names.len())) {
            self.choose(names[place][0], feed);
        }
    }

    fn next_level(&mut self, by: i8, feed: &dyn Feed) {
        let names = names(feed.monitors());
        let Some(levels) = names.iter().find(|levels| levels.contains(&self.monitor)) else {
            return;
        };
        if levels.len() == 1 {
            self.note = Some("this monitor is measured at one level only");
        }
        let here = levels.iter().position(|&level| level == self.monitor);
        if let Some(place) = here.and_then(|here| turn(here, by, levels.len())) {
            self.choose(levels[place], feed);
        }
    }

    /// Shows another monitor. The selected object stays, or becomes one that shares a PU with it.
    fn choose(&mut self, monitor: usize, feed: &dyn Feed) {
        let monitors = feed.monitors();
        let topology = feed.topology();
        let before = monitors.get(self.monitor).and_then(|shown| shown.objects.get(self.selected));
        let Some(shown) = monitors.get(monitor) else { return };
        self.selected = before.map_or(0, |&before| {
            let near = |&id: &_| topology.get(id).cpuset.intersects(&topology.get(before).cpuset);
            let same = shown.objects.iter().position(|&id| id == before);
            same.or_else(|| shown.objects.iter().position(near)).unwrap_or(0)
        });
        self.monitor = monitor;
        self.groups = Groups::new(topology, &shown.objects);
    }

    fn select(&mut self, place: i64, feed: &dyn Feed) {
        let count = feed.monitors().get(self.monitor).map_or(0, |shown| shown.objects.len());
        self.selected = place.clamp(0, (count as i64 - 1).max(0)) as usize;
    }

    fn next_block(&mut self, by: i8, feed: &dyn Feed) {
        let firsts: Vec<usize> =
            self.groups.blocks().filter_map(|block| block.cells.first()).copied().collect();
        let here = firsts.partition_point(|&first| first <= self.selected);
        let place = if by > 0 { here } else { here.saturating_sub(2) };
        if let Some(&first) = firsts.get(place) {
            self.select(first as i64, feed);
        }
    }
}

/// The monitors by name, in the order in which names first occur; of each, its levels.
pub(crate) fn names(monitors: &[MonitorInfo]) -> Vec<Vec<usize>> {
    let mut names: Vec<Vec<usize>> = Vec::new();
    for (place, monitor) in monitors.iter().enumerate() {
        match names.iter_mut().find(|levels| monitors[levels[0]].name == monitor.name) {
            Some(levels) => levels.push(place),
            None => names.push(vec![place]),
        }
    }
    names
}

/// The place `by` further in a circle of `count`.
fn turn(place: usize, by: i8, count: usize) -> Option<usize> {
    let count = i64::try_from(count).ok().filter(|&count| count > 0)?;
    usize::try_from((place as i64 + i64::from(by)).rem_euclid(count)).ok()
}
