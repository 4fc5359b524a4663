//! Samples of a run: what is asked of the library inside the processes, and what becomes of the
//! files that they leave.
//!
//! Owns the checks of names and rates before the program starts, the library's variables for it,
//! and which files are kept: where processes had MPI, those of launchers and shells are not; where
//! none had, those too short to tell anything are not.

use std::ffi::OsString;
use std::path::Path;

use serde_json::{Value, json};
use talea_model::{Bytes, Gaps};
use talea_run::{RunDirectory, samples};
use talea_sampling::threads::{Request, select};
use talea_sampling::{CounterSource, Offer, PerfSource, ProcSource, Root};

use crate::cli::Unwind;
use crate::terminal::{grouped, say};

/// Samples of a process without MPI, and without phases, that are too few to be of use.
const FEW: usize = 3;

/// What to sample.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sampling {
    /// The counter whose growth takes a sample; `task-clock` for a rate.
    pub(crate) trigger: String,
    /// Its growth from sample to sample; ns for clocks.
    pub(crate) period: u64,
    /// Samples a second that were asked for, if it was a rate.
    pub(crate) rate: Option<f64>,
    /// Sets of counters.
    pub(crate) sets: Vec<Vec<String>>,
    /// How stacks are found.
    pub(crate) unwind: Unwind,
}

/// Why samples cannot be taken like this.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SamplingError {
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
        /// What was probably meant.
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

/// What the kernel takes at most where it does not say.
const USUAL_MOST: u64 = 100_000;

impl Sampling {
    /// Finds what is wrong before the program starts. What this machine lacks is not wrong: the
    /// program may run on others.
    pub(super) fn check(&self) -> Result<(), SamplingError> {
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
    pub(super) fn variables(&self, out: &Path) -> Vec<(&'static str, OsString)> {
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
    pub(super) fn described(&self) -> [(String, Value); 3] {
        [
            ("sample_counter", json!(self.trigger)),
            ("sample_period", json!(self.period)),
            ("counters", json!(self.sets)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
    }
}

/// What was kept.
#[derive(Debug, Default)]
pub(super) struct Settled {
    /// Processes with files.
    pub(super) processes: usize,
    threads: usize,
    pub(super) samples: usize,
    bytes: Bytes,
    /// What is missing.
    pub(super) gaps: Gaps,
}

/// Removes files of processes that nobody asked for, and counts what is in the others.
pub(super) fn settle(directory: &RunDirectory) -> Settled {
    let paths = samples::files(directory).unwrap_or_default();
    let read = |path: &Path| {
        let bytes = std::fs::read(path).ok()?;
        samples::read(&bytes, path).ok()
    };
    // One at a time: they may be large.
    let ranks: Vec<bool> =
        paths.iter().map(|p| read(p).is_some_and(|s| s.world.is_some())).collect();
    let some = ranks.contains(&true);
    let mut settled = Settled::default();
    for (path, &ranked) in paths.iter().zip(&ranks) {
        let Some(process) = read(path) else { continue };
        let marked = process.threads.iter().any(|thread| !thread.phases.series.is_empty());
        if !ranked && (some || (process.samples() < FEW && !marked)) {
            if let Err(error) = std::fs::remove_file(path) {
                say(&format!("warning: cannot remove samples: {error}: `{}`", path.display()));
            }
            continue;
        }
        let with = process.threads.iter().filter(|thread| !thread.samples.series.is_empty());
        settled.processes += 1;
        settled.threads += with.count();
        settled.samples += process.samples();
        settled.bytes += Bytes(std::fs::metadata(path).map_or(0, |found| found.len()));
        settled.gaps.merge(process.gaps);
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

impl Settled {
    /// Prints the number of samples.
    pub(super) fn say(&self) {
        if self.samples == 0 {
            return say("samples  none");
        }
        let s = |count: usize| if count == 1 { "" } else { "s" };
        say(&format!(
            "samples  {} of {} thread{} in {} process{}, {}",
            grouped(self.samples as u64),
            self.threads,
            s(self.threads),
            self.processes,
            if self.processes == 1 { "" } else { "es" },
            self.bytes
        ));
    }
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
