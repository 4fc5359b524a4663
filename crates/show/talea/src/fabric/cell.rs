//! Cells of the tables about networks.
//!
//! Owns the form of absent values, which is `-` everywhere and never a zero, and shares in percent.

use talea_network::rates::Way;
use talea_topology::svg::amount;

/// A value for people; `-` where it is absent.
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

/// Time that a port waited: a share of time, or ticks a second where the length of a tick is
/// unknown.
pub(super) fn stalled(way: Way) -> String {
    match way.stalled {
        Some(_) => percent(way.stalled),
        None => known(way.ticks, |ticks| amount(ticks, "ticks/s")),
    }
}
