//! A subset of the query API of Prometheus, on whatever store there is.
//!
//! Owns its parameters, its form of answers and of errors
//! (<https://prometheus.io/docs/prometheus/latest/querying/api/>). Metrics and labels are those
//! that the store behind Prometheus writes (docs/store.md), so that the same dashboards work, but
//! for panels of addresses, builds, owners and what agents lost. Gaps are warnings. Each question
//! has what the one who asks may see.

mod answer;
mod format;
mod rows;
mod times;
mod translate;

use std::collections::BTreeMap;

use axum::Json;
use axum::body::Body;
use axum::extract::{Form, FromRequest, Path, Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use talea_model::{Gap, GapKind, Gaps, Nanos};
use talea_store::{Bounds, Store, StoreError, Visible};

use crate::access::Person;
use crate::question::{Parameters, duration, moment};
use crate::refusal::Refusal;
use crate::replies::Rendered;
use crate::routes::small;
use crate::state::Shared;
use format::{Write, instant, range, written};
use times::{AnswerError, Times};
use translate::{Leaf, METRICS, MOST_LEAVES};

/// Most times of a query.
const MOST_TIMES: u64 = 11_000;
/// Where nobody says which time, labels are those of the last thirty days.
const LAST: Nanos = Nanos(30 * 86_400_000_000_000);
/// Bytes that a row of names counts as.
const BYTES_OF_ROW: usize = 1024;
/// Most values of a label, and most series.
const MOST_VALUES: usize = 10_000;

/// An error as Prometheus says it.
pub(crate) struct Error {
    status: StatusCode,
    kind: &'static str,
    message: String,
    retry: Option<u64>,
}

impl Error {
    fn data(message: impl Into<String>) -> Self {
        let status = StatusCode::BAD_REQUEST;
        Self { status, kind: "bad_data", message: message.into(), retry: None }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        let kind = match refusal.status {
            StatusCode::SERVICE_UNAVAILABLE => "unavailable",
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => "unauthorized",
            StatusCode::INTERNAL_SERVER_ERROR => "internal",
            _ => "bad_data",
        };
        Self { status: refusal.status, kind, message: refusal.message, retry: refusal.retry }
    }
}

/// Body of an answer with an error.
#[derive(Serialize)]
struct Failure {
    status: &'static str,
    #[serde(rename = "errorType")]
    kind: &'static str,
    #[serde(rename = "error")]
    message: String,
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let body = Failure { status: "error", kind: self.kind, message: self.message };
        let mut response = (self.status, Json(body)).into_response();
        if let Some(seconds) = self.retry {
            response.headers_mut().insert("retry-after", seconds.into());
        }
        response
    }
}

type Answer = Result<Rendered, Error>;

/// An answer with its data.
#[derive(Serialize)]
struct Success<T> {
    status: &'static str,
    data: T,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

fn success<T: Serialize>(data: T, gaps: &Gaps) -> Success<T> {
    Success { status: "success", data, warnings: warnings(gaps) }
}

fn warnings(gaps: &Gaps) -> Vec<String> {
    gaps.iter().map(Gap::sentence).collect()
}

/// Parameters from the address, and from the body of a form.
pub(crate) struct Asked(Parameters);

impl FromRequest<Shared> for Asked {
    type Rejection = Error;

    async fn from_request(request: Request, state: &Shared) -> Result<Self, Error> {
        let (mut parts, body) = request.into_parts();
        let mut pairs = crate::question::pairs(&parts)?;
        if parts.method == Method::POST {
            let bytes = small(body, state.patience.form).await?;
            parts.headers.insert("content-type", crate::question::form());
            let request = Request::from_parts(parts, Body::from(bytes));
            let form = Form::<Vec<(String, String)>>::from_request(request, state).await;
            pairs.extend(form.map_err(|_| Error::data("expected a form"))?.0);
        }
        Ok(Self(Parameters::from_pairs(pairs)))
    }
}

impl Asked {
    fn time(&self, name: &str) -> Result<Option<Nanos>, Error> {
        let Some(text) = self.0.get(name) else { return Ok(None) };
        let expected = || Error::data(format!("`{name}`: expected seconds since 1970 or RFC 3339"));
        moment(text).map(Some).ok_or_else(expected)
    }

    /// Begin and end of the time that labels are looked for in.
    fn window(&self) -> Result<(Nanos, Nanos), Error> {
        let now = Nanos::now();
        let end = self.time("end")?.unwrap_or(now);
        let begin = self.time("start")?.unwrap_or(end - LAST);
        if end < begin {
            return Err(Error::data("`end` is before `start`"));
        }
        Ok((begin, end + Nanos(1)))
    }

    fn query(&self, visible: Visible) -> Result<translate::Query, Error> {
        let text = self.0.get("query").ok_or_else(|| Error::data("expected `query`"))?;
        translate::query(text, visible).map_err(Error::data)
    }
}

pub(crate) async fn query(State(state): State<Shared>, person: Person, asked: Asked) -> Answer {
    let query = asked.query(person.visible())?;
    let time = asked.time("time")?.unwrap_or_else(Nanos::now);
    let times = Times { begin: time, end: time, step: None };
    evaluated(&state, person, query, times, instant).await
}

pub(crate) async fn query_range(
    State(state): State<Shared>,
    person: Person,
    asked: Asked,
) -> Answer {
    let query = asked.query(person.visible())?;
    let missing = |name: &str| Error::data(format!("expected `{name}`"));
    let begin = asked.time("start")?.ok_or_else(|| missing("start"))?;
    let end = asked.time("end")?.ok_or_else(|| missing("end"))?;
    let step = asked.0.get("step").ok_or_else(|| missing("step"))?;
    let step = duration("step", step)?;
    if end < begin {
        return Err(Error::data("`end` is before `start`"));
    }
    if (end - begin).0 / step.0 >= MOST_TIMES {
        return Err(Error::data(format!(
            "expected at most {MOST_TIMES} times, take a longer step"
        )));
    }
    let times = Times { begin, end, step: Some(step) };
    evaluated(&state, person, query, times, range).await
}

/// Asks the store, computes and writes, within the bounds of one question.
async fn evaluated(
    state: &Shared,
    person: Person,
    query: translate::Query,
    times: Times,
    write: Write,
) -> Answer {
    let asker = person.clone();
    let rendered = state.ask_within(&person, move |state, store, bounds| {
        let bytes = match written(store, &query, times, bounds, write) {
            Ok(bytes) => bytes,
            Err(AnswerError::Query(message)) => return Ok(Err(message)),
            Err(AnswerError::Store(error)) => return Err(error.into()),
        };
        Ok(Ok(state.answers.render(&asker, bytes)?))
    });
    rendered.await?.map_err(Error::data)
}

pub(crate) async fn labels(State(state): State<Shared>, person: Person, _: Asked) -> Answer {
    let mut names = vec!["__name__"];
    names.extend(translate::LABELS.iter().map(|(name, _)| *name));
    Ok(state.answers.json(&person, &success(names, &Gaps::default()))?)
}

pub(crate) async fn values(
    State(state): State<Shared>,
    person: Person,
    Path(name): Path<String>,
    asked: Asked,
) -> Answer {
    let plain = |names: &[&str]| state.answers.json(&person, &success(names, &Gaps::default()));
    if name == "__name__" {
        return Ok(plain(&METRICS.map(|metric| metric.0))?);
    }
    // A label that is unknown to Prometheus has no values there either.
    let Some(dimension) = translate::dimension(&name) else {
        return Ok(plain(&[])?);
    };
    let (from, to) = asked.window()?;
    let mut selectors = Vec::new();
    for text in asked.0.all("match[]") {
        selectors.push(translate::selector_of_names(text, person.visible()).map_err(Error::data)?);
    }
    few(selectors.len())?;
    if selectors.is_empty() {
        let (leaf, _) =
            translate::selector("talea_core_samples", person.visible()).map_err(Error::data)?;
        selectors.push(leaf);
    }
    let (name, asker) = (name.clone(), person.clone());
    let rendered = state
        .ask_within(&person, move |state, store, bounds| {
            let (mut all, mut gaps) = (std::collections::BTreeSet::new(), Gaps::default());
            for mut leaf in selectors {
                leaf.question.by = vec![dimension];
                let needed = leaf.matchers.iter().filter_map(|one| translate::dimension(&one.name));
                for needed in needed.collect::<Vec<_>>() {
                    if !leaf.question.by.contains(&needed) {
                        leaf.question.by.push(needed);
                    }
                }
                for labels in named(store, &leaf, (from, to), bounds, &mut gaps)? {
                    let own = labels.into_iter().find(|(other, _)| *other == name);
                    all.extend(own.map(|(_, text)| text));
                }
            }
            state.answers.json(&asker, &success(all, &gaps))
        })
        .await?;
    Ok(rendered)
}

/// Refuses more selectors than a query may have.
fn few(selectors: usize) -> Result<(), Error> {
    if selectors <= MOST_LEAVES {
        return Ok(());
    }
    Err(Error::data(format!("expected at most {MOST_LEAVES} of `match[]`")))
}

pub(crate) async fn series(State(state): State<Shared>, person: Person, asked: Asked) -> Answer {
    let (from, to) = asked.window()?;
    let mut leaves = Vec::new();
    for text in asked.0.all("match[]") {
        leaves.push(translate::selector(text, person.visible()).map_err(Error::data)?);
    }
    few(leaves.len())?;
    if leaves.is_empty() {
        return Err(Error::data("expected `match[]`"));
    }
    let asker = person.clone();
    let rendered = state
        .ask_within(&person, move |state, store, bounds| {
            let (mut all, mut gaps) = (std::collections::BTreeSet::new(), Gaps::default());
            for (leaf, metric) in leaves {
                for labels in named(store, &leaf, (from, to), bounds, &mut gaps)? {
                    let mut labels: BTreeMap<&str, String> = labels.into_iter().collect();
                    labels.insert("__name__", metric.to_owned());
                    all.insert(labels);
                }
            }
            state.answers.json(&asker, &success(all, &gaps))
        })
        .await?;
    Ok(rendered)
}

/// Labels of a leaf's rows, with what the store says is missing.
fn named(
    store: &dyn Store,
    leaf: &Leaf,
    (from, to): (Nanos, Nanos),
    bounds: &Bounds,
    gaps: &mut Gaps,
) -> Result<Vec<Vec<(&'static str, String)>>, StoreError> {
    let mut question = leaf.question.clone();
    (question.from, question.to, question.limit) = (from, to, MOST_VALUES);
    bounds.check()?;
    let answer = store.usage(&question)?;
    // Names and what is made of them.
    bounds.take(answer.rows.len() * BYTES_OF_ROW)?;
    gaps.merge(answer.gaps);
    if answer.rows.len() >= MOST_VALUES {
        let detail = format!("only the {MOST_VALUES} with most samples were looked at");
        gaps.note(Gap { kind: GapKind::MemoryBound, rank: None, detail, count: 0 });
    }
    let labels = answer.rows.into_iter().map(|row| rows::labels(leaf, row.key));
    Ok(labels.filter(|labels| rows::passes(leaf, labels)).collect())
}
