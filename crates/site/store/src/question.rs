//! Queries of a store.
//!
//! Owns the form of questions and what of them cannot be meant. It refuses to know how they are
//! answered. Who may see what is part of the question, so that no caller can forget it.

use serde::{Deserialize, Serialize};
use talea_model::notation::moment;
use talea_model::shares::Activity;
use talea_model::{Gap, GapKind, Gaps, Nanos};

use crate::arrival::{LONGEST_INTERVAL, cut};
use crate::error::StoreError;
use crate::glob;

/// Most rows of an answer.
pub const MOST_ROWS: usize = 100_000;
/// Most steps of a series.
pub const MOST_POINTS: u64 = 20_000;
/// Most figures of a series: steps times the question's limit.
pub const MOST_FIGURES: u64 = 5_000_000;

/// A question. Filters that are absent let everything through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Permission of the user. There is no default: forgetting it does not compile.
    pub visible: Visible,
    /// Begin of the time, in nanoseconds since 1970. Slices that the time only touches count whole;
    /// the answer says so.
    pub from: Nanos,
    /// Its end, not included.
    pub to: Nanos,
    /// Name of the node.
    #[serde(default)]
    pub node: Option<Text>,
    /// The scheduler's name of the job.
    #[serde(default)]
    pub job: Option<Text>,
    /// The user: the owner of the job, else of the process.
    #[serde(default)]
    pub user: Option<u32>,
    /// Path of what the process executes.
    #[serde(default)]
    pub executable: Option<Text>,
    /// Path of the file that the address lies in.
    #[serde(default)]
    pub library: Option<Text>,
    /// Name of the phase.
    #[serde(default)]
    pub phase: Option<Text>,
    /// The core, as the kernel numbers it.
    #[serde(default)]
    pub core: Option<u32>,
    /// Activity of the core.
    #[serde(default)]
    pub activity: Option<Activity>,
    /// Columns that separate rows; empty for one row of everything.
    #[serde(default)]
    pub by: Vec<Dimension>,
    /// Most rows; the rest is in the totals.
    pub limit: usize,
}

/// Permission of a query. All other samples add to nothing, not even to totals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Visible {
    /// Everything: operators.
    All,
    /// Samples of this user: own jobs, with the idle time of their cores, and own processes outside
    /// jobs.
    User(u32),
}

/// Filter by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Text {
    /// Exactly this.
    Is(String),
    /// Like this, where `*` stands for any characters and `?` for one. There is no escape and there
    /// are no sets.
    Like(String),
}

impl Text {
    /// The filter of a text: names with `*` or `?` stand for all that match.
    pub fn pattern(text: &str) -> Self {
        let text = text.to_owned();
        if text.contains(['*', '?']) { Self::Like(text) } else { Self::Is(text) }
    }

    /// True for names that it asks for. What was cut when it was kept is found by its whole name
    /// too.
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::Is(text) => cut(text) == name,
            Self::Like(pattern) => glob::matches(pattern, name),
        }
    }
}

/// Dimensions of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dimension {
    /// Name of the node.
    Node,
    /// Name of the job.
    Job,
    /// The user.
    User,
    /// Path of what the process executes, whatever its build.
    Executable,
    /// Path of the file that the address lies in, whatever its build.
    Library,
    /// Build of that file and the address in it, to be resolved to a function.
    Function,
    /// Name of the phase.
    Phase,
    /// The core.
    Core,
    /// Activity of the core.
    Activity,
}

impl Question {
    /// The period of this length until now; all times without a length. The slice that is not over
    /// yet counts: its end may be after now by at most a slice; later ones are of wrong clocks.
    pub fn period(last: Option<Nanos>, now: Nanos) -> (Nanos, Nanos) {
        match last {
            Some(last) => (now - last, now + LONGEST_INTERVAL),
            None => (Nanos(0), Nanos(i64::MAX as u64)),
        }
    }

    /// Everything that may be seen of a time, as one row.
    pub fn everything(visible: Visible, from: Nanos, to: Nanos) -> Self {
        Self {
            visible,
            from,
            to,
            node: None,
            job: None,
            user: None,
            executable: None,
            library: None,
            phase: None,
            core: None,
            activity: None,
            by: Vec::new(),
            limit: 1000,
        }
    }

    /// Contradictions in it.
    ///
    /// # Errors
    /// Says what was expected.
    pub fn check(&self) -> Result<(), StoreError> {
        let refused = |why: String| Err(StoreError::Question { why });
        if self.to <= self.from {
            return refused(format!("end {} is not after begin {}", self.to.0, self.from.0));
        }
        if self.limit > MOST_ROWS {
            return refused(format!("limit {}, expected at most {MOST_ROWS}", self.limit));
        }
        for (place, dimension) in self.by.iter().enumerate() {
            if self.by[..place].contains(dimension) {
                return refused(format!("{dimension:?} is asked for twice in `by`"));
            }
        }
        Ok(())
    }

    /// The same for a series.
    pub(crate) fn check_series(&self, step: Nanos) -> Result<(), StoreError> {
        self.check()?;
        let points = (self.to - self.from).0.checked_div(step.0);
        if points.is_none_or(|points| points > MOST_POINTS) {
            let why =
                format!("step of {} ns, expected at most {MOST_POINTS} steps and not 0", step.0);
            return Err(StoreError::Question { why });
        }
        let figures = points.unwrap_or(0).saturating_add(1).saturating_mul(self.limit as u64);
        if figures > MOST_FIGURES {
            let why = format!(
                "series of {figures} figures, expected steps times limit to be at most {MOST_FIGURES}"
            );
            return Err(StoreError::Question { why });
        }
        Ok(())
    }

    /// Says where an answer is of more time than was asked for.
    pub(crate) fn note_wider(&self, time: Option<(Nanos, Nanos)>, gaps: &mut Gaps) {
        let Some((begin, end)) = time.filter(|&(begin, end)| begin < self.from || end > self.to)
        else {
            return;
        };
        gaps.note(Gap {
            kind: GapKind::Estimated,
            rank: None,
            detail: format!(
                "times are kept in slices, which count whole: the answer is of {} to {}",
                moment(begin),
                moment(end)
            ),
            count: 0,
        });
    }

    /// True when it needs what only fine slices keep.
    pub(crate) fn is_fine(&self) -> bool {
        self.core.is_some()
            || self.by.iter().any(|by| matches!(by, Dimension::Core | Dimension::Function))
    }
}
