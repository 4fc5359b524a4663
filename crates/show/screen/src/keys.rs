//! Tables of keys, the footer and the page of `?` that the programs draw from them.
//!
//! Owns their layout, and the two keys that every program on a terminal has: Ctrl-C and Ctrl-Z. The
//! commands of other keys are the programs'.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;
use ratatui::style::Style;
use talea_model::text::wrapped;

use crate::pen::Pen;
use crate::terminal::Action;

/// A line of the help and a word of the footer.
pub(crate) struct Key {
    /// Text of the key on the keyboard.
    pub(crate) keys: &'static str,
    /// For the footer; empty where it is only in the help.
    pub(crate) word: &'static str,
    /// For the help.
    pub(crate) meaning: &'static str,
}

/// A line of a table of keys.
pub(crate) const fn key(keys: &'static str, word: &'static str, meaning: &'static str) -> Key {
    Key { keys, word, meaning }
}

/// Ctrl-C leaves and Ctrl-Z suspends. `None` for a key without Ctrl, `Some(Action::Nothing)` for
/// others with it.
pub(crate) fn control(key: KeyEvent) -> Option<Action> {
    key.modifiers.contains(KeyModifiers::CONTROL).then_some(match key.code {
        KeyCode::Char('c') => Action::Leave,
        KeyCode::Char('z') => Action::Suspend,
        _ => Action::Nothing,
    })
}

/// The footer: a note about the key just pressed, or the first keys of the table that fit,
/// `between` columns apart.
pub(crate) fn footer(
    pen: &mut Pen<'_>,
    area: Rect,
    table: &[Key],
    between: u16,
    note: Option<&str>,
) {
    let colours = pen.colours;
    if let Some(note) = note {
        pen.text(area.x, area.y, area.width, note, colours.warning());
        return;
    }
    let mut x = area.x;
    for key in table.iter().filter(|key| !key.word.is_empty()) {
        let needed = key.keys.chars().count() + 1 + key.word.chars().count();
        if usize::from(area.right().saturating_sub(x)) < needed {
            break;
        }
        let pieces = [(key.keys, colours.key()), (" ", Style::new()), (key.word, colours.faint())];
        x = pen.pieces(x, area.y, area.right(), &pieces) + between;
    }
}

/// The page of `?`.
pub(crate) struct HelpPage<'a> {
    /// Its first line.
    pub(crate) title: &'a str,
    /// Every key.
    pub(crate) table: &'a [Key],
    /// Columns of the keys.
    pub(crate) columns: u16,
    /// Meaning of the picture, one sentence each.
    pub(crate) reading: &'a [&'a str],
    /// Mark before each sentence; empty for none.
    pub(crate) bullet: &'a str,
}

impl HelpPage<'_> {
    /// Draws it. Keys come first: on a low screen the meaning is cut.
    pub(crate) fn draw(&self, pen: &mut Pen<'_>, area: Rect) {
        let colours = pen.colours;
        pen.text(area.x, area.y, area.width, self.title, colours.strong());
        let mut y = area.y + 2;
        // Two columns of keys would cut their sentences.
        for key in self.table {
            let meaning = area.x + 3 + self.columns;
            pen.text(area.x + 2, y, self.columns, key.keys, colours.key());
            pen.text(meaning, y, area.width, key.meaning, Style::new());
            y += 1;
        }
        y += 1;
        let x = area.x + if self.bullet.is_empty() { 2 } else { 4 };
        let width = usize::from(area.width.saturating_sub(5));
        for text in self.reading {
            for (number, part) in wrapped(text, width, width).iter().enumerate() {
                if number == 0 {
                    pen.text(area.x + 2, y, 1, self.bullet, colours.key());
                }
                pen.text(x, y, area.width, part, Style::new());
                y += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::Buffer;

    use super::*;
    use crate::colour::Colours;

    const TABLE: [Key; 3] =
        [key("q", "quit", "leave"), key("^Z", "", "back to the shell"), key("/", "filter", "rows")];

    fn line(width: u16, note: Option<&str>) -> String {
        let area = Rect::new(0, 0, width, 1);
        let mut buffer = Buffer::empty(area);
        footer(&mut Pen::new(&mut buffer, Colours::Many), area, &TABLE, 2, note);
        (0..width).map(|x| buffer[(x, 0)].symbol()).collect()
    }

    #[test]
    fn a_footer_has_the_first_keys_that_fit() {
        assert_eq!(line(18, None), "q quit  / filter  ");
        assert_eq!(line(15, None), "q quit         ");
        assert_eq!(line(8, Some("not available")), "not ava…");
    }

    #[test]
    fn ctrl_has_two_keys() {
        let check = |code, modifiers, expected| {
            assert_eq!(control(KeyEvent::new(code, modifiers)), expected, "{code:?}");
        };
        let ctrl = KeyModifiers::CONTROL;
        check(KeyCode::Char('c'), ctrl, Some(Action::Leave));
        check(KeyCode::Char('z'), ctrl, Some(Action::Suspend));
        check(KeyCode::Char('q'), ctrl, Some(Action::Nothing));
        check(KeyCode::Char('c'), KeyModifiers::NONE, None);
    }
}
