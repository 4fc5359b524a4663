//! A server of ours as a store that is asked: what the routes of docs/server.md answer, as
//! questions have it.
//!
//! Owns the way from a question to a request and from the JSON back. The server knows who asks by
//! the token, and answers what this one may see. It takes no batches, which are an agent's to send.
//! Exact names are asked for exactly, whatever is in them; functions come with their names.

mod read;

use std::time::Duration;

use serde_json::Value as Json;
use talea_model::Nanos;
use talea_model::shares::Batch;

use crate::access::{Server, Way, WayError, unreached};
use crate::address::redacted;
use crate::answer::{Answer, JobSeen, NodeSeen, Series};
use crate::error::StoreError;
use crate::question::{Question, Text, Visible};
use crate::rates::{Rates, SpreadSeen};
use crate::{Put, Retained, Store, public};

/// How long an answer may take: in the server a question waits half a minute for its turn, and is
/// given up after another half.
const PATIENCE: Duration = Duration::from_secs(70);
/// Longest answer.
const MOST_BYTES: u64 = 256 << 20;

/// A server.
#[derive(Debug)]
pub struct Remote {
    way: Way,
    address: String,
}

impl Remote {
    /// The server at `http://HOST:PORT` or `https://HOST:PORT`, asked as the one whose token is in
    /// a file. Nothing is sent yet.
    ///
    /// # Errors
    /// An address that is none, and files that cannot be read or hold something else.
    pub fn open(server: &Server) -> Result<Self, StoreError> {
        let refused = |error: WayError| StoreError::Server {
            address: redacted(&server.address),
            why: error.to_string(),
        };
        let way = Way::new(server, PATIENCE).map_err(refused)?;
        Ok(Self { way, address: server.address.clone() })
    }

    fn failed(&self, why: impl Into<String>) -> StoreError {
        StoreError::Server { address: self.address.clone(), why: why.into() }
    }

    /// Answer of a route.
    fn get(&self, path: &str, parameters: &[(&str, String)]) -> Result<Json, StoreError> {
        let request = self.way.get(path);
        let pairs = parameters.iter().map(|(name, value)| (*name, value.as_str()));
        let mut answer =
            request.query_pairs(pairs).call().map_err(|error| self.failed(unreached(&error)))?;
        let body = answer.body_mut().with_config().limit(MOST_BYTES);
        let text = body.read_to_string().map_err(|error| self.failed(error.to_string()))?;
        let value: Option<Json> = serde_json::from_str(&text).ok();
        let status = answer.status().as_u16();
        match (status, value) {
            (200, Some(value)) => Ok(value),
            (401 | 403, _) => Err(self.failed(
                "it does not know the token, expected one of `talea serve token add user NAME`",
            )),
            (400, Some(value)) if value["error"].is_string() => Err(StoreError::Question {
                why: value["error"].as_str().unwrap_or_default().to_owned(),
            }),
            (status, Some(value)) if value["error"].is_string() => {
                Err(self
                    .failed(format!("{status}: {}", value["error"].as_str().unwrap_or_default())))
            }
            (status, _) => {
                Err(self.failed(format!("answered {status}, expected a server of talea")))
            }
        }
    }

    /// Reads an answer; what is not of its form is no server of ours.
    fn read<T>(
        &self,
        value: &Json,
        read: impl FnOnce(&Json) -> Option<T>,
    ) -> Result<T, StoreError> {
        read(value).ok_or_else(|| {
            self.failed("the answer has another form, expected a server of this version of talea")
        })
    }
}

/// The parameters of a question.
fn parameters(question: &Question) -> Vec<(&'static str, String)> {
    let mut all = vec![
        ("from", seconds(question.from)),
        ("to", seconds(question.to)),
        ("limit", question.limit.to_string()),
    ];
    let mut text = |[name, exact]: [&'static str; 2], text: &Option<Text>| match text {
        Some(Text::Like(pattern)) if pattern.contains(['*', '?']) => {
            all.push((name, pattern.clone()));
        }
        Some(Text::Is(text) | Text::Like(text)) => all.push((exact, text.clone())),
        None => {}
    };
    text(["node", "node_is"], &question.node);
    text(["job", "job_is"], &question.job);
    text(["executable", "executable_is"], &question.executable);
    text(["library", "library_is"], &question.library);
    text(["phase", "phase_is"], &question.phase);
    all.extend(question.user.map(|user| ("user", user.to_string())));
    all.extend(question.core.map(|core| ("core", core.to_string())));
    all.extend(
        question
            .activity
            .map(|activity| ("activity", crate::arrival::activity(activity).to_owned())),
    );
    if !question.by.is_empty() {
        let by: Vec<String> = question.by.iter().map(|&by| public::word(by)).collect();
        all.push(("by", by.join(",")));
    }
    all
}

/// Seconds since 1970, exactly where they are whole ones.
fn seconds(at: Nanos) -> String {
    const SECOND: u64 = 1_000_000_000;
    match at.0 % SECOND {
        0 => (at.0 / SECOND).to_string(),
        rest => format!("{}.{rest:09}", at.0 / SECOND),
    }
}

impl Store for Remote {
    fn put_all(&mut self, _: &[Batch]) -> Result<Vec<Put>, StoreError> {
        Err(self.failed("it is only asked here: agents send batches"))
    }

    fn usage(&self, question: &Question) -> Result<Answer, StoreError> {
        let value = self.get("usage", &parameters(question))?;
        self.read(&value, |value| read::answer(value, &question.by))
    }

    fn series(&self, question: &Question, step: Nanos) -> Result<Series, StoreError> {
        let mut parameters = parameters(question);
        parameters.push(("step", format!("{}s", seconds(step))));
        let value = self.get("series", &parameters)?;
        self.read(&value, |value| read::series(value, &question.by))
    }

    /// The permission is that of the token's owner, whatever `visible` is.
    fn nodes(&self, _: Visible) -> Result<Vec<NodeSeen>, StoreError> {
        let value = self.get("nodes", &[])?;
        self.read(&value, read::nodes)
    }

    fn jobs(&self, question: &Question) -> Result<Vec<JobSeen>, StoreError> {
        let mut parameters = parameters(question);
        parameters.retain(|(name, _)| *name != "by");
        let value = self.get("jobs", &parameters)?;
        self.read(&value, read::jobs)
    }

    fn rates(&self, question: &Question) -> Result<Rates, StoreError> {
        let value = self.get("rates", &parameters(question))?;
        self.read(&value, |value| read::rates(value, &question.by))
    }

    fn spreads(&self, question: &Question) -> Result<Vec<SpreadSeen>, StoreError> {
        let mut parameters = parameters(question);
        parameters.retain(|(name, _)| *name != "by");
        let value = self.get("spreads", &parameters)?;
        self.read(&value, read::spreads)
    }

    fn sees(&self) -> Result<Visible, StoreError> {
        let value = self.get("me", &[])?;
        self.read(&value, read::sees)
    }

    /// The server does that by itself.
    fn retain(&mut self, _: Nanos, _: usize) -> Result<Retained, StoreError> {
        Ok(Retained::default())
    }
}
