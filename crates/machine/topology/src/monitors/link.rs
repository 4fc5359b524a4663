//! Resolution of references between monitors.
//!
//! Owns names that must be unique, references (no cycles, only to monitors that are fully given by
//! their expression), and unknown counters. It refuses recursion: chains of references may be as
//! long as the text.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use talea_metric::catalogue;
use talea_metric::expression::Expression;

use super::blocks::{Block, blocks};
use super::fields::{Reader, Written};
use super::mistakes::Mistakes;
use super::{Aggregate, MOST_MONITORS, Monitor, Per, When};

/// The counters of a machine.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// True for a readable counter; native names need not be listed to be known.
    pub has: &'a dyn Fn(&str) -> bool,
    /// Names that may be suggested.
    pub names: &'a [String],
}

/// A monitor before resolution.
struct Draft {
    monitor: Monitor,
    name_span: Range<usize>,
    /// `None` where it could not be read.
    written: Option<Written>,
    divisor: Option<Written>,
    /// True if it has mistakes, or is in a cycle; so do those that refer to it.
    broken: bool,
}

pub(super) fn link(text: &str, known: Option<&Known<'_>>) -> Result<Vec<Monitor>, Mistakes> {
    let mut mistakes = Mistakes::new(text);
    let (text, blocks) = blocks(text, &mut mistakes);
    let mut drafts = drafts(&text, &blocks, &mut mistakes);
    let mut by_name = BTreeMap::new();
    for (place, draft) in drafts.iter().enumerate() {
        if by_name.contains_key(&draft.monitor.name) {
            let message = format!("expected one monitor of the name `{}`", draft.monitor.name);
            mistakes.note(draft.name_span.clone(), message);
        } else {
            by_name.insert(draft.monitor.name.clone(), place);
        }
    }
    if let Some(known) = known {
        unknown_counters(&text, &drafts, &by_name, known, &mut mistakes);
    }
    replace_references(&mut drafts, &by_name, &mut mistakes);
    if mistakes.is_empty() {
        return Ok(drafts.into_iter().map(|draft| draft.monitor).collect());
    }
    mistakes.sort();
    Err(mistakes)
}

fn drafts(text: &str, blocks: &[Block], mistakes: &mut Mistakes) -> Vec<Draft> {
    let mut reader = Reader { text, mistakes };
    let mut drafts: Vec<Draft> = Vec::new();
    let (mut several, mut places) = (BTreeMap::new(), BTreeMap::new());
    for block in blocks {
        let (mut monitor, divisor) = reader.monitor(block);
        let outputs = reader.outputs(block, &several, monitor.library.as_deref());
        if let Some(aggregate) = outputs.aggregate {
            monitor.aggregate = aggregate;
        }
        // `hierarchical` computes with the values of monitors below, not with their counters.
        if monitor.library.as_deref() == Some("hierarchical") {
            let below: Option<Vec<_>> =
                outputs.members.iter().map(|name| places.get(name).copied()).collect();
            if let Some(&[first, ref others @ ..]) = below.as_deref()
                && others.iter().all(|other| *other == first)
                && first != monitor.objects
            {
                monitor.when = When::At(first);
            }
        }
        if outputs.all.is_empty() {
            // Others may still refer to it.
            let (name_span, written) = (block.name_span.clone(), None);
            drafts.push(Draft { monitor, name_span, written, divisor, broken: true });
            continue;
        }
        if drafts.len() + outputs.all.len() > MOST_MONITORS {
            let message = format!("expected at most {MOST_MONITORS} monitors");
            reader.mistakes.note(block.name_span.clone(), message);
            break;
        }
        let single = outputs.all.len() == 1;
        let mut names = Vec::new();
        for (output, written) in outputs.all {
            let mut monitor = monitor.clone();
            if !single {
                monitor.name = format!("{}:{output}", block.name);
            }
            names.push(monitor.name.clone());
            places.insert(monitor.name.clone(), monitor.objects);
            monitor.expression = written.expression.clone();
            let (name_span, divisor) = (block.name_span.clone(), divisor.clone());
            let written = Some(written);
            drafts.push(Draft { monitor, name_span, written, divisor, broken: false });
        }
        if !single {
            several.insert(block.name.clone(), names);
        }
    }
    drafts
}

/// Possible references of a draft, and their places.
fn uses(draft: &Draft) -> impl Iterator<Item = (&String, &Range<usize>)> {
    let all = draft.written.iter().chain(&draft.divisor);
    all.flat_map(|written| written.expression.counters().iter().zip(&written.spans))
}

fn unknown_counters(
    text: &str,
    drafts: &[Draft],
    by_name: &BTreeMap<String, usize>,
    known: &Known<'_>,
    mistakes: &mut Mistakes,
) {
    let mut told = BTreeSet::new();
    let all = drafts.iter().enumerate().flat_map(|(at, draft)| uses(draft).map(move |u| (at, u)));
    for (owner, (name, span)) in all {
        let is_known = || (known.has)(name) || catalogue::spec(name).is_some();
        let derivable = || !catalogue::derived(name).is_empty();
        // The same counter is looked up once, and reported at its first place.
        if by_name.contains_key(name) || told.contains(name) {
            continue;
        }
        told.insert(name);
        if is_known() || derivable() {
            continue;
        }
        if let Some((span, near)) = hyphenated(text, span, known) {
            let written = &text[span.clone()];
            told.extend(
                uses(&drafts[owner])
                    .map(|(name, _)| name)
                    .filter(|name| written.split('-').any(|part| part == name.as_str())),
            );
            let help = Some(format!("did you mean `{near}`?"));
            mistakes.note_with(span, format!("unknown counter `{written}`"), help);
            continue;
        }
        let help =
            suggested(name, owner, by_name, known).map(|near| format!("did you mean `{near}`?"));
        let shown: String = name.chars().take(60).collect();
        mistakes.note_with(span.clone(), format!("unknown counter `{shown}`"), help);
    }
}

/// The words around a place that hyphens join, as in `page-fault`, and a counter with hyphens that
/// differs from them in few letters: without quotes an unknown name with hyphens is read as a
/// difference.
fn hyphenated(
    text: &str,
    span: &Range<usize>,
    known: &Known<'_>,
) -> Option<(Range<usize>, String)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let (before, after) = (text.get(..span.start)?, text.get(span.end..)?);
    let start = before.rfind(|c| !is_part(c)).map_or(0, |at| at + 1);
    let end = after.find(|c| !is_part(c)).map_or(text.len(), |at| span.end + at);
    let written = text
        .get(start..end)
        .filter(|written| written.contains('-') && !written.starts_with('"'))?;
    let all = catalogue::all();
    let names = known.names.iter().map(String::as_str).chain(all.iter().map(|spec| &*spec.name));
    let near = talea_metric::suggest(written, names.filter(|name| name.contains('-')))?;
    Some((start..end, near))
}

/// The counter or monitor that was probably meant: `proc:busy` for `busy`, else a name that differs
/// in few letters. A monitor cannot occur in its own expression.
fn suggested(
    name: &str,
    owner: usize,
    by_name: &BTreeMap<String, usize>,
    known: &Known<'_>,
) -> Option<String> {
    let all = catalogue::all();
    let counters = || {
        let known = known.names.iter().map(String::as_str);
        known.chain(all.iter().map(|spec| &*spec.name))
    };
    let within = |full: &&str| {
        full.rsplit_once(':').is_some_and(|(_, last)| last.eq_ignore_ascii_case(name))
    };
    // Of several the shortest, which is the most general.
    if let Some(full) = counters().filter(within).min_by_key(|full| full.len()) {
        return Some(full.to_owned());
    }
    let others = by_name.iter().filter(|&(_, &place)| place != owner);
    talea_metric::suggest(name, counters().chain(others.map(|(name, _)| name.as_str())))
}

/// Replaces monitors in expressions by their definitions, those that others need first.
fn replace_references(
    drafts: &mut [Draft],
    by_name: &BTreeMap<String, usize>,
    mistakes: &mut Mistakes,
) {
    let references: Vec<Vec<(usize, Range<usize>)>> = drafts
        .iter()
        .map(|draft| {
            let places = uses(draft).filter_map(|(name, s)| Some((*by_name.get(name)?, s.clone())));
            places.collect()
        })
        .collect();
    let mut done = vec![false; drafts.len()];
    let mut open = vec![false; drafts.len()];
    for start in 0..drafts.len() {
        // Monitors that wait for the reference of this number.
        let mut path = vec![(start, 0_usize)];
        while let Some(&(place, next)) = path.last() {
            if done[place] {
                path.pop();
                continue;
            }
            open[place] = true;
            if let Some((other, span)) = references[place].get(next) {
                if let Some(last) = path.last_mut() {
                    last.1 += 1;
                }
                if open[*other] && mistakes.is_full() {
                    drafts[place].broken = true;
                } else if open[*other] {
                    let from = path.iter().position(|(on, _)| on == other).unwrap_or(0);
                    let on_path = path[from..].iter().map(|&(on, _)| on).chain([*other]);
                    let names: Vec<_> =
                        on_path.take(10).map(|on| drafts[on].monitor.name.as_str()).collect();
                    let message = format!(
                        "expected a monitor that does not need itself, found {}",
                        names.join(" -> ")
                    );
                    let help = "monitors come before counters of the same name".to_owned();
                    mistakes.note_with(span.clone(), message, Some(help));
                    path[from..].iter().for_each(|&(on, _)| drafts[on].broken = true);
                } else if !done[*other] {
                    path.push((*other, 0));
                }
                continue;
            }
            finish(place, &references[place], drafts, by_name, mistakes);
            (open[place], done[place]) = (false, true);
            path.pop();
        }
    }
}

/// All references of this one are finished.
fn finish(
    place: usize,
    references: &[(usize, Range<usize>)],
    drafts: &mut [Draft],
    by_name: &BTreeMap<String, usize>,
    mistakes: &mut Mistakes,
) {
    for (other, span) in references {
        let other = &drafts[*other];
        if !other.broken && !says_all(&other.monitor) {
            let message = format!(
                "expected a monitor without AGG, WHEN, PER, WINDOW and ACCUMULATE, found `{}`",
                other.monitor.name
            );
            let help = "its name would stand for its expression alone".to_owned();
            mistakes.note_with(span.clone(), message, Some(help));
            drafts[place].broken = true;
            return;
        }
    }
    if drafts[place].broken || references.iter().any(|(other, _)| drafts[*other].broken) {
        drafts[place].broken = true;
        return;
    }
    let whole = |written: &Written| {
        let of = |name: &str| by_name.get(name).map(|&other| &drafts[other].monitor.expression);
        written.expression.replace(of).map_err(|wrong| (wrong, written.spans.first().cloned()))
    };
    let draft = &drafts[place];
    let Some(written) = &draft.written else { return };
    let expression = whole(written);
    let divisor = draft.divisor.as_ref().map(whole).transpose();
    let result: Result<(Expression, Option<Expression>), _> =
        expression.and_then(|expression| Ok((expression, divisor?)));
    match result {
        Ok((expression, divisor)) => {
            let monitor = &mut drafts[place].monitor;
            monitor.expression = expression;
            if let Some(divisor) = divisor {
                monitor.per = Per::Expression(divisor);
            }
        }
        Err((wrong, span)) => {
            let span = span.unwrap_or_else(|| drafts[place].name_span.clone());
            mistakes.note(span, wrong.to_string());
            drafts[place].broken = true;
        }
    }
}

/// True if a monitor is fully given by its expression.
fn says_all(monitor: &Monitor) -> bool {
    monitor.aggregate == Aggregate::Sum
        && monitor.when == When::After
        && monitor.per == Per::Frame
        && monitor.window == 1
        && !monitor.accumulate
}
