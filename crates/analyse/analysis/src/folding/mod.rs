//! The behaviour inside one execution of a region.
//!
//! Owns the analysis as a function of traces ([`analyse`]): instances are prepared ([`prepare`]),
//! folded in groups ([`group`]), fitted with models ([`models`]) and put into sentences
//! ([`findings`]). [`inject`] writes folded counters into a trace.

pub mod analyse;
mod differences;
mod error;
mod findings;
mod group;
mod inject;
mod inputs;
mod models;
mod options;
mod prepare;
mod regions;
mod samples;

pub use analyse::{Folded, analyse};
pub use error::AnalyseError;
pub use findings::percent;
pub use inject::{InjectError, SaveFoldedError};
pub use inputs::{FoldError, Inputs};
pub use options::{Extent, FoldOptions, Groups, Ranks, Trial, outliers};
pub use regions::{ListError, Listed, list};
