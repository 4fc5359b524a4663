//! Growth of counters around samples, and the spread of their rates over the cores of jobs.
//!
//! Owns the queries of both, which ask for the time and what was lost in it, and not for anybody's
//! usage. Sums are whole numbers as far as 2^53, above which engines round them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use talea_model::Gaps;
use talea_model::shares::Counter;

use crate::answer::Value;
use crate::error::StoreError;
use crate::prometheus::ask::{each, frame};
use crate::prometheus::http::{Found, Server};
use crate::prometheus::names::name;
use crate::prometheus::put::{RATE_COUNT, RATE_NANOS, RATE_SAMPLES, SPREAD};
use crate::prometheus::{select, window};
use crate::question::Question;
use crate::rates::{RateRow, Rates, SpreadSeen, fitting, note_beyond};

fn counter(found: &Found) -> Counter {
    let text = |label| name(found.label(label).unwrap_or_default()).to_owned();
    Counter { name: text("counter"), unit: text("unit") }
}

fn whole(found: &Found) -> u128 {
    found.number().unwrap_or(0.0).max(0.0).round() as u128
}

pub(super) fn rates(server: &Server, question: &Question) -> Result<Rates, StoreError> {
    let mut gaps = Gaps::default();
    let windows = window::windows(server, question, &mut gaps)?;
    let by = select::labels(&question.by).replace("period", "counter,unit");
    let sum = format!("sum by ({by})");
    let matchers = select::rows(question);
    let mut sums: BTreeMap<Vec<Value>, BTreeMap<Counter, [u128; 3]>> = BTreeMap::new();
    for (place, metric) in [RATE_SAMPLES, RATE_NANOS, RATE_COUNT].into_iter().enumerate() {
        for found in each(server, &windows, (&sum, "sum_over_time"), metric, &matchers)? {
            let of_key = sums.entry(select::key(&found, &question.by)).or_default();
            let sum = &mut of_key.entry(counter(&found)).or_default()[place];
            *sum = sum.saturating_add(whole(&found));
        }
    }
    let mut beyond = 0;
    let mut keys = Vec::new();
    for (key, of_key) in sums {
        let all = of_key.len();
        let fits = of_key.into_iter().filter_map(|(of, sums)| Some((of, fitting(sums)?)));
        let of_key: BTreeMap<Counter, [u64; 3]> = fits.collect();
        beyond += (all - of_key.len()) as u64;
        if !of_key.is_empty() {
            keys.push((key, of_key));
        }
    }
    let groups = keys.len() as u64;
    // Keys are in order, and sorting keeps that of equal ones.
    keys.sort_by_key(|(_, rows)| Reverse(rows.values().map(|sums| sums[0]).max()));
    keys.truncate(question.limit);
    let mut rows = Vec::new();
    for (key, of_key) in keys {
        for (counter, [samples, nanos, count]) in of_key {
            rows.push(RateRow { counter, key: key.clone(), samples, nanos, count });
        }
    }
    // The rest is of the time, whatever was counted in it.
    let time = frame(server, &windows, question, &mut gaps)?;
    note_beyond(beyond, &mut gaps);
    Ok(Rates { by: question.by.clone(), rows, groups, time, gaps })
}

pub(super) fn spreads(server: &Server, question: &Question) -> Result<Vec<SpreadSeen>, StoreError> {
    let windows = window::windows(server, question, &mut Gaps::default())?;
    let functions = ("sum by (counter,unit,bucket)", "sum_over_time");
    let mut buckets: BTreeMap<Counter, BTreeMap<i16, u128>> = BTreeMap::new();
    for found in each(server, &windows, functions, SPREAD, &select::who(question))? {
        let bucket = found.label("bucket").and_then(|bucket| bucket.parse().ok());
        let cores = whole(&found);
        if let Some(bucket) = bucket.filter(|_| cores > 0) {
            *buckets.entry(counter(&found)).or_default().entry(bucket).or_default() += cores;
        }
    }
    let spreads = buckets
        .into_iter()
        .filter_map(|(counter, cores)| SpreadSeen::from_buckets(counter, &cores));
    Ok(spreads.take(question.limit).collect())
}
