//! Readings of counters folded into objects, then expressions evaluated there.
//!
//! A [`Plan`] is made once from a topology, monitors, and the places of each counter's readings.
//! For each frame, the readings at all places in an object become one number (`AGG`), and the
//! monitor's expression is evaluated with those: a ratio of sums, not a sum of ratios, unless the
//! monitor requests otherwise (`WHEN`).
//!
//! Owns the membership in objects, windows and sums over time, and the reasons for absent values
//! ([`Plan::gaps`]). A counter that is read at coarser places than the monitor's objects has no
//! values there. It refuses reading counters, and allocation per frame beyond the frame.

mod contain;
mod coverage;
mod history;
mod plan;
#[cfg(test)]
mod tests;

use talea_metric::expression::Expression;
use talea_model::gaps::Gaps;

use self::contain::Members;
pub use self::contain::objects_of;
pub use self::coverage::is_of_other_use;
use self::history::History;
use crate::monitors::Aggregate;
use crate::objects::ObjectId;
use crate::values::{Frame, Place, Readings};

/// Maximum total of numbers in the windows of all monitors.
pub const MOST_HISTORY: usize = 1 << 24;

/// Conversion of readings to values.
#[derive(Clone, Debug)]
pub struct Plan {
    counters: Vec<String>,
    places: Vec<Vec<Place>>,
    gaps: Gaps,
    /// Memberships; several monitors share one.
    members: Vec<Members>,
    columns: Vec<Column>,
    monitors: Vec<Planned>,
    /// Inputs of a monitor, one after another; then the values of its rows.
    inputs: Vec<f64>,
    values: Vec<f64>,
    scratch: Vec<f64>,
}

/// A counter folded into rows; several monitors share one.
#[derive(Clone, Debug)]
struct Column {
    counter: usize,
    members: usize,
    aggregate: Aggregate,
    numbers: Vec<f64>,
}

/// One monitor.
#[derive(Clone, Debug)]
struct Planned {
    name: String,
    objects: Vec<ObjectId>,
    /// `None` where it has no values here; a gap has the reason.
    work: Option<Work>,
}

#[derive(Clone, Debug)]
struct Work {
    /// The columns for the expression's counters.
    columns: Vec<usize>,
    gauges: Vec<bool>,
    rows: usize,
    expression: Expression,
    per_second: bool,
    /// Folding of rows into objects, unless they are the objects.
    fold: Option<(Members, Aggregate)>,
    history: History,
}

impl Plan {
    /// The counters to read, in the order in which [`Readings`] must have them.
    pub fn counters(&self) -> &[String] {
        &self.counters
    }

    /// The places of each counter, in the order in which [`Readings`] must have them.
    pub fn places(&self) -> &[Vec<Place>] {
        &self.places
    }

    /// Number of monitors.
    pub fn monitors(&self) -> usize {
        self.monitors.len()
    }

    /// The objects of a monitor, in the order of the tree; empty for an unknown number.
    pub fn objects(&self, monitor: usize) -> &[ObjectId] {
        self.monitors.get(monitor).map_or(&[], |planned| &planned.objects)
    }

    /// True if a monitor can have values at all; if not, a gap has the reason.
    pub fn is_supported(&self, monitor: usize) -> bool {
        self.monitors.get(monitor).is_some_and(|planned| planned.work.is_some())
    }

    /// Gaps: values that cannot be shown here with the reason, and readings that sums since the
    /// start lack so far.
    pub fn gaps(&self) -> Gaps {
        let mut gaps = self.gaps.clone();
        for planned in &self.monitors {
            if let Some(Work { history: History::Sum { missed: missed @ 1.., .. }, .. }) =
                &planned.work
            {
                plan::note_missed(&mut gaps, &planned.name, *missed);
            }
        }
        gaps
    }

    /// The values of all monitors. Numbers that readings lack are absent.
    pub fn frame(&mut self, readings: &Readings) -> Frame {
        let mut frame = Frame::default();
        self.frame_into(readings, &mut frame);
        frame
    }

    /// The same into an existing frame, whose memory is reused. Its phase stays.
    pub fn frame_into(&mut self, readings: &Readings, frame: &mut Frame) {
        (frame.at, frame.span) = (readings.at, readings.span);
        frame.values.resize_with(self.monitors.len(), Vec::new);
        for column in &mut self.columns {
            let numbers = readings.numbers.get(column.counter).map_or(&[][..], Vec::as_slice);
            fold(&self.members[column.members], column.aggregate, numbers, &mut column.numbers);
        }
        let span = readings.span.seconds();
        for (planned, values) in self.monitors.iter_mut().zip(&mut frame.values) {
            match &mut planned.work {
                None => {
                    values.clear();
                    values.resize(planned.objects.len(), f64::NAN);
                }
                Some(work) => {
                    self.inputs.clear();
                    for &column in &work.columns {
                        self.inputs.extend_from_slice(&self.columns[column].numbers);
                    }
                    self.inputs.resize(self.inputs.len() + work.rows, span);
                    work.history.take(&mut self.inputs, work.rows, &work.gauges);
                    match &work.fold {
                        None => work.evaluate(&self.inputs, &mut self.scratch, values),
                        Some((members, aggregate)) => {
                            work.evaluate(&self.inputs, &mut self.scratch, &mut self.values);
                            fold(members, *aggregate, &self.values, values);
                        }
                    }
                }
            }
        }
    }
}

impl Work {
    /// The value of each row.
    fn evaluate(&self, inputs: &[f64], scratch: &mut Vec<f64>, values: &mut Vec<f64>) {
        values.clear();
        let (columns, spans) = inputs.split_at(self.columns.len() * self.rows);
        self.expression.eval_rows(columns, self.rows, scratch, values);
        if self.per_second {
            for (value, span) in values.iter_mut().zip(spans) {
                // A division by no time is infinite, which counts as absent.
                let rate = *value / span;
                *value = if rate.is_finite() { rate } else { f64::NAN };
            }
        }
    }
}

/// Combines the columns of each row to one number; `NaN` where there is no column, or where one is
/// absent.
fn fold(members: &Members, aggregate: Aggregate, numbers: &[f64], into: &mut Vec<f64>) {
    into.clear();
    let number = |&column: &u32| numbers.get(column as usize).copied().unwrap_or(f64::NAN);
    let either = |a: f64, b: f64, least: bool| match (a.is_nan() || b.is_nan(), least) {
        (true, _) => f64::NAN,
        (false, true) => a.min(b),
        (false, false) => a.max(b),
    };
    into.extend(members.rows().map(|columns| {
        let Some((first, rest)) = columns.split_first() else { return f64::NAN };
        let (first, rest) = (number(first), rest.iter().map(number));
        match aggregate {
            Aggregate::Sum => rest.fold(first, |a, b| a + b),
            Aggregate::Mean => rest.fold(first, |a, b| a + b) / columns.len() as f64,
            Aggregate::Min => rest.fold(first, |a, b| either(a, b, true)),
            Aggregate::Max => rest.fold(first, |a, b| either(a, b, false)),
        }
    }));
}

/// Imbalance of values: the maximum divided by their mean, 1 where all are equal. Absent values do
/// not count; `None` where there are none, where one is negative, and where the mean is zero.
pub fn imbalance(values: &[f64]) -> Option<f64> {
    let present = || values.iter().copied().filter(|value| value.is_finite());
    let count = present().count();
    let mean = present().sum::<f64>() / count as f64;
    let greatest = present().fold(f64::NEG_INFINITY, f64::max);
    (count > 0 && present().all(|value| value >= 0.0) && mean > 0.0).then(|| greatest / mean)
}
