//! The metrics that conditions may speak of, by name.
//!
//! Owns the names and what they mean; docs/rules.md lists them. A name that is none of these and no
//! counter that the catalogue knows is a mistake of the rule, which is said with the name that was
//! probably meant; other counters are `counter:NAME`.

use talea_metric::{catalogue, suggest};
use talea_store::{Dimension, Proportion};

/// A metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Metric {
    /// Share of busy samples in the program.
    User(End),
    /// Share of busy samples in the kernel.
    Kernel(End),
    /// Share of busy samples in libraries of MPI and networks.
    Mpi(End),
    /// Share of all samples in which cores did something.
    Busy(End),
    /// The same outside MPI.
    Computing(End),
    /// Share of all samples in which a job's cores did nothing.
    Waiting(End),
    /// Share of all samples in which cores were idle, whatever their owner.
    Idle(End),
    /// Samples.
    Samples,
    /// Core seconds that they stand for.
    CoreSeconds,
    /// Nodes that were seen.
    Nodes,
    /// Cores that were seen.
    Cores,
    /// Seconds since the last batch of the node.
    Silent,
    /// The same in intervals of the node.
    Intervals,
    /// A tenth of how busy the cores are: 0 the minimum, 10 the maximum.
    CoresAt(Does, u8),
    /// Share of busy samples in the one that has most of them.
    Most(Dimension, End),
    /// Share of busy samples in those that are like this.
    Like(Dimension, String, End),
    /// Share of the job's or node's busy samples that this one of `each` has.
    Share(End),
    /// Counts a second of a core.
    Counter(String),
}

/// Activity by which cores are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    /// Anything: all but idle samples.
    Busy,
    /// Anything outside MPI.
    Computing,
}

/// Which value of a share: itself, or an end of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The share.
    Itself,
    /// The lower end.
    Low,
    /// The upper end.
    High,
}

impl End {
    /// Of so many samples of so many.
    pub(crate) fn value(self, part: u64, all: u64) -> Option<f64> {
        let found = Proportion::new(part, all)?;
        Some(match self {
            Self::Itself => found.share,
            Self::Low => found.low,
            Self::High => found.high,
        })
    }
}

const SHARES: [&str; 12] = [
    "user",
    "kernel",
    "mpi",
    "busy",
    "computing",
    "waiting",
    "idle",
    "share",
    "library",
    "executable",
    "phase",
    "function",
];
const OTHERS: [&str; 6] = ["samples", "core_seconds", "nodes", "cores", "silent", "intervals"];
const TENTHS: [&str; 22] = [
    "busy.min",
    "busy.p10",
    "busy.p20",
    "busy.p30",
    "busy.p40",
    "busy.p50",
    "busy.p60",
    "busy.p70",
    "busy.p80",
    "busy.p90",
    "busy.max",
    "computing.min",
    "computing.p10",
    "computing.p20",
    "computing.p30",
    "computing.p40",
    "computing.p50",
    "computing.p60",
    "computing.p70",
    "computing.p80",
    "computing.p90",
    "computing.max",
];

/// The dimension that a word in front of a pattern, or in a text, stands for.
pub(crate) fn dimension(word: &str) -> Option<Dimension> {
    Some(match word {
        "library" => Dimension::Library,
        "executable" => Dimension::Executable,
        "phase" => Dimension::Phase,
        "function" => Dimension::Function,
        _ => return None,
    })
}

impl Metric {
    /// The metric of a name.
    ///
    /// # Errors
    /// Says which are expected, and which was probably meant.
    pub(crate) fn from_name(name: &str) -> Result<Self, String> {
        if let Some(at) = TENTHS.iter().position(|known| *known == name) {
            let does = if at < 11 { Does::Busy } else { Does::Computing };
            return Ok(Self::CoresAt(does, (at % 11) as u8));
        }
        let (base, end) = match name.rsplit_once('.') {
            Some((base, "low")) => (base, End::Low),
            Some((base, "high")) => (base, End::High),
            _ => (name, End::Itself),
        };
        match (base, end) {
            ("user", _) => return Ok(Self::User(end)),
            ("kernel", _) => return Ok(Self::Kernel(end)),
            ("mpi", _) => return Ok(Self::Mpi(end)),
            ("busy", _) => return Ok(Self::Busy(end)),
            ("computing", _) => return Ok(Self::Computing(end)),
            ("waiting", _) => return Ok(Self::Waiting(end)),
            ("idle", _) => return Ok(Self::Idle(end)),
            ("share", _) => return Ok(Self::Share(end)),
            ("samples", End::Itself) => return Ok(Self::Samples),
            ("core_seconds", End::Itself) => return Ok(Self::CoreSeconds),
            ("nodes", End::Itself) => return Ok(Self::Nodes),
            ("cores", End::Itself) => return Ok(Self::Cores),
            ("silent", End::Itself) => return Ok(Self::Silent),
            ("intervals", End::Itself) => return Ok(Self::Intervals),
            _ => {}
        }
        if let Some(dimension) = dimension(base) {
            return Ok(Self::Most(dimension, end));
        }
        match name.split_once(':') {
            Some(("counter", counter)) if !counter.is_empty() => {
                return Ok(Self::Counter(counter.to_owned()));
            }
            // Patterns may end in anything, so that the ends of the interval stand in front:
            // `library.low:*/libm.so*`.
            Some((word, pattern)) if !pattern.is_empty() => {
                let (word, end) = match word.rsplit_once('.') {
                    Some((word, "low")) => (word, End::Low),
                    Some((word, "high")) => (word, End::High),
                    _ => (word, End::Itself),
                };
                if let Some(dimension) = dimension(word) {
                    return Ok(Self::Like(dimension, pattern.to_owned(), end));
                }
            }
            _ => {}
        }
        if catalogue::spec(name).is_some() {
            return Ok(Self::Counter(name.to_owned()));
        }
        let counters = catalogue::all();
        let known = counters.iter().map(|counter| counter.name.as_ref());
        let meant = suggest(name, SHARES.into_iter().chain(OTHERS).chain(TENTHS).chain(known));
        let meant = meant.map_or_else(
            || "docs/rules.md lists them; counters of other names are `counter:NAME`".to_owned(),
            |meant| format!("perhaps `{meant}`"),
        );
        Err(format!("expected a metric or a counter, found `{name}`: {meant}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(Metric::from_name("kernel.low"), Ok(Metric::Kernel(End::Low)));
        assert_eq!(Metric::from_name("busy.p20"), Ok(Metric::CoresAt(Does::Busy, 2)));
        let most = Metric::CoresAt(Does::Computing, 10);
        assert_eq!(Metric::from_name("computing.max"), Ok(most));
        assert_eq!(Metric::from_name("mpi.low"), Ok(Metric::Mpi(End::Low)));
        assert_eq!(Metric::from_name("library"), Ok(Metric::Most(Dimension::Library, End::Itself)));
        let like = Metric::Like(Dimension::Library, "*/libm.so.low".to_owned(), End::High);
        assert_eq!(Metric::from_name("library.high:*/libm.so.low"), Ok(like));
        assert_eq!(Metric::from_name("page-faults"), Ok(Metric::Counter("page-faults".to_owned())));
        assert_eq!(Metric::from_name("counter:x y"), Ok(Metric::Counter("x y".to_owned())));
        for (wrong, said) in
            [("kernal", "`kernel`"), ("samples.low", "samples"), ("", "lists them")]
        {
            let error = Metric::from_name(wrong).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
