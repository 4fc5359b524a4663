//! What rules found.
//!
//! Owns nothing but the way to them: who gives the server its rules says who may see which finding.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use talea_model::{Gaps, Nanos};
use talea_store::{Text, Visible};

use crate::access::Person;
use crate::question::Parameters;
use crate::refusal::Refusal;
use crate::state::Shared;

pub(super) async fn findings(
    State(state): State<Shared>,
    person: Person,
    parameters: Parameters,
) -> Result<Json<Value>, Refusal> {
    // Without a time it is what holds now: rules look back as far as they say.
    parameters.only(&[&["from", "to"], &["job", "node"]])?;
    let now = Nanos::now();
    let (from, to) = parameters.time(now)?;
    let whole = parameters.get("from").is_some() || parameters.get("to").is_some();
    let time = whole.then_some((from, to.min(now)));
    let job = parameters.get("job").map(|job| (job.to_owned(), None));
    let node = parameters.get("node").map(|node| Text::Like(node.to_owned()));
    let asked = move |finding: &Value| {
        let name = finding["node"].as_str();
        node.as_ref().is_none_or(|node| name.is_some_and(|name| node.matches(name)))
    };
    let (findings, gaps) = of(&state, person.visible(), time, job, asked).await?;
    Ok(Json(json!({ "findings": findings, "gaps": gaps })))
}

/// Findings of a time that are asked for.
pub(super) async fn of(
    state: &Shared,
    visible: Visible,
    time: Option<(Nanos, Nanos)>,
    job: Option<(String, Option<u32>)>,
    asked: impl Fn(&Value) -> bool + Send + 'static,
) -> Result<(Vec<Value>, Gaps), Refusal> {
    let rules = Arc::clone(&state.findings);
    let named = job.as_ref().map(|(name, _)| json!(name));
    let of_job = move || {
        let job = job.as_ref().map(|(name, owner)| (name.as_str(), *owner));
        rules.findings(visible, time, job)
    };
    let (findings, gaps) = state.work(move |_| Ok(of_job())).await?;
    let of_it = |finding: &Value| named.as_ref().is_none_or(|job| finding["job"] == *job);
    Ok((findings.into_iter().filter(|one| of_it(one) && asked(one)).collect(), gaps))
}
