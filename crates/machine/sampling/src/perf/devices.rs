//! Events of the PMUs that the kernel lists in `/sys/bus/event_source/devices`, and tracepoints.
//!
//! Owns the reading of `type`, `format/*`, `events/*` with `.scale` and `.unit`, `cpumask` and
//! `cpus`, and how terms such as `event=0x3c,umask=1` become bits. A name
//! `uncore_imc/cas_count_read/` means all PMUs `uncore_imc_0`, `uncore_imc_1` ... together, as it
//! does for perf. Follows `Documentation/ABI/testing/sysfs-bus-event_source-devices-*`.

use talea_topology::CpuSet;

use super::names::{Modifiers, TRACEPOINT};
use crate::cpus;
use crate::root::{Root, is_name};
use crate::sys::perf::Attributes;

const FOLDER: &str = "sys/bus/event_source/devices";
/// Where the kernel keeps tracepoints, if it is mounted.
const TRACING: [&str; 2] = ["sys/kernel/tracing/events", "sys/kernel/debug/tracing/events"];
/// Most PMUs of one name; the largest machines have a few hundred.
const MOST_INSTANCES: usize = 4096;
/// Most names that are listed.
const MOST_KNOWN: usize = 10_000;

/// An event of one or more PMUs of the same sort.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DeviceEvent {
    /// For each PMU its attributes, and the PUs through which it is read.
    pub(crate) instances: Vec<(Attributes, CpuSet)>,
    /// It counts for a whole package, not for a PU.
    pub(crate) shared: bool,
    /// Counts times this are in `unit`.
    pub(crate) scale: f64,
    pub(crate) unit: String,
}

/// The event of a name like `pmu/terms/modifiers`: none if it has not that form, or a sentence that
/// says what is wrong.
pub(crate) fn event(root: &Root, name: &str) -> Option<Result<DeviceEvent, String>> {
    let (pmu, rest) = name.split_once('/')?;
    let (terms, modifiers) = rest.split_once('/')?;
    let letters = modifiers.strip_prefix(':').unwrap_or(modifiers);
    let modifiers = match Modifiers::parse(letters) {
        Some(modifiers) => modifiers,
        None if letters.is_empty() => Modifiers::default(),
        None => return Some(Err(format!("expected modifiers u, k or h, found `{letters}`"))),
    };
    Some(resolve(root, pmu, terms, modifiers))
}

fn resolve(
    root: &Root,
    pmu: &str,
    terms: &str,
    modifiers: Modifiers,
) -> Result<DeviceEvent, String> {
    let mut found: Option<DeviceEvent> = None;
    for folder in instances(root, pmu) {
        let (mut event, shared) = one(root, &folder, terms)?;
        modifiers.apply(&mut event.instances[0].0);
        event.shared = shared;
        match &mut found {
            None => found = Some(event),
            Some(all) => all.instances.append(&mut event.instances),
        }
    }
    found.ok_or_else(|| {
        let all = pmus(root).join(", ");
        format!("no PMU `{}` on this machine (there are: {all})", shown(pmu))
    })
}

/// Folders of the PMUs that a name means: itself, or itself with a number.
fn instances(root: &Root, pmu: &str) -> Vec<String> {
    let numbered = |name: &String| {
        let rest = name.strip_prefix(pmu).map(|rest| rest.strip_prefix('_').unwrap_or(rest));
        !pmu.is_empty() && rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
    };
    let names = pmus(root).into_iter().filter(numbered).take(MOST_INSTANCES);
    names.map(|name| format!("{FOLDER}/{name}")).collect()
}

fn pmus(root: &Root) -> Vec<String> {
    root.names(FOLDER)
}

fn one(root: &Root, folder: &str, terms: &str) -> Result<(DeviceEvent, bool), String> {
    let kind = root.number(&format!("{folder}/type")).ok_or("its PMU has no type")?;
    let mut attributes = Attributes { kind: kind as u32, ..Attributes::default() };
    let (mut scale, mut unit) = (1.0, String::new());
    for term in terms.split(',').map(str::trim).filter(|term| !term.is_empty()) {
        let named = format!("{folder}/events/{term}");
        // The event's own words first, then those that the user put beside it.
        match (is_name(term) && !term.contains('=')).then(|| root.line(&named)).flatten() {
            Some(words) => {
                for word in words.split(',') {
                    set(root, folder, word.trim(), &mut attributes)?;
                }
                let number = root.line(&format!("{named}.scale")).and_then(|s| s.parse().ok());
                scale = number.filter(|s: &f64| s.is_finite()).unwrap_or(scale);
                unit = root.line(&format!("{named}.unit")).unwrap_or(unit);
            }
            None => set(root, folder, term, &mut attributes)?,
        }
    }
    let mask = cpus::list(root, &format!("{folder}/cpumask")).filter(|mask| !mask.is_empty());
    let some = cpus::list(root, &format!("{folder}/cpus"));
    let shared = mask.is_some();
    let pus = mask.or(some).unwrap_or_else(|| cpus::online(root));
    let unit: String = unit.chars().filter(|c| !c.is_control()).take(16).collect();
    Ok((DeviceEvent { instances: vec![(attributes, pus)], shared, scale, unit }, shared))
}

/// Sets the bits of one term: `event=0x3c`, `edge`, `config1=7`.
fn set(root: &Root, folder: &str, term: &str, attributes: &mut Attributes) -> Result<(), String> {
    let (key, value) = term.split_once('=').unwrap_or((term, "1"));
    let digits = value.strip_prefix("0x").or_else(|| value.strip_prefix("0X"));
    let value = match digits {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => value.parse(),
    }
    .map_err(|_| format!("expected a number after `{}=`, found `{}`", shown(key), shown(value)))?;
    if let Some(word) = word_of(key) {
        attributes.config[word] = value;
        return Ok(());
    }
    let format = is_name(key).then(|| root.line(&format!("{folder}/format/{key}"))).flatten();
    let Some(format) = format else {
        let mut words = root.names(&format!("{folder}/events"));
        words.retain(|name| !name.contains('.'));
        words.extend(root.names(&format!("{folder}/format")));
        words.truncate(20);
        let found = shown(key);
        return Err(format!("no event or term `{found}` (there are: {})", words.join(", ")));
    };
    place(&format, value, &mut attributes.config)
}

fn word_of(name: &str) -> Option<usize> {
    ["config", "config1", "config2", "config3"].iter().position(|word| *word == name)
}

/// Lays the bits of a value where a format such as `config:0-7,32-35` wants them, lowest first.
fn place(format: &str, value: u64, config: &mut [u64; 4]) -> Result<(), String> {
    let wrong = || format!("expected a format such as `config:0-7`, found `{}`", shown(format));
    let (word, ranges) = format.trim().split_once(':').ok_or_else(wrong)?;
    let word = word_of(word.trim()).ok_or_else(wrong)?;
    let mut rest = value;
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| text.trim().parse::<u32>().ok().filter(|&bit| bit < 64);
        let (first, last) =
            number(first).zip(number(last)).filter(|(a, b)| a <= b).ok_or_else(wrong)?;
        let width = last - first + 1;
        let mask = u64::MAX >> (64 - width);
        config[word] = config[word] & !(mask << first) | (rest & mask) << first;
        rest = rest.checked_shr(width).unwrap_or(0);
    }
    match rest {
        0 => Ok(()),
        _ => Err(format!("the number {value:#x} is too large for its term ({})", shown(format))),
    }
}

/// A text from outside, short enough for a message.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(80).collect()
}

/// Events that PMUs name, as `pmu/event/`; sorted.
pub(crate) fn known(root: &Root) -> Vec<String> {
    let mut names = Vec::new();
    for pmu in pmus(root) {
        let stem = pmu.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_');
        // `uncore_imc_3` is listed as `uncore_imc`; a PMU whose own name ends so has no siblings to
        // speak of.
        let stem = if stem.is_empty() || !pmu.contains('_') { &pmu } else { stem };
        let events = root.names(&format!("{FOLDER}/{pmu}/events"));
        let own =
            |name: &String| ![".scale", ".unit", ".snapshot"].iter().any(|s| name.ends_with(s));
        names.extend(events.into_iter().filter(own).map(|event| format!("{stem}/{event}/")));
    }
    for folder in TRACING {
        for system in root.names(folder) {
            let events = root.names(&format!("{folder}/{system}"));
            let all = events.into_iter().filter(|event| !matches!(&**event, "enable" | "filter"));
            names.extend(all.map(|event| format!("{system}:{event}")));
            if names.len() > MOST_KNOWN {
                break;
            }
        }
    }
    names.sort();
    names.dedup();
    names.truncate(MOST_KNOWN);
    names
}

/// The attributes of a tracepoint `system:event`, if there is such a one.
pub(crate) fn tracepoint(root: &Root, name: &str) -> Option<Attributes> {
    let (system, event) = name.split_once(':').filter(|(s, e)| is_name(s) && is_name(e))?;
    let id = |folder: &&str| root.number(&format!("{folder}/{system}/{event}/id"));
    let id = TRACING.iter().find_map(id)?;
    Some(Attributes { kind: TRACEPOINT, config: [id, 0, 0, 0], ..Attributes::default() })
}

#[cfg(test)]
#[path = "devices_tests.rs"]
mod tests;
