//! The footer: the most important keys, or one sentence about the key just pressed.
//!
//! Owns the choice of keys that fit: those at the end of the table are dropped first.

use ratatui::layout::Rect;
use ratatui::style::Style;

use super::pen::Pen;
use crate::topo::screen::keys::KEYS;
use crate::topo::screen::state::State;

/// Draws the last row.
pub(super) fn draw(pen: &mut Pen<'_>, area: Rect, state: &State) {
    let colours = pen.colours;
    if let Some(note) = state.note {
        pen.text(area.x, area.y, area.width, note, colours.warning());
        return;
    }
    let mut x = area.x;
    for key in KEYS.iter().filter(|key| !key.word.is_empty()) {
        let needed = key.keys.chars().count() + 1 + key.word.chars().count();
        if usize::from(area.right().saturating_sub(x)) < needed {
            break;
        }
        let pieces = [(key.keys, colours.key()), (" ", Style::new()), (key.word, colours.faint())];
        x = pen.pieces(x, area.y, area.right(), &pieces) + 1;
    }
}
