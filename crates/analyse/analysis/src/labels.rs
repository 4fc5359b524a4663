//! Labels of a trace in the form of other tools' viewers.
//!
//! Owns names of values, of places in the source, and of ranks and threads, which count from 0 as
//! usual. Names of rows that only repeat numbers (`THREAD 1.1.1`) are not used.

use talea_model::Trace;
use talea_model::trace::{EventRecord, types};

/// The name of a value, or its number.
pub fn named(trace: &Trace, event_type: u32, value: i64) -> String {
    trace.labels.value(event_type, value).map_or_else(|| value.to_string(), str::to_owned)
}

/// `rank 3 on node07`, with the application where there are several.
pub fn process_name(trace: &Trace, location: u32) -> String {
    let Some(place) = trace.locations.get(location) else { return location.to_string() };
    let application = match trace.locations.applications() {
        0 | 1 => String::new(),
        _ => format!("application {}, ", place.application),
    };
    let host = place.node.and_then(|node| {
        let hosts = trace.locations.level("NODE")?;
        Some(format!(" on {}", hosts.get(node as usize - 1)?))
    });
    format!("{application}rank {}{}", place.task - 1, host.unwrap_or_default())
}

/// The trace's own name of a thread, else its number in the rank.
pub fn thread_name(trace: &Trace, location: u32) -> String {
    let number = trace.locations.get(location).map_or(location, |place| place.thread - 1);
    own_name(trace, location).map_or_else(|| format!("thread {number}"), str::to_owned)
}

/// A thread with its rank.
pub fn location_name(trace: &Trace, location: u32) -> String {
    let process = process_name(trace, location);
    if has_threads(trace, location) || own_name(trace, location).is_some() {
        format!("{process}, {}", thread_name(trace, location))
    } else {
        process
    }
}

/// True if the process of a location has several threads.
pub fn has_threads(trace: &Trace, location: u32) -> bool {
    let locations = &trace.locations;
    let Some(place) = locations.get(location) else { return false };
    place.thread > 1 || locations.find(place.application, place.task, 2).is_some()
}

/// A name that is more than `THREAD` and numbers.
fn own_name(trace: &Trace, location: u32) -> Option<&str> {
    let name = trace.locations.name(location)?.trim();
    let rest = name.strip_prefix("THREAD").unwrap_or(name);
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | ' ');
    (!rest.chars().all(is_number)).then_some(name)
}

/// Place of a call: the direct caller's line, else its function.
pub fn site(trace: &Trace, event: &EventRecord<'_>) -> Option<String> {
    let (function, line) = (*types::CALLER.start(), *types::CALLER_LINE.start());
    let label = |kind: u32| trace.labels.value(kind, event.value(kind)?);
    let known = |value: i64| value > 1;
    label(line).and_then(place).or_else(|| {
        event.value(function).filter(|&value| known(value))?;
        label(function).map(|label| whole(label).to_owned())
    })
}

/// `file.F90:71` for a label such as `71 (file.F90, program)`; `None` for unknown lines.
pub fn place(label: &str) -> Option<String> {
    let label = whole(label);
    let Some((number, rest)) = label.split_once(" (") else {
        // Labels of unknown lines in traces.
        return (!matches!(label, "End" | "Unresolved" | "Not found")).then(|| label.to_owned());
    };
    let file = rest.trim_end_matches(')').split(',').next().unwrap_or_default();
    let known = number.parse::<u64>().is_ok_and(|n| n > 0) && !file.is_empty();
    known.then(|| format!("{}:{number}", file.trim()))
}

/// The full name in a label that Extrae shortened: `curre..ooth [current_smooth]`.
pub fn whole(label: &str) -> &str {
    let (short, rest) = label.split_once(" [").unwrap_or((label, ""));
    rest.strip_suffix(']').filter(|_| short.contains("..")).unwrap_or(label)
}

/// `120 (halo.c, /src/halo.c)` as file and line. Extrae writes the program where others write the
/// path.
pub fn line_of(label: &str) -> (Option<String>, Option<u32>) {
    let Some((line, rest)) = whole(label).split_once(" (") else { return (None, None) };
    let Some(line) = line.parse().ok().filter(|&line| line > 0) else { return (None, None) };
    let inside = rest.strip_suffix(')').unwrap_or(rest);
    let (name, path) = inside.split_once(", ").unwrap_or((inside, inside));
    let file = if path.ends_with(name) { path } else { name };
    (Some(file.to_owned()), Some(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_labels() {
        assert_eq!(
            line_of("120 (halo.c, /src/halo.c)"),
            (Some("/src/halo.c".to_owned()), Some(120))
        );
        assert_eq!(line_of("120 (halo.c)"), (Some("halo.c".to_owned()), Some(120)));
        assert_eq!(
            line_of("31 (curre..ooth.F90) [31 (current_smooth.F90, epoch2d)]"),
            (Some("current_smooth.F90".to_owned()), Some(31))
        );
        assert_eq!(line_of("0 (., libc-2.28.so)"), (None, None));
        assert_eq!(whole("_end [0x0021f018-0x0021f017]"), "_end [0x0021f018-0x0021f017]");
        assert_eq!(whole("__hel..sity [__helper_MOD_density]"), "__helper_MOD_density");
        assert_eq!(line_of("Unresolved"), (None, None));
        assert_eq!(line_of(""), (None, None));
    }
}
