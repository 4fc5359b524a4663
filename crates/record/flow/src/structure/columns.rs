//! Values of arguments over the iterations of a loop, and their periods.

use talea_model::NodeId;

use crate::log::ThreadLog;

/// Maximum period that is searched.
const LONGEST: usize = 4096;
/// Loops with more events than this are judged by their first ones.
pub(super) const LOOKED_AT: usize = 1 << 24;

/// The recorded values of columns, by visit; unfolded on first use.
pub(super) struct Columns<'a> {
    log: &'a ThreadLog,
    values: Vec<Vec<Vec<i64>>>,
}

impl<'a> Columns<'a> {
    pub(super) fn new(log: &'a ThreadLog) -> Self {
        Self { log, values: vec![Vec::new(); log.nodes.len()] }
    }

    pub(super) fn values_of(&mut self, node: NodeId, column: usize) -> &[i64] {
        let at = node.0 as usize;
        let columns = &self.log.nodes[at].columns;
        if self.values[at].is_empty() {
            self.values[at] = vec![Vec::new(); columns.len()];
        }
        let values = &mut self.values[at][column];
        if values.is_empty() {
            *values = columns[column].values().take(LOOKED_AT).collect();
        }
        values
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Period {
    /// The same value each time.
    Constant,
    /// Values of a period, in runs of this length. Where the period is the whole stream only the
    /// runs count.
    Of {
        period: usize,
        run: usize,
    },
    None,
}

/// The smallest period of a stream, which must contain it at least twice.
pub(super) fn period(stream: &[i64]) -> Period {
    if stream.windows(2).all(|pair| pair[0] == pair[1]) {
        return Period::Constant;
    }
    // The longest border of each prefix (Knuth, Morris, Pratt): the rest of the stream without it
    // is its period.
    let mut borders = vec![0_usize; stream.len()];
    for at in 1..stream.len() {
        let mut border = borders[at - 1];
        while border > 0 && stream[at] != stream[border] {
            border = borders[border - 1];
        }
        borders[at] = border + usize::from(stream[at] == stream[border]);
    }
    let period = stream.len() - borders[stream.len() - 1];
    let whole = period > LONGEST || 2 * period > stream.len();
    let period = if whole { stream.len() } else { period };
    let mut runs = stream[..period].chunk_by(|a, b| a == b).map(<[i64]>::len);
    let first = runs.next().unwrap_or(1);
    let run = if runs.all(|run| run == first) { first } else { 1 };
    match (whole, run) {
        (true, 1) => Period::None,
        (true, run) => Period::Of { period: run, run },
        (false, run) => Period::Of { period, run },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_of_streams() {
        let check = |stream: &[i64], expected| assert_eq!(period(stream), expected, "{stream:?}");
        check(&[], Period::Constant);
        check(&[7, 7, 7], Period::Constant);
        check(&[1, 2, 1, 2], Period::Of { period: 2, run: 1 });
        check(&[1, 2, 3, 1, 2, 3, 1], Period::Of { period: 3, run: 1 });
        check(&[1, 1, 2, 2, 1, 1, 2, 2], Period::Of { period: 4, run: 2 });
        check(&[1, 1, 2, 1, 1, 2], Period::Of { period: 3, run: 1 });
        check(&[1, 2, 3, 4, 5, 6], Period::None);
        check(&[1, 2, 1], Period::None);
        check(&[1, 1, 2, 2, 5, 5], Period::Of { period: 2, run: 2 });
    }
}
