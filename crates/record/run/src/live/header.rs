//! Figures that follow from the header of a live file.

use talea_flow::times::Bound;
use talea_model::Nanos;

use super::layout::Header;

impl Header {
    /// Maximum errors of recorded times.
    pub fn bound(&self) -> Bound {
        Bound {
            relative_ppm: self.bound_relative,
            absolute: Nanos(u64::from(self.bound_absolute)),
            drift: Nanos(u64::from(self.bound_drift)),
        }
    }

    /// Change of the clock's offset from the start to the last of `syncs`, in nanoseconds.
    pub fn drift(&self) -> i64 {
        self.offset_end.wrapping_sub(self.offset_start)
    }

    /// The host.
    pub fn host_name(&self) -> String {
        let end = self.host.iter().position(|&b| b == 0).unwrap_or(self.host.len());
        String::from_utf8_lossy(&self.host[..end]).into_owned()
    }

    /// Converts ticks to nominal nanoseconds since the start.
    pub fn nominal(&self) -> impl Fn(u64) -> u64 + use<> {
        let (start, factor) = (self.start_ticks, u128::from(self.tick_mult));
        move |ticks| ((u128::from(ticks.saturating_sub(start)) * factor) >> 32) as u64
    }
}
