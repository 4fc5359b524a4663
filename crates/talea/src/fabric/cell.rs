//! Cells of the tables about networks.
//!
//! Owns how what is absent looks, which is `-` everywhere and never a zero, and shares in percent.

use talea_topology::svg::amount;

use super::rates::Way;

/// A value as people read it.
pub(super) fn known<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), text)
}

/// A share of 1 in percent, with three digits.
pub(super) fn percent(share: Option<f64>) -> String {
    known(share, |share| amount(100.0 * share, "%"))
}

/// A share of 1 in percent, to a tenth.
pub(super) fn tenths(share: Option<f64>) -> String {
    known(share, |share| format!("{:.1} %", share * 100.0))
}

/// How long a port waited: a share of time, or ticks a second where nobody says how long a tick is.
pub(super) fn stalled(way: Way) -> String {
    match way.stalled {
        Some(_) => percent(way.stalled),
        None => known(way.ticks, |ticks| amount(ticks, "ticks/s")),
    }
}
