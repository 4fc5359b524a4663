//! Use of cores by job, user, executable, library, function, phase, core and activity.

use axum::extract::State;
use talea_model::Nanos;
use talea_store::{Dimension, MOST_ROWS, public};

use crate::access::Person;
use crate::question::{FILTERS, Parameters, TIME};
use crate::refusal::Refusal;
use crate::replies::Rendered;
use crate::state::Shared;

/// Bytes of a row with its names, in the store's answer and in what is made of it.
const OF_ROW: usize = 1024;

pub(super) async fn usage(
    State(state): State<Shared>,
    person: Person,
    parameters: Parameters,
) -> Result<Rendered, Refusal> {
    parameters.only(&[&TIME, &FILTERS, &["by", "limit"]])?;
    let mut question = parameters.question(person.visible(), Nanos::now())?;
    let limit = question.limit;
    if question.by.contains(&Dimension::Function) {
        // Rows of addresses become rows of functions after they are named.
        question.limit = MOST_ROWS;
    }
    // The address of the store is shown to operators only.
    let store = if person.operator { state.store.clone() } else { String::new() };
    let asker = person.clone();
    let rendered = state.ask_within(&person, move |state, asked, bounds| {
        let answer = asked.usage(&question)?;
        bounds.take(answer.rows.len() * OF_ROW)?;
        let mut name = state.names(bounds);
        let mut rows = public::named(&answer, &mut name);
        rows.truncate(limit);
        bounds.check()?;
        state.answers.json(&asker, &public::usage(&store, &answer, &rows))
    });
    rendered.await
}
