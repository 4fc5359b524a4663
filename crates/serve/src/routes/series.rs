//! The same as usage over time.

use axum::extract::State;
use talea_model::Nanos;
use talea_store::public;

use crate::access::Person;
use crate::question::{FILTERS, Parameters, TIME};
use crate::refusal::Refusal;
use crate::replies::Rendered;
use crate::state::Shared;

/// Bytes of a figure, in the store's answer and in what is made of it: samples and core seconds.
const OF_FIGURE: usize = 16 + 64;
/// Keys where nobody says how many.
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
        // All of the step that is not over yet.
        question.to = now + step;
    }
    let asker = person.clone();
    let rendered = state.ask_within(&person, move |state, store, bounds| {
        let mut series = store.series(&question, step)?;
        let mut gaps = std::mem::take(&mut series.gaps);
        series.note_wide(step, &mut gaps);
        series.gaps = gaps;
        bounds.take(series.keys.len() * series.points.len() * OF_FIGURE)?;
        let mut name = |module: Option<&_>, address| state.functions.name(module, address);
        let shown = public::series(&series, &mut name);
        bounds.check()?;
        state.answers.json(&asker, &shown)
    });
    rendered.await
}
