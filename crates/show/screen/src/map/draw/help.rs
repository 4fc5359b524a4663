//! The page of `?`: every key, and the meaning of the picture.
//!
//! Owns the words. The layout is that of [`crate::keys`].

use ratatui::layout::Rect;

use crate::keys::HelpPage;
use crate::map::keys::KEYS;
use crate::pen::Pen;

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
    HelpPage {
        title: "talea topo: keys",
        table: &KEYS,
        columns: 10,
        reading: &READING,
        bullet: "·",
    }
    .draw(pen, area);
}
