//! `talea watch`: a running program.
//!
//! Owns the loop that looks at the run from time to time and waits for keys in between, and the
//! effect of keys. The layout is `draw`'s. It refuses to read recordings: looks come from a
//! function.

mod clusters;
mod draw;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use ratatui::crossterm::event::{KeyCode, KeyEvent};
use talea_results::watch::{RankNow, WatchData};

use crate::colour::Colours;
use crate::keys::{Key, control, key};
use crate::terminal::{Action, Heard, Screen, ScreenError};

/// Maximum delay until a signal that requests the end is noticed.
const PULSE: Duration = Duration::from_millis(200);

/// All keys, the most important first: a narrow footer drops the last.
const KEYS: [Key; 7] = [
    key("q", "quit", "leave; so does Ctrl-C; the program continues"),
    key("?", "help", "this page"),
    key("␣", "pause", "pause, or resume"),
    key("s", "sort", "sort ranks by number, or by time in MPI since the previous look"),
    key("c", "clusters", "switch between call sites and clusters of the computation"),
    key("↑↓", "ranks", "further ranks; Page up and down, Home"),
    key("^Z", "", "back to the shell until `fg`"),
];

/// State of the screen.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own on the keyboard")]
#[derive(Debug, Default)]
struct State {
    help: bool,
    paused: bool,
    /// True if ranks are sorted by their time in MPI.
    by_mpi: bool,
    /// True if clusters stand in place of call sites.
    clusters: bool,
    /// The first rank on the screen.
    first: usize,
}

impl State {
    fn press(&mut self, key: KeyEvent, ranks: usize) -> Action {
        if let Some(action) = control(key) {
            return action;
        }
        let by = |step: isize| self.first.saturating_add_signed(step).min(ranks.saturating_sub(1));
        match key.code {
            KeyCode::Char('q') => return Action::Leave,
            KeyCode::Char('?' | 'h') => self.help = !self.help,
            KeyCode::Esc if self.help => self.help = false,
            KeyCode::Char(' ') => self.paused = !self.paused,
            KeyCode::Char('c') => self.clusters = !self.clusters,
            KeyCode::Char('s') => (self.by_mpi, self.first) = (!self.by_mpi, 0),
            KeyCode::Up => self.first = by(-1),
            KeyCode::Down => self.first = by(1),
            KeyCode::PageUp => self.first = by(-10),
            KeyCode::PageDown => self.first = by(10),
            KeyCode::Home => self.first = 0,
            _ => return Action::Nothing,
        }
        Action::Draw
    }

    /// Ranks in the order of the screen.
    fn sorted<'a>(&self, ranks: &'a [RankNow]) -> Vec<&'a RankNow> {
        let mut sorted: Vec<&RankNow> = ranks.iter().collect();
        if self.by_mpi {
            sorted.sort_by(|a, b| b.recent_mpi_share.total_cmp(&a.recent_mpi_share));
        }
        sorted
    }
}

fn percent(part: f64) -> String {
    format!("{:5.1} %", part * 100.0)
}

/// Shows looks at a run, one each time `every` has passed, until the user leaves. `look` returns
/// the next one; `name` is the run's. Returns the last one.
///
/// # Errors
/// Of the terminal, or a signal that requested the end.
pub fn watch(
    name: &str,
    every: Duration,
    look: &mut dyn FnMut() -> WatchData,
) -> Result<WatchData, ScreenError> {
    let colours = Colours::from_environment();
    let mut screen = Screen::enter()?;
    let mut state = State::default();
    let mut begin = Instant::now();
    let mut data = look();
    let mut dirty = true;
    loop {
        // An ended run changes no more.
        if begin.elapsed() >= every && !state.paused && !data.is_last() {
            begin = Instant::now();
            data = look();
            dirty = true;
        }
        if dirty {
            screen
                .draw(|buffer| draw::screen(buffer, name, &data, &state, colours))
                .map_err(ScreenError::Terminal)?;
            dirty = false;
        }
        let wait = every.saturating_sub(begin.elapsed()).min(PULSE);
        let ranks = data.ranks.len();
        match screen.keys(wait, &mut |key| state.press(key, ranks))? {
            Heard::Nothing => {}
            Heard::Changed | Heard::Resumed => dirty = true,
            Heard::Leave => return Ok(data),
        }
    }
}
