//! Contract of a source of counters.
//!
//! Owns the trait that all sources implement, and the words between them and who asks: what is
//! offered, for which target, at which places. Sources never sleep and never read a clock: who
//! calls says what time it is.

pub use talea_metric::Scope;
use talea_model::{Gaps, Nanos};
use talea_topology::Place;

/// Description of a counter by its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// Where it is read.
    pub scope: Scope,
    /// Its unit: `s`, `ns`, `B`, `J` ...; empty for plain counts.
    pub unit: String,
    /// It only grows and a reading is its growth; otherwise it is a gauge and a reading is its
    /// value.
    pub growing: bool,
}

impl Offered {
    pub(crate) fn growing(scope: Scope, unit: &str) -> Self {
        Self { scope, unit: unit.to_owned(), growing: true }
    }

    pub(crate) fn gauge(scope: Scope, unit: &str) -> Self {
        Self { scope, unit: unit.to_owned(), growing: false }
    }
}

/// Whether a source has a counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offer {
    /// It does.
    Yes(Offered),
    /// It does not know the name.
    No,
    /// It knows the name, but cannot read it here; the reason, with what would help.
    Refused(String),
}

/// Target of counting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Everything that runs.
    Machine,
    /// All threads of these processes, also later ones.
    Processes {
        /// Their numbers.
        pids: Vec<u32>,
        /// Processes that they start count too, and those that these start.
        children: bool,
    },
}

/// A counter that is being counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// Where; readings have a number for each, in this order. None if the counter could not be had:
    /// a gap says why.
    pub places: Vec<Place>,
}

/// Why counting could not begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// None of the processes is there.
    #[error("expected a running process, found none with number {pids}")]
    NoProcess {
        /// Their numbers.
        pids: String,
    },
    /// More counters than descriptors.
    #[error(
        "{needed} file descriptors are needed for {counters} counters at {places} places and the limit is {limit}: raise it \
         (`ulimit -Hn`), or ask for fewer counters"
    )]
    Descriptors {
        /// How many this takes.
        needed: usize,
        /// Counters asked for.
        counters: usize,
        /// PUs, or PUs times threads.
        places: usize,
        /// Hard limit of the process.
        limit: u64,
    },
}

/// Counters from one place of origin.
pub trait CounterSource: Send {
    /// How it is called in every output: `perf_event`, `proc`, `simulated ...`.
    fn name(&self) -> &str;

    /// Whether it has this counter, here and now.
    fn offers(&self, counter: &str) -> Offer;

    /// Names for lists and suggestions, sorted; further ones may be offered too.
    fn known(&self) -> Vec<String>;

    /// Begins to count, each counter from zero; what was opened before is closed. One answer for
    /// each counter, in their order.
    fn open(
        &mut self,
        counters: &[String],
        target: &Target,
        gaps: &mut Gaps,
    ) -> Result<Vec<Opened>, OpenError>;

    /// How much each counter grew since the reading before (or what it is), `NaN` where that is not
    /// known.
    ///
    /// `at` is the time since counting began. `numbers` has a list for each counter with a number
    /// for each of its places.
    fn read(&mut self, at: Nanos, numbers: &mut [Vec<f64>], gaps: &mut Gaps);
}

/// A gap without a rank.
/// A gap of all ranks, of an unknown size.
pub fn gap(kind: talea_model::GapKind, detail: String) -> talea_model::Gap {
    talea_model::Gap { kind, rank: None, detail, count: 0 }
}
