//! Where batches go once the store has them.
//!
//! Owns that no output stands in the way of samples: each has a thread of its own, at which one
//! batch may wait. A batch that finds another one waiting does not go there, which is counted and
//! said. Names that nobody resolves, brokers that read slowly and disks that hang hold up that
//! thread alone.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use talea_model::shares::Batch;
use talea_store::address;
use talea_store::export::{Output, OutputError};

/// How long the agent waits at its end for what is under way, all outputs together.
const LAST: Duration = Duration::from_secs(10);

/// Something that takes batches, or says why not.
type Take = Box<dyn FnMut(&Batch) -> Result<(), String> + Send>;

/// All outputs.
pub(crate) struct Outputs {
    to: Vec<One>,
}

struct One {
    /// Printed form of an address, without parts that may be secret.
    address: String,
    queue: SyncSender<Arc<Batch>>,
    /// Why the last batch was not taken; empty if it was.
    trouble: Arc<Mutex<String>>,
    /// Its last message.
    said: String,
    /// Batches since then that did not go there because one waited.
    passed: u64,
    /// Comes back when the thread ends.
    ended: Receiver<()>,
    _thread: JoinHandle<()>,
}

impl Outputs {
    /// Opens files and starts threads; servers are not asked yet.
    pub(crate) fn open(addresses: &[String]) -> Result<Self, OutputError> {
        let mut to = Vec::new();
        for address in addresses {
            let mut output = Output::at(address)?;
            let take: Take =
                Box::new(move |batch| output.send(batch).map_err(|error| error.to_string()));
            let shown = address::redacted(address);
            let one = One::start(shown.clone(), take);
            to.push(
                one.map_err(|error| OutputError::Server {
                    address: shown,
                    why: error.to_string(),
                })?,
            );
        }
        Ok(Self { to })
    }

    /// Hands a batch to each that has room, and says what became of an output when that changes.
    pub(crate) fn send(&mut self, batch: &Batch, say: &dyn Fn(&str)) {
        if self.to.is_empty() {
            return;
        }
        let batch = Arc::new(batch.clone());
        for one in &mut self.to {
            one.send(Arc::clone(&batch), say);
        }
    }

    /// Waits a bounded time for what is under way, and says what did not go.
    pub(crate) fn end(self, say: &dyn Fn(&str)) {
        self.end_within(LAST, say);
    }

    fn end_within(self, longest: Duration, say: &dyn Fn(&str)) {
        let end = Instant::now() + longest;
        for one in self.to {
            // Without the way to it the thread ends when it is done.
            let One { address, queue, trouble, said, ended, .. } = one;
            drop(queue);
            let left = end.saturating_duration_since(Instant::now());
            let is_under_way =
                ended.recv_timeout(left) == Err(std::sync::mpsc::RecvTimeoutError::Timeout);
            let trouble = locked(&trouble);
            if is_under_way {
                say(&format!("the last batches do not go to {address}: it takes too long"));
            } else if !trouble.is_empty() && *trouble != said {
                say(&format!("batches do not go to {address}: {trouble}"));
            }
        }
    }
}

fn locked(lock: &Mutex<String>) -> String {
    lock.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

impl One {
    fn start(address: String, mut take: Take) -> std::io::Result<Self> {
        let (queue, batches) = sync_channel::<Arc<Batch>>(1);
        let (ends, ended) = channel();
        let trouble = Arc::new(Mutex::new(String::new()));
        let own = Arc::clone(&trouble);
        let thread = std::thread::Builder::new().name("output".to_owned()).spawn(move || {
            let _ends = ends;
            for batch in batches {
                let said = take(&batch).err().unwrap_or_default();
                *own.lock().unwrap_or_else(PoisonError::into_inner) = said;
            }
        })?;
        let said = String::new();
        Ok(Self { address, queue, trouble, said, passed: 0, ended, _thread: thread })
    }

    fn send(&mut self, batch: Arc<Batch>, say: &dyn Fn(&str)) {
        let mut now = locked(&self.trouble);
        match self.queue.try_send(batch) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => {
                self.passed += 1;
                "it is still busy with those before".clone_into(&mut now);
            }
            Err(TrySendError::Disconnected(_)) => "a bug in talea".clone_into(&mut now),
        }
        if now == self.said {
            return;
        }
        let address = &self.address;
        if now.is_empty() {
            let passed = match std::mem::take(&mut self.passed) {
                0 => String::new(),
                count => format!("; {count} did not go there"),
            };
            say(&format!("{address} takes batches again{passed}"));
        } else {
            say(&format!("batches do not go to {address}: {now}"));
        }
        self.said = now;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::mpsc::Sender;

    use talea_model::Nanos;
    use talea_model::shares::{BatchId, Sampler};

    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    fn batch(number: u64) -> Batch {
        Batch {
            begin: Nanos(0),
            end: Nanos(1),
            period: Nanos(1),
            cores: 1,
            sampler: Sampler::Bpf,
            ..Batch::empty(BatchId { node: "n".to_owned(), started: 1, number })
        }
    }

    /// An output that tells which batch it has, and goes on with what it is told.
    fn slow() -> (Outputs, Receiver<u64>, Sender<Result<(), String>>) {
        let (has, had) = channel();
        let (go, goes) = channel::<Result<(), String>>();
        let take: Take = Box::new(move |batch| {
            has.send(batch.id.number).unwrap();
            goes.recv().unwrap_or(Ok(()))
        });
        let one = One::start("influx:b".to_owned(), take).unwrap();
        (Outputs { to: vec![one] }, had, go)
    }

    #[test]
    fn a_slow_output_loses_batches_and_keeps_nobody_waiting() {
        let (mut outputs, had, go) = slow();
        let said = RefCell::new(Vec::new());
        let say = |text: &str| said.borrow_mut().push(text.to_owned());
        outputs.send(&batch(0), &say);
        assert_eq!(had.recv_timeout(LONG), Ok(0));
        // One waits, the others find no room.
        (1..5).for_each(|number| outputs.send(&batch(number), &say));
        go.send(Ok(())).unwrap();
        assert_eq!(had.recv_timeout(LONG), Ok(1));
        outputs.send(&batch(5), &say);
        go.send(Err("no".to_owned())).unwrap();
        assert_eq!(had.recv_timeout(LONG), Ok(5));
        outputs.send(&batch(6), &say);
        drop(go);
        outputs.end(&say);
        assert_eq!(had.iter().collect::<Vec<_>>(), [6]);
        let expected = [
            "batches do not go to influx:b: it is still busy with those before",
            "influx:b takes batches again; 3 did not go there",
            "batches do not go to influx:b: no",
        ];
        assert_eq!(said.into_inner(), expected);
    }

    #[test]
    fn an_output_that_hangs_does_not_keep_the_agent_from_its_end() {
        let (mut outputs, had, go) = slow();
        let said = RefCell::new(Vec::new());
        let say = |text: &str| said.borrow_mut().push(text.to_owned());
        outputs.send(&batch(0), &say);
        assert_eq!(had.recv_timeout(LONG), Ok(0));
        outputs.end_within(Duration::ZERO, &say);
        drop(go);
        let expected = ["the last batches do not go to influx:b: it takes too long"];
        assert_eq!(said.into_inner(), expected);
    }
}
