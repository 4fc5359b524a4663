//! The same as usage over time.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::Value;
use talea_model::Nanos;
use talea_store::public;

use crate::access::Person;
use crate::question::{FILTERS, Parameters, TIME};
use crate::refusal::Refusal;
use crate::state::Shared;

/// Keys where nobody says how many.
const KEYS: usize = 20;

pub(super) async fn series(
    State(state): State<Shared>,
    person: Person,
    parameters: Parameters,
) -> Result<Json<Value>, Refusal> {
    parameters.only(&[&TIME, &FILTERS, &["by", "limit", "step"]])?;
    let now = Nanos::now();
    let mut question = parameters.question(person.visible(), now)?;
    if parameters.get("limit").is_none() {
        question.limit = KEYS;
    }
    let step = parameters.step()?;
    if parameters.get("to").is_none() {
        // All of the step that is not over yet.
        question.to = now + step;
    }
    let mut series = state.ask(move |store| store.series(&question, step)).await?;
    let mut gaps = std::mem::take(&mut series.gaps);
    series.note_wide(step, &mut gaps);
    series.gaps = gaps;
    let functions = Arc::clone(&state.functions);
    let shown = state.work(move |_| {
        Ok(public::series(&series, &mut |module, address| functions.name(module, address)))
    });
    Ok(Json(shown.await?))
}
