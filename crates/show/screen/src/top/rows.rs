//! From a store's answer to the rows of the screen.
//!
//! Owns names, order and filter of rows, and their parts: user, kernel, in MPI, waiting, idle. Idle
//! time stands above all rows and is not a row itself, unless rows are cores.

use std::collections::BTreeMap;

use talea_model::shares::Activity;
use talea_store::{Answer, Proportion, Value};

use super::state::{Order, State};
use super::view::View;

/// Samples by activity, in the order of the bar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) user: u64,
    pub(super) kernel: u64,
    pub(super) mpi: u64,
    pub(super) waiting: u64,
    pub(super) idle: u64,
}

impl Parts {
    fn add(&mut self, activity: &Value, samples: u64) {
        let part = match activity {
            Value::Activity(Activity::User) => &mut self.user,
            Value::Activity(Activity::Kernel) => &mut self.kernel,
            Value::Activity(Activity::Mpi) => &mut self.mpi,
            Value::Activity(Activity::Waiting) => &mut self.waiting,
            _ => &mut self.idle,
        };
        *part = part.saturating_add(samples);
    }

    /// Of an answer by activity.
    pub(super) fn from_answer(answer: &Answer) -> Self {
        let mut parts = Self::default();
        for row in &answer.rows {
            if let Some(activity) = row.key.last() {
                parts.add(activity, row.samples);
            }
        }
        parts
    }

    /// In the order of [`Activity::ALL`].
    pub(super) fn each(self) -> [u64; 5] {
        [self.user, self.kernel, self.mpi, self.waiting, self.idle]
    }

    /// Samples in which a program or the kernel ran.
    fn busy(self) -> u64 {
        self.user.saturating_add(self.kernel).saturating_add(self.mpi)
    }

    pub(super) fn all(self) -> u64 {
        self.each().into_iter().fold(0, u64::saturating_add)
    }
}

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) value: Value,
    pub(super) name: String,
    pub(super) parts: Parts,
    /// Share of all samples; of the core's own where rows are cores.
    pub(super) share: Option<Proportion>,
    /// Mean number of cores that it kept busy or waiting.
    pub(super) cores: f64,
}

/// Names of values.
pub(super) trait Naming {
    /// The function at an address, with the file it lies in.
    fn function(&mut self, value: &Value) -> String;
    /// A user's number and, if it is known here, name.
    fn user(&self, user: u64) -> String;
}

/// The rows of an answer by the view's dimension and activity; `seconds` is the length of its time.
pub(super) fn rows(
    answer: &Answer,
    state: &State,
    seconds: f64,
    naming: &mut dyn Naming,
) -> Vec<Row> {
    let mut sums: BTreeMap<(Value, String), (Parts, f64)> = BTreeMap::new();
    for row in &answer.rows {
        let (Some(value), Some(activity)) = (row.key.first(), row.key.last()) else { continue };
        let idle = *activity == Value::Activity(Activity::Idle);
        if idle && state.view != View::Core {
            continue;
        }
        // Cores that a job has and that do nothing execute nothing.
        let waits = *activity == Value::Activity(Activity::Waiting)
            && matches!(value, Value::Absent | Value::Function { module: None, .. });
        let name = if waits { "(waiting)".to_owned() } else { name(value, state.view, naming) };
        // Addresses of one function are one row.
        let value = if state.view == View::Function { Value::Absent } else { value.clone() };
        let sum = sums.entry((value, name)).or_default();
        sum.0.add(activity, row.samples);
        sum.1 += if idle { 0.0 } else { row.core_seconds };
    }
    let wanted = state.filter.to_lowercase();
    let mut rows: Vec<Row> = sums
        .into_iter()
        .filter(|((_, name), _)| wanted.is_empty() || name.to_lowercase().contains(&wanted))
        .map(|((value, name), (parts, core_seconds))| {
            let share = if state.view == View::Core {
                answer.proportion(parts.busy(), parts.all())
            } else {
                answer.proportion(parts.all(), answer.totals.all_samples)
            };
            let cores = if seconds > 0.0 { core_seconds / seconds } else { 0.0 };
            Row { value, name, parts, share, cores }
        })
        .collect();
    // By value and name they are already.
    match (state.order, state.view) {
        (Order::Name, View::Core) => {}
        (Order::Name, _) => rows.sort_by(|a, b| a.name.cmp(&b.name)),
        (Order::Share, View::Core) => {
            rows.sort_by_key(|row| std::cmp::Reverse(row.parts.busy()));
        }
        (Order::Share, _) => rows.sort_by_key(|row| std::cmp::Reverse(row.parts.all())),
    }
    rows
}

fn name(value: &Value, view: View, naming: &mut dyn Naming) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Number(number) if view == View::User => naming.user(*number),
        Value::Number(number) => format!("core {number}"),
        Value::Function { .. } => naming.function(value),
        _ => match view {
            View::Job => "(no job)",
            View::Executable => "(kernel threads)",
            View::Library => "(no file)",
            View::Phase => "(no phase)",
            _ => "(unknown)",
        }
        .to_owned(),
    }
}
