//! A trace in the form of viewers of stacks.
//!
//! Owns the choice of the events that are stacks: samples where there are any, else the callers of
//! MPI with the time spent there.

use std::collections::HashMap;

use talea_formats::profile::{Frame, Sample, SampledThread, Samples, Unit};
use talea_model::Trace;
use talea_model::trace::types;

use crate::labels::{line_of, location_name, named, whole};

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

/// Stacks with weights: of samples, or of MPI calls. Absent where there are neither.
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
            threads.push(SampledThread { name: location_name(trace, location), samples });
        }
    }
    if threads.is_empty() {
        return None;
    }
    let unit = if sampled { Unit::Count } else { Unit::Nanoseconds };
    let name = if sampled { "samples" } else { "time in MPI" };
    Some(Samples { name: name.to_owned(), unit, frames: frames.all, threads })
}
