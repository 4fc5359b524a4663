//! Times in options: nanoseconds as a number, or text such as `1.5s`.
//!
//! Owns the part of an input that they choose.

use pyo3::prelude::*;
use talea_metric::measure::Part;
use talea_model::{Nanos, notation};

use crate::errors::wrong;

/// A time as Python gives it.
#[derive(FromPyObject)]
pub(crate) enum Time {
    /// Nanoseconds.
    Nanos(u64),
    /// A number with a unit.
    Text(String),
}

impl Time {
    /// The time.
    pub(crate) fn nanos(&self) -> PyResult<Nanos> {
        match self {
            Self::Nanos(nanos) => Ok(Nanos(*nanos)),
            Self::Text(text) => notation::time(text).map_err(wrong),
        }
    }
}

/// The time of an option that may be absent.
pub(crate) fn optional(time: Option<&Time>) -> PyResult<Option<Nanos>> {
    time.map(Time::nanos).transpose()
}

/// The part of an input.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PartArgs {
    begin: Option<Time>,
    end: Option<Time>,
    with_init: bool,
}

impl PartArgs {
    /// The chosen part.
    pub(crate) fn part(&self) -> PyResult<Part> {
        let (begin, end) = (optional(self.begin.as_ref())?, optional(self.end.as_ref())?);
        match (self.with_init, begin.or(end)) {
            (true, Some(_)) => Err(wrong("expected with_init, or begin and end, found both")),
            (true, None) => Ok(Part::Whole),
            (false, Some(_)) => Ok(Part::Between(begin, end)),
            (false, None) => Ok(Part::BetweenInitAndFinalize),
        }
    }
}
