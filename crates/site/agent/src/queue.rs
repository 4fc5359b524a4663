//! Keeping batches until somebody has them.
//!
//! Owns the fate of each batch: kept on disk, offered oldest first, acknowledged, or lost and
//! counted. A full disk and an absent store are reported, and never end the agent. It refuses
//! clocks: the caller decides when enough was delivered.

use talea_model::Bytes;
use talea_model::shares::Batch;
use talea_store::spool::{Spool, SpoolError, Until};

use crate::delivery::Delivery;
use crate::progress;

/// Batches that wait.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// Absent where nobody keeps batches.
    spool: Option<Spool>,
    /// More waits than there was time for.
    behind: bool,
    /// Batches that were refused and are not reported by a batch yet.
    pub(crate) refused: u64,
    /// Batches that were refused, ever.
    lost: u64,
    /// Why the last delivery failed, if it did.
    pub(crate) trouble: Option<String>,
    /// Why the last batch that was lost was lost: it could not be kept, or was refused; absent
    /// since others were kept.
    pub(crate) unkept: Option<String>,
}

impl Queue {
    pub(crate) fn new(spool: Spool) -> Self {
        Self { spool: Some(spool), ..Self::default() }
    }

    /// Adds what the process before had of an interval, if it was killed in it, and says until when
    /// it sampled.
    pub(crate) fn recover(&mut self) -> Option<Until> {
        self.spool.as_mut()?.recover(|batch| batch.gaps.note(progress::cut_short()))
    }

    /// True where an interval in progress can be kept.
    pub(crate) fn keeps_progress(&self) -> bool {
        self.spool.is_some()
    }

    /// Keeps until when this process has sampled, and the interval in progress if there is one.
    ///
    /// # Errors
    /// Those of the spool: nothing is kept of it then.
    pub(crate) fn keep_progress(
        &mut self,
        until: &Until,
        batch: Option<&Batch>,
    ) -> Result<(), SpoolError> {
        // Without room, the result is as if the process had been killed before.
        self.spool.as_mut().map_or(Ok(()), |spool| spool.keep_progress(until, batch).map(|_| ()))
    }

    /// Keeps a batch; where there is no place for batches, it is offered once.
    pub(crate) fn keep(&mut self, batch: &Batch, deliver: &mut dyn FnMut(&Batch) -> Delivery) {
        let Some(spool) = &mut self.spool else {
            self.unkept = match deliver(batch) {
                Delivery::Taken | Delivery::Known => None,
                Delivery::Later(why) | Delivery::Refused(why) => {
                    self.refused += 1;
                    self.lost += 1;
                    Some(why)
                }
            };
            return;
        };
        // The spool counts what it does not take, and the next batch that it takes tells.
        self.unkept = spool.append(batch).err().map(|error| error.to_string());
    }

    /// Offers what waits, oldest first, until all is delivered, `over` says so, or the batch has to
    /// wait.
    pub(crate) fn deliver(
        &mut self,
        over: &dyn Fn() -> bool,
        deliver: &mut dyn FnMut(&Batch) -> Delivery,
    ) {
        let Some(spool) = &mut self.spool else { return };
        (self.trouble, self.behind) = (None, false);
        loop {
            let batch = match spool.oldest() {
                Ok(Some(batch)) => batch,
                Ok(None) => return,
                Err(error) => {
                    self.trouble = Some(error.to_string());
                    return;
                }
            };
            match deliver(&batch) {
                Delivery::Taken | Delivery::Known => {}
                Delivery::Later(why) => {
                    self.trouble = Some(why);
                    return;
                }
                Delivery::Refused(why) => {
                    self.refused += 1;
                    self.lost += 1;
                    self.unkept = Some(why);
                }
            }
            // It no longer waits all the same: on a full disk what goes makes room, though that
            // cannot be noted.
            if let Err(error) = spool.acknowledge(&batch.id) {
                self.trouble = Some(error.to_string());
            }
            if over() {
                self.behind = spool.waiting() > 0;
                return;
            }
        }
    }

    /// True when the last delivery ended for want of time.
    pub(crate) fn is_behind(&self) -> bool {
        self.behind
    }

    /// Batches that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.spool.as_ref().map_or(0, Spool::waiting)
    }

    /// Their size on the disk.
    pub(crate) fn bytes(&self) -> Bytes {
        self.spool.as_ref().map_or(Bytes(0), Spool::bytes)
    }

    /// Batches that were lost, as far as this agent knows.
    pub(crate) fn lost(&self) -> u64 {
        self.spool.as_ref().map_or(0, Spool::lost) + self.lost
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use talea_model::Nanos;
    use talea_model::shares::{BatchId, Sampler};

    use super::*;

    fn batch(number: u64) -> Batch {
        Batch {
            begin: Nanos(1),
            end: Nanos(2),
            period: Nanos(1),
            cores: 1,
            sampler: Sampler::Bpf,
            ..Batch::empty(BatchId { node: "n".to_owned(), started: 1, number })
        }
    }

    /// A queue with ten batches.
    fn full(folder: &std::path::Path) -> Queue {
        let mut queue = Queue::new(Spool::open(folder, Bytes(1 << 20)).unwrap());
        for number in 0..10 {
            queue.keep(&batch(number), &mut |_| Delivery::Taken);
        }
        queue
    }

    #[test]
    fn a_look_delivers_what_it_has_time_for() {
        let folder = tempfile::tempdir().unwrap();
        let mut queue = full(folder.path());
        let taken = Cell::new(0);
        let mut took = Vec::new();
        let mut take = |batch: &Batch| {
            took.push(batch.id.number);
            taken.set(taken.get() + 1);
            Delivery::Taken
        };
        queue.deliver(&|| taken.get() == 3, &mut take);
        assert_eq!((queue.waiting(), queue.is_behind()), (7, true));
        queue.deliver(&|| false, &mut take);
        assert_eq!((queue.waiting(), queue.is_behind()), (0, false));
        assert_eq!(took, (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_refused_goes_and_what_must_wait_stays() {
        let folder = tempfile::tempdir().unwrap();
        let mut queue = full(folder.path());
        // Those that are refused for ever must not hold up the others, one an interval.
        let mut refuse = |batch: &Batch| match batch.id.number {
            0..4 => Delivery::Refused("no".to_owned()),
            4 => Delivery::Taken,
            _ => Delivery::Later("away".to_owned()),
        };
        queue.deliver(&|| false, &mut refuse);
        assert_eq!((queue.waiting(), queue.refused, queue.lost()), (5, 4, 4));
        assert_eq!(queue.trouble.as_deref(), Some("away"));
        assert!(!queue.is_behind());
    }
}
