//! Which rules hold of what.
//!
//! Owns the order of things: who has samples enough, whether the condition holds in each of the
//! times in a row, then names and texts of what was found. The same store, rules and time give the
//! same findings. A finding is of the time that the condition was seen to hold in.

use std::collections::BTreeMap;

use talea_model::{Gap, GapKind, Nanos};
use talea_store::{Dimension, Store, StoreError, Value, Visible};

use crate::facts::{Activities, Subject};
use crate::finding::{MOST_FINDINGS, MOST_OF_RULE, sort};
use crate::names::Names;
use crate::rule::{Formula, Per, Rule};
use crate::subject::{is_something, value_of, value_text};
use crate::tables::{Tables, Wanted, Window};
use crate::{Finding, Findings};

/// Which time is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// Current time, in nanoseconds since 1970: each rule looks back over its own time range.
    Now(Nanos),
    /// This time as one, such as that of a job that has ended; rules that ask for more time than it
    /// has say nothing.
    Whole(Nanos, Nanos),
}

/// Query of an evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Permission of the user; a store may have less ([`Store::sees`]). Rules of nodes and of the
    /// machine need permission for all samples.
    pub visible: Visible,
    /// Time range.
    pub time: Time,
    /// Only this job, and of this owner if there is one.
    pub job: Option<(String, Option<u32>)>,
}

/// Current findings of the rules. Functions have no names here: see [`evaluate_asked`].
///
/// # Errors
/// What the store refuses.
pub fn evaluate(
    store: &dyn Store,
    rules: &[Rule],
    now: Nanos,
    visible: Visible,
) -> Result<Findings, StoreError> {
    evaluate_asked(store, rules, &Asked { visible, time: Time::Now(now), job: None }, &mut ())
}

/// The same of any time and of one job.
///
/// # Errors
/// What the store refuses.
pub fn evaluate_asked(
    store: &dyn Store,
    rules: &[Rule],
    asked: &Asked,
    names: &mut dyn Names,
) -> Result<Findings, StoreError> {
    // A server answers a user's token with the user's own: of these no node and no machine can be
    // judged.
    let visible = match asked.visible {
        Visible::All => store.sees()?,
        user @ Visible::User(_) => user,
    };
    let mut tables = Tables::new(store, visible, asked.job.clone());
    let mut found = Findings::default();
    for rule in rules {
        let own = asked.job.is_some() || visible != Visible::All;
        if own && rule.per != Per::Job {
            continue;
        }
        let windows = match asked.time {
            Time::Now(now) => rule.windows(now),
            Time::Whole(from, to) if to >= from + rule.lasting => vec![(from, to)],
            Time::Whole(..) => continue,
        };
        one(rule, &windows, &mut tables, names, &mut found)?;
        tables.relieve();
    }
    found.gaps.merge(std::mem::take(&mut tables.gaps));
    let beyond = sort(&mut found) as u64;
    if beyond > 0 {
        let detail = format!("only the first {MOST_FINDINGS} findings are listed");
        found.gaps.note(Gap { kind: GapKind::MemoryBound, rank: None, detail, count: beyond });
    }
    Ok(found)
}

fn one(
    rule: &Rule,
    windows: &[Window],
    tables: &mut Tables<'_>,
    names: &mut dyn Names,
    found: &mut Findings,
) -> Result<(), StoreError> {
    let (Some(&last), Some(&first)) = (windows.first(), windows.last()) else { return Ok(()) };
    let dimensions = rule.subject();
    let subjects = subjects(rule, &dimensions, last, tables)?;
    if windows.len() > 1 && rule.samples > 0 {
        note_shared(rule, &dimensions, last, tables)?;
    }
    let mut absent: BTreeMap<String, u64> = BTreeMap::new();
    let mut own = 0;
    for key in &subjects {
        let subject =
            |window| Subject { rule, window, dimensions: &dimensions, key: key.as_slice() };
        if !holds(windows, &subject, tables, names, &mut absent)? {
            continue;
        }
        if own < MOST_OF_RULE {
            let time = (first.0, last.1);
            found.findings.push(finding(&subject(last), time, tables, names)?);
        }
        own += 1;
    }
    if own > MOST_OF_RULE {
        let detail =
            format!("rule `{}`: only the first {MOST_OF_RULE} findings are listed", rule.name);
        let count = (own - MOST_OF_RULE) as u64;
        found.gaps.note(Gap { kind: GapKind::MemoryBound, rank: None, detail, count });
    }
    for (metric, count) in absent {
        let detail = format!("rule `{}`: {metric} is not known of some that it is for", rule.name);
        found.gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count });
    }
    Ok(())
}

/// Subjects of the rule with enough samples; known nodes where no samples are needed.
fn subjects(
    rule: &Rule,
    dimensions: &[Dimension],
    window: Window,
    tables: &mut Tables<'_>,
) -> Result<Vec<Vec<Value>>, StoreError> {
    if rule.samples == 0 {
        let nodes = tables.nodes()?;
        return Ok(nodes.iter().map(|node| vec![Value::Text(node.name.clone())]).collect());
    }
    let rest = vec![Dimension::Activity];
    let table = tables.table(&Wanted { window, subject: dimensions.to_vec(), rest, like: None })?;
    if !table.whole {
        tables.note_cut();
    }
    let enough = table.subjects.iter().filter(|(key, parts)| {
        is_something(dimensions, key) && Activities::from_parts(parts).all() >= rule.samples
    });
    Ok(enough.map(|(key, _)| key.clone()).collect())
}

/// Says where the slices of the store are as long as the times in a row, so that these are of the
/// same ones.
fn note_shared(
    rule: &Rule,
    dimensions: &[Dimension],
    window: Window,
    tables: &mut Tables<'_>,
) -> Result<(), StoreError> {
    let rest = vec![Dimension::Activity];
    let table = tables.table(&Wanted { window, subject: dimensions.to_vec(), rest, like: None })?;
    let Some((begin, end)) = table.time else { return Ok(()) };
    if end.0.saturating_sub(begin.0) >= 2 * rule.over.0 {
        let detail = format!(
            "rule `{}`: slices of the store are as long as its times of {} seconds: times in a row share samples",
            rule.name,
            rule.over.0 / 1_000_000_000
        );
        tables.gaps.note(Gap { kind: GapKind::Estimated, rank: None, detail, count: 0 });
    }
    Ok(())
}

/// True when the condition holds in each of the times. What is absent is counted, for the last time
/// only.
fn holds<'a>(
    windows: &[Window],
    subject: &dyn Fn(Window) -> Subject<'a>,
    tables: &mut Tables<'_>,
    names: &mut dyn Names,
    absent: &mut BTreeMap<String, u64>,
) -> Result<bool, StoreError> {
    for (at, &window) in windows.iter().enumerate() {
        let subject = subject(window);
        // Too few samples say nothing of an earlier time either.
        if at > 0 && subject.activities(tables)?.all() < subject.rule.samples {
            return Ok(false);
        }
        let numbers = numbers(&subject.rule.condition, &subject, tables, names)?;
        match subject.rule.condition.expression.explained(&numbers) {
            Ok(value) if value != 0.0 => {}
            Ok(_) => return Ok(false),
            Err(why) => {
                if at == 0 {
                    let text = why.to_string();
                    let text = text.strip_prefix("no ").map_or_else(|| text.clone(), str::to_owned);
                    *absent.entry(text).or_default() += 1;
                }
                return Ok(false);
            }
        }
    }
    Ok(!windows.is_empty())
}

/// Numbers for an expression, all of the same time; `NaN` is absent.
fn numbers(
    formula: &Formula,
    subject: &Subject<'_>,
    tables: &mut Tables<'_>,
    names: &mut dyn Names,
) -> Result<Vec<f64>, StoreError> {
    let subject = subject.with_time_of(&formula.metrics, tables)?;
    let value = |metric| Ok(subject.value(metric, tables, names)?.unwrap_or(f64::NAN));
    formula.metrics.iter().map(value).collect()
}

fn finding(
    subject: &Subject<'_>,
    (begin, end): Window,
    tables: &mut Tables<'_>,
    names: &mut dyn Names,
) -> Result<Finding, StoreError> {
    let rule = subject.rule;
    // Of one long time the condition may have been looked at in a part.
    let part = subject.with_time_of(&rule.condition.metrics, tables)?.window;
    let (begin, end) = if part == subject.window { (begin, end) } else { part };
    let mut values: BTreeMap<String, f64> = BTreeMap::new();
    let condition = numbers(&rule.condition, subject, tables, names)?;
    values.extend(rule.condition.expression.counters().iter().cloned().zip(condition));
    for (name, formula) in &rule.metrics {
        let value = formula.expression.eval(&numbers(formula, subject, tables, names)?);
        values.insert(name.clone(), value);
    }
    let shows: Vec<String> =
        rule.title.values().chain(rule.hint.values()).map(str::to_owned).collect();
    for name in shows {
        // Names were checked when the rule was read.
        if !values.contains_key(&name)
            && let Ok(metric) = crate::metrics::Metric::from_name(&name)
        {
            let subject = subject.with_time_of(std::slice::from_ref(&metric), tables)?;
            let value = subject.value(&metric, tables, names)?;
            values.extend(value.map(|value| (name, value)));
        }
    }
    values.retain(|_, value| value.is_finite());
    let wanted = rule.title.names().chain(rule.hint.names()).collect();
    let named = subject.named(&wanted, tables, names)?;
    let of = |dimension| value_of(dimension, subject.dimensions, subject.key).and_then(value_text);
    let text = |template: &crate::template::Template| {
        template
            .filled(|dimension| named.get(&dimension).cloned(), |name| values.get(name).copied())
    };
    Ok(Finding {
        rule: rule.name.clone(),
        job: of(Dimension::Job),
        user: of(Dimension::User).and_then(|user| user.parse().ok()),
        node: of(Dimension::Node),
        begin,
        end,
        severity: rule.severity,
        title: text(&rule.title),
        hint: text(&rule.hint),
        names: named
            .iter()
            .map(|(d, name)| (format!("{d:?}").to_lowercase(), name.clone()))
            .collect(),
        values,
    })
}
