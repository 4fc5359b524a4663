//! Best form of a stream: the search over the stages, for the encoder only.
//!
//! Owns the trial encodings. Properties are chosen one after the other on a sample, each by the
//! bytes it saves, so that no heuristic has to predict the behaviour of the models. A longer sample
//! then decides properties with slow effect.

use std::collections::BTreeMap;

use super::form::{Form, LAG_MAX, Scale};
use super::number::Numbers;
use super::pieces::{Coded, Pieces, Setting};
use super::range::Encoder;
use super::repeats::{Piece, WINDOW_MAX, parse};
use crate::cycles::Cycles;

mod race;

use race::Race;

/// Number of pieces on which plans are compared, or of runs if they are few pieces.
const SAMPLE_NEW: usize = 64;
/// Number of pieces on which minimum lengths of repeats are compared, as they pay only after some
/// time.
const SAMPLE_REPEATS: usize = 600;
const SAMPLE_RUNS: usize = 1 << 14;
/// Number of values on which differences are compared.
const SAMPLE_VALUES: usize = 2048;
/// Maximum number of runs that are written without a search for repeats.
const MANY_RUNS: u64 = 1 << 21;
/// Maximum bytes of a stream that is not worth a search.
const SMALL: usize = 4;

/// A kind of [`Scale`], its numbers not yet fitted to the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    Plain,
    Steps,
    Table,
}

/// Form of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plan {
    fit: Fit,
    lag: usize,
    /// Minimum number of runs of a copy.
    shortest: usize,
    setting: Setting,
}

/// The smallest coding found.
pub(super) fn best(values: &Cycles<i64>) -> Vec<u8> {
    let is_whole = |sample: &Cycles<i64>| sample.run_count() == values.run_count();
    let few = sample(values, SAMPLE_NEW);
    let mut search = Search::new(&few, Plan::PLAIN);
    if !is_whole(&few) || values.run_count() > 1 && search.bytes.len() > SMALL {
        search.run();
    }
    if is_whole(&few) {
        return search.bytes;
    }
    let more = sample(values, SAMPLE_REPEATS);
    let mut search = Search::new(&more, search.best);
    // Properties with slow effect.
    search.lags();
    search.attempt(Plan { shortest: 8, ..search.best });
    if is_whole(&more) {
        return search.bytes;
    }
    let chosen = search.best;
    let fitting = chosen.or_simpler().into_iter().find_map(|plan| plan.encode(values));
    let mut best = fitting.unwrap_or_default();
    debug_assert!(!best.is_empty(), "the plain plan fits all values");
    // Repeats may be farther apart than the sample shows.
    if chosen.shortest > 32
        && let Some(bytes) = (Plan { shortest: 32, ..chosen }).encode(values)
        && bytes.len() < best.len()
    {
        best = bytes;
    }
    best
}

/// The first runs, as many as contain `new` new ones.
fn sample(values: &Cycles<i64>, new: usize) -> Cycles<i64> {
    let count = values.run_count().min(SAMPLE_RUNS as u64);
    let pieces = parse(values.runs(), count, 3);
    let at = pieces.into_iter().take(new).map(|piece| piece.length() as usize).sum();
    Cycles::from_runs(values.runs().take(at))
}

impl Plan {
    /// Applies to every stream.
    const PLAIN: Self = Self {
        fit: Fit::Plain,
        lag: 0,
        shortest: 3,
        setting: Setting { cycle: 1, relative: false },
    };

    /// This plan, and simpler ones in case it does not fit: values after a sample may have a
    /// smaller minimum, more distinct values, longer distances.
    fn or_simpler(self) -> [Self; 3] {
        [self, Self { fit: Fit::Plain, ..self }, Self::PLAIN]
    }

    /// The stream with its values transformed, and the repeats in it; `None` if the plan does not
    /// fit the values.
    fn layout(&self, values: &Cycles<i64>) -> Option<Layout> {
        let scale = match self.fit {
            Fit::Plain => Scale::Plain,
            Fit::Steps => Scale::steps(values)?,
            Fit::Table => Scale::table(values)?,
        };
        let form = Form { scale, lag: self.lag };
        let values = form.apply(values)?;
        if values.is_empty() {
            return None;
        }
        // Without copies, each run takes a piece in memory.
        let is_long = values.run_count() > MANY_RUNS;
        let shortest = if is_long { self.shortest.min(32) } else { self.shortest };
        let pieces = parse(values.runs(), values.run_count(), shortest);
        Some(Layout { form, values, pieces })
    }

    /// The stream in this form; `None` if the plan does not fit the values.
    fn encode(&self, values: &Cycles<i64>) -> Option<Vec<u8>> {
        self.layout(values)?.encode(self.setting, &mut Race::default())
    }
}

/// A stream as runs of transformed values and repeats of these.
#[derive(Debug)]
struct Layout {
    form: Form,
    values: Cycles<i64>,
    pieces: Vec<Piece>,
}

impl Layout {
    /// The stream in this form; `None` if that is impossible, or is given up as lost in the race.
    fn encode(&self, setting: Setting, race: &mut Race) -> Option<Vec<u8>> {
        let farthest = self.pieces.iter().map(|piece| match piece {
            Piece::New => 1,
            Piece::Copy { distance, .. } => *distance as usize,
        });
        let farthest = farthest.max().unwrap_or(1);
        if setting.cycle.max(farthest) > WINDOW_MAX {
            return None;
        }
        let (mut numbers, mut coder) = (Numbers::new(), Encoder::new());
        self.form.code(&mut numbers, &mut coder).ok()?;
        let mut state = Pieces::new(&mut numbers, &mut coder, farthest, setting).ok()?;
        let all = self.values.len();
        let (mut left, mut runs_left) = (all, self.values.run_count());
        let mut runs = self.values.runs();
        for piece in &self.pieces {
            let mut next = runs.next()?;
            let length = piece.length();
            let given = match *piece {
                Piece::New => Coded::New(next.0, next.1),
                Piece::Copy { distance, .. } => {
                    let rest = length == runs_left;
                    Coded::Copy { distance, runs: if rest { u64::MAX } else { length } }
                }
            };
            state.code(&mut numbers, &mut coder, given, left).ok()?;
            runs_left -= length;
            for _ in 1..length {
                state.note(next);
                left -= next.1;
                next = runs.next()?;
            }
            state.note(next);
            left -= next.1;
            if race.is_lost(all - left, all, coder.written()) {
                return None;
            }
        }
        Some(coder.finish())
    }
}

/// A plan whose pieces are more than this many times the sum of the best one's and [`PIECES_FEW`]
/// is not tried.
const PIECES_MORE: usize = 4;
const PIECES_FEW: usize = 32;

/// Trial encodings of a sample.
struct Search<'a> {
    sample: &'a Cycles<i64>,
    best: Plan,
    bytes: Vec<u8>,
    pieces: usize,
    race: Race,
    /// Layout of the plan tried last, except for its setting.
    layout: Option<(Plan, Option<Layout>)>,
}

impl<'a> Search<'a> {
    fn new(sample: &'a Cycles<i64>, plan: Plan) -> Self {
        let (race, layout) = (Race::default(), None);
        let mut search =
            Self { sample, best: plan, bytes: Vec::new(), pieces: usize::MAX, race, layout };
        for plan in plan.or_simpler() {
            if let Some(bytes) = search.encode(plan) {
                (search.best, search.bytes) = (plan, bytes);
                break;
            }
        }
        search.race.finish(search.bytes.len());
        search
    }

    fn encode(&mut self, plan: Plan) -> Option<Vec<u8>> {
        let same = |old: &Plan| Plan { setting: plan.setting, ..*old } == plan;
        if !self.layout.as_ref().is_some_and(|(old, _)| same(old)) {
            self.layout = Some((plan, plan.layout(self.sample)));
        }
        let layout = self.layout.as_ref()?.1.as_ref()?;
        // Without most of the copies no model comes near.
        if layout.pieces.len() > self.pieces.saturating_add(PIECES_FEW).saturating_mul(PIECES_MORE)
        {
            return None;
        }
        self.race.start();
        let bytes = layout.encode(plan.setting, &mut self.race)?;
        if self.bytes.is_empty() || bytes.len() < self.bytes.len() {
            self.pieces = layout.pieces.len();
        }
        Some(bytes)
    }

    fn attempt(&mut self, plan: Plan) {
        if plan != self.best
            && let Some(bytes) = self.encode(plan)
            && bytes.len() < self.bytes.len()
        {
            (self.best, self.bytes) = (plan, bytes);
            self.race.finish(self.bytes.len());
        }
    }

    /// Tries all properties one after the other.
    fn run(&mut self) {
        let start = self.best;
        self.lags();
        for fit in [Fit::Steps, Fit::Table] {
            self.attempt(Plan { fit, ..start });
            if self.best.lag > 0 {
                self.attempt(Plan { fit, ..self.best });
            }
        }
        self.repeats();
        let runs: Vec<i64> = self.sample.runs().map(|run| run.0).collect();
        let mut cycles = vec![1, nearest(&runs, LAG_MAX / 4), usual(self.sample)];
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
    }

    /// Tries differences.
    fn lags(&mut self) {
        let start = self.best;
        let values: Vec<i64> = self.sample.values().take(SAMPLE_VALUES).collect();
        for lag in [1, nearest(&values, LAG_MAX / 4)] {
            self.attempt(Plan { lag, ..start });
        }
    }

    /// Tries minimum lengths of repeats.
    fn repeats(&mut self) {
        for shortest in [2, 8, usize::MAX] {
            self.attempt(Plan { shortest, ..self.best });
        }
    }
}

/// The distance from 2 on with the smallest differences.
fn nearest(values: &[i64], farthest: usize) -> usize {
    let cost = |lag: usize| -> u64 {
        let pairs =
            values.iter().skip(farthest).zip(values.iter().skip(farthest.saturating_sub(lag)));
        pairs.map(|(a, b)| u64::from(64 - a.wrapping_sub(*b).unsigned_abs().leading_zeros())).sum()
    };
    let farthest = farthest.min(values.len() / 2);
    (2..=farthest).min_by_key(|&lag| cost(lag)).unwrap_or(2)
}

/// The most frequent distance of copies.
fn usual(values: &Cycles<i64>) -> usize {
    let mut lengths = BTreeMap::new();
    for piece in parse(values.runs(), values.run_count(), 3) {
        if let Piece::Copy { distance, length } = piece {
            *lengths.entry(distance as usize).or_insert(0) += length;
        }
    }
    lengths.into_iter().max_by_key(|&(_, length)| length).map_or(1, |(distance, _)| distance)
}
