//! The keys of `talea top`, in one table that feeds the footer and the help.
//!
//! Owns the way from a key to a [`Command`]. While a text is typed, characters belong to it. What a command does is
//! in [`super::state`].

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::state::View;

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Leave,
    Suspend,
    Help,
    /// Closes the help, takes the text away, or goes back to before the last choice, whichever there is.
    Back,
    Pause,
    Show(View),
    Next(i8),
    Sort,
    Type,
    Move(i32),
    /// Only what belongs to the chosen row.
    Choose,
    /// A longer or shorter time.
    Window(i8),
}

/// A line of the help and a word of the footer.
pub(super) struct Key {
    /// As it is on the keyboard.
    pub(super) keys: &'static str,
    /// For the footer; empty where it is only in the help.
    pub(super) word: &'static str,
    /// For the help.
    pub(super) meaning: &'static str,
}

const fn key(keys: &'static str, word: &'static str, meaning: &'static str) -> Key {
    Key { keys, word, meaning }
}

/// The keys, those that matter most first.
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

/// The command of a key; none if it has none.
pub(super) fn command(key: KeyEvent) -> Option<Command> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return match key.code {
            KeyCode::Char('c') => Some(Command::Leave),
            KeyCode::Char('z') => Some(Command::Suspend),
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
