//! Names that have a text in them.
//!
//! Owns the kinds, which are names of filters. Only what may be seen is searched, within the time
//! that is asked for.

use axum::Json;
use axum::extract::State;
use talea_model::Nanos;
use talea_store::{Dimension, Question, Text, Value as Key, public};

use super::answers::{Hit, Hits};
use crate::access::Person;
use crate::question::{Parameters, TIME};
use crate::refusal::Refusal;
use crate::state::Shared;

/// Most hits of a kind.
const MOST: usize = 20;
/// Where nobody says which time: thirty days.
const LAST: Nanos = Nanos(30 * 86_400_000_000_000);
/// Longest text.
const LONGEST: usize = 200;

const KINDS: [Dimension; 5] =
    [Dimension::Job, Dimension::Node, Dimension::Executable, Dimension::Library, Dimension::Phase];

pub(super) async fn search(
    State(state): State<Shared>,
    person: Person,
    parameters: Parameters,
) -> Result<Json<Hits>, Refusal> {
    parameters.only(&[&TIME, &["q"]])?;
    let expected = || Refusal::question(format!("expected `q`, a text of 1 to {LONGEST} bytes"));
    let text = parameters.get("q").filter(|q| q.len() <= LONGEST).ok_or_else(expected)?;
    let now = Nanos::now();
    let mut question = parameters.question(person.visible(), now)?;
    if parameters.get("from").is_none() && parameters.get("last").is_none() {
        question.from = now - LAST;
    }
    question.limit = MOST;
    let pattern = Text::Like(format!("*{text}*"));
    let hits = state
        .ask(&person, move |store| {
            let mut hits = Vec::new();
            for kind in KINDS {
                let answer = store.usage(&asked(&question, kind, &pattern))?;
                let names = answer.rows.into_iter().filter_map(|row| row.key.into_iter().next());
                hits.extend(names.filter_map(|name| match name {
                    Key::Text(name) => Some(Hit { kind: public::word(kind), name }),
                    _ => None,
                }));
            }
            Ok(hits)
        })
        .await?;
    Ok(Json(Hits { hits }))
}

fn asked(question: &Question, kind: Dimension, pattern: &Text) -> Question {
    let mut asked = Question { by: vec![kind], ..question.clone() };
    let filter = match kind {
        Dimension::Job => &mut asked.job,
        Dimension::Node => &mut asked.node,
        Dimension::Executable => &mut asked.executable,
        Dimension::Library => &mut asked.library,
        _ => &mut asked.phase,
    };
    *filter = Some(pattern.clone());
    asked
}
