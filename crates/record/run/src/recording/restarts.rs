//! Places in a thread's times from which they can be read.
//!
//! Owns their bytes. Each has, beside the offset in the packed times, the position of the walk
//! through the thread's graph: the number of visits of every node so far.

use talea_flow::codec::sequence::{self, Bounds};
use talea_flow::cycles::CyclesBuilder;
use talea_model::NodeId;

use crate::live::numbers::{Cursor, put_number};

/// Maximum of visits in a table of places: those of 8 billion events.
const MOST_VISITS: usize = 1 << 22;

/// A place from which times can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Restart {
    /// Offset in the packed times.
    pub(crate) offset: usize,
    /// Nominal nanoseconds since the process's start at the end of the event before.
    pub(crate) end: u64,
    /// Node of the event before.
    pub(crate) last: NodeId,
    /// Number of visits of each node before.
    pub(crate) visits: Vec<u64>,
}

/// Appends places in order.
pub(crate) fn put_restarts(out: &mut Vec<u8>, restarts: &[Restart]) {
    put_number(out, restarts.len() as u64);
    let (mut offset, mut end) = (0, 0);
    for restart in restarts {
        put_number(out, (restart.offset - offset) as u64);
        put_number(out, restart.end - end);
        put_number(out, u64::from(restart.last.0));
        (offset, end) = (restart.offset, restart.end);
    }
    let Some(first) = restarts.first() else { return };
    let mut visits = CyclesBuilder::new();
    for node in 0..first.visits.len() {
        let mut before = 0;
        for restart in restarts {
            visits.push((restart.visits[node] - before) as i64, 1);
            before = restart.visits[node];
        }
    }
    out.extend_from_slice(&sequence::encode(&visits.into()));
}

/// Reads the places in a thread with this many nodes; `None` where the bytes are malformed.
pub(crate) fn get_restarts(bytes: &[u8], nodes: usize) -> Option<Vec<Restart>> {
    let mut from = Cursor::new(bytes);
    let count = usize::try_from(from.number()?).ok()?;
    let entries = count.checked_mul(nodes).filter(|&entries| entries <= MOST_VISITS)?;
    let mut restarts: Vec<Restart> = Vec::new();
    let (mut offset, mut end) = (0_usize, 0_u64);
    for _ in 0..count {
        offset = offset.checked_add(usize::try_from(from.number()?).ok()?)?;
        end = end.checked_add(from.number()?)?;
        let last = NodeId(u32::try_from(from.number()?).ok()?);
        restarts.push(Restart { offset, end, last, visits: Vec::new() });
    }
    if restarts.is_empty() {
        return from.is_done().then_some(restarts);
    }
    let rest = from.take(from.left())?;
    let mut bounds = Bounds { runs: u64::MAX, steps: entries as u64 };
    let visits = sequence::decode_all(rest, entries as u64, &mut bounds).ok()?;
    let mut visits = visits.values();
    for _ in 0..nodes {
        let mut sum = 0_u64;
        for restart in &mut restarts {
            sum = sum.checked_add(u64::try_from(visits.next()?).ok()?)?;
            restart.visits.push(sum);
        }
    }
    Some(restarts)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn restarts() -> impl Strategy<Value = (usize, Vec<Restart>)> {
        let step = (0..1000_usize, any::<u32>(), any::<u32>(), any::<[u16; 3]>());
        (0..=3_usize, prop::collection::vec(step, 0..20)).prop_map(|(nodes, steps)| {
            let (mut offset, mut end, mut visits) = (0, 0, vec![0; nodes]);
            let restart = |(more, time, last, steps): (usize, u32, u32, [u16; 3])| {
                offset += more;
                end += u64::from(time);
                visits.iter_mut().zip(steps).for_each(|(sum, step)| *sum += u64::from(step));
                Restart { offset, end, last: NodeId(last), visits: visits.clone() }
            };
            (nodes, steps.into_iter().map(restart).collect())
        })
    }

    proptest! {
        #[test]
        fn restarts_come_back((nodes, restarts) in restarts()) {
            let mut bytes = Vec::new();
            put_restarts(&mut bytes, &restarts);
            prop_assert_eq!(get_restarts(&bytes, nodes), Some(restarts));
        }

        #[test]
        fn any_bytes_are_read(
            bytes in prop::collection::vec(any::<u8>(), 0..60),
            nodes in prop_oneof![0..5_usize, any::<usize>()],
        ) {
            if let Some(read) = get_restarts(&bytes, nodes) {
                prop_assert!(read.iter().all(|restart| restart.visits.len() == nodes));
            }
        }
    }
}
