//! What viewers of stacks and slices show of a trace.
//!
//! Owns which events are slices (those whose value 0 ends what another value began) and which are stacks: samples where there are
//! any, else the callers of MPI with the time spent there.

use std::collections::{BTreeMap, HashMap};

use talea_formats::profile::{Frame, Sample, SampledThread, Samples, Slice, Track, Unit};
use talea_model::trace::types;
use talea_model::{Nanos, Trace};

/// The name of a value, or its number.
fn named(trace: &Trace, event_type: u32, value: i64) -> String {
    trace.labels.value(event_type, value).map_or_else(|| value.to_string(), str::to_owned)
}

/// Whether values of a type begin something that value 0 ends, and what kind of thing that is.
fn category(event_type: u32) -> Option<&'static str> {
    match event_type {
        _ if types::MPI.contains(&event_type) => Some("mpi"),
        types::USER_FUNCTION => Some("function"),
        types::ITERATION => Some("iteration"),
        types::CLUSTER => Some("cluster"),
        _ if types::LOOP.contains(&event_type) => Some("loop"),
        _ => None,
    }
}

fn thread_name(trace: &Trace, location: u32) -> String {
    match (trace.locations.name(location), trace.locations.get(location)) {
        (Some(name), _) => name.to_owned(),
        (None, Some(place)) => format!("{}.{}.{}", place.application, place.task, place.thread),
        (None, None) => location.to_string(),
    }
}

/// Intervals of each thread.
pub(super) fn slices(trace: &Trace) -> Vec<Track> {
    let by_location = trace.events_by_location();
    let track = |location: u32| {
        let mut open: BTreeMap<u32, (u64, i64)> = BTreeMap::new();
        let mut slices = Vec::new();
        let mut close = |kind: u32, (begin, value): (u64, i64), end: u64| {
            let name = match kind {
                types::ITERATION => format!("iteration {value}"),
                _ if types::LOOP.contains(&kind) => {
                    let name =
                        trace.labels.event_type(kind).map_or("Loop", |one| one.label.as_str());
                    format!("{name} {value}")
                }
                _ => named(trace, kind, value),
            };
            slices.push(Slice {
                name,
                category: category(kind).unwrap_or_default().to_owned(),
                begin: Nanos(begin),
                end: Nanos(end.max(begin)),
            });
        };
        for &row in by_location.rows(location) {
            let Some(event) = trace.events.get(row as usize) else { continue };
            for (&kind, &value) in event.types.iter().zip(event.values) {
                if category(kind).is_none() {
                    continue;
                }
                if let Some(before) = open.remove(&kind) {
                    close(kind, before, event.time);
                }
                if value != 0 {
                    open.insert(kind, (event.time, value));
                }
            }
        }
        for (kind, before) in open {
            close(kind, before, trace.duration.0);
        }
        let place = trace.locations.get(location);
        Track {
            process: place.map_or(0, |place| place.task.saturating_sub(1)),
            thread: place.map_or(location, |place| place.thread.saturating_sub(1)),
            name: thread_name(trace, location),
            slices,
        }
    };
    (0..trace.locations.len() as u32).map(track).filter(|track| !track.slices.is_empty()).collect()
}

/// Frames by name and line, each once.
#[derive(Default)]
struct Frames {
    all: Vec<Frame>,
    known: HashMap<(String, Option<String>, Option<u32>), u32>,
}

impl Frames {
    fn number(&mut self, name: String, file: Option<String>, line: Option<u32>) -> u32 {
        let next = self.all.len() as u32;
        *self.known.entry((name.clone(), file.clone(), line)).or_insert_with(|| {
            self.all.push(Frame { name, file, line });
            next
        })
    }
}

/// What a label that Extrae shortened stands for: `curre..ooth [current_smooth]`.
pub(crate) fn whole(label: &str) -> &str {
    let (short, rest) = label.split_once(" [").unwrap_or((label, ""));
    rest.strip_suffix(']').filter(|_| short.contains("..")).unwrap_or(label)
}

/// `120 (halo.c, /src/halo.c)` as file and line. Extrae writes the program where others write the path.
fn line_of(label: &str) -> (Option<String>, Option<u32>) {
    let Some((line, rest)) = whole(label).split_once(" (") else { return (None, None) };
    let Some(line) = line.parse().ok().filter(|&line| line > 0) else { return (None, None) };
    let inside = rest.strip_suffix(')').unwrap_or(rest);
    let (name, path) = inside.split_once(", ").unwrap_or((inside, inside));
    let file = if path.ends_with(name) { path } else { name };
    (Some(file.to_owned()), Some(line))
}

/// Stacks with weights: of samples, or of calls of MPI. Absent where there are neither.
pub(super) fn stacks(trace: &Trace) -> Option<Samples> {
    let sampled = trace.events.types.contains(types::SAMPLE_CALLER.start());
    let (functions, lines) = if sampled {
        (types::SAMPLE_CALLER, types::SAMPLE_LINE)
    } else {
        (types::CALLER, types::CALLER_LINE)
    };
    let by_location = trace.events_by_location();
    let mut frames = Frames::default();
    let mut threads = Vec::new();
    for location in 0..trace.locations.len() as u32 {
        let mut samples = Vec::new();
        // The call that is open, with its stack.
        let mut open: Option<(u64, Vec<u32>)> = None;
        for &row in by_location.rows(location) {
            let Some(event) = trace.events.get(row as usize) else { continue };
            let mut stack: Vec<(u32, u32)> = Vec::new();
            let mut call = None;
            for (&kind, &value) in event.types.iter().zip(event.values) {
                if functions.contains(&kind) && value > 1 {
                    let depth = kind - functions.start();
                    let line = event.value(lines.start() + depth);
                    let label =
                        line.and_then(|line| trace.labels.value(lines.start() + depth, line));
                    let (file, line) = label.map_or((None, None), line_of);
                    let function = whole(&named(trace, kind, value)).to_owned();
                    stack.push((depth, frames.number(function, file, line)));
                } else if types::MPI.contains(&kind) {
                    call = Some((kind, value));
                }
            }
            stack.sort_unstable_by(|a, b| b.cmp(a));
            let mut stack: Vec<u32> = stack.into_iter().map(|(_, frame)| frame).collect();
            if sampled {
                if !stack.is_empty() {
                    samples.push(Sample { stack, weight: 1 });
                }
                continue;
            }
            let Some((kind, value)) = call else { continue };
            if let Some((begin, stack)) = open.take() {
                samples.push(Sample { stack, weight: event.time.saturating_sub(begin) });
            }
            if value != 0 {
                stack.push(frames.number(named(trace, kind, value), None, None));
                open = Some((event.time, stack));
            }
        }
        if !samples.is_empty() {
            threads.push(SampledThread { name: thread_name(trace, location), samples });
        }
    }
    if threads.is_empty() {
        return None;
    }
    let unit = if sampled { Unit::Count } else { Unit::Nanoseconds };
    let name = if sampled { "samples" } else { "time in MPI" };
    Some(Samples { name: name.to_owned(), unit, frames: frames.all, threads })
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
