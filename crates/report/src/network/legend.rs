//! What colours, widths, notches, crosses and lines mean: one row above the views.
//!
//! Owns the row alone. Only what a picture shows is explained in it.

use std::fmt::Write;

use super::paint::NOTCHES;
use super::quantity::{Quantity, Range, STEPS, amount, share};
use super::scene::Point;
use super::{Form, Network};
use crate::text::xml;

/// What the legend explains.
pub(super) struct Legend<'a> {
    pub(super) network: &'a Network<'a>,
    pub(super) quantity: Quantity,
    pub(super) range: Option<Range>,
    pub(super) unit: &'a str,
    pub(super) widest: Option<f64>,
    pub(super) absent: bool,
    pub(super) stalled: bool,
    pub(super) way: bool,
    /// Views have one scale.
    pub(super) both: bool,
}

impl Legend<'_> {
    /// Its rows, which begin at `x`, `y` and end at `right`, and their height.
    pub(super) fn draw(&self, [x, y]: Point, right: f64) -> (String, f64) {
        let mut out = String::new();
        let mut left = x;
        let mut y = y;
        let top = y;
        let mut item = |width: f64, body: &dyn Fn(f64, f64) -> String, texts: [&str; 2]| {
            let longest = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
            let wide = width + 7.0 + longest as f64 * 6.1 + 22.0;
            if left > x && left + wide - 22.0 > right {
                (left, y) = (x, y + 38.0);
            }
            let _ = write!(out, "{}", body(left, y));
            for (line, text) in texts.iter().enumerate() {
                let class = if line == 0 { "name" } else { "tick" };
                let _ = writeln!(
                    out,
                    "<text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                    left + width + 7.0,
                    y + 11.0 + 14.0 * line as f64,
                    xml(text, 80)
                );
            }
            left += wide;
        };
        let ramp = |left: f64, y: f64| {
            (0..STEPS).fold(String::new(), |mut out, step| {
                let _ = write!(
                    out,
                    "<rect class=\"d q{step}\" x=\"{:.1}\" y=\"{y:.1}\" width=\"14\" height=\"14\"/>",
                    left + 14.0 * step as f64
                );
                out
            })
        };
        if let Some(range) = self.range {
            let ends = format!(
                "linear, 0 to {}{}",
                self.quantity.text(range.high, self.unit),
                if self.both { ", both views" } else { "" }
            );
            item(14.0 * STEPS as f64, &ramp, [&format!("colour: {}", self.quantity.name()), &ends]);
        }
        if self.absent {
            let hatched = |left: f64, y: f64| {
                format!(
                    "<rect class=\"d na\" x=\"{left:.1}\" y=\"{y:.1}\" width=\"22\" height=\"14\"/>"
                )
            };
            item(22.0, &hatched, ["not known", ""]);
        }
        let lanes = |left: f64, y: f64| {
            let (x, y) = (left, y + 7.0);
            format!(
                "<path class=\"l q6\" stroke-width=\"2\" d=\"M{x:.1} {y:.1}h14\"/>\
                 <path class=\"l q6\" stroke-width=\"6\" d=\"M{:.1} {y:.1}h14\"/>",
                x + 18.0
            )
        };
        let most = self.widest.map_or_else(
            || "no capacity is known".to_owned(),
            |most| format!("to {} one way", amount(most, "B/s")),
        );
        item(32.0, &lanes, ["width: capacity", &most]);
        if matches!(self.network.form, Form::Torus(_)) {
            let both = |left: f64, y: f64| {
                let y = y + 4.0;
                format!(
                    "<path class=\"l q2\" stroke-width=\"4\" d=\"M{left:.1} {y:.1}h22\"/>\
                     <path class=\"l q9\" stroke-width=\"4\" d=\"M{left:.1} {:.1}h22\"/>\
                     <path class=\"r\" d=\"M{:.1} {:.1}l6 4l-6 4z\"/>",
                    y + 5.5,
                    left + 24.0,
                    y + 1.5
                )
            };
            item(30.0, &both, ["links drive on the right", "to larger numbers: below, right"]);
        }
        if self.stalled {
            let notch = |left: f64, y: f64| {
                let (x, y) = (left, y + 7.0);
                format!(
                    "<path class=\"l q6\" stroke-width=\"5\" d=\"M{x:.1} {y:.1}h20\"/>\
                     <path class=\"notch\" d=\"M{:.1} {:.1}v11\"/>",
                    x + 10.0,
                    y - 5.5
                )
            };
            let from = format!("{} of the time, two: {}", share(NOTCHES[0]), share(NOTCHES[1]));
            item(20.0, &notch, ["notch: stalled", &from]);
        }
        if !self.network.degraded.is_empty() {
            let cross = |left: f64, y: f64| {
                format!("<path class=\"worse\" d=\"M{left:.1} {:.1}l8 8m-8 0l8 -8\"/>", y + 3.0)
            };
            item(10.0, &cross, ["degraded", "listed below"]);
        }
        if self.way {
            let ways = |left: f64, y: f64| {
                format!(
                    "<path class=\"way there\" d=\"M{left:.1} {:.1}h26\"/><path class=\"way back\" d=\"M{left:.1} {:.1}h26\"/>",
                    y + 4.0,
                    y + 12.0
                )
            };
            item(26.0, &ways, ["way from A to B", "way back"]);
        }
        (out, y + 38.0 - top)
    }
}
