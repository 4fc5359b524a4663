//! Findings of rules.
//!
//! Owns the way to them; the rules decide which user may see which finding. Evaluation reads much
//! of the store: equal queries wait for the first of them, whose answer is remembered, and few
//! evaluations run at a time. Neither takes a turn of queries to the store while it waits.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use talea_model::Nanos;
use talea_results::site::{Finding, Findings};
use talea_store::{Bounds, Text, Visible};

use crate::access::Person;
use crate::question::Parameters;
use crate::refusal::Refusal;
use crate::state::Shared;

/// Maximum wait for other evaluations.
const PATIENCE: Duration = Duration::from_secs(30);
/// Times that end now end on whole minutes, so that equal queries share an answer.
const MINUTE: u64 = 60_000_000_000;

pub(super) async fn findings(
    State(state): State<Shared>,
    person: Person,
    parameters: Parameters,
) -> Result<Json<Findings>, Refusal> {
    // Without a time, findings of now: each rule has its own time range.
    parameters.only(&[&["from", "to"], &["job", "node"]])?;
    let now = Nanos::now();
    let (from, to) = parameters.time(now)?;
    let whole = parameters.get("from").is_some() || parameters.get("to").is_some();
    let minute = Nanos(now.0 / MINUTE * MINUTE);
    let now = if minute > from { minute } else { now };
    let time = whole.then_some((from, to.min(now)));
    let job = parameters.get("job").map(|job| (job.to_owned(), None));
    let node = parameters.get("node").map(Text::pattern);
    let asked = move |finding: &Finding| {
        let name = finding.node.as_deref();
        node.as_ref().is_none_or(|node| name.is_some_and(|name| node.matches(name)))
    };
    Ok(Json(findings_of_time(&state, &person, time, job, asked).await?))
}

/// Findings of a time.
pub(super) async fn findings_of_time(
    state: &Shared,
    person: &Person,
    time: Option<(Nanos, Nanos)>,
    job: Option<(String, Option<u32>)>,
    asked: impl Fn(&Finding) -> bool + Send + 'static,
) -> Result<Findings, Refusal> {
    let visible = person.visible();
    let user = match visible {
        Visible::All => None,
        Visible::User(user) => Some(user),
    };
    let place = state.asking.place((user, time, job.clone()));
    let turn = async {
        let own = place.lock_owned().await;
        let permit = Arc::clone(&state.asking.permits).acquire_owned().await;
        permit.map(|permit| (own, permit))
    };
    let busy = |_| Refusal::busy("rules are looked at for others");
    let turn = tokio::time::timeout(PATIENCE, turn).await.map_err(busy)?;
    let turn = turn.map_err(|_| Refusal::bug())?;
    let rules = Arc::clone(&state.findings);
    let named = job.as_ref().map(|(name, _)| name.clone());
    let of_job = move |bounds: &Arc<Bounds>| {
        // The thread owns the turn: a client that disconnects frees it when the evaluation has
        // stopped.
        let _turn = turn;
        let job = job.as_ref().map(|(name, owner)| (name.as_str(), *owner));
        rules.findings(visible, time, job, bounds)
    };
    let mut found = state.work(person, move |_, bounds| Ok(of_job(bounds))).await?;
    found.findings.retain(|one| named.is_none() || one.job == named);
    found.findings.retain(asked);
    Ok(found)
}
