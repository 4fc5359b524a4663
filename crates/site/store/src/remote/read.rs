//! The JSON of the routes as answers.
//!
//! Owns their keys. What a server leaves out or says in another form gives none; numbers are never
//! made up.

use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use talea_model::shares::{Counter, Job};
use talea_model::{Gaps, Nanos};

use crate::answer::{Answer, JobSeen, NodeSeen, Point, Row, Series, Totals, Value};
use crate::proportion::Proportion;
use crate::public;
use crate::question::{Dimension, Visible};
use crate::rates::{RateRow, Rates, SpreadSeen};

fn of<T: DeserializeOwned>(value: &Json) -> Option<T> {
    T::deserialize(value).ok()
}

fn key(value: &Json, dimension: Dimension) -> Option<Value> {
    match (value, dimension) {
        (Json::Null, _) => Some(Value::Absent),
        (Json::Number(number), _) => number.as_u64().map(Value::Number),
        (value, Dimension::Activity) => of(value).map(Value::Activity),
        (Json::String(text), _) => Some(Value::Text(text.clone())),
        _ => None,
    }
}

fn keys(row: &Json, by: &[Dimension]) -> Option<Vec<Value>> {
    by.iter().map(|&by| key(row.get(public::word(by))?, by)).collect()
}

/// The time of an answer, none where nothing was observed.
struct Time(Option<(Nanos, Nanos)>);

fn time(value: &Json) -> Option<Time> {
    match (value.get("begin_ns")?, value.get("end_ns")?) {
        (Json::Null, Json::Null) => Some(Time(None)),
        (begin, end) => Some(Time(Some((Nanos(begin.as_u64()?), Nanos(end.as_u64()?))))),
    }
}

fn gaps(value: &Json) -> Option<Gaps> {
    of(value.get("gaps")?)
}

pub(super) fn answer(value: &Json, by: &[Dimension]) -> Option<Answer> {
    let number = |key: &str| value.get(key)?.as_u64();
    let seconds = |key: &str| value.get(key)?.as_f64();
    let totals = Totals {
        time: time(value)?.0,
        all_samples: number("samples")?,
        all_core_seconds: seconds("core_seconds")?,
        samples: number("matched_samples")?,
        core_seconds: seconds("matched_core_seconds")?,
    };
    let row = |row: &Json| {
        let samples = row.get("samples")?.as_u64()?;
        Some(Row {
            key: keys(row, by)?,
            samples,
            core_seconds: row.get("core_seconds")?.as_f64()?,
            of_all: Proportion::new(samples, totals.all_samples),
            of_matched: Proportion::new(samples, totals.samples),
        })
    };
    let rows: Option<Vec<Row>> = value.get("rows")?.as_array()?.iter().map(row).collect();
    let answer = Answer {
        by: by.to_vec(),
        groups: number("groups")?,
        rows: rows?,
        totals,
        gaps: gaps(value)?,
    };
    Some(answer.widened())
}

pub(super) fn series(value: &Json, by: &[Dimension]) -> Option<Series> {
    let own = |one: &Json| -> Option<Vec<Value>> {
        let parts = one.as_array()?;
        (parts.len() == by.len()).then_some(())?;
        parts.iter().zip(by).map(|(part, &by)| key(part, by)).collect()
    };
    let keys: Option<Vec<Vec<Value>>> = value.get("keys")?.as_array()?.iter().map(own).collect();
    let keys = keys?;
    let point = |point: &Json| {
        let by_key: Vec<u64> = of(point.get("by_key")?)?;
        let core_seconds: Vec<f64> = of(point.get("core_seconds")?)?;
        (by_key.len() == keys.len() && core_seconds.len() == keys.len()).then_some(())?;
        let number = |key: &str| point.get(key)?.as_u64();
        Some(Point {
            begin: Nanos(number("begin_ns")?),
            all_samples: number("all_samples")?,
            samples: number("samples")?,
            by_key,
            core_seconds,
        })
    };
    let points: Option<Vec<Point>> = value.get("points")?.as_array()?.iter().map(point).collect();
    let step = Nanos(value.get("step_ns")?.as_u64()?);
    // Its gaps are in the server's answer.
    let widest = Nanos(0);
    Some(Series { by: by.to_vec(), points: points?, keys, step, gaps: gaps(value)?, widest })
}

/// Permission of the token's owner.
pub(super) fn sees(value: &Json) -> Option<Visible> {
    let user = || of(value.get("uid")?).map(Visible::User);
    if of(value.get("operator")?)? { Some(Visible::All) } else { user() }
}

pub(super) fn nodes(value: &Json) -> Option<Vec<NodeSeen>> {
    let node = |node: &Json| {
        Some(NodeSeen {
            name: node.get("name")?.as_str()?.to_owned(),
            first: Nanos(node.get("first_ns")?.as_u64()?),
            last: Nanos(node.get("last_ns")?.as_u64()?),
            cores: of(node.get("cores")?)?,
            sampler: of(node.get("sampler")?)?,
            // Servers of before do not tell.
            interval: node.get("interval_ns").and_then(Json::as_u64).map(Nanos),
        })
    };
    value.get("nodes")?.as_array()?.iter().map(node).collect()
}

pub(super) fn jobs(value: &Json) -> Option<Vec<JobSeen>> {
    let job = |job: &Json| {
        let number = |key: &str| job.get(key)?.as_u64();
        Some(JobSeen {
            job: Job { id: job.get("job")?.as_str()?.to_owned(), user: of(job.get("user")?)? },
            first: Nanos(number("first_ns")?),
            last: Nanos(number("last_ns")?),
            nodes: number("nodes")?,
            samples: number("samples")?,
            core_seconds: job.get("core_seconds")?.as_f64()?,
        })
    };
    value.get("jobs")?.as_array()?.iter().map(job).collect()
}

fn counter(row: &Json) -> Option<Counter> {
    let text = |key: &str| Some(row.get(key)?.as_str()?.to_owned());
    Some(Counter { name: text("counter")?, unit: text("unit")? })
}

pub(super) fn rates(value: &Json, by: &[Dimension]) -> Option<Rates> {
    let row = |row: &Json| {
        let number = |key: &str| row.get(key)?.as_u64();
        Some(RateRow {
            counter: counter(row)?,
            key: keys(row, by)?,
            samples: number("samples")?,
            nanos: number("nanos")?,
            count: number("count")?,
        })
    };
    let rows: Option<Vec<RateRow>> = value.get("rows")?.as_array()?.iter().map(row).collect();
    let groups = value.get("groups")?.as_u64()?;
    Some(Rates { by: by.to_vec(), rows: rows?, groups, time: time(value)?.0, gaps: gaps(value)? })
}

pub(super) fn spreads(value: &Json) -> Option<Vec<SpreadSeen>> {
    let spread = |row: &Json| {
        Some(SpreadSeen {
            counter: counter(row)?,
            cores: row.get("cores")?.as_u64()?,
            quantiles: of(row.get("quantiles")?)?,
        })
    };
    value.get("spreads")?.as_array()?.iter().map(spread).collect()
}
