//! The keys of `talea top`, in one table that feeds the footer and the help.
//!
//! Owns the mapping from a key to a [`Command`]. Characters of a filter do not come here. The
//! effect of a command is in [`super::state`].

use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::view::View;
use crate::keys::{Key, control, key};
use crate::terminal::Action;

/// The command of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Leave,
    Suspend,
    Help,
    /// Closes the help, takes the text away, or goes back to before the last choice, whichever
    /// there is.
    Back,
    Pause,
    Show(View),
    Next(i8),
    Sort,
    Type,
    Move(i32),
    /// Filter by the chosen row.
    Choose,
    /// A longer or shorter time.
    Window(i8),
}

/// All keys, the most important first: a narrow footer drops the last.
pub(super) const KEYS: [Key; 11] = [
    key("q", "quit", "leave; so does Ctrl-C"),
    key("?", "help", "this page"),
    key("⇥", "view", "the next view; j e l f p c u go to job, executable, library ... core, user"),
    key("⏎", "only this", "only what belongs to the chosen row, in the next view"),
    key("⌫", "back", "back to before; Esc too"),
    key("/", "filter", "only rows whose name has the text that follows; Enter ends it"),
    key("␣", "pause", "hold the moment, or go on"),
    key("s", "sort", "by share, or by name"),
    key("+-", "time", "shares of a longer or a shorter time"),
    key("↑↓", "", "choose a row; Page up and down, Home"),
    key("^Z", "", "back to the shell until `fg`"),
];

/// The command of a key; `None` for keys without a meaning.
pub(super) fn command(key: KeyEvent) -> Option<Command> {
    if let Some(action) = control(key) {
        return match action {
            Action::Leave => Some(Command::Leave),
            Action::Suspend => Some(Command::Suspend),
            _ => None,
        };
    }
    Some(match key.code {
        KeyCode::Char('q') => Command::Leave,
        KeyCode::Char('?' | 'h') => Command::Help,
        KeyCode::Char(' ') => Command::Pause,
        KeyCode::Char('s') => Command::Sort,
        KeyCode::Char('/') => Command::Type,
        KeyCode::Char('+' | '=') => Command::Window(1),
        KeyCode::Char('-') => Command::Window(-1),
        KeyCode::Up => Command::Move(-1),
        KeyCode::Down => Command::Move(1),
        KeyCode::PageUp => Command::Move(-10),
        KeyCode::PageDown => Command::Move(10),
        KeyCode::Home => Command::Move(i32::MIN),
        KeyCode::Enter => Command::Choose,
        KeyCode::Esc | KeyCode::Backspace => Command::Back,
        KeyCode::Tab | KeyCode::Right => Command::Next(1),
        KeyCode::BackTab | KeyCode::Left => Command::Next(-1),
        KeyCode::Char(letter) => {
            Command::Show(View::ALL.into_iter().find(|v| v.letter() == letter)?)
        }
        _ => return None,
    })
}
