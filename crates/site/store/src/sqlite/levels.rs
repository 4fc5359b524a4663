//! Levels of slices, and which of them a question goes by.
//!
//! Owns that a time counts once: of an hour and the fine slices that it is the sum of, either it or
//! they are taken. An hour is taken where it lies in the question's time whole, its fine slices at
//! the ends of that time. It refuses to know what is asked of them.

use crate::question::Question;
use crate::sqlite::{DAY, HOUR};

/// Fine slices whose hour is not summed yet.
pub(super) const FINE: i64 = 0;
/// Hours and days, whose fine slices are gone.
pub(super) const HOURS: i64 = 1;
pub(super) const DAYS: i64 = 2;
/// An hour beside the fine slices that it is the sum of. Its width is that of the longest of them.
pub(super) const SUMMED: i64 = 3;
/// One of those.
pub(super) const BESIDE: i64 = 4;

/// How long batches are at most, as the file says. Files of before, in which they may be of a day,
/// say nothing until somebody writes to them.
const LONGEST: &str =
    "coalesce((SELECT value FROM setting WHERE name = 'longest'), 86400000000000)";

/// Which slices a question needs, where an hour is kept beside the fine slices that it is the sum
/// of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grain {
    /// The fine ones: begin and end are as exact as they can be, and cores and addresses are there.
    Fine,
    /// Hours that lie within the question's time, and fine ones at its ends.
    Hours,
}

impl Grain {
    /// Grain that the rows of a query need.
    pub(super) fn for_question(question: &Question) -> Self {
        if question.is_fine() { Self::Fine } else { Self::Hours }
    }

    /// Grain of a series, whose slices count where they begin.
    pub(super) fn of_series(question: &Question, step: i64) -> Self {
        if step % HOUR.0 as i64 == 0 { Self::for_question(question) } else { Self::Fine }
    }
}

/// Ends of the times that slices are taken of, in nanoseconds since 1970.
pub(super) struct Ends {
    pub(super) from: i64,
    pub(super) to: i64,
    /// Begin of the first hour that is taken whole; the end where none is.
    pub(super) first: i64,
    /// End of the last one.
    pub(super) last: i64,
}

impl Ends {
    pub(super) fn new(question: &Question, grain: Grain) -> Self {
        let [from, to] = [question.from, question.to].map(|at| at.0.min(i64::MAX as u64) as i64);
        let hour = HOUR.0 as i64;
        let (first, last) = (from.saturating_add((hour - from % hour) % hour), to - to % hour);
        if grain == Grain::Hours && first < last {
            return Self { from, to, first, last };
        }
        Self { from, to, first: to, last: to }
    }
}

fn touches(from: &str, to: &str) -> String {
    format!("s.begin < {to} AND s.begin + s.width > {from}")
}

/// The condition on slices that something else led to.
pub(super) fn touched(from: &str, to: &str, first: &str, last: &str) -> String {
    let touches = touches(from, to);
    format!(
        "CASE s.level WHEN {SUMMED} THEN s.begin >= {first} AND s.begin < {last}
         WHEN {BESIDE} THEN {touches} AND NOT (s.begin >= {first} AND s.begin < {last})
         ELSE {touches} END"
    )
}

/// A table `w` of levels and what begins of their slices lie between, by how long these are at
/// most: so the index has a lower end, and what is read does not grow with the file.
pub(super) fn table(from: &str, to: &str, first: &str, last: &str) -> String {
    format!(
        "(VALUES({FINE}, {from} - {LONGEST}, {to}), ({HOURS}, {from} - {hour}, {to}), ({DAYS}, {from} - {day}, {to}),
         ({SUMMED}, {first} - 1, {last}), ({BESIDE}, {from} - {LONGEST}, {first}),
         ({BESIDE}, {last} - 1, {to})) w",
        hour = HOUR.0,
        day = DAY.0,
    )
}

/// The condition on slices beside that table.
pub(super) fn in_table(from: &str, to: &str) -> String {
    let touches = touches(from, to);
    format!(
        "s.level = w.column1 AND s.begin > w.column2 AND s.begin < w.column3
         AND (s.level = {SUMMED} OR {touches})"
    )
}

/// The width of a slice, unless it is an hour beside the fine slices that it is the sum of.
pub(super) fn own_width() -> String {
    format!("CASE s.level WHEN {SUMMED} THEN NULL ELSE s.width END")
}

/// Columns of begin and end of slices, but of hours that only sum others up.
pub(super) fn times() -> String {
    let unless = |value: &str| format!("CASE s.level WHEN {SUMMED} THEN NULL ELSE {value} END");
    format!("min({}), max({})", unless("s.begin"), unless("s.begin + s.width"))
}

/// Columns of such hours: begin of the first and of the last, and the longest of their fine slices.
pub(super) fn hours() -> String {
    let of = |value: &str| format!("CASE s.level WHEN {SUMMED} THEN {value} END");
    format!("min({0}), max({0}), max({1})", of("s.begin"), of("s.width"))
}
