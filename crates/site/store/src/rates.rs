//! Counters in a store's answers: rates by place of the samples, and their spread over the cores of
//! jobs.
//!
//! Owns both forms, what of a question makes no sense for them, and how quantiles come from
//! buckets, so that all stores answer the same. Sums are exact below 2^62; a row with one beyond is
//! absent, with a gap.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use talea_model::shares::{BUSY, COMPUTING, Counter, highest, middle};
use talea_model::{Gap, GapKind, Gaps, Nanos};

use crate::answer::Value;
use crate::arrival::CAP;
use crate::error::StoreError;
use crate::question::{Dimension, Question};

/// Deciles, with the least and the most.
pub const QUANTILES: usize = 11;

/// Growth of counters around samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rates {
    /// Dimensions of the keys of rows, in order.
    pub by: Vec<Dimension>,
    /// Keys with most samples of any one counter first, then by key; rows of a key by counter.
    pub rows: Vec<RateRow>,
    /// How many keys there were before the question's limit, which is of keys.
    pub groups: u64,
    /// As in the totals of [`Store::usage`](crate::Store::usage) of the same time.
    pub time: Option<(Nanos, Nanos)>,
    /// As those of [`Store::usage`](crate::Store::usage).
    pub gaps: Gaps,
}

/// A counter at a place: its rate is `count` over `nanos`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateRow {
    /// Name and unit.
    pub counter: Counter,
    /// One value a dimension.
    pub key: Vec<Value>,
    /// Samples around which it was counted.
    pub samples: u64,
    /// Nanoseconds of a core in which it was counted, summed.
    pub nanos: u64,
    /// How much was counted in this time, in the counter's unit.
    pub count: u64,
}

impl RateRow {
    /// Per second; none where no time went by.
    pub fn rate(&self) -> Option<f64> {
        (self.nanos > 0).then(|| self.count as f64 / (self.nanos as f64 / 1e9))
    }
}

/// How the rates of a counter were spread over the cores of jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpreadSeen {
    /// Name and unit.
    pub counter: Counter,
    /// Cores times intervals that had a rate: how much the quantiles rest on.
    pub cores: u64,
    /// Rates per second that 0, 10 to 100 % of them do not exceed, each within 2.5 %. Of `busy` and
    /// `computing` shares of 1, up to 5 % higher than they were and at most 1.
    pub quantiles: [f64; QUANTILES],
}

impl SpreadSeen {
    /// From buckets ([`talea_model::shares::bucket`]) and how many cores each has; none where there
    /// are none.
    ///
    /// The quantile of p is the middle of the bucket that the core of this [`rank`] is in; of
    /// `busy` and `computing` its upper end, so that a core that never rests has 1.
    pub fn from_buckets(counter: Counter, buckets: &BTreeMap<i16, u128>) -> Option<Self> {
        let all: u128 = buckets.values().sum();
        let is_share = [BUSY, COMPUTING].contains(&counter.name.as_str());
        let value = |bucket| if is_share { highest(bucket).min(1.0) } else { middle(bucket) };
        let mut quantiles = [0.0; QUANTILES];
        for (tenths, quantile) in quantiles.iter_mut().enumerate() {
            let rank = rank(all, tenths);
            let mut below = 0;
            let (&bucket, _) = buckets.iter().find(|&(_, cores)| {
                below += cores;
                below >= rank
            })?;
            *quantile = value(bucket);
        }
        let cores = u64::try_from(all).unwrap_or(u64::MAX);
        Some(Self { counter, cores, quantiles })
    }
}

/// Which of `all` values in order, from 1, so many tenths do not exceed: ceil(p n), at least 1.
pub fn rank(all: u128, tenths: usize) -> u128 {
    (all * tenths as u128).div_ceil(10).max(1)
}

/// The sums of a row: samples, nanoseconds and count. None where one is so large that files stop
/// there: it would be less than it was.
pub(crate) fn fitting(sums: [u128; 3]) -> Option<[u64; 3]> {
    sums.iter().all(|&sum| sum < CAP as u128).then(|| sums.map(|sum| sum as u64))
}

/// Says how many rows are absent as their sums do not fit.
pub(crate) fn note_beyond(rows: u64, gaps: &mut Gaps) {
    if rows > 0 {
        gaps.note(Gap {
            kind: GapKind::Missing,
            rank: None,
            detail: "rates are absent: a sum of theirs is 2^62 or more, which cannot be kept"
                .to_owned(),
            count: rows,
        });
    }
}

impl Question {
    /// Contradictions in it as a query of rates: they are kept without cores, addresses and
    /// activities.
    ///
    /// # Errors
    /// As [`Question::check`], and what rates do not have.
    pub fn check_rates(&self) -> Result<(), StoreError> {
        use Dimension::{Activity, Core, Function};
        self.check()?;
        if let Some(by) = self.by.iter().find(|by| matches!(by, Core | Activity | Function)) {
            let why = format!(
                "rates by {by:?}, expected node, job, user, executable, library or phase: they are kept without cores, addresses and activities"
            );
            return Err(StoreError::Question { why });
        }
        has_no(&[("core", self.core.is_some()), ("activity", self.activity.is_some())])
    }

    /// The same for spreads, which are of whole jobs.
    ///
    /// # Errors
    /// As [`Question::check`], and filters by what cores were at.
    pub fn check_spreads(&self) -> Result<(), StoreError> {
        self.check()?;
        has_no(&[
            ("core", self.core.is_some()),
            ("activity", self.activity.is_some()),
            ("executable", self.executable.is_some()),
            ("library", self.library.is_some()),
            ("phase", self.phase.is_some()),
        ])
    }
}

fn has_no(filters: &[(&str, bool)]) -> Result<(), StoreError> {
    let Some((name, _)) = filters.iter().find(|(_, given)| *given) else { return Ok(()) };
    let why = format!("a filter by {name}, which what was asked for is kept without");
    Err(StoreError::Question { why })
}

#[cfg(test)]
mod tests {
    use talea_model::shares::bucket;

    use super::*;

    fn counter() -> Counter {
        Counter { name: "page-faults".to_owned(), unit: "1".to_owned() }
    }

    #[test]
    fn quantiles_of_few_and_of_many() {
        assert_eq!(SpreadSeen::from_buckets(counter(), &BTreeMap::new()), None);
        let near = |rate: f64| middle(bucket(rate).unwrap());
        let one = SpreadSeen::from_buckets(counter(), &BTreeMap::from([(bucket(5.0).unwrap(), 1)]))
            .unwrap();
        assert_eq!((one.cores, one.quantiles), (1, [near(5.0); QUANTILES]));
        // Nine cores that do nothing, and one that does all.
        let buckets = BTreeMap::from([(bucket(0.0).unwrap(), 9), (bucket(1e6).unwrap(), 1)]);
        let spread = SpreadSeen::from_buckets(counter(), &buckets).unwrap();
        assert_eq!(spread.quantiles[..10], [0.0; 10]);
        assert_eq!(spread.quantiles[10..], [near(1e6)]);
        let much = BTreeMap::from([(0, u128::from(u64::MAX)), (1, u128::from(u64::MAX))]);
        assert_eq!(SpreadSeen::from_buckets(counter(), &much).unwrap().cores, u64::MAX);
    }

    #[test]
    fn a_core_that_never_rests_is_busy_all_the_time() {
        for name in [BUSY, COMPUTING] {
            let counter = Counter { name: name.to_owned(), unit: "1".to_owned() };
            let buckets = [0.0, 0.5, 1.0, 1.2].map(|share| (bucket(share).unwrap(), 1));
            let spread = SpreadSeen::from_buckets(counter, &BTreeMap::from(buckets)).unwrap();
            assert_eq!(
                (spread.quantiles[0], spread.quantiles[6], spread.quantiles[10]),
                (0.0, 1.0, 1.0)
            );
            assert!((0.5..0.525).contains(&spread.quantiles[5]), "{:?}", spread.quantiles);
        }
    }

    #[test]
    fn what_rates_are_kept_without() {
        let whole = || Question::everything(crate::Visible::All, Nanos(0), Nanos(1));
        let said = |asked: Question, check: fn(&Question) -> Result<(), StoreError>| {
            check(&asked).unwrap_err().to_string()
        };
        let (rates, spreads) = (Question::check_rates, Question::check_spreads);
        let by = |by: Dimension| Question { by: vec![by], ..whole() };
        assert!(rates(&by(Dimension::Library)).is_ok() && spreads(&by(Dimension::Core)).is_ok());
        let phase = Question { phase: Some(crate::Text::Is("p".to_owned())), ..whole() };
        assert!(rates(&phase).is_ok());
        insta::assert_snapshot!(
            [
                said(by(Dimension::Core), rates),
                said(Question { core: Some(1), ..whole() }, rates),
                said(phase, spreads),
            ]
            .join("\n"),
            @r"
        question: rates by Core, expected node, job, user, executable, library or phase: they are kept without cores, addresses and activities
        question: a filter by core, which what was asked for is kept without
        question: a filter by phase, which what was asked for is kept without
        "
        );
    }
}
