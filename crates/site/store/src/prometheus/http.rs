//! Talks to a server that speaks Prometheus' HTTP API.
//!
//! Owns requests, what answers may weigh and how long they may take, and which refusals are for
//! ever: a batch whose samples are too late will not be taken later, all else may be. It follows no
//! redirects and refuses credentials in addresses, which process lists show.
//! <https://prometheus.io/docs/prometheus/latest/querying/api/>,
//! <https://prometheus.io/docs/concepts/remote_write_spec/>

use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::io::Read;
use std::time::Duration;

use serde::Deserialize;
use serde::de::IgnoredAny;
use talea_model::{Gap, GapKind, Gaps};

use crate::address::{has_user, redacted};
use crate::error::StoreError;

/// Most bytes of an answer.
const MOST_BYTES: u64 = 64 << 20;
/// Most bytes of what a server says when it refuses.
const MOST_REFUSAL: u64 = 4096;

/// Times that a question is repeated which a compaction of the server disturbed, and the pause
/// before each.
const REPEATS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(200);

/// A server.
pub(super) struct Server {
    agent: ureq::Agent,
    address: String,
    /// Whether the begin of a range belongs to it, as in Prometheus before its version 3.
    closed: OnceCell<bool>,
    /// Whether any answer to the question was in part.
    partial: Cell<bool>,
}

/// Outcome of a write.
pub(super) enum Written {
    Taken,
    /// It will never be.
    Refused(String),
}

/// One of what a query gives.
#[derive(Debug, Deserialize)]
pub(super) struct Found {
    pub(super) metric: BTreeMap<String, String>,
    #[serde(default)]
    value: Option<(f64, String)>,
    #[serde(default)]
    values: Vec<(f64, String)>,
}

impl Found {
    /// A label's value, if it has the label.
    pub(super) fn label(&self, label: &str) -> Option<&str> {
        self.metric.get(label).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Its values by time in milliseconds.
    pub(super) fn points(&self) -> impl Iterator<Item = (u64, f64)> {
        self.value.iter().chain(&self.values).filter_map(|(at, value)| {
            let value: f64 = value.parse().ok()?;
            value.is_finite().then_some(((at * 1000.0).round().max(0.0) as u64, value))
        })
    }

    /// The value of an instant.
    pub(super) fn number(&self) -> Option<f64> {
        self.points().next().map(|(_, value)| value)
    }
}

#[derive(Deserialize)]
struct Reply {
    status: String,
    #[serde(default)]
    error: String,
    #[serde(default)]
    warnings: Vec<IgnoredAny>,
    /// Of a cluster of `VictoriaMetrics`, some of whose nodes are away.
    #[serde(default, rename = "isPartial")]
    partial: bool,
    data: Option<Data>,
}

#[derive(Deserialize)]
struct Data {
    result: Vec<Found>,
}

impl Server {
    /// A server by the address of its API, without `/api/v1`. Nothing is sent.
    pub(super) fn at(address: &str, patience: Duration) -> Result<Self, StoreError> {
        let refused = |why: &str| {
            let address = redacted(&format!("prometheus:{address}"));
            Err(StoreError::Address { address, why: why.to_owned() })
        };
        let Some((scheme, rest)) = address.split_once("://") else {
            return refused("expected `prometheus:http://HOST:PORT[/prefix]`");
        };
        if !matches!(scheme, "http" | "https") || rest.is_empty() || rest.starts_with('/') {
            return refused("expected `prometheus:http://HOST:PORT[/prefix]`");
        }
        if has_user(address) {
            return refused(
                "expected no credentials in it, as everybody on the machine could read them",
            );
        }
        if rest.contains(['?', '#', '@']) || rest.chars().any(|c| c.is_control() || c == ' ') {
            return refused("expected a plain address, without `?`, `#`, `@` and blanks");
        }
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(patience))
            .timeout_connect(Some(patience.min(Duration::from_secs(10))))
            .max_redirects(0)
            .http_status_as_error(false)
            .user_agent(concat!("talea/", env!("CARGO_PKG_VERSION")))
            .build()
            .into();
        let address = address.trim_end_matches('/').to_owned();
        Ok(Self { agent, address, closed: OnceCell::new(), partial: Cell::new(false) })
    }

    /// Begins a query: earlier partial results are no part of its answer.
    pub(super) fn begin(&self) {
        self.partial.set(false);
    }

    /// Says of the answer if anything that it was made of was in part.
    pub(super) fn note_partial(&self, gaps: &mut Gaps) {
        if self.partial.take() {
            gaps.note(Gap {
                kind: GapKind::Missing,
                rank: None,
                detail: "the server said that its answer is in part".to_owned(),
                count: 0,
            });
        }
    }

    pub(super) fn failed(&self, why: impl std::fmt::Display) -> StoreError {
        // A server's message is text from outside, and may be long.
        let why = why.to_string().chars().take(300).collect();
        StoreError::Server { address: self.address.clone(), why }
    }

    /// Sends the snappy-packed request of a remote write.
    pub(super) fn write(&self, packed: &[u8]) -> Result<Written, StoreError> {
        let mut response = self
            .agent
            .post(format!("{}/api/v1/write", self.address))
            .header("Content-Type", "application/x-protobuf")
            .header("Content-Encoding", "snappy")
            .header("X-Prometheus-Remote-Write-Version", "0.1.0")
            .send(packed)
            .map_err(|error| self.failed(error))?;
        let status = response.status().as_u16();
        if (200..300).contains(&status) {
            return Ok(Written::Taken);
        }
        let said = refusal(response.body_mut());
        let why = format!("status {status}: {said}");
        // Prometheus says 500 of samples older than its head.
        if matches!(status, 400 | 413 | 422 | 500) && is_about_samples(&said) {
            return Ok(Written::Refused(why));
        }
        Err(self.failed(why))
    }

    /// Result of a query at a time in milliseconds; at the server's own where there is none.
    pub(super) fn at_time(&self, query: &str, time: Option<u64>) -> Result<Vec<Found>, StoreError> {
        let time = time.map(rfc3339);
        let mut form = vec![("query", query), ("nocache", "1")];
        form.extend(time.as_deref().map(|time| ("time", time)));
        self.ask("query", &form)
    }

    /// Its result at times from `first` to `last` in steps, all in milliseconds.
    pub(super) fn over_time(
        &self,
        query: &str,
        (first, last): (u64, u64),
        step: u64,
    ) -> Result<Vec<Found>, StoreError> {
        let (first, last) = (rfc3339(first), rfc3339(last));
        let step = format!("{step}ms");
        let form = vec![
            ("query", query),
            ("nocache", "1"),
            ("start", &first),
            ("end", &last),
            ("step", &step),
        ];
        self.ask("query_range", &form)
    }

    fn ask(&self, route: &str, form: &[(&str, &str)]) -> Result<Vec<Found>, StoreError> {
        let address = format!("{}/api/v1/{route}", self.address);
        let mut repeats = 0;
        let mut response = loop {
            let sent = self.agent.post(&address).send_form(form.iter().copied());
            let mut response = sent.map_err(|error| self.failed(error))?;
            let status = response.status().as_u16();
            if (200..300).contains(&status) {
                break response;
            }
            let said = refusal(response.body_mut());
            if repeats == REPEATS || !is_of_compaction(&said) {
                return Err(self.failed(format!("status {status}: {said}")));
            }
            repeats += 1;
            std::thread::sleep(PAUSE);
        };
        let mut bytes = Vec::new();
        let mut reader = response.body_mut().as_reader().take(MOST_BYTES + 1);
        reader.read_to_end(&mut bytes).map_err(|error| self.failed(error))?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(self.failed(format!("answer of more than {MOST_BYTES} bytes: ask of less")));
        }
        let reply: Reply = serde_json::from_slice(&bytes).map_err(|error| {
            self.failed(format!("expected an answer of Prometheus' query API: {error}"))
        })?;
        if reply.status != "success" {
            return Err(self.failed(reply.error));
        }
        if reply.partial || !reply.warnings.is_empty() {
            self.partial.set(true);
        }
        Ok(reply.data.map(|data| data.result).unwrap_or_default())
    }

    /// The range, as text, that ends at a sample's time and has the samples of `milliseconds`
    /// times, that one included.
    pub(super) fn range(&self, milliseconds: u64) -> Result<String, StoreError> {
        let closed = if let Some(&closed) = self.closed.get() {
            closed
        } else {
            // Three at 8, 9 and 10 s where the begin belongs to a range, else two.
            let found = self.at_time("count_over_time(vector(1)[2s:1s])", Some(10_000))?;
            let three = found.first().and_then(Found::number).is_some_and(|n| n > 2.5);
            *self.closed.get_or_init(|| three)
        };
        Ok(format!("{}ms", milliseconds.saturating_sub(u64::from(closed)).max(1)))
    }

    /// The server's page of flags, where it is `VictoriaMetrics`.
    pub(super) fn flags(&self) -> Result<Option<String>, StoreError> {
        let from = self.address.find("://").map_or(0, |at| at + 3);
        let host = self.address[from..].find('/').map_or(self.address.len(), |at| from + at);
        let got = self.agent.get(format!("{}/flags", &self.address[..host])).call();
        let mut response = got.map_err(|error| self.failed(error))?;
        if response.status().as_u16() != 200 {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let mut reader = response.body_mut().as_reader().take(1 << 20);
        reader.read_to_end(&mut bytes).map_err(|error| self.failed(error))?;
        Ok(String::from_utf8(bytes).ok())
    }
}

/// Whether a refusal is about the batch's samples, so that the same batch would be refused again.
/// Other causes (a proxy's limit, a wrong address, an absent route, too many series for now) are
/// mended while batches wait.
fn is_about_samples(said: &str) -> bool {
    /// Of Prometheus (`storage/interface.go`), `VictoriaMetrics` and Mimir (its catalogue of
    /// errors).
    const WORDS: [&str; 10] = [
        "out of order",
        "out-of-order",
        "out of bounds",
        "too old",
        "too far in",
        "too-far-in",
        "duplicate sample",
        "too many samples",
        "invalid label",
        "label value",
    ];
    let said = said.to_lowercase();
    WORDS.iter().any(|words| said.contains(words))
}

/// Whether a question failed because Prometheus (before a repair of November 2023) moved old
/// samples from memory to a block while it read them. The same question succeeds afterwards.
/// <https://github.com/prometheus/prometheus/pull/13115>
fn is_of_compaction(said: &str) -> bool {
    said.contains("cannot populate chunk") && said.contains("not found")
}

/// The begin of what a server says, on one line.
fn refusal(body: &mut ureq::Body) -> String {
    let mut bytes = Vec::new();
    let _ = body.as_reader().take(MOST_REFUSAL).read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(300).collect()
}

/// A time in milliseconds since 1970 as both engines read it. They cut it to milliseconds, one of
/// them as a number of seconds that may be too small: a fifth of a millisecond more stays in it.
pub(super) fn rfc3339(milliseconds: u64) -> String {
    let (days, rest) = (milliseconds / 86_400_000, milliseconds % 86_400_000);
    // Days to date after Howard Hinnant, "chrono-compatible low-level date algorithms",
    // `civil_from_days`.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (seconds, part) = (rest / 1000, rest % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{part:03}2Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        let shown = [0, 951_782_399_999, 951_782_400_000, 1_735_689_600_123, 4_102_444_799_001];
        insta::assert_snapshot!(shown.map(rfc3339).join("\n"));
    }

    /// `VictoriaMetrics` 1.79 makes seconds of nanoseconds, and milliseconds of these.
    #[test]
    fn times_are_not_cut_to_the_millisecond_before() {
        let read = |nanos: u64| (nanos as f64 / 1e9 * 1e3) as u64;
        let mut cut = 0;
        for at in 0..100_000 {
            let milliseconds = 1_795_611_676_802 + at * 7_919;
            assert_eq!(read(milliseconds * 1_000_000 + 200_000), milliseconds);
            cut += u64::from(read(milliseconds * 1_000_000) != milliseconds);
        }
        assert!(cut > 5_000, "{cut}");
    }

    #[test]
    fn addresses() {
        let said =
            |address| Server::at(address, Duration::ZERO).err().map(|error| error.to_string());
        assert_eq!(said("http://h:1/prefix/"), None);
        let wrong = ["", "h:9090", "ftp://h", "http:///x", "http://a:secret@h", "http://h/?x=1"];
        insta::assert_snapshot!(wrong.map(|address| said(address).unwrap()).join("\n"));
    }
}
