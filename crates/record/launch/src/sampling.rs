//! Samples of a run: what is asked of the library inside the processes, and what becomes of the
//! files that they leave.
//!
//! Owns the checks of names and rates before the program starts, the library's variables for it,
//! and which files are kept: where processes had MPI, those of launchers and shells are not; where
//! none had, those too short to tell anything are not.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use talea_model::{Bytes, Gaps};
use talea_run::samples::{ProcessId, ProcessSamples};
use talea_run::{RunDirectory, samples};
use talea_sampling::threads::{Request, select};
use talea_sampling::{CounterSource, Offer, PerfSource, ProcSource, Root};

use crate::Unwind;

/// Samples of a process without MPI, and without phases, that are too few to be of use.
const FEW: usize = 3;

/// Options of sampling.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    /// The counter whose growth takes a sample; `task-clock` for a rate.
    pub trigger: String,
    /// Its growth from sample to sample; ns for clocks.
    pub period: u64,
    /// Samples a second that were asked for, if it was a rate.
    pub rate: Option<f64>,
    /// Sets of counters.
    pub sets: Vec<Vec<String>>,
    /// How stacks are found.
    pub unwind: Unwind,
}

/// Why samples cannot be taken like this.
#[derive(Debug, thiserror::Error)]
pub enum SamplingError {
    /// More than the kernel takes.
    #[error(
        "the kernel takes at most {most} samples a second, found {rate}: ask for less, or raise kernel.perf_event_max_sample_rate"
    )]
    Rate {
        /// Asked for.
        rate: f64,
        /// Its limit.
        most: u64,
    },
    /// A name that nothing knows.
    #[error("no counter of this name{}: `{name}`", hint(nearest.as_deref()))]
    Counter {
        /// As it was written.
        name: String,
        /// The name that was probably meant.
        nearest: Option<String>,
    },
    /// It does not belong to threads.
    #[error(
        "expected a counter of perf events, which count for threads; this one counts for the whole machine: `{0}`"
    )]
    Machine(String),
}

fn hint(nearest: Option<&str>) -> String {
    match nearest {
        Some(name) => format!(", did you mean `{name}`?"),
        None => " (`talea topo --counters` has all)".to_owned(),
    }
}

/// Default of the kernel's maximum, where it does not state one.
const USUAL_MOST: u64 = 100_000;

impl Sampling {
    /// Finds what is wrong before the program starts. What this machine lacks is not wrong: the
    /// program may run on others.
    pub(crate) fn check(&self) -> Result<(), SamplingError> {
        let root = Root::machine();
        let most = root.number("proc/sys/kernel/perf_event_max_sample_rate");
        let most = most.unwrap_or(USUAL_MOST);
        if let Some(rate) = self.rate.filter(|&rate| rate > most as f64) {
            return Err(SamplingError::Rate { rate, most });
        }
        let perf = PerfSource::new(root.clone());
        for name in self.sets.iter().flatten().chain([&self.trigger]) {
            if perf.offers(name) != Offer::No {
                continue;
            }
            if ProcSource::new(root.clone()).offers(name) != Offer::No {
                return Err(SamplingError::Machine(name.clone()));
            }
            let known = perf.known();
            let nearest = talea_metric::suggest(name, known.iter().map(String::as_str));
            return Err(SamplingError::Counter { name: name.clone(), nearest });
        }
        Ok(())
    }

    /// The library's variables.
    pub(crate) fn variables(&self, out: &Path) -> Vec<(&'static str, OsString)> {
        let sets: Vec<String> = self.sets.iter().map(|set| set.join(",")).collect();
        let unwind = if self.unwind == Unwind::Fp { "fp" } else { "dwarf" };
        vec![
            ("TALEA_SAMPLES", samples::folder(out).into()),
            ("TALEA_SAMPLE", format!("{}={}", self.trigger, self.period).into()),
            ("TALEA_SAMPLE_COUNTERS", sets.join(";").into()),
            ("TALEA_SAMPLE_UNWIND", unwind.into()),
        ]
    }

    /// For `run.json`.
    pub(crate) fn described(&self) -> [(String, Value); 3] {
        [
            ("sample_counter", json!(self.trigger)),
            ("sample_period", json!(self.period)),
            ("counters", json!(self.sets)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
    }
}

/// Samples that were kept.
#[derive(Debug, Default)]
pub struct Settled {
    /// Number of processes with samples.
    pub processes: usize,
    /// Number of threads with samples.
    pub threads: usize,
    /// Number of samples.
    pub samples: usize,
    /// Size of the files.
    pub bytes: Bytes,
    /// Gaps: missing samples.
    pub gaps: Gaps,
    /// Warnings, a sentence each.
    pub warnings: Vec<String>,
}

/// Leaves out processes that nobody asked for, and counts what is in the others.
pub fn settle(directory: &RunDirectory) -> Settled {
    let paths = samples::files(directory).unwrap_or_default();
    let read = |path: &Path| {
        let bytes = std::fs::read(path).ok()?;
        samples::read(&bytes, path).ok()
    };
    // One file at a time: they may be large.
    let ranked = |path: &PathBuf| {
        read(path).is_some_and(|found| found.processes.iter().any(|one| one.world.is_some()))
    };
    let has_ranks = paths.iter().any(ranked);
    let is_asked_for = |process: &ProcessSamples| {
        let marked = process.threads.iter().any(|thread| !thread.phases.series.is_empty());
        process.world.is_some() || (!has_ranks && (process.samples() >= FEW || marked))
    };
    let mut settled = Settled::default();
    for path in &paths {
        let Some(found) = read(path) else { continue };
        let (kept, others): (Vec<_>, Vec<_>) = found.processes.into_iter().partition(is_asked_for);
        let others: Vec<ProcessId> = others.iter().map(ProcessSamples::id).collect();
        let left_out = if kept.is_empty() {
            std::fs::remove_file(path)
        } else {
            samples::leave_out(path, &others)
        };
        if let Err(error) = left_out {
            let path = path.display();
            settled.warnings.push(format!("cannot leave out samples: {error}: `{path}`"));
        }
        if kept.is_empty() {
            continue;
        }
        settled.bytes += Bytes(std::fs::metadata(path).map_or(0, |found| found.len()));
        settled.gaps.merge(found.gaps);
        for process in kept {
            let with = process.threads.iter().filter(|thread| !thread.samples.series.is_empty());
            settled.processes += 1;
            settled.threads += with.count();
            settled.samples += process.samples();
            settled.gaps.merge(process.gaps);
        }
    }
    if settled.samples == 0 {
        let request =
            Request { trigger: "task-clock".to_owned(), period: 10_000_000, ..Request::default() };
        if let Err(reason) = select(&Root::machine(), &request) {
            let detail = format!("nothing is sampled: {reason}");
            let kind = talea_model::GapKind::Unsupported;
            settled.gaps.note(talea_model::Gap { kind, rank: None, detail, count: 0 });
        }
    }
    settled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampling(trigger: &str, sets: &[&[&str]]) -> Sampling {
        let set = |set: &&[&str]| set.iter().map(|&name| name.to_owned()).collect();
        Sampling {
            trigger: trigger.to_owned(),
            period: 1000,
            rate: None,
            sets: sets.iter().map(set).collect(),
            unwind: Unwind::Dwarf,
        }
    }

    #[test]
    fn names_and_rates_are_checked() {
        // What is known need not be there.
        assert!(sampling("instructions", &[&["cycles", "page-faults"]]).check().is_ok());
        let wrong = sampling("task-clock", &[&["page-fault"]]).check().unwrap_err().to_string();
        assert_eq!(wrong, "no counter of this name, did you mean `page-faults`?: `page-fault`");
        let wrong = sampling("mem:used", &[]).check().unwrap_err().to_string();
        assert!(wrong.ends_with("whole machine: `mem:used`"), "{wrong}");
        let fast = Sampling { rate: Some(1e9), ..sampling("task-clock", &[]) };
        assert!(fast.check().unwrap_err().to_string().contains("perf_event_max_sample_rate"));
    }

    #[test]
    fn sets_reach_the_library() {
        let variables = sampling("cycles", &[&["a", "b"], &["c"]]).variables(Path::new("/run"));
        let text: Vec<_> = variables.iter().map(|(_, value)| value.to_str().unwrap()).collect();
        assert_eq!(text, ["/run/samples", "cycles=1000", "a,b;c", "dwarf"]);
    }
}
