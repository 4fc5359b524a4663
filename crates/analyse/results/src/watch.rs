//! A running program: the JSON of `talea watch`.
//!
//! Owns the keys. Keys that end in `_ns` are whole nanoseconds; shares are of 1.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use talea_model::{Gaps, Nanos};

/// The state of a run at one look.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WatchData {
    /// Number of the look, from 1.
    pub look: u64,
    /// True if a process of the run is running.
    pub running: bool,
    /// Time since the first process called `MPI_Init`.
    pub time_ns: Nanos,
    /// Time since the look before, or since the start.
    pub interval_ns: Nanos,
    /// Time that the look took.
    pub took_ns: Nanos,
    /// Number of events of all threads.
    pub events: u64,
    /// Number of them since the look before.
    pub new_events: u64,
    /// Number of further events that had ended and are left for the next look.
    pub left_events: u64,
    /// Number of nodes of the ranks' event flow graphs together.
    pub nodes: usize,
    /// Number of their edges.
    pub edges: usize,
    /// Part of the threads' time since the look before, on edges that were new to the thread; null
    /// where no event ended.
    pub change: Option<f64>,
    /// Begin of the first of at least three looks in a row with changes of at most .01, up to now;
    /// null where the structure is not steady.
    pub steady_since_ns: Option<Nanos>,
    /// Part of the ranks' time in MPI, excluding `MPI_Init` and `MPI_Finalize`.
    pub mpi_share: f64,
    /// The same since the look before.
    pub recent_mpi_share: f64,
    /// The main loop; null where none is known yet, or no times are kept.
    pub main_loop: Option<LoopNow>,
    /// Clusters of the computation between calls; null where no times are kept, or before there
    /// are 100 bursts.
    pub clusters: Option<ClustersNow>,
    /// Call sites by time since the look before, then by time.
    pub sites: Vec<SiteNow>,
    /// Ranks in order. Of many ranks on other hosts, those that stand out: killed or aborted ones,
    /// those with the maximum and the minimum time in MPI, those with the fewest iterations, and
    /// the first; at most 4,096.
    pub ranks: Vec<RankNow>,
    /// Number of ranks that are not listed; all sums contain them.
    pub other_ranks: u64,
    /// Missing data.
    pub gaps: Gaps,
}

impl WatchData {
    /// True if nothing more can come: the run has ended and its events are read, but for those of a
    /// damaged record, which are never read.
    pub fn is_last(&self) -> bool {
        !self.running && (self.left_events == 0 || self.new_events == 0)
    }
}

/// The main loop at a look.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LoopNow {
    /// Innermost function common to its calls, with its lines.
    pub place: String,
    /// The call whose visits are its iterations.
    pub counted_by: String,
    /// Rank that these durations and iterations belong to.
    pub rank: u32,
    /// Number of iterations of that rank, the current one included.
    pub iterations: u64,
    /// Minimum over the ranks that run it.
    pub min_iterations: u64,
    /// Maximum over these ranks.
    pub max_iterations: u64,
    /// Part of that rank's time in the loop.
    pub share: f64,
    /// Mean duration of the rank's whole iterations.
    pub mean_ns: Nanos,
    /// Standard deviation of the durations divided by their mean.
    pub variation: f64,
    /// Durations over time.
    pub history: Vec<IterationGroup>,
}

/// Neighbouring iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct IterationGroup {
    /// Begin of the first one, since the rank's `MPI_Init`.
    pub begin_ns: Nanos,
    /// Number of iterations.
    pub count: u64,
    /// Mean duration.
    pub mean_ns: Nanos,
    /// Minimum duration.
    pub min_ns: Nanos,
    /// Maximum duration.
    pub max_ns: Nanos,
}

/// Clusters of bursts (computation between two calls of a thread) by duration, and by the calls at
/// both ends where these separate kinds. All bursts with known times count.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ClustersNow {
    /// Time of this clustering since the first process called `MPI_Init`.
    pub at_ns: Nanos,
    /// Number of bursts.
    pub bursts: u64,
    /// The sum of their durations.
    pub time_ns: Nanos,
    /// True if the calls at both ends separate clusters.
    pub by_calls: bool,
    /// Part of the time in bursts that are left out: short ones, and those beyond the maximum
    /// number of bins.
    pub short_share: f64,
    /// Part of the time in bursts in no cluster (noise).
    pub noise_share: f64,
    /// Part of the time in clusters beyond those of `clusters`.
    pub others_share: f64,
    /// Time of the first of at least three clusterings in a row that are equivalent; null where
    /// they are not stable. At first, equivalent clusters overlap with a margin of 5 %, have at
    /// least 15 % of their time on common pairs of calls, and hold at least 85 % of the time.
    pub stable_since_ns: Option<Nanos>,
    /// Number of times that these requirements were lowered: after three clusterings in a row that
    /// are not equivalent.
    pub lowered: usize,
    /// At most 32 clusters, by time.
    pub clusters: Vec<ClusterNow>,
}

/// A cluster at a look.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ClusterNow {
    /// Its number, the same at all looks.
    pub id: u32,
    /// Part of the time of all bursts.
    pub share: f64,
    /// Part of the time of the bursts since the previous clustering.
    pub recent_share: f64,
    /// Number of bursts.
    pub bursts: u64,
    /// Mean duration.
    pub mean_ns: Nanos,
    /// Minimum duration, with an error of at most 1.6 %.
    pub min_ns: Nanos,
    /// Maximum duration, with an error of at most 1.6 %.
    pub max_ns: Nanos,
    /// Number of threads that have bursts of it; a minimum where other hosts do not know the
    /// cluster yet.
    pub threads: usize,
    /// The call before its bursts, of the pair of calls with the maximum time: procedure and place.
    pub after: String,
    /// The call after its bursts, of the same pair.
    pub before: String,
}

/// A call site at a look.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SiteNow {
    /// Procedure and place: `MPI_Waitall halo.c:120`.
    pub site: String,
    /// Number of calls; a series of unsuccessful polls is one.
    pub calls: u64,
    /// Time inside them, of all threads, `MPI_Init` and `MPI_Finalize` included.
    pub time_ns: Nanos,
    /// The same divided by the time of all threads.
    pub share: f64,
    /// The share since the look before.
    pub recent_share: f64,
}

/// A rank at a look.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RankNow {
    /// Rank in `MPI_COMM_WORLD`; null before it is known.
    pub rank: Option<u32>,
    /// Number of the world: 0 was started first.
    pub world: usize,
    /// Its host.
    pub host: String,
    /// Its state: `running`, `finalized`, `aborted`, `exited` or `killed`.
    pub state: RankState,
    /// Number of events of its threads.
    pub events: u64,
    /// Visits of the call that counts the iterations of the main loop; null where it has none, or
    /// its host does not know the call yet.
    pub iterations: Option<u64>,
    /// Part of its time in MPI, excluding `MPI_Init` and `MPI_Finalize`. Only the thread that
    /// initialised MPI counts.
    pub mpi_share: f64,
    /// The same since the look before.
    pub recent_mpi_share: f64,
    /// The call that it is in; null between calls.
    pub inside: Option<OpenCall>,
}

/// A call that has not returned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenCall {
    /// Procedure and place.
    pub site: String,
    /// Time since its begin.
    pub since_ns: Nanos,
}

/// Progress of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RankState {
    /// It is running, or on another host, where that cannot be seen.
    Running,
    /// It called `MPI_Finalize`.
    Finalized,
    /// It called `MPI_Abort`.
    Aborted,
    /// It left through `exit` without `MPI_Finalize`.
    Exited,
    /// It stopped without notice.
    Killed,
}

impl RankState {
    /// The state as a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Finalized => "finalized",
            Self::Aborted => "aborted",
            Self::Exited => "exited",
            Self::Killed => "killed",
        }
    }
}
