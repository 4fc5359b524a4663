//! Which nodes there are.

use axum::Json;
use axum::extract::State;
use talea_store::public;

use super::answers::Nodes;
use crate::access::Person;
use crate::question::Parameters;
use crate::refusal::Refusal;
use crate::state::Shared;

pub(super) async fn nodes(
    State(state): State<Shared>,
    person: Person,
    parameters: Parameters,
) -> Result<Json<Nodes>, Refusal> {
    parameters.only(&[])?;
    let visible = person.visible();
    let nodes = state.ask(&person, move |store| store.nodes(visible)).await?;
    let refused = person.operator.then(|| state.refused.list());
    Ok(Json(Nodes { nodes: nodes.iter().map(public::node).collect(), refused }))
}
