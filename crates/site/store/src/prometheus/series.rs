//! Rows over time.
//!
//! Owns the steps: a batch counts in the step that it begins in, which is where its sample stands;
//! how long batches are is said, as they may be longer. Whole steps come from range queries, the
//! first and the last, which the time cuts, from one query each.

use std::collections::{BTreeMap, HashMap};

use talea_model::{Gaps, Nanos};

use crate::answer::{Point, Series, Value};
use crate::error::StoreError;
use crate::prometheus::ask::{Sums, at_windows, query};
use crate::prometheus::http::{Found, Server};
use crate::prometheus::put::{NUMBER, WIDTH, WORK};
use crate::prometheus::select::{self, Matchers};
use crate::prometheus::window::{self, Window};
use crate::question::{Question, Visible};

/// Most steps of one query; Prometheus refuses more than 11,000.
const MOST_STEPS: u64 = 10_000;

pub(super) fn series(
    server: &Server,
    question: &Question,
    step: Nanos,
) -> Result<Series, StoreError> {
    if !step.0.is_multiple_of(1_000_000) {
        let why = format!("step of {} ns, expected whole milliseconds", step.0);
        return Err(StoreError::Question { why });
    }
    let steps = Steps { server, step: step.0 / 1_000_000 };
    let mut gaps = Gaps::default();
    let windows = window::windows(server, question, &mut gaps)?;
    let answer = at_windows(server, question, &windows, gaps)?;
    let keys: Vec<Vec<Value>> = answer.rows.into_iter().map(|row| row.key).collect();
    let mut points: BTreeMap<u64, Point> = BTreeMap::new();
    let empty = |begin: u64| Point {
        begin: Nanos(begin * 1_000_000),
        all_samples: 0,
        samples: 0,
        by_key: vec![0; keys.len()],
        core_seconds: vec![0.0; keys.len()],
    };
    let own = select::visible(question.visible);
    let metric = if question.visible == Visible::All { NUMBER } else { WORK };
    steps.each(&windows, ("count", "count_over_time"), metric, &own, &mut |_, begin, _| {
        points.entry(begin).or_insert_with(|| empty(begin));
    })?;
    steps.each(&windows, ("sum", "sum_over_time"), WORK, &own, &mut |_, begin, samples| {
        let all = &mut points.entry(begin).or_insert_with(|| empty(begin)).all_samples;
        *all = all.saturating_add(samples.max(0.0).round() as u64);
    })?;
    let places: HashMap<&[Value], usize> =
        keys.iter().enumerate().map(|(place, key)| (key.as_slice(), place)).collect();
    let metric = select::metric(question, &mut Gaps::default());
    let mut rows = select::rows(question);
    steps.each(&windows, ("sum", "sum_over_time"), metric, &rows, &mut |_, begin, samples| {
        let all = &mut points.entry(begin).or_insert_with(|| empty(begin)).samples;
        *all = all.saturating_add(samples.max(0.0).round() as u64);
    })?;
    if answer.groups > keys.len() as u64 {
        rows.extend(select::only(&keys, &question.by));
    }
    let sum = format!("sum by ({})", select::labels(&question.by));
    let mut sums: BTreeMap<(u64, usize), Sums> = BTreeMap::new();
    let functions = (sum.as_str(), "sum_over_time");
    let widest = widest(server, &windows, &own)?;
    let windows = if keys.is_empty() { Vec::new() } else { windows };
    steps.each(&windows, functions, metric, &rows, &mut |found, begin, n| {
        if let Some(&place) = places.get(select::key(found, &question.by).as_slice()) {
            sums.entry((begin, place)).or_default().add(Sums::from_samples(found, n));
        }
    })?;
    for ((begin, place), sums) in sums {
        if let Some(point) = points.get_mut(&begin) {
            point.by_key[place] = sums.samples();
            point.core_seconds[place] = sums.core_seconds();
        }
    }
    let points = points.into_values().collect();
    let mut gaps = answer.gaps;
    server.note_partial(&mut gaps);
    Ok(Series { by: question.by.clone(), keys, step, points, gaps, widest })
}

/// The longest batch that counts: what is longer than a step stands in the one that it begins in.
/// Of one user, the longest of the agents' whose nodes had work of this user, which may be of
/// another time.
fn widest(server: &Server, windows: &[Window], own: &Matchers) -> Result<Nanos, StoreError> {
    let mut widest = 0.0_f64;
    for window in windows {
        let range = window.range(server)?;
        let mut batches = query(window, ("", "max_over_time"), WIDTH, &Matchers::new(), &range);
        if !own.is_empty() {
            let work = query(window, ("", "count_over_time"), WORK, own, &range);
            batches = format!("{batches} and on (node, started) {work}");
        }
        let found = server.at_time(&format!("max ({batches})"), Some(window.last))?;
        widest = widest.max(found.first().and_then(Found::number).unwrap_or(0.0));
    }
    Ok(Nanos((widest as u64).saturating_mul(1_000_000)))
}

struct Steps<'a> {
    server: &'a Server,
    /// Milliseconds.
    step: u64,
}

impl Steps<'_> {
    /// Gives what is found in each step of each window: labels, begin of the step, value.
    fn each(
        &self,
        windows: &[Window],
        functions: (&str, &str),
        metric: &str,
        matchers: &Matchers,
        give: &mut dyn FnMut(&Found, u64, f64),
    ) -> Result<(), StoreError> {
        let step = self.step;
        for window in windows {
            let (begin, end) = (window.first / step, window.last / step);
            let mut cut =
                vec![Window { last: window.last.min(begin * step + step - 1), ..window.clone() }];
            if end > begin {
                cut.push(Window { first: end * step, ..window.clone() });
            }
            for part in cut {
                let range = part.range(self.server)?;
                let query = query(&part, functions, metric, matchers, &range);
                for found in self.server.at_time(&query, Some(part.last))? {
                    if let Some(value) = found.number() {
                        give(&found, part.first / step * step, value);
                    }
                }
            }
            let range = self.server.range(step)?;
            let query = query(window, functions, metric, matchers, &range);
            let mut first = begin + 1;
            while first < end {
                let last = (first + MOST_STEPS).min(end) - 1;
                let times = (first * step + step - 1, last * step + step - 1);
                for found in self.server.over_time(&query, times, step)? {
                    for (at, value) in found.points() {
                        give(&found, at / step * step, value);
                    }
                }
                first = last + 1;
            }
        }
        Ok(())
    }
}
