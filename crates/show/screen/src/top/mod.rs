//! `talea top`: use of a node's cores now, or lately in a store.
//!
//! Owns the loop that waits for figures or a key, whichever is first. Figures are [`Source`]'s, the
//! effect of keys is `state`'s, the layout `draw`'s. It refuses to open samplers and stores, and to
//! know the command line.

mod draw;
mod error;
mod keys;
mod names;
mod rows;
mod source;
mod state;
#[cfg(test)]
mod tests;
mod view;

pub use error::TopError;
pub use source::{KEPT, Live, LiveOptions, Source, Stored};

use std::time::Duration;

use talea_model::{Gap, Nanos};
use talea_store::{Dimension, Value};

use crate::colour::Colours;
use crate::terminal::{self, Heard, Screen, ScreenError};
use draw::Shown;
use names::Names;
use rows::{Parts, Row};
use state::{Action, State};
use view::View;

/// Maximum delay until a signal that requests the end is noticed.
const PULSE: Duration = Duration::from_millis(200);

/// The figures on the screen.
#[derive(Default)]
struct Figures {
    all: Parts,
    rows: Vec<Row>,
    time: Nanos,
    gaps: Vec<String>,
    trouble: Option<String>,
}

/// Shows a source until the user leaves. `by` is the first view if it is one, `last` the time that
/// shares are of; both have defaults.
///
/// # Errors
/// Of the source, of the terminal, or a signal that requested the end.
pub fn watch(
    source: &mut dyn Source,
    by: Option<Dimension>,
    last: Option<Nanos>,
) -> Result<(), TopError> {
    let (windows, usual) = source.windows();
    let view = by.and_then(View::for_dimension).unwrap_or(View::Executable);
    let state = &mut State::new(view, windows, last.unwrap_or(usual));
    let colours = Colours::from_environment();
    let mut names = Names::new();
    let mut screen = Screen::enter()?;
    let mut figures =
        Figures { trouble: Some("waiting for the first samples".into()), ..Figures::default() };
    let mut dirty = true;
    loop {
        if source.poll()? && state.paused.is_none() {
            figures = ask(source, state, &mut names);
            dirty = true;
        }
        if dirty {
            state.chosen = state.chosen.min(figures.rows.len().saturating_sub(1));
            let head = source.head();
            let shown = Shown {
                head: &head,
                cost: source.cost(),
                all: figures.all,
                time: figures.time,
                rows: &figures.rows,
                trouble: figures.trouble.as_deref(),
                gaps: &figures.gaps,
            };
            screen
                .draw(|buffer| draw::screen(buffer, &shown, state, colours))
                .map_err(ScreenError::Terminal)?;
            dirty = false;
        }
        let heard = screen.keys(PULSE, &mut |key| {
            let values: Vec<Value> = figures.rows.iter().map(|row| row.value.clone()).collect();
            match state.press(key, &values, source.end()) {
                Action::Nothing => terminal::Action::Nothing,
                Action::Draw => terminal::Action::Draw,
                Action::Ask => {
                    figures = ask(source, state, &mut names);
                    terminal::Action::Draw
                }
                Action::Leave => terminal::Action::Leave,
                Action::Suspend => terminal::Action::Suspend,
            }
        })?;
        match heard {
            Heard::Nothing => {}
            Heard::Changed | Heard::Resumed => dirty = true,
            Heard::Leave => return Ok(()),
        }
    }
}

/// Queries the source. Figures without an answer have the reason; the next query may have one.
fn ask(source: &dyn Source, state: &State, names: &mut Names) -> Figures {
    let end = source.end();
    let answers = source
        .usage(&state.question_of_all(end))
        .and_then(|all| Ok((all, source.usage(&state.question(end))?)));
    let (all, answer) = match answers {
        Ok(answers) => answers,
        Err(error) => return Figures { trouble: Some(error.to_string()), ..Figures::default() },
    };
    let Some((begin, end)) = all.totals.time else {
        let trouble = Some("nothing was observed in this time".to_owned());
        return Figures { trouble, ..Figures::default() };
    };
    let time = end - begin;
    Figures {
        all: Parts::from_answer(&all),
        rows: rows::rows(&answer, state, time.seconds(), names),
        time,
        gaps: all.gaps.iter().map(Gap::sentence).collect(),
        trouble: None,
    }
}
