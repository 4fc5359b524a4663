//! Names of counters.

use talea_metric::catalogue;
use talea_model::trace::Labels;

/// The short name of a counter: that of the trace's own labels, else that of a preset, else its
/// number.
pub fn counter_name(labels: &Labels, event_type: u32) -> String {
    let label = labels.event_type(event_type).map(|one| one.label.as_str());
    let name = catalogue::name_in_trace(event_type, label).filter(|name| !name.is_empty());
    name.unwrap_or_else(|| event_type.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_have_names_without_labels() {
        assert_eq!(counter_name(&Labels::default(), 42_000_059), "PAPI_TOT_CYC");
        assert_eq!(counter_name(&Labels::default(), 42_001_008), "42001008");
    }
}
