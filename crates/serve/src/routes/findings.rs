//! What rules found.
//!
//! Owns nothing but the way to them: who gives the server its rules says who may see which finding.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use talea_model::{Gaps, Nanos};
use talea_store::Visible;

use crate::access::Person;
use crate::question::{Parameters, TIME, now};
use crate::refusal::Refusal;
use crate::state::Shared;

pub(super) async fn findings(
    State(state): State<Shared>,
    person: Person,
    parameters: Parameters,
) -> Result<Json<Value>, Refusal> {
    parameters.only(&[&TIME, &["job", "node"]])?;
    // Rules look back as far as they say; only a time that has ended is looked at as a whole.
    let (from, to) = parameters.time(now())?;
    let time = parameters.get("to").map(|_| (from, to));
    let job = parameters.get("job").map(|job| json!(job));
    let node = parameters.get("node").map(|node| json!(node));
    let asked = move |finding: &Value| {
        job.as_ref().is_none_or(|job| finding["job"] == *job)
            && node.as_ref().is_none_or(|node| finding["node"] == *node)
    };
    let (findings, gaps) = of(&state, person.visible(), time, None, asked).await?;
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
    let of_job = move || {
        let job = job.as_ref().map(|(name, owner)| (name.as_str(), *owner));
        rules.findings(visible, time, job)
    };
    let (findings, gaps) = state.work(move |_| Ok(of_job())).await?;
    Ok((findings.into_iter().filter(asked).collect(), gaps))
}
