//! Which nodes there are.

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use crate::access::Person;
use crate::answer;
use crate::question::Parameters;
use crate::refusal::Refusal;
use crate::state::Shared;

pub(super) async fn nodes(
    State(state): State<Shared>,
    person: Person,
    parameters: Parameters,
) -> Result<Json<Value>, Refusal> {
    parameters.only(&[])?;
    let visible = person.visible();
    let nodes = state.ask(move |store| store.nodes(visible)).await?;
    let nodes: Vec<Value> = nodes.iter().map(answer::node).collect();
    Ok(Json(json!({ "nodes": nodes })))
}
