//! Stretches of the region where ranks, groups or inputs behave differently.
//!
//! Owns the naming of the parts that differ; the test against chance is `talea_fold::overlay`'s.

use talea_fold::{Curve, overlay};
use talea_report::data::folded::{FoldedDifference, FoldedGroup};

/// Minimum length of a reported stretch.
const SHORTEST: f64 = 0.01;
/// Minimum reported difference, as a share of the mean rate.
const SMALLEST: f64 = 0.02;
/// Maximum number of reported differences.
const MOST: usize = 20;

/// True if there are two parts with bands, so that chance can be judged.
pub(super) fn comparable(parts: &[FoldedGroup]) -> bool {
    let banded = |part: &&FoldedGroup| {
        part.counters.iter().any(|one| one.rate.high.iter().any(|high| high.is_finite()))
    };
    parts.iter().filter(banded).count() > 1
}

/// Stretches in which parts differ, the largest differences first.
pub(super) fn between(
    parts: &[FoldedGroup],
    curves: &[Vec<(u32, Curve)>],
) -> Vec<FoldedDifference> {
    let mut found = Vec::new();
    // A part may lack counters that others have.
    let mut counters: Vec<&str> = Vec::new();
    for (_, curve) in curves.iter().flatten() {
        if !counters.contains(&curve.counter.as_str()) {
            counters.push(&curve.counter);
        }
    }
    for counter in counters {
        let of: Vec<(&str, &Curve)> = parts
            .iter()
            .zip(curves)
            .filter_map(|(part, curves)| {
                let curve = curves.iter().find(|one| one.1.counter == counter)?;
                Some((part.name.as_str(), &curve.1))
            })
            .collect();
        let only: Vec<&Curve> = of.iter().map(|one| one.1).collect();
        let Ok(laid) = overlay(&only) else { continue };
        for (from, to) in laid.differ {
            let rate = |curve: &Curve| {
                curve.per_second() * (curve.share(to) - curve.share(from)) / (to - from)
            };
            let mut rates: Vec<(f64, &str)> = of
                .iter()
                .map(|(name, curve)| (rate(curve), *name))
                .filter(|one| one.0.is_finite())
                .collect();
            rates.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (Some(low), Some(high)) = (rates.first(), rates.last()) else { continue };
            let mean = rates.iter().map(|one| one.0).sum::<f64>() / rates.len() as f64;
            let difference = (high.0 - low.0) / mean;
            if to - from >= SHORTEST && difference >= SMALLEST {
                found.push(FoldedDifference {
                    counter: counter.to_owned(),
                    from,
                    to,
                    lowest: low.1.to_owned(),
                    highest: high.1.to_owned(),
                    difference,
                });
            }
        }
    }
    let weight = |one: &FoldedDifference| one.difference * (one.to - one.from);
    found.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    found.truncate(MOST);
    found
}
