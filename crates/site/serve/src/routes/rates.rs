//! Rates of counters at samples, and their spread over the cores of jobs.

use axum::Json;
use axum::extract::State;
use serde_json::{Map, Value, json};
use talea_model::Nanos;
use talea_results::site::SpreadRow;
use talea_store::{RateRow, public};

use crate::access::Person;
use crate::question::{FILTERS, Parameters, TIME};
use crate::refusal::Refusal;
use crate::replies::Rendered;
use crate::state::Shared;

pub(super) async fn rates(
    State(state): State<Shared>,
    person: Person,
    parameters: Parameters,
) -> Result<Rendered, Refusal> {
    parameters.only(&[&TIME, &FILTERS, &["by", "limit"]])?;
    let question = parameters.question(person.visible(), Nanos::now())?;
    let asker = person.clone();
    let rendered = state.ask_within(&person, move |state, store, bounds| {
        let rates = store.rates(&question)?;
        let mut name = state.names(bounds);
        let mut row = |row: &RateRow| {
            let words = rates.by.iter().map(|&by| public::word(by));
            let names = row.key.iter().map(|key| json!(public::name(key, &mut name)));
            let mut object: Map<String, Value> = words.zip(names).collect();
            for (key, value) in [
                ("counter", json!(row.counter.name)),
                ("unit", json!(row.counter.unit)),
                ("rate", json!(row.rate())),
                ("seconds", json!(row.nanos as f64 / 1e9)),
                ("samples", json!(row.samples)),
                ("nanos", json!(row.nanos)),
                ("count", json!(row.count)),
            ] {
                object.insert(key.to_owned(), value);
            }
            Value::Object(object)
        };
        let rows: Vec<Value> = rates.rows.iter().map(&mut row).collect();
        let object = json!({
            "begin_ns": rates.time.map(|(begin, _)| begin.0),
            "end_ns": rates.time.map(|(_, end)| end.0),
            "by": rates.by,
            "groups": rates.groups,
            "rows": rows,
            "gaps": rates.gaps,
        });
        state.answers.json(&asker, &object)
    });
    rendered.await
}

pub(super) async fn spreads(
    State(state): State<Shared>,
    person: Person,
    parameters: Parameters,
) -> Result<Json<Value>, Refusal> {
    parameters.only(&[&TIME, &FILTERS, &["limit"]])?;
    let question = parameters.question(person.visible(), Nanos::now())?;
    let spreads = state.ask(&person, move |store| store.spreads(&question)).await?;
    let spreads: Vec<SpreadRow> = spreads.iter().map(public::spread).collect();
    Ok(Json(json!({ "spreads": spreads })))
}
