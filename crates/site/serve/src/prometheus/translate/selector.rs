//! Selectors of metrics: from labels and their values to a question of the store.
//!
//! Owns which filters the store has; all others are kept for the rows.

use std::time::Duration;

use promql_parser::label::{MatchOp, Matcher};
use promql_parser::parser::{MatrixSelector, Offset};
use talea_model::Nanos;
use talea_store::{Dimension, Question, Text, Visible};

use super::{Grouping, LABELS, Leaf, METRICS, unsupported};

pub(super) fn leaf(
    selector: &MatrixSelector,
    grouping: &Grouping,
    visible: Visible,
) -> Result<Leaf, String> {
    let vector = &selector.vs;
    let known = || METRICS.map(|metric| metric.0).join(", ");
    let named = vector.matchers.find_matchers("__name__");
    let name = vector.name.clone().or_else(|| match &named[..] {
        [one] if one.op == MatchOp::Equal => Some(one.value.clone()),
        _ => None,
    });
    let metric = METRICS.iter().find(|metric| Some(metric.0) == name.as_deref());
    let Some(&(_, unit, labels)) = metric else {
        let name: String = name.unwrap_or_default().chars().take(100).collect();
        return Err(format!("unknown metric {name:?}, expected {}", known()));
    };
    if !vector.matchers.or_matchers.is_empty() {
        return unsupported("or between labels");
    }
    let offset = match vector.offset {
        None => Nanos(0),
        Some(Offset::Pos(offset)) => nanos(offset),
        Some(Offset::Neg(_)) => return unsupported("negative offsets"),
    };
    if vector.at.is_some() {
        return unsupported("@");
    }
    let range = nanos(selector.range);
    if range.0 < 1_000_000_000 {
        return Err("expected a range of a second at least".to_owned());
    }
    if let Grouping::By(asked) = grouping {
        check_labels(asked.iter().map(String::as_str), labels)?;
    }
    let kept: Vec<&'static str> =
        labels.iter().copied().filter(|label| grouping.keeps(label)).collect();
    let mut question = Question::everything(visible, Nanos(0), Nanos(1));
    let mut needed = kept.clone();
    let mut matchers = Vec::new();
    for matcher in vector.matchers.matchers.iter().filter(|one| one.name != "__name__") {
        check_labels([matcher.name.as_str()], labels)?;
        if is_filtered(&mut question, matcher) || matches_everything(matcher) {
            continue;
        }
        // The row's label decides: it must be there, whether or not anybody wants to see it.
        let known = labels.iter().find(|label| **label == matcher.name).copied();
        needed.extend(known.filter(|label| !needed.contains(label)));
        matchers.push(matcher.clone());
    }
    question.by = needed.iter().filter_map(|label| dimension(label)).collect();
    Ok(Leaf { unit, range, by_second: false, offset, question, kept, matchers })
}

fn check_labels<'a>(
    asked: impl IntoIterator<Item = &'a str>,
    known: &[&str],
) -> Result<(), String> {
    match asked.into_iter().find(|label| !known.contains(label)) {
        None => Ok(()),
        Some(label) => {
            let short: String = label.chars().take(100).collect();
            Err(format!("unknown label {short:?}, expected {}", known.join(", ")))
        }
    }
}

pub(in crate::prometheus) fn dimension(label: &str) -> Option<Dimension> {
    LABELS.iter().find(|(name, _)| *name == label).map(|(_, dimension)| *dimension)
}

/// Lets the store filter, where it can: names that are exactly so. An empty one means that there is
/// none, which it cannot be asked for.
fn is_filtered(question: &mut Question, matcher: &Matcher) -> bool {
    if matcher.op != MatchOp::Equal || matcher.value.is_empty() {
        return false;
    }
    let filter = match matcher.name.as_str() {
        "node" => &mut question.node,
        "job" => &mut question.job,
        "executable" => &mut question.executable,
        "library" => &mut question.library,
        "phase" => &mut question.phase,
        _ => return false,
    };
    if filter.is_some() {
        return false;
    }
    *filter = Some(Text::Is(matcher.value.clone()));
    true
}

fn matches_everything(matcher: &Matcher) -> bool {
    matches!(matcher.op, MatchOp::Re(_)) && matcher.value == ".*"
}

fn nanos(duration: Duration) -> Nanos {
    Nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}
