//! Putting text into cells: cut to a width, never outside the screen.
//!
//! Owns the bounds. External text (names of hosts, threads, phases) is cleaned of control
//! characters here.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use talea_model::text::clean;

use crate::colour::Colours;
use crate::glyphs::{ABSENT, bar, upwards};

/// A buffer and the colours for it.
pub(crate) struct Pen<'a> {
    buffer: &'a mut Buffer,
    pub(crate) colours: Colours,
}

impl<'a> Pen<'a> {
    pub(crate) fn new(buffer: &'a mut Buffer, colours: Colours) -> Self {
        Self { buffer, colours }
    }

    /// The whole screen.
    pub(crate) fn area(&self) -> Rect {
        self.buffer.area
    }

    /// Text in at most `width` columns; a cut is visible. Returns the column after it.
    pub(crate) fn text(&mut self, x: u16, y: u16, width: u16, text: &str, style: Style) -> u16 {
        let area = self.buffer.area;
        let width = width.min(area.right().saturating_sub(x));
        if y >= area.bottom() || width == 0 {
            return x;
        }
        let text = clean(text, usize::from(width));
        self.buffer.set_stringn(x, y, text, usize::from(width), style).0
    }

    /// Text that ends before column `end`.
    pub(crate) fn right(&mut self, end: u16, y: u16, width: u16, text: &str, style: Style) {
        let columns = text.chars().count().min(usize::from(width)) as u16;
        self.text(end.saturating_sub(columns), y, width, text, style);
    }

    /// Pieces of text one after the other, as far as they fit. Returns the column after them.
    pub(crate) fn pieces(&mut self, x: u16, y: u16, end: u16, pieces: &[(&str, Style)]) -> u16 {
        pieces
            .iter()
            .fold(x, |x, (text, style)| self.text(x, y, end.saturating_sub(x), text, *style))
    }

    /// A bar of a value; the track shows the scale's length. An absent value is hatched.
    pub(crate) fn bar(&mut self, x: u16, y: u16, width: u16, part: Option<f64>) {
        let Some(part) = part else {
            let hatch = ABSENT.repeat(usize::from(width));
            self.text(x, y, width, &hatch, self.colours.absent());
            return;
        };
        let text = format!("{:<1$}", bar(part, usize::from(width)), usize::from(width));
        self.text(x, y, width, &text, self.colours.bar(part, false));
    }

    /// A bar of a difference from the middle: to the left for less, to the right for more.
    pub(crate) fn bar_of_difference(&mut self, x: u16, y: u16, width: u16, part: Option<f64>) {
        let Some(part) = part else { return self.bar(x, y, width, None) };
        let half = width / 2;
        let length = (part - 0.5).abs() * 2.0;
        let style = self.colours.bar(part, true);
        let blank = " ".repeat(usize::from(half));
        let (left, right) = if part < 0.5 {
            // There are no eighths that grow to the left: halves must do.
            let halves = (length * f64::from(half) * 2.0).round() as usize;
            let text = format!("{}{}", "▐".repeat(halves % 2), "█".repeat(halves / 2));
            (format!("{text:>0$}", usize::from(half)), blank)
        } else {
            (blank, format!("{:<1$}", bar(length, usize::from(half)), usize::from(half)))
        };
        self.text(x, y, half, &left, style);
        self.text(x + half, y, 1, "│", self.colours.faint());
        self.text(x + half + 1, y, half, &right, style);
    }

    /// Values over time, one column each, ending at the right.
    pub(crate) fn spark(&mut self, x: u16, y: u16, width: u16, parts: &[Option<f64>]) {
        let parts = &parts[parts.len().saturating_sub(usize::from(width))..];
        let first = x + width - parts.len() as u16;
        for (column, part) in (first..).zip(parts) {
            match part {
                Some(part) => {
                    let style = self.colours.bar(*part, false).bg(ratatui::style::Color::Reset);
                    self.text(column, y, 1, upwards(*part), style)
                }
                None => self.text(column, y, 1, "·", self.colours.absent()),
            };
        }
    }
}
