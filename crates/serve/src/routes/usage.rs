//! Who used how much.

use axum::Json;
use axum::extract::State;
use serde_json::Value;
use talea_model::Nanos;
use talea_store::{Dimension, MOST_ROWS, Question, public};

use crate::access::Person;
use crate::question::{FILTERS, Parameters, TIME};
use crate::refusal::Refusal;
use crate::state::Shared;

pub(super) async fn usage(
    State(state): State<Shared>,
    person: Person,
    parameters: Parameters,
) -> Result<Json<Value>, Refusal> {
    parameters.only(&[&TIME, &FILTERS, &["by", "limit"]])?;
    let mut question = parameters.question(person.visible(), Nanos::now())?;
    let limit = question.limit;
    if question.by.contains(&Dimension::Function) {
        // Nobody knows beforehand how many addresses functions have.
        question.limit = MOST_ROWS;
    }
    // Where the store is, is the business of who runs it.
    let store = if person.operator { state.store.clone() } else { String::new() };
    let answer = of(&state, question).await?;
    let functions = std::sync::Arc::clone(&state.functions);
    let shown = state.work(move |_| {
        let mut name = |module: Option<&_>, address| functions.name(module, address);
        let mut rows = public::named(&answer, &mut name);
        rows.truncate(limit);
        Ok(public::usage(&store, &answer, &rows))
    });
    Ok(Json(shown.await?))
}

/// The answer to one question.
pub(super) async fn of(state: &Shared, question: Question) -> Result<talea_store::Answer, Refusal> {
    state.ask(move |store| store.usage(&question)).await
}
