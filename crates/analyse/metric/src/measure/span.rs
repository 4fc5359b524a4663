//! The analysed part of a trace.
//!
//! Owns the choice: all of it, between two times, or, as POP does, from the end of the last
//! `MPI_Init` to the begin of the first `MPI_Finalize`. Names in the trace's own labels win over
//! the numbers that calls usually have.

use talea_model::trace::types;
use talea_model::{GapKind, Gaps, Nanos, Trace};

use super::{MeasureError, is_mpi, note};

/// Requested part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// Between MPI's begin and end, where the trace has them; else all of it.
    #[default]
    BetweenInitAndFinalize,
    /// All of it.
    Whole,
    /// From and to these times; an absent end is that of the trace.
    Between(Option<Nanos>, Option<Nanos>),
}

/// Origin of the part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Chosen {
    /// From the end of the last `MPI_Init` to the begin of the first `MPI_Finalize`, if the trace
    /// has them.
    BetweenInitAndFinalize,
    /// All of the trace.
    Whole,
    /// The requested part.
    Asked,
}

/// A part of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// From the start of the trace.
    pub begin: Nanos,
    /// After the begin.
    pub end: Nanos,
    /// Its origin.
    pub chosen: Chosen,
}

impl Span {
    /// Chooses the part; unmet requests are gaps.
    ///
    /// # Errors
    /// An empty part.
    pub fn select(trace: &Trace, part: Part, gaps: &mut Gaps) -> Result<Self, MeasureError> {
        let whole = (Nanos(0), duration(trace));
        let (begin, end, chosen) = match part {
            Part::Whole => (whole.0, whole.1, Chosen::Whole),
            Part::Between(begin, end) => {
                let end = end.unwrap_or(whole.1).0.min(whole.1.0);
                (begin.unwrap_or(whole.0), Nanos(end), Chosen::Asked)
            }
            Part::BetweenInitAndFinalize => match bounds(trace) {
                (None, None) => (whole.0, whole.1, Chosen::Whole),
                (begin, end) => {
                    let (begin, end) = (begin.unwrap_or(whole.0), end.unwrap_or(whole.1));
                    if begin < end {
                        (begin, end, Chosen::BetweenInitAndFinalize)
                    } else {
                        let what = "MPI_Init ends behind the first MPI_Finalize: all of the trace is looked at";
                        note(gaps, GapKind::Damaged, what.to_owned(), 0);
                        (whole.0, whole.1, Chosen::Whole)
                    }
                }
            },
        };
        if begin >= end {
            return Err(MeasureError::Empty { duration: whole.1, begin, end });
        }
        Ok(Self { begin, end, chosen })
    }

    /// Its duration.
    pub fn length(&self) -> Nanos {
        self.end - self.begin
    }

    /// True if most of an interval is in it: its middle, which of two parts that follow each other
    /// lies in one.
    pub fn holds(&self, begin: u64, end: u64) -> bool {
        (self.begin.0..self.end.0).contains(&begin.midpoint(end))
    }

    /// The part of an interval that is in it; `None` where it is empty.
    pub(super) fn clip(&self, begin: u64, end: u64) -> Option<(u64, u64)> {
        let (begin, end) = (begin.max(self.begin.0), end.min(self.end.0));
        (begin < end).then_some((begin, end))
    }
}

/// The end of the trace, or of its last record where the header says less.
fn duration(trace: &Trace) -> Nanos {
    let states = trace.states.end.iter().filter(|&&end| end != talea_model::trace::UNKNOWN_TIME);
    let last = states.chain(&trace.events.time).copied().max().unwrap_or_default();
    Nanos(trace.duration.0.max(last))
}

/// The end of the last `MPI_Init` and the begin of the first `MPI_Finalize`.
fn bounds(trace: &Trace) -> (Option<Nanos>, Option<Nanos>) {
    let calls = Calls::of(trace);
    let (mut init, mut finalize): (Option<u64>, Option<u64>) = (None, None);
    let mut inside = vec![false; trace.locations.len()];
    let by_location = trace.events_by_location();
    for location in 0..trace.locations.len() as u32 {
        for &row in by_location.rows(location) {
            let Some(record) = trace.events.get(row as usize) else { continue };
            for (&event_type, &value) in record.types.iter().zip(record.values) {
                if !is_mpi(event_type) {
                    continue;
                }
                let inside = &mut inside[location as usize];
                if value == 0 && *inside {
                    *inside = false;
                    init = init.max(Some(record.time));
                } else if calls.is_init(event_type, value) {
                    *inside = true;
                } else if calls.is_finalize(event_type, value) {
                    finalize = Some(finalize.map_or(record.time, |first| first.min(record.time)));
                }
            }
        }
    }
    (init.map(Nanos), finalize.map(Nanos))
}

/// Values that begin and end MPI.
struct Calls {
    init: Vec<(u32, i64)>,
    finalize: Vec<(u32, i64)>,
}

impl Calls {
    fn of(trace: &Trace) -> Self {
        let (mut init, mut finalize) = (Vec::new(), Vec::new());
        for event_type in types::MPI {
            let Some(values) = trace.labels.values(event_type) else {
                init.extend(types::MPI_INIT.map(|value| (event_type, value)));
                finalize.push((event_type, types::MPI_FINALIZE));
                continue;
            };
            for (value, label) in values.iter().filter(|(value, _)| *value != 0) {
                match label.trim() {
                    "MPI_Init" | "MPI_Init_thread" => init.push((event_type, value)),
                    "MPI_Finalize" => finalize.push((event_type, value)),
                    _ => {}
                }
            }
        }
        Self { init, finalize }
    }

    fn is_init(&self, event_type: u32, value: i64) -> bool {
        self.init.contains(&(event_type, value))
    }

    fn is_finalize(&self, event_type: u32, value: i64) -> bool {
        self.finalize.contains(&(event_type, value))
    }
}

/// Begin and end in nanoseconds.
pub(super) type Interval = (u64, u64);
