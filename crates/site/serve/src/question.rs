//! Queries, from the text after `?`.
//!
//! Owns names, forms and bounds of parameters; one that is unknown, twice there or cannot be meant
//! is an error that names the known ones. Every question that is made here has [`Visible`] from who
//! asks: there is no other way to make one.

use axum::extract::{FromRequestParts, Query};
use axum::http::HeaderValue;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use talea_model::Nanos;
use talea_store::{Dimension, LONGEST_INTERVAL, MOST_ROWS, Question, Text, Visible};

use crate::refusal::Refusal;

/// Longest text after `?`.
pub(crate) const LONGEST: usize = 16 << 10;
/// The end of all time, which stores can still hold.
const EVER: Nanos = Nanos(i64::MAX as u64);
/// Rows where nobody says how many.
const ROWS: usize = 1000;

/// Parameters of questions: the time, then the filters.
pub(crate) const TIME: [&str; 3] = ["from", "to", "last"];
pub(crate) const FILTERS: [&str; 13] = [
    "node",
    "job",
    "user",
    "executable",
    "library",
    "phase",
    "core",
    "activity",
    "node_is",
    "job_is",
    "executable_is",
    "library_is",
    "phase_is",
];

/// Parameters; each is read once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl<S: Sync> FromRequestParts<S> for Parameters {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        Self::parse(parts)
    }
}

/// Names and values of an address.
pub(crate) fn pairs(parts: &Parts) -> Result<Vec<(String, String)>, Refusal> {
    if parts.uri.query().is_some_and(|query| query.len() > LONGEST) {
        return Err(Refusal::question(format!(
            "question of more than {LONGEST} bytes, expected a shorter one"
        )));
    }
    let pairs = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
    pairs.map(|pairs| pairs.0).map_err(|_| Refusal::question("expected name=value&name=value"))
}

/// The kind of a body that has names and values too.
pub(crate) fn form() -> HeaderValue {
    HeaderValue::from_static("application/x-www-form-urlencoded")
}

impl Parameters {
    fn parse(parts: &Parts) -> Result<Self, Refusal> {
        pairs(parts).map(Self)
    }

    /// Of pairs that came another way.
    pub(crate) fn from_pairs(pairs: Vec<(String, String)>) -> Self {
        Self(pairs)
    }

    /// Refuses what is not in the lists.
    pub(crate) fn only(&self, known: &[&[&str]]) -> Result<(), Refusal> {
        for (at, (name, _)) in self.0.iter().enumerate() {
            if !known.iter().any(|list| list.contains(&name.as_str())) {
                let all: Vec<&str> = known.concat();
                let short: String = name.chars().take(80).collect();
                return Err(Refusal::question(format!(
                    "unknown parameter {short:?}, expected {}",
                    words(&all)
                )));
            }
            if self.0[..at].iter().any(|(other, _)| other == name) {
                return Err(Refusal::question(format!("`{name}` is there twice")));
            }
        }
        Ok(())
    }

    /// Its value; what is empty is not there, as forms send it.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// All values of a name, which may be there more than once.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, Refusal> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let expected = || Refusal::question(format!("`{name}`: expected a number"));
        text.parse().map(Some).map_err(|_| expected())
    }

    /// Filter by name: a pattern in `name`, or exactly the value of `name_is`, which may be empty.
    fn text(&self, name: &str) -> Result<Option<Text>, Refusal> {
        let exact = format!("{name}_is");
        let exact = self.0.iter().find(|(other, _)| *other == exact);
        let exact = exact.map(|(_, value)| Text::Is(value.clone()));
        match (self.get(name).map(Text::pattern), exact) {
            (Some(_), Some(_)) => {
                Err(Refusal::question(format!("expected `{name}` or `{name}_is`, not both")))
            }
            (like, exact) => Ok(like.or(exact)),
        }
    }

    /// Begin and end of the time that is asked for.
    pub(crate) fn time(&self, now: Nanos) -> Result<(Nanos, Nanos), Refusal> {
        let at = |name: &str| -> Result<Option<Nanos>, Refusal> {
            let Some(text) = self.get(name) else { return Ok(None) };
            let expected = || {
                Refusal::question(format!(
                    "`{name}`: expected seconds since 1970 or a time as 2026-05-04T10:00:00Z"
                ))
            };
            moment(text).map(Some).ok_or_else(expected)
        };
        let (from, to) = (at("from")?, at("to")?);
        let Some(last) = self.get("last") else {
            let (from, to) = (from.unwrap_or_default(), to.unwrap_or(EVER));
            if to <= from {
                return Err(Refusal::question("`to` is not after `from`"));
            }
            return Ok((from, to));
        };
        if from.is_some() {
            return Err(Refusal::question("expected `last` or `from`, not both"));
        }
        let last = duration("last", last)?;
        // The slice that is not over yet counts: its end may be after now, though not by more than
        // a slice.
        Ok((to.unwrap_or(now) - last, to.unwrap_or(now + LONGEST_INTERVAL)))
    }

    /// The question, as `visible` may ask it.
    pub(crate) fn question(&self, visible: Visible, now: Nanos) -> Result<Question, Refusal> {
        let (from, to) = self.time(now)?;
        let activity = match self.get("activity") {
            Some(word) => Some(one_of("activity", word)?),
            None => None,
        };
        let limit = self.number("limit")?.unwrap_or(ROWS);
        if limit == 0 || limit > MOST_ROWS {
            return Err(Refusal::question(format!(
                "`limit`: expected a number from 1 to {MOST_ROWS}"
            )));
        }
        Ok(Question {
            node: self.text("node")?,
            job: self.text("job")?,
            user: self.number("user")?,
            executable: self.text("executable")?,
            library: self.text("library")?,
            phase: self.text("phase")?,
            core: self.number("core")?,
            activity,
            by: self.by()?,
            limit,
            ..Question::everything(visible, from, to)
        })
    }

    fn by(&self) -> Result<Vec<Dimension>, Refusal> {
        let mut by = Vec::new();
        let words = self.get("by").into_iter().flat_map(|list| list.split(','));
        for word in words.map(str::trim) {
            let dimension = one_of("by", word)?;
            if by.contains(&dimension) {
                return Err(Refusal::question(format!("`by`: {word} is there twice")));
            }
            by.push(dimension);
        }
        Ok(by)
    }

    /// Length of the steps of a series.
    pub(crate) fn step(&self) -> Result<Nanos, Refusal> {
        let expected = || Refusal::question("expected `step`, such as step=60s");
        duration("step", self.get("step").ok_or_else(expected)?)
    }
}

/// A word of a list that `serde` knows.
fn one_of<T: DeserializeOwned>(name: &str, word: &str) -> Result<T, Refusal> {
    let value = serde_json::from_value(serde_json::Value::String(word.to_owned()));
    value.map_err(|_| {
        let known = if name == "activity" { &ACTIVITIES[..] } else { &DIMENSIONS[..] };
        let short: String = word.chars().take(80).collect();
        Refusal::question(format!("`{name}`: {short:?}, expected {}", words(known)))
    })
}

const ACTIVITIES: [&str; 5] = ["user", "kernel", "mpi", "waiting", "idle"];
const DIMENSIONS: [&str; 9] =
    ["node", "job", "user", "executable", "library", "function", "phase", "core", "activity"];

fn words(all: &[&str]) -> String {
    all.join(", ")
}

/// Seconds since 1970, or RFC 3339.
pub fn moment(text: &str) -> Option<Nanos> {
    if let Ok(seconds) = text.parse::<f64>() {
        let nanos = seconds * 1e9;
        let within = seconds.is_finite() && (0.0..=EVER.0 as f64).contains(&nanos);
        // Whole seconds are exact however large.
        let exact = text.parse::<u64>().ok().and_then(|seconds| seconds.checked_mul(1_000_000_000));
        return within.then(|| Nanos(exact.unwrap_or(nanos as u64)).min(EVER));
    }
    let at: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(at.as_nanosecond()).ok().map(Nanos)
}

/// `60s`, `24h`, `30d`: more than nothing.
pub(crate) fn duration(name: &str, text: &str) -> Result<Nanos, Refusal> {
    const UNITS: [(&str, f64); 8] = [
        ("ms", 1e6),
        ("min", 6e10),
        ("h", 3.6e12),
        ("d", 8.64e13),
        ("w", 6.048e14),
        ("s", 1e9),
        ("m", 6e10),
        ("", 1e9),
    ];
    let found = UNITS.iter().find_map(|&(unit, factor)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        Some(number * factor)
    });
    found
        .filter(|nanos| (1.0..EVER.0 as f64).contains(nanos))
        .map(|nanos| Nanos(nanos as u64))
        .ok_or_else(|| {
            Refusal::question(format!("`{name}`: expected a time such as 60s, 10min, 24h or 30d"))
        })
}

#[cfg(test)]
mod tests {
    use axum::http::Request;
    use proptest::prelude::*;

    use super::*;

    fn parse(query: &str) -> Result<Question, Refusal> {
        let uri = format!("/x?{query}");
        let (parts, ()) = Request::builder().uri(uri).body(()).unwrap().into_parts();
        let parameters = Parameters::parse(&parts)?;
        parameters.only(&[&TIME, &FILTERS, &["by", "limit"]])?;
        parameters.question(Visible::User(7), Nanos(1_000_000_000_000))
    }

    #[test]
    fn questions() {
        let found = parse("last=10min&library=*%2Flibm*&job=4711&by=library,core&limit=3").unwrap();
        assert_eq!(found.visible, Visible::User(7));
        assert_eq!(found.from, Nanos(400_000_000_000));
        assert_eq!(found.to, Nanos(1_000_000_000_000) + LONGEST_INTERVAL);
        assert_eq!(found.library, Some(Text::Like("*/libm*".to_owned())));
        assert_eq!(found.job, Some(Text::Is("4711".to_owned())));
        assert_eq!(found.by, [Dimension::Library, Dimension::Core]);
        assert_eq!(found.limit, 3);
        let found = parse("from=1.5&to=1970-01-01T00:01:00Z&activity=kernel&job=").unwrap();
        assert_eq!((found.from, found.to), (Nanos(1_500_000_000), Nanos(60_000_000_000)));
        assert!(found.activity.is_some() && found.job.is_none());
        assert_eq!(parse("").unwrap().to, EVER);
        let found = parse("job_is=a*&phase_is=").unwrap();
        assert_eq!(found.job, Some(Text::Is("a*".to_owned())));
        assert_eq!(found.phase, Some(Text::Is(String::new())));
    }

    #[test]
    fn what_cannot_be_meant_says_what_was_expected() {
        let said = [
            "colour=red",
            "job=1&job=2",
            "job=1&job_is=1",
            "last=1h&from=3",
            "from=5&to=5",
            "from=yesterday",
            "last=-1h",
            "last=NaN",
            "limit=0",
            "limit=1000000",
            "user=anna",
            "core=-1",
            "by=colour",
            "by=job,job",
            "activity=sleeping",
        ]
        .map(|query| parse(query).unwrap_err().message);
        insta::assert_snapshot!(said.join("\n"));
        assert!(parse(&format!("job={}", "x".repeat(LONGEST))).is_err());
    }

    proptest! {
        #[test]
        fn no_text_does_harm(query in "[a-z=&%,0-9.\\-+*?]{0,60}") {
            let _ = parse(&query);
        }

        #[test]
        fn no_value_does_harm(text in "\\PC{0,20}") {
            let _ = (moment(&text), duration("last", &text));
        }
    }
}
