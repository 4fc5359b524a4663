//! Projection: samples of many instances on one instance of length and total 1.
//!
//! Owns the search of each instance's probes, the accumulation of a counter since the instance
//! began, and the conditions that make an instance unusable for a counter: no probe at its begin or
//! end, a counter set that changed inside, a counter that fell or wrapped. All of these are gaps,
//! never a panic. Each instance keeps (0,0) and (1,1) implied, so that only inner samples are
//! stored.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use talea_model::{Gap, GapKind, Gaps, Nanos};

/// Executions of one region, as columns of equal length; others are cut to the shortest.
#[derive(Clone, Copy, Debug, Default)]
pub struct Instances<'a> {
    /// Location of each; numbers as in [`Probes::location`].
    pub location: &'a [u32],
    /// Begin of each.
    pub begin: &'a [Nanos],
    /// End of each.
    pub end: &'a [Nanos],
}

/// Readings at events and samples, as columns of equal length; others are cut to the shortest.
#[derive(Clone, Copy, Debug, Default)]
pub struct Probes<'a> {
    /// Location of each.
    pub location: &'a [u32],
    /// Time of each; need not be sorted. Those of one location and time count in the order given.
    pub time: &'a [Nanos],
    /// The counters.
    pub counters: &'a [Counter<'a>],
}

/// One counter at all probes.
#[derive(Clone, Copy, Debug)]
pub struct Counter<'a> {
    /// Its name.
    pub name: &'a str,
    /// Meaning of the values.
    pub form: Form,
    /// One value per probe; NaN where it was not read.
    pub values: &'a [f64],
    /// Totals of the instances, one per instance, NaN where unknown.
    pub totals: Totals<'a>,
}

/// Source of the totals of instances.
#[derive(Clone, Copy, Debug)]
pub enum Totals<'a> {
    /// From the probe at the end of each.
    Measured,
    /// From elsewhere, one per instance; where it is NaN the probe at the end is used.
    Given(&'a [f64]),
}

/// Meaning of the values of a counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    /// Counts since the previous probe of the counter.
    Delta,
    /// Counts since some time in the past.
    Accumulated {
        /// Value at which the counter returns to zero, such as 2^48; absent where it must not fall.
        wrap: Option<f64>,
    },
}

/// One counter of the usable instances, each of length and total 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Projected {
    /// Name of the counter.
    pub counter: String,
    /// Places of the instances in [`Instances`], ascending.
    pub instances: Vec<u32>,
    /// Samples of instance `i` are `starts[i]..starts[i + 1]`.
    pub starts: Vec<usize>,
    /// (t - begin) / duration of each sample, strictly inside 0..1, ascending inside an instance.
    pub x: Vec<f64>,
    /// Share of the instance's total counted up to each sample, in 0..=1, never falling inside an
    /// instance.
    pub y: Vec<f64>,
    /// Duration of each instance.
    pub durations: Vec<Nanos>,
    /// Total of each instance, above zero.
    pub totals: Vec<f64>,
    /// Number of instances in which it counted nothing: they have no shape, but a share in the mean
    /// total.
    pub idle: u32,
    /// Gaps: unusable data, and the reasons.
    pub gaps: Gaps,
}

impl Projected {
    /// Mean count in an instance, idle ones included; NaN without instances.
    pub fn mean_total(&self) -> f64 {
        self.totals.iter().sum::<f64>() / (self.totals.len() + self.idle as usize) as f64
    }

    /// Mean duration of an instance in seconds; NaN without instances.
    pub fn mean_seconds(&self) -> f64 {
        self.durations.iter().map(|d| d.seconds()).sum::<f64>() / self.durations.len() as f64
    }

    /// Samples of the instance at place `at` of [`Self::instances`].
    pub fn samples(&self, at: usize) -> (&[f64], &[f64]) {
        let range = self.starts[at]..self.starts[at + 1];
        (&self.x[range.clone()], &self.y[range])
    }
}

/// Reasons why an instance cannot be used for a counter.
#[derive(Clone, Copy)]
enum Unusable {
    NoBegin,
    NoEnd,
    SetChanged,
    Fell,
    Empty,
    Overlaps,
    Outside,
}

const REASONS: [(GapKind, &str); 7] = [
    (GapKind::Missing, "have no reading where they begin"),
    (GapKind::Missing, "have no reading where they end"),
    (GapKind::Missing, "lack it from some time on: the counter set changed"),
    (GapKind::Damaged, "have a counter that fell, or grew faster than any processor counts"),
    (GapKind::Missing, "have no length"),
    (GapKind::Damaged, "begin before the one before them ended"),
    (GapKind::Damaged, "have more counts at a sample than in all"),
];

/// Projects the counters of all probes on the instances listed in `wanted` (places in `instances`;
/// each once).
///
/// The results are in the order of [`Probes::counters`].
pub fn project(instances: &Instances<'_>, probes: &Probes<'_>, wanted: &[u32]) -> Vec<Projected> {
    let count = instances.location.len().min(instances.begin.len()).min(instances.end.len());
    let order = Ordered::new(probes);
    let mut wanted: Vec<u32> = wanted.iter().copied().filter(|&at| (at as usize) < count).collect();
    wanted.sort_unstable();
    wanted.dedup();
    // Overlapping instances would make the work quadratic, and mean that the columns are wrong.
    let mut by_time = wanted.clone();
    by_time.sort_by_key(|&at| (instances.location[at as usize], instances.begin[at as usize], at));
    let mut overlaps = Vec::new();
    let mut last: Option<(u32, Nanos)> = None;
    for &at in &by_time {
        let (place, begin) = (instances.location[at as usize], instances.begin[at as usize]);
        if last.is_some_and(|(before, end)| before == place && begin < end) {
            overlaps.push(at);
        } else {
            last = Some((place, instances.end[at as usize]));
        }
    }
    overlaps.sort_unstable();
    let one = |counter: &Counter<'_>| {
        let mut found =
            Projected { counter: counter.name.to_owned(), starts: vec![0], ..Projected::default() };
        let mut lost = [0_u64; REASONS.len()];
        for &at in &wanted {
            let result = if overlaps.binary_search(&at).is_ok() {
                Err(Unusable::Overlaps)
            } else {
                let place = at as usize;
                let total = match counter.totals {
                    Totals::Measured => f64::NAN,
                    Totals::Given(totals) => totals.get(place).copied().unwrap_or(f64::NAN),
                };
                let (begin, end) = (instances.begin[place], instances.end[place]);
                let range = order.range(instances.location[place], begin, end);
                instance(&mut found, counter, probes, &order, range, (begin, end), total)
            };
            match result {
                Ok(true) => {
                    found.instances.push(at);
                    found.starts.push(found.x.len());
                }
                Ok(false) => found.idle += 1,
                Err(why) => {
                    lost[why as usize] += 1;
                    let kept = found.starts.last().copied().unwrap_or(0);
                    found.x.truncate(kept);
                    found.y.truncate(kept);
                }
            }
        }
        for ((kind, reason), &count) in REASONS.iter().zip(&lost) {
            if count > 0 {
                let detail = format!("{}: {count} instances {reason}", counter.name);
                found.gaps.note(Gap { kind: *kind, rank: None, detail, count });
            }
        }
        found
    };
    probes.counters.par_iter().map(one).collect()
}

/// Probes by location and time.
struct Ordered {
    order: Vec<u32>,
    keys: Vec<(u32, Nanos)>,
    /// True if any counter was read, for each probe in the caller's order.
    read: Vec<bool>,
}

impl Ordered {
    fn new(probes: &Probes<'_>) -> Self {
        let count = probes.location.len().min(probes.time.len());
        let key = |at: u32| (probes.location[at as usize], probes.time[at as usize]);
        let mut order: Vec<u32> = (0..count as u32).collect();
        if !order.is_sorted_by_key(|&at| key(at)) {
            order.sort_by_key(|&at| key(at));
        }
        let keys = order.iter().map(|&at| key(at)).collect();
        let mut read = vec![false; count];
        for counter in probes.counters {
            for (read, value) in read.iter_mut().zip(counter.values) {
                *read |= !value.is_nan();
            }
        }
        Self { order, keys, read }
    }

    /// Places in `order` of the probes of `location` from `begin` to `end`, both included.
    fn range(&self, location: u32, begin: Nanos, end: Nanos) -> std::ops::Range<usize> {
        let first = self.keys.partition_point(|&key| key < (location, begin));
        let last = self.keys.partition_point(|&key| key <= (location, end));
        first..last.max(first)
    }
}

/// Adds one instance; `Ok(false)` where nothing was counted.
fn instance(
    found: &mut Projected,
    counter: &Counter<'_>,
    probes: &Probes<'_>,
    order: &Ordered,
    range: std::ops::Range<usize>,
    (begin, end): (Nanos, Nanos),
    given: f64,
) -> Result<bool, Unusable> {
    if end <= begin {
        return Err(Unusable::Empty);
    }
    let duration = (end.0 - begin.0) as f64;
    let first = found.x.len();
    let mut sum: Option<f64> = None;
    let mut last = f64::NAN;
    let mut total = given;
    for &at in &order.order[range] {
        let at = at as usize;
        let time = probes.time[at];
        let value = counter.values.get(at).copied().unwrap_or(f64::NAN);
        if !value.is_finite() {
            // A probe that reads other counters means that this one is not active.
            if sum.is_some() && order.read[at] {
                return Err(Unusable::SetChanged);
            }
            continue;
        }
        if time == begin {
            // The last of several probes at this time counts: those before it end the preceding
            // part.
            (sum, last) = (Some(0.0), value);
            continue;
        }
        let Some(so_far) = sum else { return Err(Unusable::NoBegin) };
        let step = match counter.form {
            Form::Delta => value,
            Form::Accumulated { wrap } => match value - last {
                fell if fell < 0.0 => fell + wrap.unwrap_or(f64::NAN),
                step => step,
            },
        };
        last = value;
        if step.is_nan() || step < 0.0 {
            return Err(Unusable::Fell);
        }
        let now = so_far + step;
        sum = Some(now);
        if time < end {
            let x = (time.0 - begin.0) as f64 / duration;
            // Readings at one time are one sample: the last.
            if found.x.len() > first && found.x.last() == Some(&x) {
                found.x.pop();
                found.y.pop();
            }
            // Durations of years in nanoseconds lose digits.
            if x > 0.0 && x < 1.0 {
                found.x.push(x);
                found.y.push(now);
            }
        } else if given.is_nan() {
            total = now;
        }
    }
    let Some(sum) = sum else { return Err(Unusable::NoBegin) };
    if !total.is_finite() {
        return Err(Unusable::NoEnd);
    }
    if total < 0.0 {
        return Err(Unusable::Fell);
    }
    // A given total may be rounded.
    if sum > total * (1.0 + 1e-9) && found.y[first..].last().is_some_and(|&y| y > total) {
        return Err(Unusable::Outside);
    }
    if total == 0.0 {
        found.x.truncate(first);
        found.y.truncate(first);
        return Ok(false);
    }
    for y in &mut found.y[first..] {
        *y = (*y / total).min(1.0);
    }
    found.durations.push(Nanos(end.0 - begin.0));
    found.totals.push(total);
    Ok(true)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NO: f64 = f64::NAN;

    fn fold_one(times: &[u64], values: &[f64], form: Form, spans: &[(u64, u64)]) -> Projected {
        fold_two(times, values, &[], form, spans)
    }

    fn fold_two(
        times: &[u64],
        values: &[f64],
        other: &[f64],
        form: Form,
        spans: &[(u64, u64)],
    ) -> Projected {
        let time: Vec<Nanos> = times.iter().copied().map(Nanos).collect();
        let location = vec![0; times.len().max(spans.len())];
        let begin: Vec<Nanos> = spans.iter().map(|span| Nanos(span.0)).collect();
        let end: Vec<Nanos> = spans.iter().map(|span| Nanos(span.1)).collect();
        let counters = [values, other].map(|values| Counter {
            name: "c",
            form,
            values,
            totals: Totals::Measured,
        });
        let probes = Probes { location: &location, time: &time, counters: &counters };
        let instances = Instances { location: &location, begin: &begin, end: &end };
        let wanted: Vec<u32> = (0..spans.len() as u32).collect();
        project(&instances, &probes, &wanted).swap_remove(0)
    }

    #[test]
    fn deltas_become_shares() {
        // 99 counts belong to the time before the instance.
        let found = fold_one(&[10, 12, 15, 20], &[99., 3., 2., 5.], Form::Delta, &[(10, 20)]);
        assert_eq!((found.x, found.y), (vec![0.2, 0.5], vec![0.3, 0.5]));
        assert_eq!((found.totals, found.durations), (vec![10.0], vec![Nanos(10)]));
        assert!(found.gaps.is_empty());
    }

    #[test]
    fn accumulated_values_may_wrap_where_the_width_is_known() {
        let (times, values) = ([0, 5, 10], [250., 254., 4.]);
        let wrapped = Form::Accumulated { wrap: Some(256.0) };
        assert_eq!(fold_one(&times, &values, wrapped, &[(0, 10)]).y, [0.4]);
        let found = fold_one(&times, &values, Form::Accumulated { wrap: None }, &[(0, 10)]);
        assert!(found.instances.is_empty());
        let gaps: Vec<_> = found.gaps.iter().map(|gap| &gap.detail[..]).collect();
        assert_eq!(
            gaps,
            ["c: 1 instances have a counter that fell, or grew faster than any processor counts"]
        );
    }

    #[test]
    fn unsorted_probes_and_shared_borders() {
        let times = [20, 10, 0, 5, 10, 15];
        let found = fold_one(&times, &[6., 1., 0., 1., 0., 2.], Form::Delta, &[(0, 10), (10, 20)]);
        assert_eq!(found.totals, [2.0, 8.0]);
        assert_eq!(found.y, [0.5, 0.25]);
    }

    #[test]
    fn a_counter_set_that_changes_inside_is_a_gap() {
        let times = [0, 5, 10, 10, 12, 20];
        let (one, two) = ([0., 1., NO, NO, NO, NO], [NO, NO, 0., 0., 3., 3.]);
        let spans = [(0, 10), (10, 20)];
        assert!(fold_two(&times, &one, &two, Form::Delta, &spans).instances.is_empty());
        let found = fold_two(&times, &two, &one, Form::Delta, &spans);
        assert_eq!((found.instances, found.y), (vec![1], vec![0.5]));
        // An event without any counter changes nothing.
        let none = [NO; 6];
        let found = fold_two(&times, &[0., 1., 1., 0., NO, 3.], &none, Form::Delta, &spans);
        assert_eq!(found.totals, [2.0, 3.0]);
    }

    #[test]
    fn what_cannot_be_used_is_said() {
        let found = fold_one(
            &[1, 5, 10, 20, 25],
            &[1., 1., 1., 0., -3.],
            Form::Delta,
            &[(0, 10), (5, 5), (5, 15), (8, 9), (20, 30), (30, u64::MAX)],
        );
        assert!(found.instances.is_empty());
        assert_eq!(found.gaps.iter().map(|gap| gap.count).sum::<u64>(), 6);
        assert!(found.mean_total().is_nan());
    }

    proptest! {
        #[test]
        fn any_columns_give_rising_shares(
            probes in prop::collection::vec((0..3_u32, 0..60_u64, prop::num::f64::ANY), 0..60),
            spans in prop::collection::vec((0..3_u32, 0..60_u64, 0..60_u64), 0..10),
            accumulated: bool,
        ) {
            let location: Vec<u32> = probes.iter().map(|p| p.0).collect();
            let time: Vec<Nanos> = probes.iter().map(|p| Nanos(p.1)).collect();
            let values: Vec<f64> = probes.iter().map(|p| p.2).collect();
            let places: Vec<u32> = spans.iter().map(|s| s.0).collect();
            let begin: Vec<Nanos> = spans.iter().map(|s| Nanos(s.1)).collect();
            let end: Vec<Nanos> = spans.iter().map(|s| Nanos(s.2)).collect();
            let form = if accumulated {
                Form::Accumulated { wrap: Some(1e9) }
            } else {
                Form::Delta
            };
            let counters = [Counter { name: "c", form, values: &values, totals: Totals::Measured }];
            let probes = Probes { location: &location, time: &time, counters: &counters };
            let instances = Instances { location: &places, begin: &begin, end: &end };
            let wanted: Vec<u32> = (0..spans.len() as u32 + 2).collect();
            let found = project(&instances, &probes, &wanted).swap_remove(0);
            prop_assert_eq!(found.starts.len(), found.instances.len() + 1);
            for at in 0..found.instances.len() {
                let (x, y) = found.samples(at);
                prop_assert!(
                    x.is_sorted_by(|a, b| a < b) && x.iter().all(|x| (0.0..1.0).contains(x))
                );
                prop_assert!(y.is_sorted() && y.iter().all(|y| (0.0..=1.0).contains(y)));
            }
        }
    }
}
