//! Rates of counters at samples, and their spread over the cores of jobs.

use axum::Json;
use axum::extract::State;
use talea_model::Nanos;
use talea_store::{RateRow, public};

use super::answers::{CounterRate, Rates, Spreads};
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
            let names = row.key.iter().map(|key| public::name(key, &mut name));
            CounterRate {
                names: words.zip(names).collect(),
                counter: row.counter.name.clone(),
                unit: row.counter.unit.clone(),
                rate: row.rate(),
                seconds: row.nanos as f64 / 1e9,
                samples: row.samples,
                nanos: row.nanos,
                count: row.count,
            }
        };
        let answer = Rates {
            begin_ns: rates.time.map(|(begin, _)| begin),
            end_ns: rates.time.map(|(_, end)| end),
            by: rates.by.iter().map(|&by| public::word(by)).collect(),
            groups: rates.groups,
            rows: rates.rows.iter().map(&mut row).collect(),
            gaps: rates.gaps,
        };
        state.answers.json(&asker, &answer)
    });
    rendered.await
}

pub(super) async fn spreads(
    State(state): State<Shared>,
    person: Person,
    parameters: Parameters,
) -> Result<Json<Spreads>, Refusal> {
    parameters.only(&[&TIME, &FILTERS, &["limit"]])?;
    let question = parameters.question(person.visible(), Nanos::now())?;
    let spreads = state.ask(&person, move |store| store.spreads(&question)).await?;
    Ok(Json(Spreads { spreads: spreads.iter().map(public::spread).collect() }))
}
