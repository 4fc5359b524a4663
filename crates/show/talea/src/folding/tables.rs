//! The curves as a table of comma-separated values.
//!
//! Owns its columns: group, curve, place, time from the begin of the region in nanoseconds, value
//! and band, share counted so far and its band. Unavailable values are empty.

use std::fmt::Write;

use talea_report::data::folded::{FoldedBand, FoldedData, FoldedGroup};

const HEAD: &str =
    "group,curve,x,time_ns,value,low,high,accumulated,accumulated_low,accumulated_high\n";

/// All curves of all groups, point by point.
pub(super) fn csv(data: &FoldedData) -> String {
    let mut out = HEAD.to_owned();
    for group in std::iter::once(&data.all).chain(&data.parts) {
        for counter in &group.counters {
            rows(&mut out, group, &counter.name, &counter.rate, Some(&counter.accumulated));
        }
        for model in &group.models {
            rows(&mut out, group, &model.name, &model.curve, None);
        }
    }
    out
}

fn rows(
    out: &mut String,
    group: &FoldedGroup,
    curve: &str,
    band: &FoldedBand,
    shares: Option<&FoldedBand>,
) {
    let steps = band.value.len().saturating_sub(1).max(1);
    for at in 0..band.value.len() {
        let x = at as f64 / steps as f64;
        let time = (x * group.mean_ns.0 as f64).round();
        let _ = write!(out, "{},{},{x},{time}", quoted(&group.name), quoted(curve));
        for values in [Some(&band.value), Some(&band.low), Some(&band.high)].into_iter().chain([
            shares.map(|one| &one.value),
            shares.map(|one| &one.low),
            shares.map(|one| &one.high),
        ]) {
            match values.and_then(|values| values.get(at)).filter(|value| value.is_finite()) {
                Some(value) => {
                    let _ = write!(out, ",{value}");
                }
                None => out.push(','),
            }
        }
        out.push('\n');
    }
}

/// In quotes where the text could be taken for something else (RFC 4180).
fn quoted(text: &str) -> String {
    // Spreadsheets would take these for formulas.
    let risky = text.starts_with(['=', '+', '-', '@']);
    let harmless = if risky { format!("'{text}") } else { text.to_owned() };
    talea_formats::table::quoted(&harmless)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_the_table() {
        assert_eq!(quoted("PAPI_TOT_INS"), "PAPI_TOT_INS");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(quoted("=1+1"), "'=1+1");
    }
}
