//! The communication matrix in the form that views and the report show.
//!
//! Owns the number of its ranks, which includes ranks that only received, and the size of blocks
//! where there are too many ranks for a cell each. Exact messages of a run are
//! [`Analysis::matrix`].

use talea_model::Rank;
use talea_report::data::{Cell, Matrix};

use super::Analysis;

/// Ranks on a side up to which a matrix has a cell for each.
const CELLS: u32 = 256;

/// The communication matrix, folded where there are many ranks.
pub fn matrix(analysis: &Analysis<'_>) -> Matrix {
    let shown = analysis.ranks.iter().map(|study| study.rank.0);
    let cells = analysis.matrix.cells().map(|(from, to, _)| from.0.max(to.0));
    let ranks = shown.chain(cells).max().map_or(0, |last| last + 1);
    let block = ranks.div_ceil(CELLS).max(1);
    let cell = |(from, to, cell): (Rank, Rank, talea_flow::matrix::Cell)| Cell {
        from: from.0,
        to: to.0,
        bytes: cell.bytes,
        messages: cell.messages,
    };
    Matrix {
        loop_id: None,
        site: None,
        ranks,
        block,
        what: "messages and one-sided transfers; collective operations are not in it".to_owned(),
        cells: analysis.matrix.folded(block).cells().map(cell).collect(),
    }
}
