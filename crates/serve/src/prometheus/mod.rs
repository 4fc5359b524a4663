//! A subset of the query API of Prometheus.

use axum::extract::State;

use crate::access::Person;
use crate::refusal::Refusal;
use crate::state::Shared;

pub(crate) async fn query(State(_): State<Shared>, _: Person) -> Refusal { Refusal::missing() }
pub(crate) async fn query_range(State(_): State<Shared>, _: Person) -> Refusal { Refusal::missing() }
pub(crate) async fn labels(State(_): State<Shared>, _: Person) -> Refusal { Refusal::missing() }
pub(crate) async fn values(State(_): State<Shared>, _: Person) -> Refusal { Refusal::missing() }
pub(crate) async fn series(State(_): State<Shared>, _: Person) -> Refusal { Refusal::missing() }
