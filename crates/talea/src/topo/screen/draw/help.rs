//! The page behind `?`: every key, and how to read the picture.
//!
//! Owns the words. Keys come first: on a low screen it is the reading that is cut.

use ratatui::layout::Rect;
use ratatui::style::Style;

use super::pen::Pen;
use crate::topo::screen::keys::KEYS;

/// How to read the picture, one sentence a line.
const READING: [&str; 9] = [
    "a cell is one object of the level: colour and digit (tenths of the scale) are its value",
    "cells on top of each other are the PUs of a core; few objects are rows with bars instead",
    "░ is a value that could not be had, never zero; the strip under the title says why",
    "the legend has the ends of the scale; auto ends come from the values so far, rounded up",
    "imbalance is the largest value over the mean: over all, and in the worst object above",
    "values of caches, nodes, packages are the monitor's at that level, no sums of what is seen",
    "the line at the bottom is time, coloured by phase: ● the moment shown, × the marked one",
    "with threads shown a digit is how many run there, + ten or more; the colour stays",
    "NO_COLOR in the environment turns colours off",
];

/// Draws the page.
pub(super) fn draw(pen: &mut Pen<'_>, area: Rect) {
    let colours = pen.colours;
    pen.text(area.x, area.y, area.width, "talea topo: keys", colours.strong());
    let mut y = area.y + 2;
    let mut line = |pen: &mut Pen<'_>, key: &str, text: &str| {
        if y < area.bottom() {
            pen.text(area.x + 2, y, 10, key, colours.key());
            pen.text(area.x + 13, y, area.width.saturating_sub(13), text, Style::new());
        }
        y += 1;
    };
    // Two columns of keys would cut their sentences; on a low screen the reading below them is what is cut.
    for key in &KEYS {
        line(pen, key.keys, key.meaning);
    }
    line(pen, "", "");
    for text in READING {
        for (number, part) in
            crate::terminal::wrapped(text, usize::from(area.width.saturating_sub(14)))
                .iter()
                .enumerate()
        {
            line(pen, if number == 0 { "·" } else { "" }, part);
        }
    }
}
