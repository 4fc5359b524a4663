//! The options of all analyses that choose a part of the input.
//!
//! Owns their definitions; what a part is, [`talea_metric::measure::Span`] decides.

// Doc comments of fields are help texts, which know no markup.
#![allow(clippy::doc_markdown)]

use clap::Args;
use talea_metric::measure::Part;
use talea_model::Nanos;

use super::values;

/// Which part of the input.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Part of the input")]
pub(super) struct PartArgs {
    /// Start of the part: 1.5s, 200ms [default: end of MPI_Init]
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    from: Option<Nanos>,
    /// End of the part [default: begin of MPI_Finalize]
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    to: Option<Nanos>,
    /// Include MPI_Init and MPI_Finalize, and the time before and after
    #[arg(long, conflicts_with_all = ["from", "to"])]
    with_init: bool,
}

impl From<PartArgs> for Part {
    fn from(args: PartArgs) -> Self {
        if args.with_init {
            Self::Whole
        } else if args.from.is_some() || args.to.is_some() {
            Self::Between(args.from, args.to)
        } else {
            Self::BetweenInitAndFinalize
        }
    }
}
