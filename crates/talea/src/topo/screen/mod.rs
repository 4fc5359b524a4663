//! The live view of a node in a terminal: values of monitors on its objects, now and back in time.
//!
//! Owns the loop that waits for a frame or a key, whichever is first, and draws when something has changed. Values come
//! through [`Feed`]; the effect of keys is in [`state`], the layout in [`draw`], the terminal itself in [`terminal`].
//! It refuses measuring, reading files and knowing the command line.

pub(crate) mod colour;
mod draw;
pub(crate) mod feed;
mod groups;
pub(crate) mod history;
mod keys;
pub(crate) mod scale;
#[cfg(test)]
mod simulated;
mod state;
pub(crate) mod terminal;
#[cfg(test)]
mod tests;

use std::io;
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyEventKind};

use colour::Colours;
use feed::{Feed, News};
use state::{Action, State};
use terminal::Screen;

/// Maximum delay until a signal that requests the end is noticed, although nothing else happens.
const PULSE: Duration = Duration::from_millis(250);
/// Minimum interval between drawings; frames that arrive faster are taken in but not all drawn: no user reads
/// thirty figures a second.
const BRIEFEST: Duration = Duration::from_millis(33);

/// Appearance of the view.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// With colours or without.
    pub(crate) colours: Colours,
    /// Initial speed of a recording, as a power of two.
    pub(crate) speed: i8,
}

impl Options {
    /// Colours by the environment; a speed that is the nearest power of two.
    pub(crate) fn new(speed: f64) -> Self {
        let power = if speed > 0.0 { speed.log2().round().clamp(-100.0, 100.0) } else { 0.0 };
        Self { colours: Colours::from_environment(), speed: power as i8 }
    }
}

/// Errors of the view.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ScreenError {
    /// No terminal for keys or cells.
    #[error("expected a terminal on standard input and output, found a file or a pipe")]
    NoTerminal,
    /// The process was asked to end; the terminal is restored.
    #[error("ended by signal {0}")]
    Signal(i32),
    /// An error of the terminal.
    #[error("expected to draw on the terminal: {0}")]
    Terminal(#[from] io::Error),
}

/// Shows a feed until the user leaves. The terminal is restored whatever happens, also by a panic.
pub(crate) fn watch(feed: &mut dyn Feed, options: Options) -> Result<(), ScreenError> {
    let mut screen = Screen::enter()?;
    let mut state = State::new(feed);
    state.set_speed(options.speed);
    let mut before = Instant::now();
    let mut drawn = None;
    loop {
        let news = feed.poll();
        state.ended = news == News::Ended;
        state.take(feed);
        let elapsed = before.elapsed();
        before += elapsed;
        let next = state.advance(elapsed, feed);
        // A further phase, gap or frame changes the picture; so does a key, which resets this memory.
        let shows = (state.number(feed), feed.frames(), feed.gaps().iter().count(), state.ended);
        if drawn.as_ref() != Some(&shows) {
            screen.draw(|buffer| draw::screen(buffer, feed, &state, options.colours))?;
            drawn = Some(shows);
        }
        let due = match news {
            News::In(after) => after.max(BRIEFEST),
            News::Ended => PULSE,
        };
        let wait = due.min(next.unwrap_or(PULSE)).min(PULSE);
        let mut ready = event::poll(wait)?;
        while ready {
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => {
                    match state.press(key, feed) {
                        Action::Nothing => {}
                        Action::Draw => drawn = None,
                        Action::Leave => return Ok(()),
                        Action::Suspend => {
                            screen.suspend()?;
                            before = Instant::now();
                            drawn = None;
                        }
                    }
                }
                Event::Resize(..) => drawn = None,
                _ => {}
            }
            ready = event::poll(Duration::ZERO)?;
        }
        if let Some(signal) = screen.signal() {
            return Err(ScreenError::Signal(signal));
        }
    }
}
