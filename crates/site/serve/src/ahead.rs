//! Clocks of nodes that are ahead of the server's.
//!
//! Owns by how much batches of a node are put back: one batch of the future would spoil every query
//! of the last hour for good.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use talea_model::shares::Batch;
use talea_model::{Gap, GapKind, Nanos};

/// How far a node's clock may be ahead of ours.
const AHEAD: Nanos = Nanos(60_000_000_000);

/// How far clocks of nodes are ahead: the start of an agent, and by how much its batches are put
/// back. Names are those of tokens, which bounds their number.
#[derive(Debug, Default)]
pub(crate) struct Ahead(Mutex<HashMap<String, (u64, Nanos)>>);

impl Ahead {
    /// Lets a batch that would end after now end about now. To refuse it would lose all of a node,
    /// and to have it wait would hold up what comes behind it. Batches that follow each other are
    /// put back by the same time as long as that fits, so that they do not overlap.
    pub(crate) fn put_back(&self, batch: &mut Batch, now: Nanos) {
        if batch.end <= now + AHEAD {
            return;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |&(started, shift): &(u64, Nanos)| {
            let end = batch.end - shift;
            started == batch.id.started && end <= now + AHEAD && end + AHEAD >= now
        };
        let before = known.get(&batch.id.node).copied().filter(fits);
        let (_, shift) = before.unwrap_or((batch.id.started, batch.end - now));
        known.insert(batch.id.node.clone(), (batch.id.started, shift));
        let interval = batch.end - batch.begin;
        batch.end = batch.end - shift;
        batch.begin = batch.end - interval;
        batch.gaps.note(Gap {
            kind: GapKind::Estimated,
            rank: None,
            detail:
                "its clock was ahead of the server's: times of batches are those of their arrival"
                    .to_owned(),
            count: 1,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{SECOND, batch};

    #[test]
    fn clocks_that_are_ahead_are_put_back() {
        let own = batch("n1", 0, &[]);
        let mut same = own.clone();
        let ahead = Ahead::default();
        ahead.put_back(&mut same, own.end - AHEAD);
        assert_eq!(same, own);
        let now = own.end - AHEAD - Nanos(1);
        ahead.put_back(&mut same, now);
        assert_eq!((same.begin, same.end), (now - (own.end - own.begin), now));
        assert_eq!(same.gaps.iter().map(|gap| gap.count).collect::<Vec<_>>(), [1]);
        // No clock is set at all.
        ahead.put_back(&mut same, Nanos(0));
        assert_eq!((same.begin, same.end), (Nanos(0), Nanos(0)));
    }

    #[test]
    fn batches_of_a_clock_that_is_ahead_do_not_overlap() {
        let ahead = Ahead::default();
        let late = Nanos(600 * SECOND);
        // Some come sooner than others.
        let came: Vec<Batch> = [3, 0, 2, 0]
            .into_iter()
            .zip(0..)
            .map(|(delay, number)| {
                let mut batch = batch("n1", number, &[]);
                let now = batch.end - late + Nanos(delay * SECOND);
                ahead.put_back(&mut batch, now);
                batch
            })
            .collect();
        assert!(came.windows(2).all(|pair| pair[0].end == pair[1].begin), "{came:?}");
        // Another start has another clock.
        let mut other = batch("n1", 4, &[]);
        other.id.started = 2;
        let now = other.end - late;
        ahead.put_back(&mut other, now);
        assert_eq!(other.end, now);
    }
}
