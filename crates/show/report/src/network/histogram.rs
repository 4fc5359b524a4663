//! Histogram of links by load: bars over the range of the colours.
//!
//! Owns the bins and the choice of logarithmic counts: where one bin has more than thirty times the
//! links of another one that has any. Links without a value are noted, not drawn.

use std::fmt::Write;

use talea_model::notation::grouped;

use super::View;
use super::quantity::{Quantity, Range};
use crate::plot::{Area, Plot, Scale, Spacing};
use crate::text::xml;

/// Number of bars.
const BINS: usize = 36;

/// Counts of links by value.
pub(super) struct Histogram {
    counts: [usize; BINS],
    /// Number of links that carry nothing.
    zero: usize,
    absent: usize,
}

impl Histogram {
    /// The histogram of all links of a view.
    pub(super) fn new(view: &View, links: usize, quantity: Quantity, range: Range) -> Self {
        let mut out = Self { counts: [0; BINS], zero: 0, absent: 0 };
        for link in 0..links {
            match view.links.get(link).and_then(|carried| quantity.value(carried)) {
                Some(value) => {
                    out.zero += usize::from(value == 0.0);
                    let part = (value / range.high).clamp(0.0, 1.0);
                    out.counts[((part * BINS as f64) as usize).min(BINS - 1)] += 1;
                }
                None => out.absent += 1,
            }
        }
        out
    }

    /// The maximum number of links of a bin.
    pub(super) fn most(&self) -> usize {
        self.counts.iter().copied().max().unwrap_or(0)
    }

    /// True if counts are better logarithmic.
    pub(super) fn uneven(&self) -> bool {
        let least = self.counts.iter().copied().filter(|&count| count > 0).min().unwrap_or(0);
        self.most() > 30 * least.max(1)
    }
}

/// Common properties of histograms beside each other.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub(super) area: Area,
    /// The maximum number of links of a bin of any of them.
    pub(super) most: usize,
    pub(super) log: bool,
}

/// The bars with their axes. Needs 52 px at the left, 20 above, 36 below.
pub(super) fn draw(
    histogram: &Histogram,
    frame: &Frame,
    (quantity, range, unit): (Quantity, Range, &str),
) -> String {
    let most = frame.most.max(1) as f64;
    let (low, spacing) =
        if frame.log { (0.5, Spacing::Logarithmic) } else { (0.0, Spacing::Linear) };
    let (high, x_unit) = match quantity {
        Quantity::Load => (range.high, unit),
        Quantity::Used | Quantity::Stalled => (range.high * 100.0, "%"),
    };
    let plot = Plot {
        area: frame.area,
        x: Scale::new(quantity.name(), x_unit, [0.0, high], Spacing::Linear),
        y: Scale::new("links", "", [low, most], spacing).whole(),
    };
    let mut out = plot.axes();
    let wide = frame.area.width / BINS as f64;
    let bottom = frame.area.y + frame.area.height;
    for (bin, &count) in histogram.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let top = plot.py(count as f64).min(bottom - 1.0);
        let begin = range.high * bin as f64 / BINS as f64;
        let end = range.high * (bin + 1) as f64 / BINS as f64;
        let _ = writeln!(
            out,
            "<rect class=\"d q{}\" x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}</title></rect>",
            range.step(f64::midpoint(begin, end)),
            frame.area.x + wide * bin as f64 + 0.5,
            wide - 1.0,
            bottom - top,
            xml(
                &format!(
                    "{count} links: {} to {}",
                    quantity.text(begin, unit),
                    quantity.text(end, unit)
                ),
                120
            )
        );
    }
    let mut said = Vec::new();
    if histogram.zero > 0 {
        said.push(format!("{} links have none", grouped(histogram.zero as u64)));
    }
    if histogram.absent > 0 {
        said.push(format!("{} are not known", grouped(histogram.absent as u64)));
    }
    let _ = writeln!(
        out,
        "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
        frame.area.x + frame.area.width,
        frame.area.y - 8.0,
        xml(&said.join(", "), 120)
    );
    out
}
