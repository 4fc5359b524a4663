//! Results for people.
//!
//! Owns the layout: the analysed part, factors of efficiency of all inputs side by side, the table
//! by category, models as trees, and at the end the number of values that could not be computed, or
//! their list, once for each reason.

use talea_metric::measure::Chosen;

use talea_analysis::metrics::{Cluster, Study};

use super::figure::{figure, spread};
use super::heads::{aligned, head};
use super::{Rows, tree};
use crate::terminal::{fitted, prose, width, wrapped};

/// Maximum number of inputs side by side; more follow below.
const BESIDE: usize = 5;
const GAPS: usize = 8;

pub(super) fn text(studies: &[Study], rows: Rows, all: bool) -> String {
    let mut lines: Vec<String> = Vec::new();
    for study in studies {
        lines.extend(looked_at(study));
    }
    for some in studies.chunks(BESIDE) {
        lines.push(String::new());
        lines.extend(efficiency(some));
    }
    match (rows, studies) {
        (Rows::Rank, _) => {
            for study in studies {
                lines.extend(by_rank(study, studies.len()));
            }
        }
        (Rows::Cluster, _) => {
            for study in studies {
                lines.extend(titled(study, studies.len()));
                for some in study.clusters.chunks(BESIDE) {
                    lines.extend(by_cluster(study, some));
                }
            }
        }
        (Rows::Run, [one]) => lines.extend(table(one)),
        (Rows::Run, _) => {
            for some in studies.chunks(BESIDE) {
                lines.extend(compared(some));
            }
        }
    }
    for study in studies {
        for outcome in &study.models {
            lines.push(String::new());
            lines.extend(tree::model(outcome, study, studies.len()));
        }
    }
    if all {
        lines.extend(lacking(studies));
    } else {
        lines.extend(count_lacking(studies));
    }
    for study in studies {
        lines.extend(gaps(study, studies.len()));
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

/// Metrics without a value, once for all inputs where they lack the same.
fn lacking(studies: &[Study]) -> Vec<String> {
    let lacking: Vec<Vec<String>> = studies.iter().map(absent).collect();
    if lacking.windows(2).all(|two| two[0] == two[1]) {
        let first = lacking.into_iter().next();
        return first.and_then(|lines| under("Without a value", lines)).unwrap_or_default();
    }
    let each = studies.iter().zip(lacking).filter_map(|(study, lacking)| {
        under(&format!("Without a value of {}", head(study)), lacking)
    });
    each.flatten().collect()
}

/// Number of metrics without a value, in one line where it is the same for all inputs.
fn count_lacking(studies: &[Study]) -> Vec<String> {
    let count = |study: &Study| {
        let factors = study.factors.iter().map(|factor| factor.value.is_err());
        let all = factors.chain(study.table.iter().map(|one| one.value.is_err()));
        let without = all.clone().filter(|without| *without).count();
        format!("{without} of {} metrics have no value", all.count())
    };
    let mut counts: Vec<String> = studies.iter().map(count).collect();
    counts.dedup();
    let mut lines = vec![String::new()];
    if let [same] = counts.as_slice() {
        lines.push(format!("{same}; --all says which and why"));
    } else {
        let each = studies.iter().map(|study| format!("{}: {}", head(study), count(study)));
        lines.extend(each);
        lines.push("--all says which and why".to_owned());
    }
    lines
}

fn looked_at(study: &Study) -> Vec<String> {
    let span = study.numbers.span;
    let how = match span.chosen {
        Chosen::BetweenInitAndFinalize => "from the end of MPI_Init to the begin of MPI_Finalize",
        Chosen::Whole => "all of the trace",
        Chosen::Asked => "as asked for",
    };
    let threads = study.numbers.locations.len();
    let ranks = study.ranks.len();
    let threads = if threads == ranks { String::new() } else { format!(", {threads} threads") };
    let part = format!(
        "{} of {ranks} {}{threads}: {} to {}, {how}",
        span.length(),
        if ranks == 1 { "rank" } else { "ranks" },
        span.begin,
        span.end
    );
    let mut lines = vec![fitted(&study.path.display().to_string())];
    lines.extend(wrapped(&part, prose() - 2).into_iter().map(|line| format!("  {line}")));
    lines
}

fn efficiency(studies: &[Study]) -> Vec<String> {
    let heads: Vec<String> = studies.iter().map(head).collect();
    let Some(first) = studies.first() else { return Vec::new() };
    // A factor that no input has, and that is no part of the basic ones, has its reason at the end
    // only.
    let shown = |at: usize| studies.iter().any(|study| study.factors[at].value.is_ok());
    let rows = first.factors.iter().enumerate().filter(|(at, _)| shown(*at)).map(|(at, factor)| {
        let cells = studies.iter().map(|study| match study.factors[at].value {
            Ok(value) => format!("{:.1} %", value * 100.0),
            Err(_) => "-".to_owned(),
        });
        (format!("{}{}", "  ".repeat(factor.depth), factor.name), cells.collect())
    });
    aligned("Efficiency", &heads, rows.collect())
}

/// Values of one input with their spread over ranks.
fn table(study: &Study) -> Vec<String> {
    let heads = ["all", "minimum", "median", "maximum"].map(str::to_owned);
    let mut lines = Vec::new();
    for group in study.table.chunk_by(|a, b| a.category == b.category) {
        let place = |key: &str| study.table.iter().position(|one| one.key == key);
        let rows = group.iter().filter_map(|one| {
            let value = *one.value.as_ref().ok()?;
            let at = place(one.key)?;
            let mut cells = vec![figure(value, one.unit)];
            if study.ranks.len() > 1 {
                let ranks = spread(study.ranks.iter().map(|rank| rank.table[at]));
                let shown = ranks.map_or([const { String::new() }; 3], |values| {
                    values.map(|value| figure(value, one.unit))
                });
                cells.extend(shown);
            }
            Some((one.name.to_owned(), cells))
        });
        let rows: Vec<_> = rows.collect();
        if rows.is_empty() {
            continue;
        }
        let heads = if study.ranks.len() > 1 { &heads[..] } else { &heads[..1] };
        lines.push(String::new());
        lines.extend(aligned(group[0].category.title(), heads, rows));
    }
    lines
}

/// Values of several inputs side by side.
fn compared(studies: &[Study]) -> Vec<String> {
    let heads: Vec<String> = studies.iter().map(head).collect();
    let Some(first) = studies.first() else { return Vec::new() };
    let mut lines = Vec::new();
    let numbered: Vec<(usize, &talea_metric::Evaluated)> = first.table.iter().enumerate().collect();
    for group in numbered.chunk_by(|a, b| a.1.category == b.1.category) {
        let rows = group.iter().filter_map(|&(at, one)| {
            let values = studies.iter().map(|study| study.table[at].value.as_ref().ok());
            values.clone().any(|value| value.is_some()).then(|| {
                let cells = values
                    .map(|value| value.map_or("-".to_owned(), |&value| figure(value, one.unit)));
                (one.name.to_owned(), cells.collect())
            })
        });
        let rows: Vec<_> = rows.collect();
        if !rows.is_empty() {
            lines.push(String::new());
            lines.extend(aligned(group[0].1.category.title(), &heads, rows));
        }
    }
    lines
}

/// Values of some clusters side by side.
fn by_cluster(study: &Study, clusters: &[Cluster]) -> Vec<String> {
    let heads: Vec<String> = clusters.iter().map(|one| format!("Cluster {}", one.id)).collect();
    let numbered: Vec<(usize, &talea_metric::Evaluated)> = study.table.iter().enumerate().collect();
    let mut lines = Vec::new();
    for group in numbered.chunk_by(|a, b| a.1.category == b.1.category) {
        let rows = group.iter().filter_map(|&(at, one)| {
            let values = clusters.iter().map(|cluster| cluster.table[at]);
            values.clone().any(f64::is_finite).then(|| {
                let shown = |value: f64| {
                    if value.is_finite() { figure(value, one.unit) } else { "-".to_owned() }
                };
                (one.name.to_owned(), values.map(shown).collect())
            })
        });
        let rows: Vec<_> = rows.collect();
        if !rows.is_empty() {
            lines.push(String::new());
            lines.extend(aligned(group[0].1.category.title(), &heads, rows));
        }
    }
    lines
}

/// Each metric with its value on every rank.
fn by_rank(study: &Study, inputs: usize) -> Vec<String> {
    let mut lines = titled(study, inputs);
    let applications = study.ranks.iter().any(|rank| rank.application > 1);
    for (at, one) in study.table.iter().enumerate() {
        if one.value.is_err() {
            continue;
        }
        let each = study.ranks.iter().map(|rank| {
            let name = if applications {
                format!("{}.{}", rank.application, rank.number)
            } else {
                rank.number.to_string()
            };
            let value = rank.table[at];
            let value = if value.is_finite() { figure(value, one.unit) } else { "-".to_owned() };
            // Name and value stay on one line.
            format!("{name}:{value}").replace(' ', "\u{a0}")
        });
        let text = each.collect::<Vec<_>>().join(" ");
        lines.push(String::new());
        lines.push(one.name.to_owned());
        let broken = text.split(' ').fold(Vec::<String>::new(), |mut lines, word| {
            match lines.last_mut() {
                Some(line) if line.chars().count() + word.chars().count() + 2 < width() - 2 => {
                    line.push_str("  ");
                    line.push_str(word);
                }
                _ => lines.push(word.to_owned()),
            }
            lines
        });
        lines.extend(broken.into_iter().map(|line| format!("  {}", line.replace('\u{a0}', " "))));
    }
    lines
}

/// The input's name as a title, where there are several.
fn titled(study: &Study, inputs: usize) -> Vec<String> {
    if inputs > 1 {
        vec![String::new(), fitted(&study.path.display().to_string())]
    } else {
        Vec::new()
    }
}

/// Lines under a title, if there are any.
fn under(title: &str, lines: Vec<String>) -> Option<Vec<String>> {
    if lines.is_empty() {
        return None;
    }
    Some([vec![String::new(), title.to_owned()], lines].concat())
}

/// Metrics that could not be computed, once for each reason; a metric that lacks several things is
/// listed at each of them.
fn absent(study: &Study) -> Vec<String> {
    let factors = study
        .factors
        .iter()
        .filter_map(|factor| Some((factor.value.as_ref().err()?.clone(), factor.name.to_owned())));
    let table = study.table.iter().filter_map(|one| {
        let reasons = one.value.as_ref().err()?.split("; ");
        Some(reasons.map(|reason| (reason.to_owned(), one.name.to_owned())).collect::<Vec<_>>())
    });
    tree::reasons(factors.chain(table.flatten()), "")
}

fn gaps(study: &Study, inputs: usize) -> Vec<String> {
    let of = if inputs > 1 { format!("{}: ", head(study)) } else { String::new() };
    let mut lines: Vec<String> = study
        .gaps
        .iter()
        .take(GAPS)
        .flat_map(|gap| wrapped(&format!("gap: {of}{}", gap.detail), prose()))
        .collect();
    let more = study.gaps.iter().count().saturating_sub(GAPS);
    if more > 0 {
        lines.push(format!("gap: {of}and {more} more, see --json"));
    }
    lines
}
