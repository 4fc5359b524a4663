//! Iterations that are kept in detail, and totals that follow from them.
//!
//! Owns the decision of smart collection as a pure function: it takes iterations in any order, of a
//! running program or of a whole recording, and needs no later ones. Of each behaviour it keeps the
//! first iteration, the slowest ones, and one from each of some stretches of the run, which are
//! chosen by a hash of their numbers. So ranks that group iterations alike choose the same ones,
//! and states of parts of a run can be merged in any order. Totals are regression estimates
//! (Cochran, "Sampling Techniques", 3rd edition, chapter 7): the durations of all iterations are
//! known exactly.

use std::collections::BTreeMap;

use talea_model::Nanos;

/// Figures known for every iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its number, the same on all ranks.
    pub number: u64,
    /// Its duration.
    pub duration: Nanos,
}

/// Numbers of iterations that are kept of each behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Number of the slowest iterations that are kept.
    slowest: usize,
    /// Maximum number of stretches of the run; each has one that is kept.
    stretches: usize,
    /// Seed of the random choice.
    seed: u64,
}

impl Plan {
    /// At most this many iterations of each behaviour, at least five.
    pub fn new(most: usize, seed: u64) -> Self {
        let slowest = if most < 8 { 1 } else { 2 };
        Self { slowest, stretches: most.saturating_sub(1 + slowest).max(3), seed }
    }
}

/// Iterations of one behaviour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behaviour {
    plan: Plan,
    count: u64,
    sum: u128,
    first: Option<Turn>,
    last: u64,
    /// The slowest first; of equals the earlier.
    slowest: Vec<Turn>,
    /// Number of low bits dropped from an iteration's number to give its stretch.
    shift: u32,
    /// For each stretch the number of its iterations, and the chosen one.
    stretches: BTreeMap<u64, (u64, Turn)>,
}

/// The finaliser of `MurmurHash3`.
fn mixed(number: u64, seed: u64) -> u64 {
    let mut hash = number ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

impl Behaviour {
    /// Without iterations.
    pub fn new(plan: Plan) -> Self {
        Self {
            plan,
            count: 0,
            sum: 0,
            first: None,
            last: 0,
            slowest: Vec::new(),
            shift: 0,
            stretches: BTreeMap::new(),
        }
    }

    /// Takes an iteration; each number once.
    pub fn add(&mut self, turn: Turn) {
        self.merge(&Self {
            count: 1,
            sum: u128::from(turn.duration.0),
            first: Some(turn),
            last: turn.number,
            slowest: vec![turn],
            stretches: BTreeMap::from([(turn.number, (1, turn))]),
            ..Self::new(self.plan)
        });
    }

    /// Adds other iterations of the same plan.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.last = self.last.max(other.last);
        self.first = self.first.into_iter().chain(other.first).min_by_key(|turn| turn.number);
        self.slowest.extend(&other.slowest);
        self.slowest.sort_by_key(|turn| (std::cmp::Reverse(turn.duration), turn.number));
        self.slowest.truncate(self.plan.slowest);
        let shift = self.shift.max(other.shift);
        self.widen(shift);
        for (&stretch, &part) in &other.stretches {
            self.join(stretch >> (shift - other.shift), part);
        }
        while self.stretches.len() > self.plan.stretches {
            self.widen(self.shift + 1);
        }
    }

    fn widen(&mut self, shift: u32) {
        let more = shift - self.shift;
        if more > 0 {
            self.shift = shift;
            for (stretch, part) in std::mem::take(&mut self.stretches) {
                self.join(stretch.checked_shr(more).unwrap_or(0), part);
            }
        }
    }

    /// Of two iterations that are chosen of parts of a stretch the one with the lower hash stays,
    /// so that all iterations of the stretch are equally likely.
    fn join(&mut self, stretch: u64, (count, turn): (u64, Turn)) {
        let seed = self.plan.seed;
        let order = |turn: &Turn| (mixed(turn.number, seed), turn.number);
        self.stretches
            .entry(stretch)
            .and_modify(|(all, chosen)| {
                *all += count;
                if order(&turn) < order(chosen) {
                    *chosen = turn;
                }
            })
            .or_insert((count, turn));
    }

    /// Number of iterations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Time of all of them.
    pub fn sum(&self) -> Nanos {
        Nanos(u64::try_from(self.sum).unwrap_or(u64::MAX))
    }

    /// Numbers of the first and of the last one.
    pub fn extent(&self) -> Option<(u64, u64)> {
        self.first.map(|first| (first.number, self.last))
    }

    /// True if an iteration is kept.
    pub fn keeps(&self, number: u64) -> bool {
        self.certain().any(|turn| turn.number == number)
            || self.stretches.values().any(|(_, turn)| turn.number == number)
    }

    /// Numbers of the iterations that are kept, in order.
    pub fn kept(&self) -> Vec<u64> {
        let chosen = self.stretches.values().map(|(_, turn)| turn);
        let mut kept: Vec<u64> = self.certain().chain(chosen).map(|turn| turn.number).collect();
        kept.sort_unstable();
        kept.dedup();
        kept
    }

    /// Iterations kept without random choice: the first and the slowest.
    fn certain(&self) -> impl Iterator<Item = &Turn> {
        self.first.iter().chain(&self.slowest)
    }

    /// The total of a part of the iterations' time, by its values in the kept iterations.
    pub fn estimate(&self, value: impl Fn(u64) -> Nanos) -> Estimate {
        let value = |turn: &Turn| value(turn.number).0 as f64;
        let mut certain: Vec<Turn> = self.certain().copied().collect();
        certain.sort_by_key(|turn| turn.number);
        certain.dedup();
        let is_certain = |turn: &Turn| certain.iter().any(|one| one.number == turn.number);
        let known: f64 = certain.iter().map(&value).sum();
        let known_time: u128 = certain.iter().map(|turn| u128::from(turn.duration.0)).sum();
        // The others: their time is known exactly.
        let rest = self.count - certain.len() as u64;
        let rest_time = self.sum.saturating_sub(known_time) as f64;
        let others_of = |stretch: u64, count: u64| {
            let stretch_of = |turn: &Turn| turn.number.checked_shr(self.shift).unwrap_or(0);
            let inside = certain.iter().filter(|&turn| stretch_of(turn) == stretch);
            count - inside.count() as u64
        };
        let samples: Vec<Sample> = self
            .stretches
            .iter()
            .filter(|(_, (_, turn))| !is_certain(turn))
            .map(|(&stretch, (count, turn))| Sample {
                weight: others_of(stretch, *count) as f64,
                duration: turn.duration.0 as f64,
                value: value(turn),
            })
            .collect();
        if rest == samples.len() as u64 {
            let total = known + samples.iter().map(|one| one.value).sum::<f64>();
            return Estimate { total, margin: Some(0.0) };
        }
        if samples.is_empty() {
            // The others are like those that were not chosen by chance.
            let part = if known_time > 0 { known / known_time as f64 } else { 0.0 };
            return Estimate { total: known + part * rest_time, margin: None };
        }
        let (mean, error) = mean_at(&samples, rest_time / rest as f64);
        let left_out = 1.0 - samples.len() as f64 / rest as f64;
        let margin = error.map(|error| rest as f64 * left_out.sqrt() * error);
        // A part of the time is not longer than the time, whatever the line says.
        Estimate { total: known + (rest as f64 * mean).clamp(0.0, rest_time), margin }
    }
}

/// A value of an iteration that was chosen by chance.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// Number of iterations that it was chosen from.
    weight: f64,
    duration: f64,
    value: f64,
}

/// The mean value at a mean duration, by the regression line of the samples, and half the width of
/// its 95 % interval. Residuals are enlarged by their leverage (the estimator HC3 of
/// `MacKinnon` and White, 1985), as there are few and their variance need not be equal.
fn mean_at(samples: &[Sample], duration: f64) -> (f64, Option<f64>) {
    /// Maximum leverage of one sample.
    const LEVERAGE: f64 = 0.9;
    const ON_A_LINE: usize = 5;
    let weights: f64 = samples.iter().map(|one| one.weight).sum();
    let mean = |of: &dyn Fn(&Sample) -> f64| {
        samples.iter().map(|one| one.weight * of(one)).sum::<f64>() / weights.max(1.0)
    };
    let (mean_duration, mean_value) = (mean(&|one| one.duration), mean(&|one| one.value));
    let off = |one: &Sample| one.duration - mean_duration;
    let squares = mean(&|one| off(one).powi(2));
    // A line through few samples is uncertain and costs a degree of freedom.
    let is_line = samples.len() >= ON_A_LINE && squares > 0.0;
    let per = |product: f64| if is_line { product / squares } else { 0.0 };
    let slope = per(mean(&|one| off(one) * (one.value - mean_value)));
    let away = duration - mean_duration;
    let variance: f64 = samples
        .iter()
        .map(|one| {
            let residual = one.value - mean_value - slope * off(one);
            let part = one.weight / weights;
            let leverage = (part * (1.0 + per(off(one).powi(2)))).min(LEVERAGE);
            (part * (1.0 + per(away * off(one))) * residual / (1.0 - leverage)).powi(2)
        })
        .sum();
    let degrees = samples.len().saturating_sub(if is_line { 2 } else { 1 });
    let error = (degrees > 0).then(|| student(degrees) * variance.sqrt());
    (mean_value + slope * away, error)
}

/// The half octave of a duration. Iterations of one behaviour are in the same one and so differ by
/// less than a factor of 1.42: otherwise a few of another kind would rule the line through all.
pub fn half_octave(duration: Nanos) -> u32 {
    let duration = u128::from(duration.0.max(1));
    (duration * duration).ilog2()
}

/// An estimated total.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Nanoseconds.
    pub total: f64,
    /// Half the width of its 95 % interval in nanoseconds: 0 where all iterations are kept; absent
    /// where fewer than two were chosen by chance.
    pub margin: Option<f64>,
}

impl Estimate {
    /// The sum with an independent one.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let margin = self.margin.zip(other.margin).map(|(one, other)| one.hypot(other));
        Self { total: self.total + other.total, margin }
    }
}

/// The 97.5 % quantile of Student's distribution.
fn student(degrees: usize) -> f64 {
    const FIRST: [f64; 12] =
        [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179];
    if let Some(&quantile) = degrees.checked_sub(1).and_then(|at| FIRST.get(at)) {
        return quantile;
    }
    // Cornish and Fisher's expansion, exact to three digits from here on.
    let (z, n) = (1.959_964_f64, degrees.max(1) as f64);
    let (first, second) = (z.powi(3) + z, 5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z);
    z + first / (4.0 * n) + second / (96.0 * n * n)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn behaviour(durations: &[u64], plan: Plan) -> Behaviour {
        let mut behaviour = Behaviour::new(plan);
        for (&duration, number) in durations.iter().zip(0..) {
            behaviour.add(Turn { number, duration: Nanos(duration) });
        }
        behaviour
    }

    #[test]
    fn first_and_slowest_iterations_are_kept() {
        let mut durations = vec![100; 1000];
        (durations[617], durations[31]) = (900, 500);
        for most in [5, 10, 40] {
            let plan = Plan::new(most, 1);
            let kept = behaviour(&durations, plan).kept();
            assert!(kept.len() <= most && kept.len() >= most / 2, "{most}: {kept:?}");
            assert!(kept.contains(&0) && kept.contains(&617), "{kept:?}");
            assert!(plan.slowest == 1 || kept.contains(&31), "{kept:?}");
        }
    }

    #[test]
    fn few_iterations_are_kept_all() {
        let behaviour = behaviour(&[5, 7, 6], Plan::new(10, 1));
        assert_eq!(behaviour.kept(), [0, 1, 2]);
        let estimate = behaviour.estimate(|number| Nanos(number + 1));
        assert_eq!(estimate, Estimate { total: 6.0, margin: Some(0.0) });
        assert_eq!(behaviour.extent(), Some((0, 2)));
    }

    #[test]
    fn each_iteration_is_as_likely() {
        let mut kept = [0_u32; 64];
        for seed in 0..2000 {
            let plan = Plan { slowest: 0, stretches: 4, seed };
            let behaviour = behaviour(&[1; 64], plan);
            behaviour.kept().into_iter().skip(1).for_each(|number| kept[number as usize] += 1);
        }
        // Four stretches of 16, the first of which also has the one that is always kept.
        let expected = 2000.0 / 16.0;
        for (number, &count) in kept.iter().enumerate().skip(16) {
            assert!(
                (f64::from(count) - expected).abs() < 5.0 * expected.sqrt(),
                "{number}: {count}"
            );
        }
    }

    /// Part of cases that lie in their intervals, and the mean error.
    fn coverage(value: impl Fn(u64, u64) -> (u64, u64)) -> (f64, f64) {
        const CASES: u64 = 2000;
        let (mut inside, mut error) = (0, 0.0);
        for case in 0..CASES {
            let all: Vec<(u64, u64)> = (0..700).map(|number| value(case, number)).collect();
            let mut behaviours: BTreeMap<u32, Behaviour> = BTreeMap::new();
            for (number, &(duration, _)) in (0..).zip(&all) {
                let turn = Turn { number, duration: Nanos(duration) };
                let new = || Behaviour::new(Plan::new(10, case));
                behaviours.entry(half_octave(turn.duration)).or_insert_with(new).add(turn);
            }
            let truth: u64 = all.iter().map(|one| one.1).sum();
            let estimates =
                behaviours.values().map(|one| one.estimate(|number| Nanos(all[number as usize].1)));
            let sum = estimates.reduce(Estimate::plus).unwrap();
            let off = (sum.total - truth as f64).abs();
            inside += u32::from(sum.margin.is_none_or(|margin| off <= margin));
            error += off / truth as f64;
        }
        (f64::from(inside) / CASES as f64, error / CASES as f64)
    }

    fn random(case: u64, number: u64, what: u64) -> f64 {
        mixed(number * 8 + what, case + 77) as f64 / u64::MAX as f64
    }

    #[test]
    fn intervals_hold() {
        let tail =
            |case, number, what, mean: f64| -mean * random(case, number, what).max(1e-9).ln();
        // Computation of nearly equal length, a wait with a long tail, and a rare short one.
        let waits = |case, number| {
            let wait = tail(case, number, 0, 2000.0);
            let rest = tail(case, number, 2, 200.0);
            let computes = 10_000.0 + 200.0 * random(case, number, 1);
            ((wait + rest + computes) as u64, wait as u64)
        };
        let short = |case, number| (waits(case, number).0, tail(case, number, 2, 200.0) as u64);
        // Every 97th iteration is ten times longer; iterations drift; the first 50 are slow.
        let scaled = |factor: fn(u64) -> f64| {
            move |case, number| {
                let (duration, wait) = waits(case, number);
                let factor = factor(number);
                ((duration as f64 * factor) as u64, (wait as f64 * factor) as u64)
            }
        };
        let check = |name: &str, (inside, error): (f64, f64), most: f64| {
            assert!((0.9..=1.0).contains(&inside), "{name}: {inside} inside, error {error}");
            assert!(error < most, "{name}: {inside} inside, error {error}");
        };
        check("waits", coverage(waits), 0.1);
        check("short", coverage(short), 0.5);
        let step = |number: u64| if number % 97 == 96 { 10.0 } else { 1.0 };
        check("steps", coverage(scaled(step)), 0.1);
        check("drift", coverage(scaled(|number| 1.0 + 0.01 * number as f64)), 0.25);
        check("warm", coverage(scaled(|number| if number < 50 { 3.0 } else { 1.0 })), 0.1);
    }

    #[test]
    fn quantiles_are_those_of_tables() {
        for (degrees, expected) in [(1, 12.706), (9, 2.262), (13, 2.160), (30, 2.042), (120, 1.980)]
        {
            assert!((student(degrees) - expected).abs() < 2e-3, "{degrees}: {}", student(degrees));
        }
    }

    proptest! {
        #[test]
        fn parts_are_merged_in_any_order(
            turns in proptest::collection::vec((0_u64..5000, 0_usize..3), 0..300),
            most in 5_usize..12,
            seed: u64,
        ) {
            let plan = Plan::new(most, seed);
            let mut parts = [0, 1, 2].map(|_| Behaviour::new(plan));
            let mut whole = Behaviour::new(plan);
            for (&(duration, part), number) in turns.iter().zip(0..) {
                let turn = Turn { number, duration: Nanos(duration) };
                parts[part].add(turn);
                whole.add(turn);
            }
            let merged = |order: [usize; 3]| {
                let mut all = Behaviour::new(plan);
                for at in order {
                    all.merge(&parts[at]);
                }
                all
            };
            prop_assert_eq!(&merged([0, 1, 2]), &merged([2, 0, 1]));
            prop_assert_eq!(&merged([1, 2, 0]), &whole);
            prop_assert!(whole.kept().len() <= most);
            prop_assert_eq!(whole.count(), turns.len() as u64);
            prop_assert!(whole.kept().iter().all(|&number| whole.keeps(number)));
        }
    }
}
