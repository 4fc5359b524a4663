//! Use of cores over time.

use axum::extract::State;
use talea_model::Nanos;
use talea_store::public;

use crate::access::Person;
use crate::question::{FILTERS, Parameters, TIME};
use crate::refusal::Refusal;
use crate::replies::Rendered;
use crate::state::Shared;

/// Bytes of a figure in the store's answer and in the answer of the server: samples and core
/// seconds.
const OF_FIGURE: usize = 16 + 64;
/// Default number of keys.
const KEYS: usize = 20;

pub(super) async fn series(
    State(state): State<Shared>,
    person: Person,
    parameters: Parameters,
) -> Result<Rendered, Refusal> {
    parameters.only(&[&TIME, &FILTERS, &["by", "limit", "step"]])?;
    let now = Nanos::now();
    let mut question = parameters.question(person.visible(), now)?;
    if parameters.get("limit").is_none() {
        question.limit = KEYS;
    }
    let step = parameters.step()?;
    if parameters.get("to").is_none() {
        // The current step as a whole.
        question.to = now + step;
    }
    let asker = person.clone();
    let rendered = state.ask_within(&person, move |state, store, bounds| {
        let mut series = store.series(&question, step)?;
        let mut gaps = std::mem::take(&mut series.gaps);
        series.note_wide(step, &mut gaps);
        series.gaps = gaps;
        bounds.take(series.keys.len() * series.points.len() * OF_FIGURE)?;
        let mut name = state.names(bounds);
        let shown = public::series(&series, &mut name);
        bounds.check()?;
        state.answers.json(&asker, &shown)
    });
    rendered.await
}
