//! Samples by activity, and the sums that rules speak of.

use talea_model::shares::Activity;
use talea_store::Value;

use crate::metrics::Does;
use crate::tables::Part;

/// Samples by activity.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Activities {
    pub(super) user: u64,
    pub(super) kernel: u64,
    pub(super) mpi: u64,
    pub(super) waiting: u64,
    pub(super) idle: u64,
}

impl Activities {
    pub(super) fn add(&mut self, activity: &Value, samples: u64) {
        let place = match activity {
            Value::Activity(Activity::User) => &mut self.user,
            Value::Activity(Activity::Kernel) => &mut self.kernel,
            Value::Activity(Activity::Mpi) => &mut self.mpi,
            Value::Activity(Activity::Waiting) => &mut self.waiting,
            _ => &mut self.idle,
        };
        *place = place.saturating_add(samples);
    }

    /// Those of rows whose last value is the activity.
    pub(crate) fn from_parts(parts: &[Part]) -> Self {
        let mut sums = Self::default();
        for part in parts {
            if let Some(activity) = part.key.last() {
                sums.add(activity, part.samples);
            }
        }
        sums
    }

    pub(crate) fn busy(self) -> u64 {
        self.computing().saturating_add(self.mpi)
    }

    /// Busy outside MPI.
    pub(super) fn computing(self) -> u64 {
        self.user.saturating_add(self.kernel)
    }

    pub(super) fn of_cores(self, does: Does) -> f64 {
        let part = match does {
            Does::Busy => self.busy(),
            Does::Computing => self.computing(),
        };
        part as f64 / self.all().max(1) as f64
    }

    pub(super) fn nothing(self) -> u64 {
        self.waiting.saturating_add(self.idle)
    }

    pub(crate) fn all(self) -> u64 {
        self.busy().saturating_add(self.nothing())
    }
}
