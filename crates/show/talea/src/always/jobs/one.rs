//! One job: what its cores did, where, and how differently.
//!
//! Owns the questions and the form of the answer. The spread over cores comes from agents; without
//! agents that count, it is absent.

use talea_model::Gaps;
use talea_model::shares::Activity;
use talea_report::data::site::{JobDetail, Name, PartRow};
use talea_rules::{Findings, Names, Sum, by_name};
use talea_store::{
    Dimension, JobSeen, MOST_ROWS, Proportion, Question, Rates, SpreadSeen, Store, StoreError,
    Text, Value as Key, public,
};

use crate::always::rates;

/// The groups of a job's time.
pub(super) const PARTS: [(Dimension, &str); 4] = [
    (Dimension::Executable, "executable"),
    (Dimension::Library, "library"),
    (Dimension::Function, "function"),
    (Dimension::Phase, "phase"),
];

/// A name with its samples.
pub(super) struct Part {
    pub(super) name: Option<String>,
    pub(super) samples: u64,
    pub(super) core_seconds: f64,
    pub(super) share: Option<Proportion>,
}

/// Data of a job.
pub(super) struct Detail {
    /// In the order of [`Activity::ALL`].
    pub(super) activities: Vec<(Activity, Part)>,
    /// In the order of [`PARTS`].
    pub(super) parts: Vec<Vec<Part>>,
    pub(super) spreads: Vec<SpreadSeen>,
    /// Growth of counters around samples, by library.
    pub(super) rates: Rates,
    pub(super) gaps: Gaps,
}

pub(super) fn detail(
    store: &dyn Store,
    question: &Question,
    seen: &JobSeen,
    limit: usize,
    names: &mut dyn Names,
) -> Result<Detail, StoreError> {
    let own = Question {
        job: Some(Text::Is(seen.job.id.clone())),
        user: seen.job.user.or(question.user),
        limit: MOST_ROWS,
        ..question.clone()
    };
    let answer = store.usage(&Question { by: vec![Dimension::Activity], ..own.clone() })?;
    let all = answer.totals.samples;
    let mut activities: Vec<(Activity, Part)> = answer
        .rows
        .iter()
        .filter_map(|row| match row.key.first() {
            Some(Key::Activity(activity)) => {
                let share = answer.proportion(row.samples, all);
                let (samples, core_seconds) = (row.samples, row.core_seconds);
                Some((*activity, Part { name: None, samples, core_seconds, share }))
            }
            _ => None,
        })
        .collect();
    activities.sort_by_key(|(activity, _)| Activity::ALL.iter().position(|one| one == activity));
    let (mut parts, mut gaps) = (Vec::new(), answer.gaps);
    for (dimension, _) in PARTS {
        let (of_it, lacks) = of_dimension(store, &own, dimension, all, limit, names)?;
        parts.push(of_it);
        gaps.merge(lacks);
    }
    let spreads = store.spreads(&own)?;
    let rates = store.rates(&Question { by: vec![Dimension::Library], limit, ..own })?;
    gaps.merge(rates.gaps.clone());
    Ok(Detail { activities, parts, spreads, rates, gaps })
}

/// The parts of one dimension, most samples first, and what they lack; idle time is of none of
/// them.
fn of_dimension(
    store: &dyn Store,
    own: &Question,
    dimension: Dimension,
    all: u64,
    limit: usize,
    names: &mut dyn Names,
) -> Result<(Vec<Part>, Gaps), StoreError> {
    let by = vec![dimension, Dimension::Activity];
    let answer = store.usage(&Question { by, ..own.clone() })?;
    let busy =
        |key: Option<&Key>| matches!(key, Some(Key::Activity(activity)) if activity.is_busy());
    let rows = answer.rows.iter().filter(|row| busy(row.key.get(1)));
    let rows = rows.map(|row| (&row.key[0], row.samples, row.core_seconds));
    let mut sums = by_name(rows, names);
    // Programs without phases have none worth a table.
    if dimension == Dimension::Phase && sums.keys().all(Option::is_none) {
        sums.clear();
    }
    let part = |(name, Sum { samples, core_seconds })| Part {
        name,
        samples,
        core_seconds,
        share: answer.proportion(samples, all),
    };
    let mut parts: Vec<Part> = sums.into_iter().map(part).collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.samples));
    parts.truncate(limit);
    Ok((parts, answer.gaps))
}

fn part_row(part: &Part, word: &str, name: Option<String>) -> PartRow {
    PartRow {
        names: [(word.to_owned(), name.map(Name::Text))].into_iter().collect(),
        samples: part.samples,
        core_seconds: part.core_seconds,
        share: part.share.map(|share| share.share),
        low: part.share.map(|share| share.low),
        high: part.share.map(|share| share.high),
    }
}

/// The job with its detail and what rules found.
pub(super) fn result(seen: &JobSeen, detail: &Detail, found: &Findings) -> JobDetail {
    let activities = detail
        .activities
        .iter()
        .map(|(activity, part)| part_row(part, "activity", Some(public::activity(*activity))));
    let mut parts = PARTS.iter().zip(&detail.parts).map(|((_, word), parts)| {
        parts.iter().map(|part| part_row(part, word, part.name.clone())).collect()
    });
    let [executables, libraries, functions, phases] =
        [(); PARTS.len()].map(|()| parts.next().unwrap_or_default());
    let mut gaps = detail.gaps.clone();
    gaps.merge(found.gaps.clone());
    JobDetail {
        job: public::job(seen),
        activities: activities.collect(),
        executables,
        libraries,
        functions,
        phases,
        spreads: detail.spreads.iter().map(public::spread).collect(),
        rates: rates::results(&detail.rates),
        findings: found.findings.clone(),
        gaps,
    }
}
