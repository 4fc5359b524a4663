//! Answers to queries as Prometheus writes them
//! (<https://prometheus.io/docs/prometheus/latest/querying/api/#expression-query-result-formats>).
//!
//! Owns their bytes, which are written as they are computed and bounded as they grow. It refuses to
//! compute.

use std::sync::Arc;

use talea_model::Nanos;
use talea_store::{Bounds, Store};

use super::answer::{self, Values};
use super::rows::Labels;
use super::times::{AnswerError, Times};
use super::{translate, warnings};
use crate::replies::{LONGEST, Text};

/// Writes the data of an answer.
pub(super) type Write =
    fn(&answer::Answer, Times, &Bounds, &mut Text<'_>) -> Result<(), AnswerError>;

/// The bytes of the answer to a query.
pub(super) fn written(
    store: &dyn Store,
    query: &translate::Query,
    times: Times,
    bounds: &Bounds,
    write: Write,
) -> Result<Vec<u8>, AnswerError> {
    let answer = answer::answer(store, query, times, bounds)?;
    let mut text = Text::new(bounds);
    text.push("{\"status\":\"success\",\"data\":");
    write(&answer, times, bounds, &mut text)?;
    if !answer.gaps.is_empty() {
        text.push(",\"warnings\":");
        text.json(&warnings(&answer.gaps));
    }
    text.push("}");
    looked(&mut text)?;
    Ok(text.done())
}

fn looked(text: &mut Text<'_>) -> Result<(), AnswerError> {
    if text.look()? {
        return Ok(());
    }
    Err(AnswerError::Query(format!(
        "an answer of more than {} MiB, expected fewer rows or a longer step",
        LONGEST >> 20
    )))
}

/// The values of one time.
pub(super) fn instant(
    answer: &answer::Answer,
    times: Times,
    _: &Bounds,
    text: &mut Text<'_>,
) -> Result<(), AnswerError> {
    match answer.at(times.begin)? {
        Values::Scalar(value) => {
            text.push("{\"resultType\":\"scalar\",\"result\":");
            point(text, times.begin, value);
        }
        Values::Vector(rows) => {
            let labels = answer.labels().unwrap_or_default();
            text.push("{\"resultType\":\"vector\",\"result\":[");
            for (at, (row, value)) in rows.into_iter().enumerate() {
                text.push(if at > 0 { ",{\"metric\":" } else { "{\"metric\":" });
                metric(text, labels.get(row as usize));
                text.push(",\"value\":");
                point(text, times.begin, value);
                text.push("}");
                looked(text)?;
            }
            text.push("]");
        }
    }
    text.push("}");
    Ok(())
}

/// The values of each time, by row.
pub(super) fn range(
    answer: &answer::Answer,
    times: Times,
    bounds: &Bounds,
    text: &mut Text<'_>,
) -> Result<(), AnswerError> {
    let labels = answer.labels();
    let mut rows: Vec<Vec<(Nanos, f64)>> = vec![Vec::new(); labels.map_or(1, <[_]>::len)];
    for time in times.each() {
        bounds.check()?;
        let found = match answer.at(time)? {
            Values::Scalar(value) => vec![(0, value)],
            Values::Vector(found) => found,
        };
        bounds.take(found.len() * size_of::<(Nanos, f64)>())?;
        for (row, value) in found {
            if let Some(values) = rows.get_mut(row as usize) {
                values.push((time, value));
            }
        }
    }
    text.push("{\"resultType\":\"matrix\",\"result\":[");
    let mut is_first = true;
    for (row, values) in rows.into_iter().enumerate().filter(|(_, values)| !values.is_empty()) {
        text.push(if is_first { "{\"metric\":" } else { ",{\"metric\":" });
        is_first = false;
        metric(text, labels.and_then(|labels| labels.get(row)));
        text.push(",\"values\":[");
        for (at, (time, value)) in values.into_iter().enumerate() {
            if at > 0 {
                text.push(",");
            }
            point(text, time, value);
        }
        text.push("]}");
        looked(text)?;
    }
    text.push("]}");
    Ok(())
}

/// The labels of a row.
fn metric(text: &mut Text<'_>, labels: Option<&Arc<Labels>>) {
    text.push("{");
    for (at, (name, value)) in labels.iter().flat_map(|labels| labels.iter()).enumerate() {
        text.push(if at > 0 { ",\"" } else { "\"" });
        text.push(name);
        text.push("\":");
        text.json(&**value);
    }
    text.push("}");
}

/// A time and a value as Prometheus writes them: the value is text, since JSON has no NaN.
fn point(text: &mut Text<'_>, time: Nanos, value: f64) {
    let value = match value {
        value if value.is_nan() => "NaN".to_owned(),
        value if value == f64::INFINITY => "+Inf".to_owned(),
        value if value == f64::NEG_INFINITY => "-Inf".to_owned(),
        value => value.to_string(),
    };
    text.push("[");
    text.json(&((time.0 / 1_000_000) as f64 / 1e3));
    text.push(",\"");
    text.push(&value);
    text.push("\"]");
}
