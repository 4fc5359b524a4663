//! Damage to files of metrics.
//!
//! Owns what is done with whatever can still be read of them: every value is asked for, and every
//! expression must come back as it was.

use talea_formats::{likwid, models, perfmon, pmu_events};
use talea_metric::Expression;

/// Reads the bytes as a kind of file, and as what they look like.
pub(super) fn model(target: &str, bytes: &[u8]) -> Result<(), String> {
    let as_named = match target {
        "perfmon" => perfmon::read(bytes, "any").ok(),
        "pmu-events" => pmu_events::read(bytes, "any").ok(),
        _ => Some(likwid::read(bytes, "any")),
    };
    for model in [as_named, models::read(bytes, "any").ok()].into_iter().flatten() {
        let number = |name: &str| (!name.len().is_multiple_of(3)).then_some(name.len() as f64);
        let values = model.evaluate(&number);
        if let Some(value) = values.iter().flatten().find(|value| !value.is_finite()) {
            return Err(format!("a value of {value}"));
        }
        let _ = (model.exceeded(&values, &number), model.splits(&values));
        if model.tree().len() != model.metrics.len() {
            return Err("a tree of another size".to_owned());
        }
        for metric in &model.metrics {
            let text = metric.expression.to_string();
            if Expression::parse(&text).as_ref() != Ok(&metric.expression) {
                return Err(format!("another expression: {text}"));
            }
        }
    }
    Ok(())
}
