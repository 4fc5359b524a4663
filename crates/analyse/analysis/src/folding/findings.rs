//! Findings about a folded region, as sentences with figures.
//!
//! Owns their choice and wording: instances first, then the course of the main counters inside, the
//! call stack, differences between parts, and doubts about the result.

use talea_model::units::{mean_and_median, si};
use talea_model::without_parameters;
use talea_report::data::folded::{FoldedCounter, FoldedData, FoldedGroup, FoldedModel};

use super::differences::comparable;
use super::options::Groups;

/// Maximum variation of an even rate.
const EVEN: f64 = 0.05;
/// Minimum error of a doubtful curve.
const DOUBTFUL: f64 = 0.1;
/// Number of counters with a sentence.
const TOLD: usize = 2;

/// All sentences, most important first.
pub(super) fn sentences(data: &FoldedData, groups: usize, asked: Groups) -> Vec<String> {
    let mut found = vec![instances(data)];
    if !data.region.why.is_empty() {
        found.push(format!("{}.", upper(&data.region.why)));
    }
    if groups > 1 && asked == Groups::Largest {
        found.push(format!(
            "Durations are of {groups} kinds: the one with the most time is folded, --groups folds each."
        ));
    }
    let main: Vec<&FoldedCounter> = main_counters(&data.all);
    found.extend(main.iter().map(|counter| {
        if is_doubtful(counter) {
            format!("{}: {} on average.", counter.name, si(counter.mean_rate, &counter.unit))
        } else {
            rate(counter, &data.all)
        }
    }));
    if let Some(ipc) = data.all.models.iter().find(|model| model.name == "IPC") {
        found.extend(extremes(ipc));
    }
    found.extend(stack(&data.all));
    if let Some(first) = data.differences.first() {
        found.push(format!(
            "{} and {} differ most in {}: by {} of its mean rate from {} to {} of the region.",
            first.lowest,
            first.highest,
            first.counter,
            percent(first.difference),
            percent(first.from),
            percent(first.to)
        ));
    } else if comparable(&data.parts) {
        found.push(format!("The {} parts do not differ by more than chance.", data.parts.len()));
    }
    let doubtful: Vec<&str> = data
        .all
        .counters
        .iter()
        .filter(|one| is_doubtful(one))
        .map(|counter| counter.name.as_str())
        .collect();
    if !doubtful.is_empty() {
        found.push(format!(
            "Not to be relied on in detail, as instances differ too much or have too few samples: {}.",
            doubtful.join(", ")
        ));
    }
    found
}

/// True if the course of a counter inside the region is not to be relied on.
fn is_doubtful(counter: &FoldedCounter) -> bool {
    // Too few instances or samples to hold some out: the band gives the error as well.
    counter.error_held_out.or(counter.error_estimated).is_some_and(|error| error > DOUBTFUL)
}

/// The text with a capital first letter.
fn upper(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Percentage with sign and three digits.
pub fn percent(share: f64) -> String {
    let value = 100.0 * share;
    match value.abs() {
        size if size >= 9.95 => format!("{value:.0} %"),
        size if size >= 0.995 => format!("{value:.1} %"),
        _ => format!("{value:.2} %"),
    }
}

fn instances(data: &FoldedData) -> String {
    let group = &data.all;
    let of = if data.region.without_mpi { " without MPI" } else { "" };
    let many = if group.folded == 1 { "instance" } else { "instances" };
    let spread = if group.spread.is_finite() {
        format!(" (spread {})", percent(group.spread))
    } else {
        String::new()
    };
    let whose = if group.locations > 1 {
        format!(" on {} locations", group.locations)
    } else {
        String::new()
    };
    let outliers = match group.outliers {
        0 => String::new(),
        1 => "; 1 is left out for its duration".to_owned(),
        many => format!("; {many} are left out for their durations"),
    };
    // With the total, so that folded and left out add up.
    let folded = if group.outliers == 0 {
        group.folded.to_string()
    } else {
        format!("{} of {}", group.folded, group.found)
    };
    let many = if group.outliers == 0 { many } else { "instances" };
    format!(
        "{folded} {many} of {}{of}{whose}, {}{spread}{outliers}.",
        data.region.name,
        mean_and_median(group.mean_ns, group.median_ns)
    )
}

/// Instructions and cycles if available, else the counters with the smallest errors.
fn main_counters(group: &FoldedGroup) -> Vec<&FoldedCounter> {
    let mut all: Vec<&FoldedCounter> = group.counters.iter().collect();
    let place = |counter: &FoldedCounter| match counter.name.as_str() {
        "PAPI_TOT_INS" => 0,
        "PAPI_L1_DCM" | "PAPI_L2_DCM" | "PAPI_L3_TCM" => 1,
        _ => 2,
    };
    let error = |counter: &FoldedCounter| counter.error_held_out.unwrap_or(f64::INFINITY);
    all.sort_by(|a, b| place(a).cmp(&place(b)).then(error(a).total_cmp(&error(b))));
    all.truncate(TOLD);
    all
}

/// The places and values of the minimum and the maximum, a hundredth from the ends, where bands are
/// widest.
fn ends(values: &[f64]) -> Option<((f64, f64), (f64, f64))> {
    let steps = values.len().saturating_sub(1);
    let inner = steps / 100..=steps - steps / 100;
    let finite = || {
        inner.clone().filter_map(|at| Some((at, *values.get(at)?))).filter(|one| one.1.is_finite())
    };
    let low = finite().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let high = finite().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let place = |at: usize| at as f64 / steps.max(1) as f64;
    Some(((place(low.0), low.1), (place(high.0), high.1)))
}

fn rate(counter: &FoldedCounter, group: &FoldedGroup) -> String {
    let name = &counter.name;
    let unit = &counter.unit;
    let mean = si(counter.mean_rate, unit);
    let highest = counter.jumps.iter().max_by(|a, b| a.height.abs().total_cmp(&b.height.abs()));
    let Some((low, high)) = ends(&counter.rate.value) else {
        return format!("{name}: {mean} on average.");
    };
    let varies = (high.1 - low.1) / counter.mean_rate;
    if varies < EVEN {
        return format!("{name} is even: {mean} within {} over the whole region.", percent(varies));
    }
    let course = format!(
        "between {} (at {}) and {} (at {})",
        si(low.1, unit),
        percent(low.0),
        si(high.1, unit),
        percent(high.0)
    );
    match highest {
        Some(jump) => {
            let verb = if jump.height < 0.0 { "drop" } else { "rise" };
            let at = talea_model::Nanos((jump.at * group.mean_ns.0 as f64) as u64);
            let phases = counter.phases.len();
            format!(
                "{name}: {mean} on average, {course}; {phases} phases, the largest step is a {verb} of {} at {} of the region ({at}).",
                si(jump.height.abs(), unit),
                percent(jump.at)
            )
        }
        None => format!("{name}: {mean} on average, {course}, without jumps."),
    }
}

fn extremes(model: &FoldedModel) -> Option<String> {
    let ((low_at, low), (high_at, high)) = ends(&model.curve.value)?;
    if (high - low).abs() < EVEN * model.mean.abs() {
        return Some(format!("{} is even: {:.2}.", model.name, model.mean));
    }
    Some(format!(
        "{}: {:.2} on average, {low:.2} at {} and {high:.2} at {} of the region.",
        model.name,
        model.mean,
        percent(low_at),
        percent(high_at)
    ))
}

/// The routines by their parts of the region.
fn stack(group: &FoldedGroup) -> Option<String> {
    let named: Vec<(f64, &str)> = group
        .stack
        .iter()
        .filter_map(|run| Some((run.to - run.from, run.routine.as_deref()?)))
        .collect();
    if group.stack.is_empty() {
        return None;
    }
    let mut sums: Vec<(f64, &str)> = Vec::new();
    for (width, name) in named {
        let name = without_parameters(name);
        match sums.iter_mut().find(|sum| sum.1 == name) {
            Some(sum) => sum.0 += width,
            None => sums.push((width, name)),
        }
    }
    sums.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let rest = 1.0 - sums.iter().map(|sum| sum.0).sum::<f64>();
    let mut parts: Vec<String> =
        sums.iter().take(3).map(|(width, name)| format!("{} is {name}", percent(*width))).collect();
    if rest > 0.005 {
        parts.push(format!("in {} routines take turns", percent(rest)));
    }
    Some(format!("Call stacks: {}.", parts.join(", ")))
}
