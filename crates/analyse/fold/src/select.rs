//! Selection of the instances that are folded together: those of one mode of duration, without
//! outliers.
//!
//! Owns grouping by duration and the rules for outliers. It refuses to drop anything silently:
//! every instance left out is counted in the gaps. The rule "median +- 1.5 MAD" alone throws a
//! third away where durations differ by 0.1 %, so that a deviation must be large relative to the
//! median too.

use serde::{Deserialize, Serialize};
use talea_model::{Gap, GapKind, Gaps, Nanos};

/// Rule for outliers of a mode's durations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outliers {
    /// Beyond `factor` median absolute deviations of the median *and* beyond the share `relative`
    /// of it.
    Mad {
        /// Limit in median absolute deviations.
        factor: f64,
        /// Share of the median.
        relative: f64,
    },
    /// Beyond this many standard deviations of the mean.
    Sigma(f64),
    /// None.
    Keep,
}

/// Options of the selection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SelectOptions {
    /// Outliers that are left out of a mode.
    pub outliers: Outliers,
    /// Sorted durations that differ by more than this share are of different modes; infinite for
    /// one mode.
    pub gap: f64,
    /// Minimum share of the instances of a mode.
    pub smallest: f64,
}

impl Default for SelectOptions {
    fn default() -> Self {
        Self { outliers: Outliers::Mad { factor: 1.5, relative: 0.05 }, gap: 0.15, smallest: 0.05 }
    }
}

/// Instances that are folded together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Selection {
    /// Modes by falling sum of durations; each has places of instances in ascending order.
    pub modes: Vec<Vec<u32>>,
    /// Instances that were left out.
    pub gaps: Gaps,
}

/// Chooses among instances with these `durations`; those of length zero are left out.
pub fn select(durations: &[Nanos], options: &SelectOptions) -> Selection {
    let mut order: Vec<u32> =
        (0..durations.len() as u32).filter(|&at| durations[at as usize].0 > 0).collect();
    order.sort_by_key(|&at| (durations[at as usize], at));
    let length = |at: u32| durations[at as usize].0 as f64;
    let mut gaps = Gaps::default();
    let mut note = |count: usize, detail: String| {
        if count > 0 {
            gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count: count as u64 });
        }
    };
    let empty = durations.len() - order.len();
    note(empty, format!("{empty} instances of length zero are not folded"));

    let smallest = (options.smallest * order.len() as f64).max(1.0);
    let (mut modes, mut rare, mut outliers) = (Vec::new(), 0, 0);
    for mode in order.chunk_by(|&a, &b| length(b) <= length(a) * (1.0 + options.gap)) {
        if (mode.len() as f64) < smallest {
            rare += mode.len();
            continue;
        }
        let lengths: Vec<f64> = mode.iter().map(|&at| length(at)).collect();
        let (middle, reach) = reach(&lengths, options.outliers);
        let mut kept: Vec<u32> =
            mode.iter().copied().filter(|&at| (length(at) - middle).abs() <= reach).collect();
        outliers += mode.len() - kept.len();
        kept.sort_unstable();
        modes.push(kept);
    }
    note(rare, format!("{rare} instances with rare durations are not folded"));
    note(
        outliers,
        format!("{outliers} instances with durations far from the others are not folded"),
    );
    modes.retain(|mode| !mode.is_empty());
    let total = |mode: &[u32]| mode.iter().map(|&at| length(at)).sum::<f64>();
    modes.sort_by(|a, b| total(b).total_cmp(&total(a)));
    Selection { modes, gaps }
}

/// Centre of the kept ones of sorted `lengths`, and the largest deviation from it.
fn reach(lengths: &[f64], rule: Outliers) -> (f64, f64) {
    let middle = median(lengths);
    match rule {
        Outliers::Keep => (middle, f64::INFINITY),
        Outliers::Mad { factor, relative } => {
            let mut deviations: Vec<f64> = lengths.iter().map(|l| (l - middle).abs()).collect();
            deviations.sort_by(f64::total_cmp);
            (middle, (factor * median(&deviations)).max(relative * middle))
        }
        Outliers::Sigma(factor) => {
            let count = lengths.len() as f64;
            let mean = lengths.iter().sum::<f64>() / count;
            let squares: f64 = lengths.iter().map(|l| (l - mean).powi(2)).sum();
            (mean, factor * (squares / (count - 1.0).max(1.0)).sqrt())
        }
    }
}

/// The median of sorted values; NaN of none.
pub(crate) fn median(sorted: &[f64]) -> f64 {
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(durations: &[u64], options: &SelectOptions, expected: &[&[u32]], lost: u64) {
        let durations: Vec<Nanos> = durations.iter().copied().map(Nanos).collect();
        let found = select(&durations, options);
        assert_eq!(found.modes, expected);
        assert_eq!(found.gaps.iter().map(|gap| gap.count).sum::<u64>(), lost);
    }

    #[test]
    fn a_spread_of_a_thousandth_loses_nothing() {
        let usual = SelectOptions::default();
        check(&[1000, 1001, 1000, 999, 1003, 1000], &usual, &[&[0, 1, 2, 3, 4, 5]], 0);
        let strict = Outliers::Mad { factor: 1.5, relative: 0.0 };
        let strict = SelectOptions { outliers: strict, ..usual };
        check(&[1000, 1001, 1000, 999, 1003, 1000], &strict, &[&[0, 2, 5]], 3);
    }

    #[test]
    fn modes_come_apart_and_the_longest_in_all_is_first() {
        let usual = SelectOptions::default();
        check(&[100, 1000, 101, 990, 0, 99], &usual, &[&[1, 3], &[0, 2, 5]], 1);
        let one = SelectOptions { gap: f64::INFINITY, outliers: Outliers::Keep, ..usual };
        check(&[100, 1000, 101, 990, 0, 99], &one, &[&[0, 1, 2, 3, 5]], 1);
    }

    #[test]
    fn outliers_by_standard_deviations() {
        let options =
            SelectOptions { outliers: Outliers::Sigma(2.0), gap: f64::INFINITY, smallest: 0.0 };
        let mut durations = vec![100; 20];
        durations.push(200);
        check(&durations, &options, &[&(0..20).collect::<Vec<_>>()], 1);
        check(&[], &options, &[], 0);
        check(&[7], &options, &[&[0]], 0);
    }
}
