//! Counters of a monitor over several frames.
//!
//! Owns windows (means of the last frames) and sums since the start. A row with an absent counter
//! in a frame takes no part in that frame, so that both sides of a ratio are from the same frames.
//! It refuses to guess: absent frames are counted.

use std::collections::VecDeque;

/// Data kept between frames. Inputs stand one after another, each with a number for each row; the
/// last is the frame's span.
#[derive(Clone, Debug)]
pub(super) enum History {
    /// The frame alone.
    None,
    /// The last frames, the newest last.
    Window { frames: VecDeque<Vec<f64>>, most: usize },
    /// Sums since the start.
    Sum { sums: Vec<f64>, missed: u64 },
}

impl History {
    /// Takes the numbers of a frame and replaces them by the inputs of the expression.
    ///
    /// `inputs` has `rows` numbers for each counter and then the spans; `gauges` marks the counters
    /// that are not summed.
    pub(super) fn take(&mut self, inputs: &mut [f64], rows: usize, gauges: &[bool]) {
        if matches!(self, Self::None) || rows == 0 {
            return;
        }
        for row in 0..rows {
            if inputs[row..].iter().step_by(rows).any(|value| value.is_nan()) {
                inputs[row..].iter_mut().step_by(rows).for_each(|value| *value = f64::NAN);
            }
        }
        match self {
            Self::None => {}
            Self::Window { frames, most } => {
                // The oldest frame's memory is reused for the newest.
                let mut newest = if frames.len() >= *most { frames.pop_front() } else { None }
                    .unwrap_or_default();
                newest.clear();
                newest.extend_from_slice(inputs);
                frames.push_back(newest);
                for (at, mean) in inputs.iter_mut().enumerate() {
                    let (mut sum, mut count) = (0.0, 0_u32);
                    for value in frames.iter().map(|frame| frame[at]).filter(|v| !v.is_nan()) {
                        sum += value;
                        count += 1;
                    }
                    *mean = if count > 0 { sum / f64::from(count) } else { f64::NAN };
                }
            }
            Self::Sum { sums, missed } => {
                sums.resize(inputs.len(), 0.0);
                let absent = inputs[..rows].iter().filter(|value| value.is_nan()).count();
                *missed += absent as u64;
                for (at, value) in inputs.iter_mut().enumerate() {
                    let gauge = gauges.get(at / rows).copied().unwrap_or(false);
                    if !value.is_nan() && !gauge {
                        sums[at] += *value;
                        *value = sums[at];
                    }
                }
            }
        }
    }
}
