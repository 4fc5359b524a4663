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
    /// Look at what follows this time: 1.5s, 200ms, or nanoseconds since the start
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    from: Option<Nanos>,
    /// Look at what precedes this time
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    to: Option<Nanos>,
    /// Include what precedes the end of MPI_Init and follows MPI_Finalize
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
