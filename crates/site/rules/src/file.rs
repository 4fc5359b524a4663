//! Rules as people write them: TOML, one `[[rule]]` after the other.
//!
//! Owns the reading and every complaint: it names file, line and what was expected. Files are
//! bounded, unknown keys are mistakes, and a rule that is read can be evaluated. A user's rule
//! takes the place of the one of the same name; `off = true` takes it away.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use talea_metric::Expression;
use talea_model::Nanos;
use talea_model::shares::Activity;
use toml::Spanned;

use crate::Severity;
use crate::metrics::Metric;
use crate::rule::{Each, Formula, Most, Per, Rule};
use crate::template::Template;

/// Longest file, in bytes.
pub(crate) const LONGEST_FILE: u64 = 1 << 20;
/// Most rules of a file, and files of a folder.
pub(crate) const MOST_RULES: usize = 1000;
/// Most times in a row that a condition must hold in.
const MOST_WINDOWS: u64 = 100;
const LONGEST_TEXT: usize = 4096;

/// Why rules cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    /// A rule is not as expected.
    #[error("{}:{line}: {why}", file.display())]
    Rule {
        /// The file.
        file: PathBuf,
        /// Where in it, from 1.
        line: usize,
        /// The expected text.
        why: String,
    },
    /// The file cannot be read.
    #[error("cannot read rules: {source}: `{path}`")]
    Io {
        /// Error of the system.
        source: io::Error,
        /// The file or folder.
        path: PathBuf,
    },
    /// The file is too long.
    #[error("file of rules has {found} bytes, expected at most {LONGEST_FILE}: `{path}`")]
    TooLong {
        /// Its bytes.
        found: u64,
        /// The file.
        path: PathBuf,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    rule: Vec<Spanned<WrittenRule>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRule {
    name: Spanned<String>,
    #[serde(default)]
    off: bool,
    per: Option<Per>,
    each: Option<Each>,
    severity: Option<Severity>,
    over: Option<Spanned<String>>,
    #[serde(rename = "for")]
    lasting: Option<Spanned<String>>,
    samples: Option<Spanned<u64>>,
    most: Option<Spanned<String>>,
    #[serde(default)]
    metrics: BTreeMap<Spanned<String>, Spanned<String>>,
    condition: Option<Spanned<String>>,
    title: Option<Spanned<String>>,
    hint: Option<Spanned<String>>,
    reason: Option<Spanned<String>>,
}

/// A place in the text, and what was expected there.
type Wrong = (usize, String);

/// Reads the rules of a text; `file` is what complaints call it.
///
/// # Errors
/// Names file, line and what was expected.
pub fn read(text: &str, file: &Path) -> Result<Vec<Rule>, RuleError> {
    let wrong = |(at, why): Wrong| {
        let before = text.get(..at).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        RuleError::Rule { file: file.to_owned(), line, why }
    };
    if text.len() as u64 > LONGEST_FILE {
        return Err(RuleError::TooLong { found: text.len() as u64, path: file.to_owned() });
    }
    let written: Written = toml::from_str(text).map_err(|error| {
        wrong((error.span().map_or(0, |span| span.start), error.message().to_owned()))
    })?;
    if let Some(beyond) = written.rule.get(MOST_RULES) {
        return Err(wrong((beyond.span().start, format!("expected at most {MOST_RULES} rules"))));
    }
    let mut names = BTreeSet::new();
    let mut rules = Vec::new();
    for rule in written.rule {
        let at = rule.span().start;
        let name = rule.get_ref().name.clone();
        if !names.insert(name.get_ref().clone()) {
            let why = format!("expected each rule once, found `{}` again", name.get_ref());
            return Err(wrong((name.span().start, why)));
        }
        rules.push(of_written(rule.into_inner(), at).map_err(wrong)?);
    }
    Ok(rules)
}

/// Reads all `*.toml` of a folder, by name.
///
/// # Errors
/// As [`read`], and what the system refuses.
pub fn read_folder(folder: &Path) -> Result<Vec<Rule>, RuleError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| RuleError::Io { source, path }
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed(folder))? {
        let path = entry.map_err(failed(folder))?.path();
        if path.extension().is_some_and(|extension| extension == "toml") && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    let mut all: Vec<Rule> = Vec::new();
    for file in files.iter().take(MOST_RULES) {
        let found = fs::metadata(file).map_err(failed(file))?.len();
        if found > LONGEST_FILE {
            return Err(RuleError::TooLong { found, path: file.clone() });
        }
        let text = fs::read_to_string(file).map_err(failed(file))?;
        // A later file may say again what an earlier one said.
        for rule in read(&text, file)? {
            all.retain(|known| known.name != rule.name);
            all.push(rule);
        }
    }
    Ok(all)
}

/// Rules with a user's own: those of the same name take the place of the others, or switch them
/// off.
pub fn with_overrides(rules: Vec<Rule>, own: Vec<Rule>) -> Vec<Rule> {
    let mut all = rules;
    for rule in own {
        match all.iter_mut().find(|known| known.name == rule.name) {
            Some(known) => *known = rule,
            None => all.push(rule),
        }
    }
    all.retain(|rule| !rule.off);
    all
}

fn of_written(rule: WrittenRule, at: usize) -> Result<Rule, Wrong> {
    let name = rule.name.get_ref().clone();
    let word = |name: &str, more: fn(char) -> bool| {
        name.len() <= 64
            && name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || more(c))
    };
    if !word(&name, |c| c == '-') {
        let why = "expected a name of small letters, digits and `-`, at most 64 of them";
        return Err((rule.name.span().start, why.to_owned()));
    }
    if rule.off {
        return Ok(switched_off(name));
    }
    let missing = |key: &str| (at, format!("rule `{name}`: expected `{key} = ...`"));
    let per = rule.per.ok_or_else(|| missing("per"))?;
    let over = rule.over.as_ref().map(time).transpose()?.ok_or_else(|| missing("over"))?;
    let lasting = rule.lasting.as_ref().map(time).transpose()?.unwrap_or(over);
    if lasting.0.div_ceil(over.0) > MOST_WINDOWS {
        let why = format!("expected `for` of at most {MOST_WINDOWS} times `over`");
        return Err((rule.lasting.map_or(at, |lasting| lasting.span().start), why));
    }
    let samples = rule.samples.as_ref().map_or(100, |samples| *samples.get_ref());
    if samples == 0 && (per != Per::Node || rule.each.is_some()) {
        let why = "expected `samples` above 0, but with `per = \"node\"` and without `each`";
        return Err((rule.samples.map_or(at, |samples| samples.span().start), why.to_owned()));
    }
    let mut own: BTreeMap<String, Expression> = BTreeMap::new();
    let mut metrics = Vec::new();
    for (key, text) in &rule.metrics {
        if !word(key.get_ref(), |c| c == '_') {
            let why = "expected the name of a metric of small letters, digits and `_`";
            return Err((key.span().start, why.to_owned()));
        }
        let formula = formula(text, per, rule.each, &BTreeMap::new())?;
        own.insert(key.get_ref().clone(), formula.expression.clone());
        metrics.push((key.get_ref().clone(), formula));
    }
    let condition = rule.condition.as_ref().ok_or_else(|| missing("condition"))?;
    let condition = formula(condition, per, rule.each, &own)?;
    let template = |text: &Spanned<String>| -> Result<Template, Wrong> {
        let at = text.span().start;
        let template = long_enough(text).and_then(Template::parse).map_err(|why| (at, why))?;
        for value in template.values().filter(|value| !own.contains_key(*value)) {
            let metric =
                Metric::from_name(value).and_then(|metric| allowed(&metric, per, rule.each));
            metric.map_err(|why| (at, why))?;
        }
        Ok(template)
    };
    Ok(Rule {
        title: template(rule.title.as_ref().ok_or_else(|| missing("title"))?)?,
        hint: template(rule.hint.as_ref().ok_or_else(|| missing("hint"))?)?,
        severity: rule.severity.ok_or_else(|| missing("severity"))?,
        samples,
        most: rule.most.as_ref().map_or(Ok(Most::Busy), most)?,
        reason: rule.reason.map_or_else(String::new, Spanned::into_inner),
        each: rule.each,
        off: false,
        name,
        per,
        over,
        lasting,
        condition,
        metrics,
    })
}

/// Table that only removes the rule of this name.
fn switched_off(name: String) -> Rule {
    Rule {
        name,
        per: Per::Job,
        severity: Severity::Info,
        over: Nanos(1),
        lasting: Nanos(1),
        samples: u64::MAX,
        reason: String::new(),
        each: None,
        most: Most::Busy,
        condition: Formula {
            expression: Expression::counter("samples"),
            metrics: vec![Metric::Samples],
        },
        metrics: Vec::new(),
        title: Template::default(),
        hint: Template::default(),
        off: true,
    }
}

fn long_enough(text: &Spanned<String>) -> Result<&str, String> {
    match text.get_ref().len() {
        1..=LONGEST_TEXT => Ok(text.get_ref()),
        found => Err(format!("expected a text of 1 to {LONGEST_TEXT} bytes, found {found}")),
    }
}

fn formula(
    text: &Spanned<String>,
    per: Per,
    each: Option<Each>,
    own: &BTreeMap<String, Expression>,
) -> Result<Formula, Wrong> {
    let at = text.span().start;
    let source = long_enough(text).map_err(|why| (at, why))?;
    let parsed = Expression::parse(source).map_err(|error| {
        let place = source.get(error.span.clone()).filter(|place| !place.is_empty());
        let place = place.map_or_else(|| "at the end".to_owned(), |place| format!("at `{place}`"));
        (at, format!("{error}, {place} of `{source}`"))
    })?;
    let expression =
        parsed.replace(|name| own.get(name)).map_err(|wrong| (at, wrong.to_string()))?;
    let metric = |name: &String| {
        let metric = Metric::from_name(name).and_then(|metric| allowed(&metric, per, each));
        metric.map_err(|why| (at, why))
    };
    let metrics = expression.counters().iter().map(metric).collect::<Result<_, _>>()?;
    Ok(Formula { expression, metrics })
}

/// A metric, where it can be had.
fn allowed(metric: &Metric, per: Per, each: Option<Each>) -> Result<Metric, String> {
    let refused = |what: &str| Err(what.to_owned());
    match metric {
        Metric::Silent | Metric::Intervals if per != Per::Node || each.is_some() => {
            refused("expected `silent` and `intervals` only with `per = \"node\"`")
        }
        Metric::Share(_) if each.is_none() => refused("expected `share` only with `each = ...`"),
        Metric::Busy(_)
        | Metric::Computing(_)
        | Metric::Waiting(_)
        | Metric::Idle(_)
        | Metric::CoresAt(..)
            if each.is_some() =>
        {
            refused(
                "expected no idle time with `each = ...`: it is of no executable, library or phase",
            )
        }
        Metric::Most(dimension, _) | Metric::Like(dimension, _, _)
            if each.is_some_and(|each| each.dimension() == *dimension) =>
        {
            refused("expected another metric: there is only one such in each of `each`")
        }
        metric => Ok(metric.clone()),
    }
}

/// Measure by which the named thing is chosen.
fn most(text: &Spanned<String>) -> Result<Most, Wrong> {
    Ok(match text.get_ref().as_str() {
        "busy" => Most::Busy,
        "computing" => Most::Computing,
        "mpi" => Most::Activity(Activity::Mpi),
        "user" => Most::Activity(Activity::User),
        "kernel" => Most::Activity(Activity::Kernel),
        "waiting" => Most::Activity(Activity::Waiting),
        "idle" => Most::Activity(Activity::Idle),
        counter => {
            let Ok(Metric::Counter(counter)) = Metric::from_name(counter) else {
                let why = "expected busy, computing, user, kernel, mpi, waiting, idle or a counter"
                    .to_owned();
                return Err((text.span().start, why));
            };
            Most::Counter(counter)
        }
    })
}

/// `30s`, `10min`, `1h`, `7d`.
fn time(text: &Spanned<String>) -> Result<Nanos, Wrong> {
    const UNITS: [(&str, u64); 4] = [("min", 60), ("s", 1), ("h", 3600), ("d", 86_400)];
    let found = UNITS.iter().find_map(|(unit, seconds)| {
        let number: u64 = text.get_ref().strip_suffix(unit)?.trim_end().parse().ok()?;
        number.checked_mul(*seconds).filter(|seconds| (1..=31 * 86_400).contains(seconds))
    });
    found.map(|seconds| Nanos(seconds * 1_000_000_000)).ok_or_else(|| {
        let why = "expected a time from 1s to 31d such as 30s, 10min, 1h or 7d".to_owned();
        (text.span().start, why)
    })
}
