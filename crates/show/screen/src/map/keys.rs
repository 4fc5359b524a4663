//! The keys: the command of each, in one table that feeds the footer and the help.
//!
//! Owns the mapping from a key of crossterm to a [`Command`]. The effect of a command is in
//! [`super::state`].

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::keys::{Key, control, key};
use crate::terminal::Action;

/// The command of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Leave the screen.
    Leave,
    /// Stop the process until it is continued by the shell.
    Suspend,
    /// Show or hide the keys and the meaning of the picture.
    Help,
    /// Close the help.
    Close,
    /// Pause, or continue.
    Pause,
    /// Back or forward by this many frames.
    Scrub(i64),
    /// To the oldest frame.
    First,
    /// To the newest frame, and stay with it.
    Newest,
    /// Play twice or half as fast, this many times.
    Speed(i8),
    /// The next or previous monitor.
    Monitor(i8),
    /// The monitor with this number, from 0.
    MonitorAt(u8),
    /// The next or previous level of the monitor.
    Level(i8),
    /// The next or previous object.
    Object(i8),
    /// The first object of the next or previous block.
    Block(i8),
    /// Linear or logarithmic.
    Log,
    /// Scale from the values or from the monitor's definition.
    Auto,
    /// Mark this moment.
    Mark,
    /// The difference to the marked moment.
    Difference,
    /// Threads on the PUs.
    Placement,
}

/// All keys, the most important first: a narrow footer drops the last.
pub(crate) const KEYS: [Key; 18] = [
    key("q", "quit", "leave; Ctrl-C does the same"),
    key("?", "help", "show or hide this page"),
    key("space", "pause", "hold the moment; recording goes on. Again: go on"),
    key("←→", "scrub", "one frame back or forward; with Shift, or , and . ten frames"),
    key("↑↓", "object", "previous or next object"),
    key("tab", "monitor", "next monitor; Shift-Tab or m and M too; 1-9 choose one"),
    key("v", "level", "next level of this monitor (PU, L3, Package ...); V the previous"),
    key("l", "log", "linear or logarithmic scale"),
    key("a", "auto", "scale from the values seen, or from the monitor's definition"),
    key("x", "mark", "mark this moment"),
    key("d", "diff", "difference to the marked moment, blue is less, orange is more"),
    key("p", "threads", "show threads on the PUs"),
    key("+-", "", "play a recording faster or slower"),
    key("PgUp PgDn", "", "first object of the previous or next block"),
    key("Home", "", "the oldest moment"),
    key("End", "", "the newest moment; a live view follows it again"),
    key("Esc", "", "close this page"),
    key("Ctrl-Z", "", "back to the shell; fg returns"),
];

/// The command of a key; `None` for keys without a meaning.
pub(crate) fn command(key: KeyEvent) -> Option<Command> {
    let far = key.modifiers.contains(KeyModifiers::SHIFT);
    if let Some(action) = control(key) {
        return match action {
            Action::Leave => Some(Command::Leave),
            Action::Suspend => Some(Command::Suspend),
            _ => None,
        };
    }
    if key.modifiers.contains(KeyModifiers::ALT) {
        return None;
    }
    let command = match key.code {
        KeyCode::Char('q') => Command::Leave,
        KeyCode::Char('?' | 'h') => Command::Help,
        KeyCode::Esc => Command::Close,
        KeyCode::Char(' ') => Command::Pause,
        KeyCode::Left => Command::Scrub(if far { -10 } else { -1 }),
        KeyCode::Right => Command::Scrub(if far { 10 } else { 1 }),
        KeyCode::Char(',') => Command::Scrub(-10),
        KeyCode::Char('.') => Command::Scrub(10),
        KeyCode::Home => Command::First,
        KeyCode::End => Command::Newest,
        KeyCode::Char('+' | '=') => Command::Speed(1),
        KeyCode::Char('-') => Command::Speed(-1),
        KeyCode::Tab | KeyCode::Char('m') => Command::Monitor(1),
        KeyCode::BackTab | KeyCode::Char('M') => Command::Monitor(-1),
        KeyCode::Char(digit @ '1'..='9') => Command::MonitorAt(digit as u8 - b'1'),
        KeyCode::Char('v') => Command::Level(1),
        KeyCode::Char('V') => Command::Level(-1),
        KeyCode::Up if far => Command::Block(-1),
        KeyCode::Down if far => Command::Block(1),
        KeyCode::Up => Command::Object(-1),
        KeyCode::Down => Command::Object(1),
        KeyCode::PageUp => Command::Block(-1),
        KeyCode::PageDown => Command::Block(1),
        KeyCode::Char('l') => Command::Log,
        KeyCode::Char('a') => Command::Auto,
        KeyCode::Char('x') => Command::Mark,
        KeyCode::Char('d') => Command::Difference,
        KeyCode::Char('p') => Command::Placement,
        _ => return None,
    };
    Some(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_ask_for_commands() {
        let check = |code, modifiers, expected| {
            assert_eq!(command(KeyEvent::new(code, modifiers)), expected, "{code:?} {modifiers:?}");
        };
        let none = KeyModifiers::NONE;
        check(KeyCode::Char('q'), none, Some(Command::Leave));
        check(KeyCode::Char('c'), KeyModifiers::CONTROL, Some(Command::Leave));
        check(KeyCode::Char('c'), none, None);
        check(KeyCode::Char('q'), KeyModifiers::ALT, None);
        check(KeyCode::Left, none, Some(Command::Scrub(-1)));
        check(KeyCode::Right, KeyModifiers::SHIFT, Some(Command::Scrub(10)));
        check(KeyCode::Char('3'), none, Some(Command::MonitorAt(2)));
        check(KeyCode::Char('M'), KeyModifiers::SHIFT, Some(Command::Monitor(-1)));
        check(KeyCode::F(3), none, None);
    }
}
