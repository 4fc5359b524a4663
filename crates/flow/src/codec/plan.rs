//! How a stream is best written: the search over the stages, for the encoder only.
//!
//! Owns the trial encodings. Properties are chosen one after the other on a sample, each by the bytes it saves, so
//! that no heuristic has to foresee what the models make of a stream; a few of the best are then tried on all values.

use std::collections::BTreeMap;

use super::form::{Form, LAG_MAX, Scale};
use super::number::Numbers;
use super::pieces::{Coded, Pieces, Setting};
use super::range::Encoder;
use super::repeats::{Piece, WINDOW_MAX, parse};
use crate::log::Runs;

/// Plans are compared on so many pieces, or runs if they are few pieces.
const SAMPLE_NEW: usize = 600;
const SAMPLE_RUNS: usize = 1 << 14;
/// Values on which differences are compared.
const SAMPLE_VALUES: usize = 2048;
/// A stream of so few bytes is not worth a search.
const SMALL: usize = 4;

/// A kind of [`Scale`], its numbers not yet fitted to the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    Plain,
    Steps,
    Table,
}

/// How a stream is written.
#[derive(Clone, Copy, Debug)]
struct Plan {
    fit: Fit,
    lag: usize,
    /// Fewest runs worth a copy.
    shortest: usize,
    setting: Setting,
}

/// The smallest coding found.
pub(super) fn best(values: &Runs<i64>) -> Vec<u8> {
    let setting = Setting { cycle: 1, relative: false };
    let plain = Plan { fit: Fit::Plain, lag: 0, shortest: 3, setting };
    let sample = sample(values);
    let whole = sample.runs().len() == values.runs().len();
    let search = Search::new(&sample, plain);
    if whole && (values.runs().len() == 1 || search.bytes.len() <= SMALL) {
        return search.bytes;
    }
    let (chosen, bytes) = search.run();
    if whole {
        return bytes;
    }
    let mut best = chosen.encode(values).unwrap_or_default();
    // Repeats may be farther apart than the sample shows.
    if chosen.shortest > 32
        && let Some(bytes) = (Plan { shortest: 32, ..chosen }).encode(values)
        && bytes.len() < best.len()
    {
        best = bytes;
    }
    best
}

/// The first runs, as many as make so many new ones.
fn sample(values: &Runs<i64>) -> Runs<i64> {
    let runs = values.runs();
    let pieces = parse(&runs[..runs.len().min(SAMPLE_RUNS)], 3);
    let at: usize = pieces.into_iter().take(SAMPLE_NEW).map(Piece::length).sum();
    let mut sample = Runs::new();
    for &(value, count) in &runs[..at] {
        sample.push(value, count);
    }
    sample
}

impl Plan {
    /// The stream written so; none if the plan does not fit the values.
    fn encode(&self, values: &Runs<i64>) -> Option<Vec<u8>> {
        let scale = match self.fit {
            Fit::Plain => Scale::Plain,
            Fit::Steps => Scale::steps(values)?,
            Fit::Table => Scale::table(values)?,
        };
        let form = Form { scale, lag: self.lag };
        let values = form.apply(values);
        let runs = values.runs();
        if runs.is_empty() {
            return None;
        }
        let pieces = parse(runs, self.shortest);
        let farthest = pieces.iter().map(|piece| match piece {
            Piece::New => 1,
            Piece::Copy { distance, .. } => *distance as usize,
        });
        let farthest = farthest.max().unwrap_or(1);
        if self.setting.cycle.max(farthest) > WINDOW_MAX {
            return None;
        }
        let (mut numbers, mut coder) = (Numbers::new(), Encoder::new());
        form.code(&mut numbers, &mut coder).ok()?;
        let mut state = Pieces::new(&mut numbers, &mut coder, farthest, self.setting).ok()?;
        let mut left = values.len();
        let mut at = 0;
        for piece in pieces {
            let length = piece.length();
            let given = match piece {
                Piece::New => Coded::New(runs[at].0, runs[at].1),
                Piece::Copy { distance, .. } => {
                    let rest = at + length == runs.len();
                    Coded::Copy { distance, runs: if rest { u64::MAX } else { length as u64 } }
                }
            };
            state.code(&mut numbers, &mut coder, given, left).ok()?;
            for &run in &runs[at..at + length] {
                state.note(run);
                left -= run.1;
            }
            at += length;
        }
        Some(coder.finish())
    }
}

/// Trial encodings of a sample.
struct Search<'a> {
    sample: &'a Runs<i64>,
    best: Plan,
    bytes: Vec<u8>,
}

impl<'a> Search<'a> {
    fn new(sample: &'a Runs<i64>, plan: Plan) -> Self {
        Self { sample, best: plan, bytes: plan.encode(sample).unwrap_or_default() }
    }

    fn attempt(&mut self, plan: Plan) {
        if let Some(bytes) = plan.encode(self.sample)
            && bytes.len() < self.bytes.len()
        {
            (self.best, self.bytes) = (plan, bytes);
        }
    }

    fn run(mut self) -> (Plan, Vec<u8>) {
        let start = self.best;
        let values: Vec<i64> = self.sample.values().take(SAMPLE_VALUES).collect();
        for lag in [1, nearest(&values, LAG_MAX / 4)] {
            self.attempt(Plan { lag, ..start });
        }
        for fit in [Fit::Steps, Fit::Table] {
            self.attempt(Plan { fit, ..start });
            if self.best.lag > 0 {
                self.attempt(Plan { fit, ..self.best });
            }
        }
        for shortest in [2, 8, usize::MAX] {
            self.attempt(Plan { shortest, ..self.best });
        }
        let runs: Vec<i64> = self.sample.runs().iter().map(|run| run.0).collect();
        let mut cycles = vec![1, nearest(&runs, LAG_MAX / 4), usual(self.sample.runs())];
        cycles.sort_unstable();
        cycles.dedup();
        for cycle in cycles {
            for relative in [false, true] {
                let setting = Setting { cycle, relative };
                self.attempt(Plan { setting, ..self.best });
                if self.best.lag > 0 {
                    self.attempt(Plan { setting, lag: 0, ..self.best });
                }
            }
        }
        (self.best, self.bytes)
    }
}

/// The distance from 2 on at which values differ least.
fn nearest(values: &[i64], farthest: usize) -> usize {
    let cost = |lag: usize| -> u64 {
        let pairs =
            values.iter().skip(farthest).zip(values.iter().skip(farthest.saturating_sub(lag)));
        pairs.map(|(a, b)| u64::from(64 - a.wrapping_sub(*b).unsigned_abs().leading_zeros())).sum()
    };
    let farthest = farthest.min(values.len() / 2);
    (2..=farthest).min_by_key(|&lag| cost(lag)).unwrap_or(2)
}

/// The distance from which most is copied.
fn usual(runs: &[(i64, u64)]) -> usize {
    let mut lengths = BTreeMap::new();
    for piece in parse(runs, 3) {
        if let Piece::Copy { distance, length } = piece {
            *lengths.entry(distance as usize).or_insert(0) += length;
        }
    }
    lengths.into_iter().max_by_key(|&(_, length)| length).map_or(1, |(distance, _)| distance)
}
