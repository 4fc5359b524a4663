//! Answers of a store.
//!
//! Owns rows, totals, series and the lists of nodes and jobs, with their units. Figures that could
//! not be had are absent with a gap. The order of everything is fixed: the same batches in any
//! order give the same answer.

use serde::{Deserialize, Serialize};
use talea_model::shares::{Activity, Job, Sampler, UNEXPLAINED};
use talea_model::{Gap, GapKind, Gaps, Module, Nanos};

use crate::proportion::Proportion;
use crate::question::Dimension;

/// Use of cores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Dimensions of the keys of rows, in order.
    pub by: Vec<Dimension>,
    /// Most samples first, then by key.
    pub rows: Vec<Row>,
    /// How many rows there were before the question's limit.
    pub groups: u64,
    /// Totals and time of the answer.
    pub totals: Totals,
    /// Losses, and where the answer is coarser than the query.
    pub gaps: Gaps,
}

impl Answer {
    /// The share of `hits` in `n` samples of this answer. Missing samples of unknown activity make
    /// its interval wider.
    pub fn proportion(&self, hits: u64, n: u64) -> Option<Proportion> {
        Proportion::with_missing(hits, n, self.unexplained())
    }

    /// Missing samples of unknown activity in the time of the answer, which may be of any row.
    fn unexplained(&self) -> u64 {
        // Stores name the node before the text of its gap.
        let gaps = self.gaps.iter().filter(|gap| gap.kind == GapKind::Missing);
        let unexplained = gaps.filter(|gap| gap.detail.ends_with(UNEXPLAINED));
        unexplained.fold(0, |sum, gap| sum.saturating_add(gap.count))
    }

    /// The answer with intervals that cover its missing samples.
    pub(crate) fn widened(mut self) -> Self {
        let missing = self.unexplained();
        if missing > 0 {
            let (all, matched) = (self.totals.all_samples, self.totals.samples);
            for row in &mut self.rows {
                row.of_all = Proportion::with_missing(row.samples, all, missing);
                row.of_matched = Proportion::with_missing(row.samples, matched, missing);
            }
        }
        self
    }

    /// The answer with intervals that cover its missing samples, and with a gap for places in files
    /// beyond the limit: functions are sums of places, so that they lack it too.
    pub(crate) fn completed(self) -> Self {
        let mut answer = self.widened();
        answer.note_cut();
        answer
    }

    fn note_cut(&mut self) {
        let rows = self.rows.len() as u64;
        if self.by.contains(&Dimension::Function) && self.groups > rows {
            let kept = self.rows.iter().fold(0_u64, |sum, row| sum.saturating_add(row.samples));
            let groups = self.groups;
            self.gaps.note(Gap {
                kind: GapKind::MemoryBound,
                rank: None,
                detail: format!(
                    "of {groups} places in files the {rows} with most samples count: functions lack so many samples of the others"
                ),
                count: self.totals.samples.saturating_sub(kept),
            });
        }
    }
}

/// Totals and time of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Begin of the first slice that counts, and end of the last; absent where nothing was
    /// observed.
    pub time: Option<(Nanos, Nanos)>,
    /// Samples of this time that may be seen, idle ones included, whatever the filters.
    pub all_samples: u64,
    /// Their core seconds.
    pub all_core_seconds: f64,
    /// Samples that pass the filters.
    pub samples: u64,
    /// Their core seconds.
    pub core_seconds: f64,
}

/// A row of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// One value a dimension.
    pub key: Vec<Value>,
    /// How many.
    pub samples: u64,
    /// Samples times what each stood for.
    pub core_seconds: f64,
    /// Share of all samples of the time that may be seen.
    pub of_all: Option<Proportion>,
    /// Share of those that pass the filters.
    pub of_matched: Option<Proportion>,
}

/// A part of a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Value {
    /// There is none: no job, no file, no phase, or it is not kept so long.
    Absent,
    /// A name.
    Text(String),
    /// A user's or a core's number.
    Number(u64),
    /// Activity of the core.
    Activity(Activity),
    /// A place in a file.
    Function {
        /// The file; absent for generated code and while idle.
        module: Option<Module>,
        /// Virtual address in it.
        address: Option<u64>,
    },
}

/// Rows over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Dimensions of the keys, in order.
    pub by: Vec<Dimension>,
    /// The rows of the answer, in its order.
    pub keys: Vec<Vec<Value>>,
    /// Length of a step.
    pub step: Nanos,
    /// By time. Steps in which nothing was observed are missing.
    pub points: Vec<Point>,
    /// As in the answer.
    pub gaps: Gaps,
    /// The longest slice that counts, which may be longer than a step; 0 where that is not known.
    pub widest: Nanos,
}

impl Series {
    /// Gap of figures for intervals of this length: slices that are longer count where they begin.
    pub fn note_wide(&self, time: Nanos, gaps: &mut Gaps) {
        if self.widest > time {
            gaps.note(Gap {
                kind: GapKind::Estimated,
                rank: None,
                detail: format!(
                    "times are kept in slices of up to {} s, which count where they begin: figures of {} s are too high there and absent behind",
                    self.widest.seconds(),
                    time.seconds()
                ),
                count: 0,
            });
        }
    }
}

/// A step of a series. A slice counts where it begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Begin of the step, a multiple of its length since 1970.
    pub begin: Nanos,
    /// Samples in it that may be seen, whatever the filters.
    pub all_samples: u64,
    /// Samples in it that pass the filters, those of keys beyond the limit too.
    pub samples: u64,
    /// Samples of each key.
    pub by_key: Vec<u64>,
    /// Core seconds of each key.
    pub core_seconds: Vec<f64>,
}

/// A node that was heard of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSeen {
    /// Its name.
    pub name: String,
    /// Begin of its first batch; for a user, of the first slice with own work.
    pub first: Nanos,
    /// End of its last; for a user, of the last slice with own work.
    pub last: Nanos,
    /// Cores that its last batch sampled.
    pub cores: u32,
    /// How its last batch was sampled.
    pub sampler: Sampler,
    /// The longer of its last two slices, which is the interval of its agent where that is no
    /// shorter than the finest slices are: one that ends sends a short batch. Absent for users, and
    /// where a store cannot tell.
    #[serde(default)]
    pub interval: Option<Nanos>,
}

/// A job with samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobSeen {
    /// Its name and owner.
    pub job: Job,
    /// Begin of the first slice with it.
    pub first: Nanos,
    /// End of the last.
    pub last: Nanos,
    /// Nodes with it.
    pub nodes: u64,
    /// Its samples.
    pub samples: u64,
    /// Its core seconds.
    pub core_seconds: f64,
}
