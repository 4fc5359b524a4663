//! Folding: the behaviour inside one execution of a region, from few samples in each of many
//! executions.
//!
//! The caller supplies columns: instances of a region, probes with their counters, call stacks of
//! samples. It gets for each counter a curve of its rate over the region with a 95 % band and a
//! held-out error, models that combine counters, the routine at each place, and one typical
//! instance as a timeline. Use it where instances behave alike; where they do not, [`select`]
//! splits them by duration, and the held-out error measures the remaining variation.
//!
//! Refuses I/O, clocks and printing; threads are rayon's only. Follows Servat, Llort, Giménez,
//! Labarta, "Detailed performance analysis using coarse grain sampling" (2009) and Reinsch,
//! "Smoothing by spline functions" (1967). Every pass over the samples is linear: they are put into
//! bins once, and repeated steps (held-out trials, the band) work on bins.

mod band;
mod banded;
mod bins;
pub mod combine;
pub mod cover;
pub mod curve;
pub mod fit;
mod held_out;
mod jumps;
mod monotone;
pub mod project;
pub mod regions;
mod repair;
pub mod score;
pub mod select;
pub mod spline;
pub mod stacks;

pub use combine::{CombineError, Overlay, Synthetic, combine, evaluate, overlay, synthetic};
pub use cover::{Coverage, cover};
pub use curve::{Band, Curve, Jump};
pub use fit::{FitError, FitOptions, Jumps, Smoothing, fit, fit_all};
pub use project::{Counter, Form, Instances, Probes, Projected, Totals, project};
pub use regions::{Region, Spans};
pub use score::{Score, score};
pub use select::{Outliers, SelectOptions, Selection, select};
pub use stacks::{LineShare, Run, StackOptions, Stacks, lines, runs};
