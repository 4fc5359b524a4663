//! A subset of the query API of Prometheus, on whatever store there is.
//!
//! Owns its parameters, its form of answers and of errors (<https://prometheus.io/docs/prometheus/latest/querying/api/>). Metrics and labels are those that the store behind
//! Prometheus writes (docs/store.md), so that the same dashboards work, but for
//! panels of addresses, builds, owners and what agents lost. Gaps are warnings. Each question has what the one who asks may see.

mod answer;
mod translate;

use axum::Json;
use axum::body::Body;
use axum::extract::{Form, FromRequest, Path, Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use talea_model::{Gap, GapKind, Gaps, Nanos};
use talea_store::Visible;

use crate::access::Person;
use crate::question::{Parameters, duration, moment};
use crate::refusal::Refusal;
use crate::routes::small;
use crate::state::Shared;
use answer::{AnswerError, Labels, Times, Values};
use translate::{Leaf, METRICS};

/// Most times of a query.
const MOST_TIMES: u64 = 11_000;
/// Where nobody says which time, labels are those of the last thirty days.
const LAST: Nanos = Nanos(30 * 86_400_000_000_000);
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

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let body = json!({ "status": "error", "errorType": self.kind, "error": self.message });
        let mut response = (self.status, Json(body)).into_response();
        if let Some(seconds) = self.retry {
            response.headers_mut().insert("retry-after", seconds.into());
        }
        response
    }
}

type Answer = Result<Json<Value>, Error>;

fn success(data: &Value, gaps: &Gaps) -> Json<Value> {
    let mut object = Map::new();
    object.insert("status".to_owned(), json!("success"));
    object.insert("data".to_owned(), data.clone());
    if !gaps.is_empty() {
        let warnings: Vec<String> = gaps.iter().map(Gap::told).collect();
        object.insert("warnings".to_owned(), json!(warnings));
    }
    Json(Value::Object(object))
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
        Ok(Self(Parameters::of(pairs)))
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
    let (mut values, gaps) = evaluated(&state, query, times).await?;
    let data = match values.pop() {
        Some((_, Values::Scalar(value))) => {
            json!({ "resultType": "scalar", "result": point(time, value) })
        }
        Some((_, Values::Vector(rows))) => {
            let row = |(labels, value): (Labels, f64)| json!({ "metric": labels, "value": point(time, value) });
            let rows: Vec<Value> = rows.into_iter().map(row).collect();
            json!({ "resultType": "vector", "result": rows })
        }
        None => json!({ "resultType": "vector", "result": [] }),
    };
    Ok(success(&data, &gaps))
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
    let (values, gaps) = evaluated(&state, query, times).await?;
    let mut rows: std::collections::BTreeMap<Labels, Vec<Value>> =
        std::collections::BTreeMap::new();
    for (time, values) in values {
        let found = match values {
            Values::Scalar(value) => vec![(Labels::new(), value)],
            Values::Vector(found) => found,
        };
        for (labels, value) in found {
            rows.entry(labels).or_default().push(point(time, value));
        }
    }
    let row = |(labels, values)| json!({ "metric": labels, "values": Value::Array(values) });
    let rows: Vec<Value> = rows.into_iter().map(row).collect();
    Ok(success(&json!({ "resultType": "matrix", "result": rows }), &gaps))
}

async fn evaluated(
    state: &Shared,
    query: translate::Query,
    times: Times,
) -> Result<(Vec<(Nanos, Values)>, Gaps), Error> {
    let answer = state.ask(move |store| Ok(answer::answer(store, &query, times))).await?;
    answer.map_err(|error| match error {
        AnswerError::Query(message) => Error::data(message),
        AnswerError::Store(error) => Refusal::from(error).into(),
    })
}

/// A time and a value as Prometheus writes them: the value is text, since JSON has no NaN.
fn point(time: Nanos, value: f64) -> Value {
    let text = match value {
        value if value.is_nan() => "NaN".to_owned(),
        value if value == f64::INFINITY => "+Inf".to_owned(),
        value if value == f64::NEG_INFINITY => "-Inf".to_owned(),
        value => value.to_string(),
    };
    json!([(time.0 / 1_000_000) as f64 / 1e3, text])
}

pub(crate) async fn labels(State(_): State<Shared>, _: Person, _: Asked) -> Answer {
    let mut names = vec!["__name__"];
    names.extend(translate::LABELS.iter().map(|(name, _)| *name));
    Ok(success(&json!(names), &Gaps::default()))
}

pub(crate) async fn values(
    State(state): State<Shared>,
    person: Person,
    Path(name): Path<String>,
    asked: Asked,
) -> Answer {
    if name == "__name__" {
        return Ok(success(&json!(METRICS.map(|metric| metric.0)), &Gaps::default()));
    }
    // What Prometheus does not know has no values there either.
    let Some(dimension) = translate::dimension(&name) else {
        return Ok(success(&json!([]), &Gaps::default()));
    };
    let (from, to) = asked.window()?;
    let mut selectors = Vec::new();
    for text in asked.0.all("match[]") {
        selectors.push(translate::selector_of_names(text, person.visible()).map_err(Error::data)?);
    }
    if selectors.is_empty() {
        let (leaf, _) =
            translate::selector("talea_core_samples", person.visible()).map_err(Error::data)?;
        selectors.push(leaf);
    }
    let name = name.clone();
    let (all, gaps) = state
        .ask(move |store| {
            let (mut all, mut gaps) = (std::collections::BTreeSet::new(), Gaps::default());
            for mut leaf in selectors {
                leaf.question.by = vec![dimension];
                let needed = leaf.matchers.iter().filter_map(|one| translate::dimension(&one.name));
                for needed in needed.collect::<Vec<_>>() {
                    if !leaf.question.by.contains(&needed) {
                        leaf.question.by.push(needed);
                    }
                }
                for labels in rows(store, &leaf, (from, to), &mut gaps)? {
                    all.extend(labels.get(&name).cloned());
                }
            }
            Ok((all, gaps))
        })
        .await?;
    Ok(success(&json!(all), &gaps))
}

pub(crate) async fn series(State(state): State<Shared>, person: Person, asked: Asked) -> Answer {
    let (from, to) = asked.window()?;
    let mut leaves = Vec::new();
    for text in asked.0.all("match[]") {
        leaves.push(translate::selector(text, person.visible()).map_err(Error::data)?);
    }
    if leaves.is_empty() {
        return Err(Error::data("expected `match[]`"));
    }
    let (all, gaps) = state
        .ask(move |store| {
            let (mut all, mut gaps) = (std::collections::BTreeSet::new(), Gaps::default());
            for (leaf, metric) in leaves {
                for mut labels in rows(store, &leaf, (from, to), &mut gaps)? {
                    labels.insert("__name__".to_owned(), metric.to_owned());
                    all.insert(labels);
                }
            }
            Ok((all, gaps))
        })
        .await?;
    Ok(success(&json!(all), &gaps))
}

/// Labels of a leaf's rows, with what the store says is missing.
fn rows(
    store: &dyn talea_store::Store,
    leaf: &Leaf,
    (from, to): (Nanos, Nanos),
    gaps: &mut Gaps,
) -> Result<Vec<Labels>, talea_store::StoreError> {
    let mut question = leaf.question.clone();
    (question.from, question.to, question.limit) = (from, to, MOST_VALUES);
    let answer = store.usage(&question)?;
    gaps.merge(answer.gaps);
    if answer.rows.len() >= MOST_VALUES {
        let detail = format!("only the {MOST_VALUES} with most samples were looked at");
        gaps.note(Gap { kind: GapKind::MemoryBound, rank: None, detail, count: 0 });
    }
    let labels = answer.rows.iter().map(|row| answer::labels(leaf, &row.key));
    Ok(labels.filter(|labels| answer::passes(leaf, labels)).collect())
}
