//! The page of `?`: every key, and the meaning of the picture.
//!
//! Owns the words. Keys come first: on a low screen the meaning is cut.

use ratatui::layout::Rect;
use ratatui::style::Style;

use super::pen::Pen;
use crate::terminal::wrapped;
use crate::topo::screen::keys::KEYS;

/// Meaning of the picture, one sentence a line.
const READING: [&str; 10] = [
    "a cell is one object of the level: colour and digit (tenths of the scale) are its value",
    "cells on top of each other are the PUs of a core; few objects are rows with bars instead",
    "░ is a value that could not be had, never zero; the strip under the title says why",
    "the legend has the ends of the scale; auto ends come from the values so far, rounded up",
    "imbalance is the largest value over the mean: over all, and in the worst object above",
    "values of caches, nodes, packages are the monitor's at that level, no sums of what is seen",
    "the line at the bottom is time, coloured by phase: ● the moment shown, × the marked one",
    "with --run it is the program's: ╌ set-up and wrap-up, ━ its loop, ▲ slow iterations, ┈ no run",
    "with threads shown a digit is how many run there, + ten or more; the colour stays",
    "NO_COLOR in the environment turns colours off",
];

/// Draws the page.
pub(super) fn draw(pen: &mut Pen<'_>, area: Rect) {
    let colours = pen.colours;
    pen.text(area.x, area.y, area.width, "talea topo: keys", colours.strong());
    let mut y = area.y + 2;
    // Two columns of keys would cut their sentences; on a low screen the text below them is cut.
    for key in &KEYS {
        if y < area.bottom() {
            pen.text(area.x + 2, y, 10, key.keys, colours.key());
            pen.text(area.x + 13, y, area.width - 13, key.meaning, Style::new());
        }
        y += 1;
    }
    y += 1;
    for text in READING {
        for (number, part) in wrapped(text, usize::from(area.width - 5)).iter().enumerate() {
            if y < area.bottom() {
                pen.text(area.x + 2, y, 1, if number == 0 { "·" } else { " " }, colours.key());
                pen.text(area.x + 4, y, area.width - 4, part, Style::new());
            }
            y += 1;
        }
    }
}
