//! Requests to the person or node that sends them.
//!
//! Owns the extraction for routes: a route names the one that it is for, and gets no other. It
//! refuses deciding ([`crate::access`]).

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::access::{Node, Person, Who, address};
use crate::refusal::Refusal;
use crate::state::Shared;

impl FromRequestParts<Shared> for Person {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, Refusal> {
        match state.access.who(&parts.headers, address(parts)).await? {
            Who::Person(person) => {
                if person.operator {
                    state.connections.know(address(parts));
                }
                Ok(person)
            }
            Who::Node(_) => Err(Refusal::role("a node's token may only send batches")),
        }
    }
}

impl FromRequestParts<Shared> for Node {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, Refusal> {
        match state.access.who(&parts.headers, address(parts)).await? {
            Who::Node(node) => {
                state.connections.know(address(parts));
                Ok(node)
            }
            Who::Person(_) => Err(Refusal::role("expected a node's token")),
        }
    }
}
