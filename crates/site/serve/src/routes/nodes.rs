//! Which nodes there are.

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use talea_results::site::NodeRow;
use talea_store::public;

use crate::access::Person;
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
    let nodes = state.ask(&person, move |store| store.nodes(visible)).await?;
    let nodes: Vec<NodeRow> = nodes.iter().map(public::node).collect();
    let mut object = json!({ "nodes": nodes });
    if person.operator {
        object["refused"] = json!(state.refused.list());
    }
    Ok(Json(object))
}
