//! Counters that Talea knows by name: meaning, unit, and place.
//!
//! Owns PAPI's presets (`papi`), the generic events of Linux perf under the names that `perf list`
//! prints (`perf`), and figures of Talea's own from /proc, /sys and devices (`own`); and what can
//! be computed from others. It refuses reading them: a source decides which of them exist on a
//! machine, and knows native names.

mod own;
mod papi;
mod perf;

use std::borrow::Cow;

use talea_model::trace::types;

use crate::expression::Expression;

/// Description of a counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterSpec {
    /// Its name in monitors.
    pub name: Cow<'static, str>,
    /// Its unit.
    pub unit: Unit,
    /// Kind of its readings.
    pub kind: Kind,
    /// Kind of the places where it is read; `None` where only a running source knows.
    pub scope: Option<Scope>,
    /// One line for people, without a full stop.
    pub description: Cow<'static, str>,
}

/// Units of counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Events.
    Count,
    /// Seconds.
    Seconds,
    /// Nanoseconds, the kernel's unit of clocks.
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// Hertz.
    Hertz,
    /// A part of a whole, without a unit.
    Ratio,
}

impl Unit {
    /// Text after a number; empty for events and ratios.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Count | Self::Ratio => "",
            Self::Seconds => "s",
            Self::Nanoseconds => "ns",
            Self::Bytes => "B",
            Self::Hertz => "Hz",
        }
    }
}

/// Kind of a counter's readings: differences or values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// It only grows; a reading is the increase since the one before.
    Growing,
    /// It rises and falls; a reading is its value.
    Gauge,
}

/// Kind of the places at which a counter is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// One number a PU.
    Pu,
    /// One number a NUMA node.
    Numa,
    /// One number a package.
    Package,
    /// One number a device.
    Device,
    /// One number.
    Machine,
}

/// A line of a table: name, unit, kind, scope, description.
type Line = (&'static str, Unit, Kind, Scope, &'static str);

fn lines() -> impl Iterator<Item = &'static Line> {
    perf::LINES.iter().chain(own::LINES)
}

/// Description of a counter; `None` for native names, which only a source knows.
pub fn spec(name: &str) -> Option<CounterSpec> {
    let line = |&(name, unit, kind, scope, description): &Line| CounterSpec {
        name: name.into(),
        unit,
        kind,
        scope: Some(scope),
        description: description.into(),
    };
    if let Some(preset) = papi::preset(name) {
        return Some(preset);
    }
    let plain = perf::canonical(name);
    let mut known = lines().find(|known| known.0 == plain).map(line).or_else(|| own::family(name));
    if let Some(known) = &mut known {
        known.name = name.to_owned().into();
    }
    known
}

/// The name of PAPI's preset with this number, in the numbering of traces.
pub fn preset(number: usize) -> Option<&'static str> {
    papi::names().nth(number)
}

/// A counter's name from a trace's label: `42000050 PAPI_TOT_INS [Instr completed]`,
/// `(PAPI_TOT_INS) Instr completed` and `PAPI_TOT_INS ([Instr completed])` are all `PAPI_TOT_INS`.
/// Without a label the number of a preset determines the name.
pub fn name_in_trace(event_type: u32, label: Option<&str>) -> Option<String> {
    let Some(label) = label.map(str::trim).filter(|label| !label.is_empty()) else {
        let number = event_type.checked_sub(42_000_000)?;
        return preset(number as usize).map(str::to_owned);
    };
    if let Some((name, _)) = label.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        return Some(name.trim().to_owned());
    }
    let bracket = label.find(" [").or_else(|| label.find(" ("));
    Some(bracket.map_or(label, |at| &label[..at]).trim().to_owned())
}

/// True if a counter of a trace is one of the whole node or socket, which no thread has for itself:
/// by Extrae's numbers, and by tools' names. `label` is the trace's label of the type.
pub fn is_of_node(event_type: u32, label: Option<&str>) -> bool {
    if types::NODE_COUNTERS.contains(&event_type) {
        return true;
    }
    if !types::is_counter(event_type) {
        return false;
    }
    let Some(name) = name_in_trace(event_type, label) else { return false };
    let name = name.to_ascii_lowercase();
    ["unc_", "uncore_", "imc:", "rapl:", "nest_"].iter().any(|begin| name.starts_with(begin))
        || ["_unc_", "::unc_", "/power/"].iter().any(|part| name.contains(part))
}

/// All names that are fixed: no members of families such as `net:eth0:rx_bytes`, no aliases.
pub fn all() -> Vec<CounterSpec> {
    papi::names().chain(lines().map(|line| line.0)).filter_map(spec).collect()
}

/// Expressions over other counters that equal this one, the best first; the caller checks which of
/// those exist.
///
/// PAPI's presets and `perf::` names become generic events of perf, aliases of those each other,
/// and a few events of perf presets that count the same: a plug-in may use PAPI's names where perf
/// has no counters.
pub fn derived(name: &str) -> Vec<Expression> {
    let texts = papi::derived(name);
    let mut found: Vec<Expression> =
        texts.iter().filter_map(|text| Expression::parse(text).ok()).collect();
    found.extend(perf::aliases(name).into_iter().map(|alias| Expression::counter(&alias)));
    if perf::is_plain(name) {
        found.extend(papi::same_as(perf::canonical(name)).map(Expression::counter));
    }
    found
}

/// The longest known name with hyphens that begins the text and ends where a name can end.
pub(crate) fn hyphenated_prefix(text: &str) -> Option<&str> {
    let names = lines().map(|line| line.0).chain(perf::other_names());
    let ends = |name: &&str| {
        let next = text[name.len()..].bytes().next();
        !next.is_some_and(|c| c.is_ascii_alphanumeric() || c == b'_')
    };
    let fitting = names.filter(|name| name.contains('-') && text.starts_with(name)).filter(ends);
    fitting.max_by_key(|name| name.len()).map(|name| &text[..name.len()])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_there_once_and_read_as_themselves() {
        let all = all();
        let names: BTreeSet<_> = all.iter().map(|spec| &spec.name).collect();
        assert_eq!(names.len(), all.len());
        assert_eq!(papi::names().count(), 108);
        for spec in &all {
            let read = Expression::parse(&spec.name).unwrap();
            assert_eq!(read.as_counter(), Some(spec.name.as_ref()));
            assert!(!spec.description.is_empty() && !spec.description.ends_with('.'), "{spec:?}");
        }
    }

    #[test]
    fn derivations_are_expressions_over_known_names() {
        let mut derivable = 0;
        for name in papi::names() {
            let found = derived(name);
            assert_eq!(found.len(), papi::derived(name).len(), "{name}");
            for counter in found.iter().flat_map(Expression::counters) {
                assert!(
                    lines().any(|line| line.0 == perf::canonical(counter)),
                    "{name}: {counter}"
                );
            }
            derivable += usize::from(!found.is_empty());
        }
        assert!(derivable >= 25, "{derivable}");
        let text = |name| derived(name).first().map(ToString::to_string);
        assert_eq!(text("PAPI_TOT_INS").as_deref(), Some("instructions"));
        assert_eq!(text("perf::INSTRUCTIONS").as_deref(), Some("instructions"));
        assert_eq!(text("perf::PERF_COUNT_SW_PAGE_FAULTS").as_deref(), Some("\"page-faults\""));
        assert_eq!(text("cycles").as_deref(), Some("\"cpu-cycles\""));
        assert_eq!(text("cs").as_deref(), Some("\"context-switches\""));
        assert_eq!(text("PAPI_FP_OPS"), None);
        assert_eq!(text("instructions").as_deref(), Some("PAPI_TOT_INS"));
        let all = |name| derived(name).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(all("cycles"), ["\"cpu-cycles\"", "PAPI_TOT_CYC"]);
        assert_eq!(all("cycles:u"), ["\"cpu-cycles:u\""]);
    }

    #[test]
    fn counters_of_nodes_are_told_from_those_of_threads() {
        assert!(is_of_node(46_096_880, Some("anything")));
        assert!(is_of_node(44_000_001, Some("skx_unc_imc0::UNC_M_CAS_COUNT:RD:cpu=0")));
        assert!(is_of_node(42_001_000, Some("UNC_M_CAS_COUNT")));
        assert!(
            !is_of_node(42_000_050, Some("PAPI_TOT_INS"))
                && !is_of_node(44_000_001, Some("FUNC_CALLS"))
        );
        assert!(!is_of_node(30_000_000, Some("unc_of_a_sample")));
        assert!(!is_of_node(44_000_001, None));
    }

    #[test]
    fn families_and_modifiers() {
        use {Kind::*, Scope::*, Unit::*};
        let known = |name| spec(name).map(|spec| (spec.unit, spec.kind, spec.scope));
        assert_eq!(known("net:eth0:rx_bytes"), Some((Bytes, Growing, Some(Device))));
        assert_eq!(known("net:eth0.7:rx_errors"), Some((Count, Growing, Some(Device))));
        assert_eq!(known("net:*:rx_bytes"), Some((Bytes, Growing, Some(Device))));
        assert_eq!(known("ib:mlx5_0:port_xmit_data"), Some((Bytes, Growing, Some(Device))));
        assert_eq!(known("cycles:u"), Some((Count, Growing, Some(Pu))));
        assert_eq!(known("mem:used"), Some((Bytes, Gauge, Some(Numa))));
        assert_eq!(known("plugin:power"), Some((Count, Growing, None)));
        assert_eq!(known("ib:mlx5_0:1:port_xmit_data"), Some((Bytes, Growing, Some(Device))));
        assert_eq!(known("disk:sda:in_flight"), Some((Count, Gauge, Some(Device))));
        assert_eq!(known("cgroup:job_1:cpu.usage_usec"), Some((Seconds, Growing, Some(Machine))));
        assert_eq!(known("cgroup:job_1:cpu.usage"), Some((Seconds, Growing, Some(Machine))));
        assert_eq!(known("cgroup:io.rbytes"), Some((Bytes, Growing, Some(Machine))));
        assert_eq!(known("net:rx_bytes"), None);
        assert_eq!(known("net::"), None);
        assert_eq!(known("cycles:what"), None);
        assert_eq!(known("skl::MEM_LOAD_RETIRED:L3_MISS"), None);
    }
}
