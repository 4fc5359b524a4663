//! The live view of a node in a terminal: values of monitors on its objects, now and back in time.
//!
//! Owns the loop that waits for a frame or a key, whichever is first, and draws when something has
//! changed. Values come through [`Feed`], of a session ([`Live`]) or a recording ([`Replay`]); the
//! effect of keys is in `state`, the layout in `draw`. It refuses to open counters and files, and
//! to know the command line.

mod draw;
mod feed;
mod groups;
mod history;
mod keys;
mod scale;
mod session;
#[cfg(test)]
mod simulated;
mod state;
#[cfg(test)]
mod tests;

pub use feed::{Feed, News};
pub use history::Replay;
pub use session::{Live, replay};

use std::time::{Duration, Instant};

use crate::colour::Colours;
use crate::terminal::{Heard, Screen, ScreenError};
use state::State;

/// Maximum delay until a signal that requests the end is noticed, although nothing else happens.
const PULSE: Duration = Duration::from_millis(250);
/// Minimum interval between drawings; frames that arrive faster are taken in but not all drawn: no
/// user reads thirty figures a second.
const BRIEFEST: Duration = Duration::from_millis(33);

/// Appearance of the view.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// With colours or without.
    pub(crate) colours: Colours,
    /// Initial speed of a recording, as a power of two.
    pub(crate) speed: i8,
}

impl Options {
    /// Colours by the environment; a speed that is the nearest power of two.
    pub fn new(speed: f64) -> Self {
        let power = if speed > 0.0 { speed.log2().round().clamp(-100.0, 100.0) } else { 0.0 };
        Self { colours: Colours::from_environment(), speed: power as i8 }
    }
}

/// Shows a feed until the user leaves. The terminal is restored whatever happens, also by a panic.
///
/// # Errors
/// No terminal, an error of it, or a signal that requested the end.
pub fn watch(feed: &mut dyn Feed, options: Options) -> Result<(), ScreenError> {
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
        // A further phase, gap or frame changes the picture; so does a key, which resets this
        // memory.
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
        match screen.keys(wait, &mut |key| state.press(key, feed))? {
            Heard::Nothing => {}
            Heard::Changed => drawn = None,
            Heard::Resumed => {
                before = Instant::now();
                drawn = None;
            }
            Heard::Leave => return Ok(()),
        }
    }
}
