//! Answers of routes that no command prints: their keys are those of docs/server.md.
//!
//! Owns the types. Rows that commands print too are [`talea_results::site`]'s.

use serde::Serialize;
use talea_model::{Gaps, Nanos};
use talea_results::site::{Finding, JobRow, Names, NodeRow, SpreadRow};

use crate::access::Person;

/// `POST /api/v1/batches`.
#[derive(Debug, Serialize)]
pub(super) struct Stored {
    /// Batches that were stored now.
    pub(super) new: u64,
    /// Batches that the store had before.
    pub(super) already: u64,
}

/// `POST /api/v1/login` and `GET /api/v1/me`.
#[derive(Debug, Serialize)]
pub(super) struct Identity {
    pub(super) name: String,
    pub(super) uid: u32,
    pub(super) operator: bool,
    /// Version of the server; absent from the answer to a login.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<&'static str>,
}

impl Identity {
    /// The user of a request, without a version.
    pub(super) fn new(person: &Person) -> Self {
        let (uid, operator) = (person.uid, person.operator);
        Self { name: person.name.clone(), uid, operator, version: None }
    }
}

/// `POST /api/v1/logout`: an object without keys.
#[derive(Debug, Serialize)]
pub(super) struct LoggedOut {}

/// `GET /api/v1/rates`.
#[derive(Debug, Serialize)]
pub(super) struct Rates {
    /// Begin of the time with samples, since 1970; null without samples.
    pub(super) begin_ns: Option<Nanos>,
    /// Its end.
    pub(super) end_ns: Option<Nanos>,
    /// Dimensions of rows.
    pub(super) by: Vec<String>,
    /// Number of rows before the limit.
    pub(super) groups: u64,
    pub(super) rows: Vec<CounterRate>,
    pub(super) gaps: Gaps,
}

/// A row of [`Rates`].
#[derive(Debug, Serialize)]
pub(super) struct CounterRate {
    /// One key for each dimension.
    #[serde(flatten)]
    pub(super) names: Names,
    /// Name of the counter.
    pub(super) counter: String,
    /// Unit of its count.
    pub(super) unit: String,
    /// Count a second of a core.
    pub(super) rate: Option<f64>,
    /// Time in which it was counted.
    pub(super) seconds: f64,
    /// Number of samples.
    pub(super) samples: u64,
    /// The same time in nanoseconds.
    pub(super) nanos: u64,
    /// Count in this time.
    pub(super) count: u64,
}

/// `GET /api/v1/spreads`.
#[derive(Debug, Serialize)]
pub(super) struct Spreads {
    pub(super) spreads: Vec<SpreadRow>,
}

/// `GET /api/v1/nodes`.
#[derive(Debug, Serialize)]
pub(super) struct Nodes {
    pub(super) nodes: Vec<NodeRow>,
    /// Nodes with refused batches; only in answers to operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refused: Option<Vec<RefusedNode>>,
}

/// A node whose batches were refused.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct RefusedNode {
    /// Its name.
    pub(crate) node: String,
    /// Number of refused requests since the server began.
    pub(crate) requests: u64,
    /// Time of the last one, since 1970.
    pub(crate) last_ns: Nanos,
    /// Reason of the last one.
    pub(crate) why: String,
}

/// `GET /api/v1/jobs`.
#[derive(Debug, Serialize)]
pub(super) struct Jobs {
    pub(super) jobs: Vec<JobRow>,
    pub(super) gaps: Gaps,
}

/// `GET /api/v1/jobs/{id}`.
#[derive(Debug, Serialize)]
pub(super) struct OneJob {
    #[serde(flatten)]
    pub(super) job: JobRow,
    /// Findings of rules; absent with `findings=no`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) findings: Option<Vec<Finding>>,
    /// Spread of rates over its cores.
    pub(super) spreads: Vec<SpreadRow>,
    pub(super) gaps: Gaps,
}

/// `GET /api/v1/search`.
#[derive(Debug, Serialize)]
pub(super) struct Hits {
    pub(super) hits: Vec<Hit>,
}

/// A name with the requested text in it.
#[derive(Debug, Serialize)]
pub(super) struct Hit {
    /// Its kind, the name of a filter.
    pub(super) kind: String,
    pub(super) name: String,
}
