//! Metrics of Linux' `tools/perf/pmu-events`: JSON arrays in which some items have a `MetricExpr`.
//!
//! Owns the fields `MetricName`, `MetricExpr`, `MetricGroup`, `ScaleUnit`, `MetricThreshold` and
//! `BriefDescription`, and the tree that groups spell: a metric in the group `NAME_group` is a part
//! of the metric `NAME`, and `tma_L2_group`, `TopdownL2` or `PipelineL2` is its level. Items
//! without an expression define events and are skipped. Follows `tools/perf/pmu-events/README`. It
//! refuses the rest.

use std::collections::BTreeSet;

use serde::Deserialize;
use talea_metric::model::Problem;
use talea_metric::{Definition, Model};

use crate::definitions::{self, ModelError};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Item {
    metric_name: Option<String>,
    metric_expr: Option<String>,
    #[serde(default)]
    metric_group: String,
    #[serde(default)]
    scale_unit: String,
    metric_threshold: Option<String>,
    #[serde(default)]
    brief_description: String,
    /// The PMU on processors with several kinds of cores.
    unit: Option<String>,
}

/// Reads the metrics of a file.
pub fn read(bytes: &[u8], name: &str) -> Result<Model, ModelError> {
    let (metrics, problems) = definitions(bytes)?;
    Ok(model(name, metrics, problems))
}

/// The metrics of one file, without the tree, for models that are spread over several.
pub fn definitions(bytes: &[u8]) -> Result<(Vec<Definition>, Vec<Problem>), ModelError> {
    let text = definitions::text(bytes);
    let (items, mut problems) = definitions::items(&text)?;
    let mut metrics = Vec::new();
    for (line, raw) in items {
        let item: Item = match serde_json::from_str(raw.get()) {
            Ok(item) => item,
            Err(error) => {
                problems.push(Problem { line, what: format!("expected a metric: {error}") });
                continue;
            }
        };
        let Some(expression) = &item.metric_expr else { continue };
        let Some(name) = item.metric_name.as_deref().filter(|name| !name.is_empty()) else {
            problems
                .push(Problem { line, what: "expected a `MetricName` beside `MetricExpr`".into() });
            continue;
        };
        let Some(expression) = definitions::expression(expression, name, line, &mut problems)
        else {
            continue;
        };
        let threshold = item.metric_threshold.as_deref().and_then(|text| {
            definitions::expression(text, &format!("{name}, threshold"), line, &mut problems)
        });
        let (scale, unit) = scaled(&item.scale_unit);
        let groups = definitions::groups(&item.metric_group);
        let mut description = definitions::sentence(&item.brief_description);
        if let Some(unit) = &item.unit {
            description = format!("{description} ({unit})");
        }
        metrics.push(Definition {
            unit,
            scale,
            description,
            level: groups.iter().find_map(|group| level(group)),
            groups,
            threshold,
            line,
            ..Definition::new(name, expression)
        });
    }
    Ok((metrics, problems))
}

/// Makes a model of definitions of one or more files: groups that are named after metrics make the
/// tree.
pub fn model(name: &str, mut metrics: Vec<Definition>, problems: Vec<Problem>) -> Model {
    let names: BTreeSet<String> = metrics.iter().map(|metric| metric.name.clone()).collect();
    for metric in &mut metrics {
        let stems = metric.groups.iter().filter_map(|group| group.strip_suffix("_group"));
        let parent = stems.filter(|stem| *stem != metric.name).find(|stem| names.contains(*stem));
        metric.parent = parent.map(str::to_owned);
    }
    definitions::finished(name, metrics, problems)
}

/// `100%` is a factor of 100 and the unit `%`.
fn scaled(text: &str) -> (f64, String) {
    let text = text.trim();
    let number = |length: &usize| text.get(..*length).and_then(|text| text.parse::<f64>().ok());
    let length =
        (0..=text.len().min(24)).rev().find(|length| number(length).is_some_and(f64::is_finite));
    let scale = length.as_ref().and_then(number).unwrap_or(1.0);
    let unit = text[length.unwrap_or(0)..].trim();
    (scale, unit.strip_prefix("per_").map_or_else(|| unit.to_owned(), |per| format!("1/{per}")))
}

/// `tma_L2_group`, `TopdownL2`, `PipelineL2` are level 2.
fn level(group: &str) -> Option<u32> {
    let digits = group
        .strip_prefix("tma_L")
        .and_then(|rest| rest.strip_suffix("_group"))
        .or_else(|| group.strip_prefix("TopdownL"))
        .or_else(|| group.strip_prefix("PipelineL"))?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = include_str!("../tests/samples/pmu-events.json");

    #[test]
    fn metrics_their_tree_and_what_is_wrong() {
        let model = read(SAMPLE.as_bytes(), "sample").unwrap();
        let lines: Vec<String> = model
            .metrics
            .iter()
            .map(|one| {
                format!(
                    "{} {} = {} [{}{}] level {:?} part of {:?} if {:?}",
                    one.line,
                    one.name,
                    one.expression,
                    one.scale,
                    one.unit,
                    one.level,
                    one.parent,
                    one.threshold.as_ref().map(ToString::to_string)
                )
            })
            .chain(model.problems.iter().map(ToString::to_string))
            .collect();
        insta::assert_snapshot!(lines.join("\n"));
        let values = model.evaluate(&|name| match name {
            "cycles" => Some(100.0),
            "cpu/idle,cmask=0x1/" => Some(80.0),
            "#smt_on" => Some(1.0),
            _ => None,
        });
        assert_eq!(values[1..3], [Ok(0.2), Ok(0.1)]);
    }

    #[test]
    fn what_stands_before_damage_is_kept() {
        let cut = &SAMPLE[..SAMPLE.find("front_late").unwrap()];
        let model = read(cut.as_bytes(), "cut").unwrap();
        assert_eq!(model.metrics.len(), 2);
        assert_eq!(model.problems.len(), 1);
        assert_eq!(model.problems[0].line, 9);
        let error = read(b"[ {", "cut").unwrap_err().to_string();
        assert!(error.starts_with("line 1: expected JSON with metrics: EOF"), "{error}");
        assert!(read(b"[]", "none").unwrap().metrics.is_empty());
    }
}
