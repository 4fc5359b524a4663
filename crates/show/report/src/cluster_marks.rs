//! Marks of clusters in every picture: a colour, a shape and a number, in the order of their time.
//!
//! Owns the marks. The same pair of the eight colours and six shapes recurs only after 24 clusters;
//! noise is a grey cross.

use std::fmt::Write;

use crate::data::clusters::DimensionData;
use crate::plot::{Scale, Spacing, category};

/// Number of shapes that are distinct when small.
const SHAPES: u32 = 6;

/// The class of a cluster's colour; 0 is noise.
pub(crate) fn class(cluster: u32) -> String {
    match cluster.checked_sub(1) {
        Some(place) => category(place as usize),
        None => "noise".to_owned(),
    }
}

/// Adds the outline of a mark with radius `r` around a place to the data of a path.
#[allow(clippy::many_single_char_names, reason = "coordinates and lengths of an outline")]
pub(crate) fn mark(path: &mut String, cluster: u32, (x, y): (f64, f64), r: f64) {
    let Some(place) = cluster.checked_sub(1) else {
        let arm = r * 0.9;
        let _ = write!(
            path,
            "M{:.1} {:.1}l{:.1} {:.1}l.8 -.8l-{:.1} -{:.1}zm{:.1} 0l.8 .8l-{:.1} {:.1}l-.8 -.8z",
            x - arm,
            y - arm,
            2.0 * arm,
            2.0 * arm,
            2.0 * arm,
            2.0 * arm,
            2.0 * arm,
            2.0 * arm,
            2.0 * arm
        );
        return;
    };
    let _ = match place % SHAPES {
        0 => write!(
            path,
            "M{:.1} {y:.1}a{r:.1} {r:.1} 0 1 0 {:.1} 0a{r:.1} {r:.1} 0 1 0 -{:.1} 0z",
            x - r,
            2.0 * r,
            2.0 * r
        ),
        1 => {
            let s = r * 0.88;
            write!(
                path,
                "M{:.1} {:.1}h{:.1}v{:.1}h-{:.1}z",
                x - s,
                y - s,
                2.0 * s,
                2.0 * s,
                2.0 * s
            )
        }
        2 => write!(
            path,
            "M{x:.1} {:.1}l{:.1} {:.1}h-{:.1}z",
            y - 1.15 * r,
            1.05 * r,
            1.95 * r,
            2.1 * r
        ),
        3 => write!(
            path,
            "M{x:.1} {:.1}l{:.1} {:.1}l-{:.1} {:.1}l-{:.1} -{:.1}z",
            y - 1.25 * r,
            1.1 * r,
            1.25 * r,
            1.1 * r,
            1.25 * r,
            1.1 * r,
            1.25 * r
        ),
        4 => write!(
            path,
            "M{:.1} {:.1}h{:.1}l-{:.1} {:.1}z",
            x - 1.05 * r,
            y - 0.8 * r,
            2.1 * r,
            1.05 * r,
            1.95 * r
        ),
        _ => {
            let (a, b) = (0.4 * r, 1.15 * r);
            write!(
                path,
                "M{:.1} {:.1}h{:.1}v{:.1}h{:.1}v{:.1}h-{:.1}v{:.1}h-{:.1}v-{:.1}h-{:.1}v-{:.1}h{:.1}z",
                x - a,
                y - b,
                2.0 * a,
                b - a,
                b - a,
                2.0 * a,
                b - a,
                b - a,
                2.0 * a,
                b - a,
                b - a,
                2.0 * a,
                b - a
            )
        }
    };
}

/// Text of a share.
pub(crate) fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), talea_model::units::percent)
}

/// Text of a score whose distance from 100 % is of interest.
pub(crate) fn score(score: Option<f64>) -> String {
    score.map_or_else(|| "-".to_owned(), |score| format!("{:.1} %", 100.0 * score))
}

/// A number in its unit; ratios, which have none and are small, without a prefix.
pub(crate) fn number(value: f64, unit: &str) -> String {
    if !value.is_finite() {
        "-".to_owned()
    } else if unit.is_empty() && value.abs() < 1000.0 {
        let digits = if value.fract() == 0.0 {
            0
        } else {
            2 - (value.abs().max(1e-3).log10().floor() as i32).clamp(-2, 2)
        };
        format!("{value:.*}", digits as usize)
    } else {
        talea_model::units::si(value, unit)
    }
}

/// An axis of a dimension over some values.
pub(crate) fn axis(dimension: &DimensionData, values: impl Iterator<Item = f64> + Clone) -> Scale {
    let spacing = if dimension.logarithmic { Spacing::Logarithmic } else { Spacing::Linear };
    let most = values
        .clone()
        .filter(|value| value.is_finite())
        .fold(0.0, |most: f64, value| most.max(value.abs()));
    let scale = Scale::around(&dimension.name, &dimension.unit, values, spacing);
    if dimension.unit.is_empty() && most < 1000.0 { scale.plain() } else { scale }
}

/// A number in an SVG text in front of marks.
pub(crate) const HALO: &str = "<style>.plot .halo{paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round;font-weight:600}\
    .plot .mk{fill-opacity:.62}.plot .title{font:600 15px ui-sans-serif,system-ui,sans-serif}.plot .dim{fill:var(--dim)}\
    .plot .rowline{stroke:var(--line);stroke-width:1;fill:none}</style>\n";
