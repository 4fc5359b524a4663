//! The meaning of colours, widths, notches, crosses and lines: rows above the views.
//!
//! Owns these rows alone. They explain only signs of the picture: a sample of the sign, its name,
//! and a line with its unit or range.

use std::fmt::Write;

use super::paint::NOTCHES;
use super::quantity::{Quantity, Range, STEPS, amount, share};
use super::scene::Point;
use super::{Form, Network};
use crate::text::xml;

/// Contents of the legend.
pub(super) struct Legend<'a> {
    /// The network.
    pub(super) network: &'a Network<'a>,
    /// Quantity of the colours.
    pub(super) quantity: Quantity,
    /// Range and unit of each view that has values.
    pub(super) ranges: Vec<(Range, &'a str)>,
    /// The largest capacity of a line.
    pub(super) widest: Option<f64>,
    /// True if some link has no value.
    pub(super) absent: bool,
    /// True if stalls are known.
    pub(super) stalled: bool,
    /// True if a route is drawn.
    pub(super) way: bool,
}

/// Height of a row.
const HIGH: f64 = 38.0;

/// Items that flow in rows.
struct Rows {
    out: String,
    begin: Point,
    at: Point,
    right: f64,
}

impl Rows {
    /// Adds a sample of this width, drawn at a place, with a name and a line.
    fn item(&mut self, width: f64, sample: impl Fn(Point) -> String, texts: [&str; 2]) {
        let longest = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
        let wide = width + 7.0 + longest as f64 * 6.1;
        if self.at[0] > self.begin[0] && self.at[0] + wide > self.right {
            self.at = [self.begin[0], self.at[1] + HIGH];
        }
        let [x, y] = self.at;
        self.out.push_str(&sample(self.at));
        for (line, text) in texts.iter().enumerate() {
            let class = if line == 0 { "name" } else { "tick" };
            let _ = writeln!(
                self.out,
                "<text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                x + width + 7.0,
                y + 11.0 + 14.0 * line as f64,
                xml(text, 80)
            );
        }
        self.at[0] += wide + 22.0;
    }
}

impl Legend<'_> {
    /// Its rows, which begin at a place and end at `right`, and their height.
    pub(super) fn draw(&self, begin: Point, right: f64) -> (String, f64) {
        let mut rows = Rows { out: String::new(), begin, at: begin, right };
        if let Some((first, rest)) = self.ranges.split_first() {
            let high = |(range, unit): &(Range, &str)| self.quantity.text(range.high, unit);
            let views = match rest.first() {
                None => String::new(),
                Some(other) if other == first => ", both views".to_owned(),
                Some(other) => format!(" and to {}", high(other)),
            };
            let ends = format!("linear, 0 to {}{views}", high(first));
            let name = format!("colour: {}", self.quantity.name());
            rows.item(14.0 * STEPS as f64, ramp, [&name, &ends]);
        }
        if self.absent {
            rows.item(22.0, hatched, ["not known", ""]);
        }
        let most = self.widest.map_or_else(
            || "no capacity is known".to_owned(),
            |most| format!("to {} one way", amount(most, "B/s")),
        );
        rows.item(32.0, widths, ["width: capacity", &most]);
        if matches!(self.network.form, Form::Torus(_)) {
            let texts = ["links drive on the right", "to larger numbers: below, right"];
            rows.item(30.0, sides, texts);
        }
        if self.stalled {
            let [one, two] = NOTCHES.map(share);
            let from = format!("{one} of the time, two: {two}");
            rows.item(20.0, notch, ["notch: stalled", &from]);
        }
        if !self.network.degraded.is_empty() {
            rows.item(10.0, cross, ["degraded", "listed below"]);
        }
        if self.way {
            rows.item(26.0, ways, ["way from A to B", "way back"]);
        }
        (rows.out, rows.at[1] + HIGH - begin[1])
    }
}

fn ramp([x, y]: Point) -> String {
    (0..STEPS).fold(String::new(), |mut out, step| {
        let x = x + 14.0 * step as f64;
        let _ = write!(
            out,
            "<rect class=\"d q{step}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"14\" height=\"14\"/>"
        );
        out
    })
}

fn hatched([x, y]: Point) -> String {
    format!("<rect class=\"d na\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"22\" height=\"14\"/>")
}

fn widths([x, y]: Point) -> String {
    let (second, y) = (x + 18.0, y + 7.0);
    format!(
        "<path class=\"l q6\" stroke-width=\"2\" d=\"M{x:.1} {y:.1}h14\"/>\
         <path class=\"l q6\" stroke-width=\"6\" d=\"M{second:.1} {y:.1}h14\"/>"
    )
}

fn sides([x, y]: Point) -> String {
    let y = y + 4.0;
    format!(
        "<path class=\"l q2\" stroke-width=\"4\" d=\"M{x:.1} {y:.1}h22\"/>\
         <path class=\"l q9\" stroke-width=\"4\" d=\"M{x:.1} {:.1}h22\"/>\
         <path class=\"r\" d=\"M{:.1} {:.1}l6 4l-6 4z\"/>",
        y + 5.5,
        x + 24.0,
        y + 1.5
    )
}

fn notch([x, y]: Point) -> String {
    format!(
        "<path class=\"l q6\" stroke-width=\"5\" d=\"M{x:.1} {:.1}h20\"/>\
         <path class=\"notch\" stroke-width=\"1.6\" d=\"M{:.1} {:.1}v6\"/>",
        y + 7.0,
        x + 10.0,
        y + 4.0
    )
}

fn cross([x, y]: Point) -> String {
    format!("<path class=\"worse\" d=\"M{x:.1} {:.1}l8 8m-8 0l8 -8\"/>", y + 3.0)
}

fn ways([x, y]: Point) -> String {
    format!(
        "<path class=\"way there\" d=\"M{x:.1} {:.1}h26\"/><path class=\"way back\" d=\"M{x:.1} {:.1}h26\"/>",
        y + 4.0,
        y + 12.0
    )
}
