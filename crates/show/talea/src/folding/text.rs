//! Text output of `talea fold`: sentences, a table of counters with a picture of each rate, the
//! call stack as rows.
//!
//! Owns the layout.

use talea_model::units::{si, three_digits};
use talea_model::{Nanos, without_parameters};
use talea_report::data::folded::{
    FoldedCounter, FoldedCoverage, FoldedData, FoldedGroup, FoldedModel,
};

use talea_analysis::folding::percent;

use crate::table::{Column, Table};
use crate::terminal::{Palette, blocks, cell, grouped, limit, prose, width, wrapped};

/// Width of the picture of a rate, in columns.
const PICTURE: usize = 24;
/// Maximum length of a routine's name.
const ROUTINE: usize = 38;
/// Maximum number of rows of the call stack.
const RUNS: usize = 24;
/// Maximum number of gaps that are printed in full.
const GAPS: usize = 12;

/// The complete output.
pub(super) fn text(data: &FoldedData) -> String {
    let palette = Palette::stdout();
    let mut lines: Vec<String> = Vec::new();
    for (at, finding) in data.findings.iter().enumerate() {
        for line in wrapped(finding, prose()) {
            lines.push(if at == 0 { palette.strong(&line) } else { line });
        }
    }
    if !data.all.counters.is_empty() {
        lines.push(String::new());
        lines.extend(counters(&data.all, data));
    }
    if !data.all.models.is_empty() {
        lines.push(String::new());
        lines.extend(models(&data.all.models));
    }
    if !data.all.stack.is_empty() {
        lines.push(String::new());
        lines.extend(stack(&data.all));
    }
    if !data.parts.is_empty() {
        lines.push(String::new());
        lines.extend(parts(data));
    }
    let coverage = &data.all.coverage;
    if coverage.samples > 0 {
        let period =
            coverage.period_ns.map_or_else(String::new, |period| format!(", one each {period}"));
        lines.push(String::new());
        lines.extend(wrapped(
            &format!(
                "{} samples{period}; the widest part of the region without one is {} ({} if they fell at random).",
                coverage.samples,
                percent(coverage.hole),
                percent(coverage.hole_expected)
            ),
            prose(),
        ));
    }
    lines.extend(wrapped(&whereabouts(&data.all), prose()));
    for (at, gap) in data.gaps.iter().enumerate() {
        if at == GAPS {
            lines.push(palette.faint("more gaps: --json has all"));
            break;
        }
        for (row, line) in wrapped(&gap.detail, prose() - 5).into_iter().enumerate() {
            lines.push(
                palette.faint(&format!("{}{line}", if row == 0 { "gap: " } else { "     " })),
            );
        }
    }
    lines.join("\n") + "\n"
}

/// All samples with call stacks by place, where some are not in folded instances; the numbers add
/// up.
fn whereabouts(group: &FoldedGroup) -> String {
    let FoldedCoverage { stacks, left_out, outside, .. } = group.coverage;
    if left_out + outside == 0 || stacks == 0 {
        return String::new();
    }
    let s = |count: u64| if count == 1 { "" } else { "s" };
    let all = stacks + left_out + outside;
    let mut parts = vec![format!("{} in folded instances", grouped(stacks))];
    if left_out > 0 {
        parts.push(format!("{} in instances that are left out", grouped(left_out)));
    }
    if outside > 0 {
        parts.push(format!("{} outside the region", grouped(outside)));
    }
    format!("{} sample{} with call stacks: {}.", grouped(all), s(all), parts.join(", "))
}

fn share(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), percent)
}

fn counters(group: &FoldedGroup, data: &FoldedData) -> Vec<String> {
    let mut table = Table::new(&[
        ("counter", Column::Yields),
        ("samples", Column::Right),
        ("inst.", Column::Right),
        ("mean rate", Column::Right),
        ("held-out", Column::Right),
        (if data.scored { "in band" } else { "band ±" }, Column::Right),
        ("jumps", Column::Right),
        ("rate over the region, from 0", Column::Left),
    ]);
    let band = |counter: &FoldedCounter| {
        if data.scored { share(counter.band_coverage) } else { share(half_width(counter)) }
    };
    for counter in &group.counters {
        table.row([
            counter.name.clone(),
            counter.samples.to_string(),
            counter.instances.to_string(),
            si(counter.mean_rate, &counter.unit),
            share(counter.error_held_out),
            band(counter),
            counter.jumps.len().to_string(),
            blocks(&counter.rate.value, PICTURE),
        ]);
    }
    table.lines()
}

/// Median half width of the band in mean rates.
fn half_width(counter: &FoldedCounter) -> Option<f64> {
    let ends = counter.rate.low.iter().zip(&counter.rate.high);
    let mut widths: Vec<f64> = ends
        .map(|(low, high)| (high - low) / 2.0 / counter.mean_rate)
        .filter(|w| w.is_finite())
        .collect();
    let middle = widths.len() / 2;
    (!widths.is_empty()).then(|| *widths.select_nth_unstable_by(middle, f64::total_cmp).1)
}

fn models(models: &[FoldedModel]) -> Vec<String> {
    let mut table = Table::new(&[
        ("model", Column::Yields),
        ("mean", Column::Right),
        ("least", Column::Right),
        ("most", Column::Right),
        ("over the region, from 0", Column::Left),
    ]);
    for model in models {
        let finite = || model.curve.value.iter().copied().filter(|value| value.is_finite());
        let number =
            |value: f64| if value.is_finite() { three_digits(value) } else { "-".to_owned() };
        table.row([
            if model.unit.is_empty() || model.unit == model.name {
                model.name.clone()
            } else {
                format!("{} ({})", model.name, model.unit)
            },
            number(model.mean),
            number(finite().fold(f64::INFINITY, f64::min)),
            number(finite().fold(f64::NEG_INFINITY, f64::max)),
            blocks(&model.curve.value, PICTURE),
        ]);
    }
    table.lines()
}

fn stack(group: &FoldedGroup) -> Vec<String> {
    let mut table = Table::new(&[
        ("routine", Column::Left),
        ("from", Column::Right),
        ("to", Column::Right),
        ("time", Column::Right),
        ("samples", Column::Right),
        ("pure", Column::Right),
        ("line", Column::Yields),
    ]);
    for run in group.stack.iter().take(RUNS) {
        // A pipe has room for whole names.
        let most = if limit() > width() { limit() } else { ROUTINE };
        let short = |name: &str| cell(short_name(name, most), ROUTINE);
        let turns = || {
            let names: Vec<String> = run.mixed.iter().map(|name| short(name)).collect();
            cell(&format!("in turns: {}", names.join(", ")), ROUTINE)
        };
        let routine = run.routine.as_deref().map_or_else(turns, short);
        let line = |one: &talea_report::data::folded::FoldedShare| {
            // Number and file; the module after it is that of the routine.
            let text = one.name.split(',').next().unwrap_or_default().replace(['(', ')'], "");
            format!("{:.0} % {text}", 100.0 * one.share)
        };
        table.row([
            routine,
            percent(run.from),
            percent(run.to),
            Nanos(((run.to - run.from) * group.mean_ns.0 as f64) as u64).to_string(),
            run.samples.to_string(),
            percent(run.purity),
            run.lines.iter().take(1).map(line).collect::<Vec<_>>().join(", "),
        ]);
    }
    let mut lines = table.lines();
    if group.stack.len() > RUNS {
        lines.push(format!("and {} more stretches, see --json", group.stack.len() - RUNS));
    }
    lines
}

/// A function of C++ without its parameters, and without its namespaces where it is longer than
/// `most`: the last part of a qualified name is the most informative.
pub(super) fn short_name(name: &str, most: usize) -> &str {
    let name = without_parameters(name);
    if name.chars().count() <= most {
        return name;
    }
    let (mut depth, mut begin) = (0_i32, 0);
    for (at, c) in name.char_indices() {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth -= 1,
            ':' if depth == 0 => begin = at + 1,
            _ => {}
        }
    }
    &name[begin..]
}

/// One row a part: its instances, and the rate of the first counter that all have.
fn parts(data: &FoldedData) -> Vec<String> {
    let common = data.all.counters.iter().find(|counter| {
        data.parts.iter().all(|part| part.counters.iter().any(|one| one.name == counter.name))
    });
    let name = common.map_or("", |counter| counter.name.as_str());
    let mut table = Table::new(&[
        ("part", Column::Yields),
        ("inst.", Column::Right),
        ("mean", Column::Right),
        ("spread", Column::Right),
        (if name.is_empty() { "rate" } else { name }, Column::Right),
        ("held-out", Column::Right),
        ("rate over the region, from 0", Column::Left),
    ]);
    for part in &data.parts {
        let counter = part.counters.iter().find(|one| one.name == name);
        table.row([
            part.name.clone(),
            part.folded.to_string(),
            part.mean_ns.to_string(),
            if part.spread.is_finite() { percent(part.spread) } else { "-".to_owned() },
            counter.map_or_else(|| "-".to_owned(), |one| si(one.mean_rate, &one.unit)),
            share(counter.and_then(|one| one.error_held_out)),
            counter.map_or_else(String::new, |one| blocks(&one.rate.value, PICTURE)),
        ]);
    }
    table.lines()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_add_up() {
        let group = |stacks, left_out, outside| FoldedGroup {
            coverage: FoldedCoverage { stacks, left_out, outside, ..FoldedCoverage::default() },
            ..FoldedGroup::default()
        };
        assert_eq!(
            whereabouts(&group(2104, 120, 176)),
            "2,400 samples with call stacks: 2,104 in folded instances, 120 in instances that are left out, \
             176 outside the region."
        );
        assert_eq!(whereabouts(&group(5, 0, 0)), "");
        assert_eq!(whereabouts(&group(0, 3, 3)), "");
    }

    #[test]
    fn names_of_cpp_lose_parameters_first() {
        let check = |name, most, expected| assert_eq!(short_name(name, most), expected);
        check("ns::f(std::vector<ns::X> const&)", 38, "ns::f");
        check("ns::f(std::vector<ns::X> const&)", 4, "f");
        check(
            "ddSendrecv<gmx::BasicVector<float> >(int)",
            20,
            "ddSendrecv<gmx::BasicVector<float> >",
        );
        check("gmx::run<gmx::Vector<float> >(int)", 20, "run<gmx::Vector<float> >");
        check("main", 2, "main");
    }
}
