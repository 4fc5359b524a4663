//! Batches of agents.
//!
//! Owns the framing (a 32-bit little-endian length and the wire form, one after the other), its
//! bounds, and that a node's token puts batches of this node alone. Times of a node whose clock is
//! ahead are put back: one such batch would spoil every question of the last hour for good. Nothing
//! of a request is stored when anything of it is refused.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Json;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use serde_json::{Value, json};
use talea_model::shares::Batch;
use talea_model::{Gap, GapKind, Nanos};
use talea_store::wire;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::access::Node;
use crate::ingest;
use crate::refusal::Refusal;
use crate::state::{Counts, Shared};

/// Longest body, in bytes.
const LONGEST: usize = 16 << 20;
/// Most batches of a body.
const MOST_BATCHES: usize = 4096;
/// Most bytes of JSON of all of them: a body may unpack to a thousand times of what it was.
const MOST_UNPACKED: u64 = 128 << 20;
/// Most rows of all of them.
const MOST_ROWS: usize = 1 << 20;
/// How far a node's clock may be ahead of ours.
const AHEAD: Nanos = Nanos(60_000_000_000);
/// How long a body waits until others have come.
const WAITS: Duration = Duration::from_secs(5);
/// What bodies that are coming may take together, in pieces of 64 KiB: 256 MiB.
const PIECES: usize = 4096;
const PIECE: usize = 64 << 10;
/// Bodies that are unpacked at a time: each may become much more than it was.
const UNPACKED_AT_ONCE: usize = 2;

/// What bounds the memory of bodies.
#[derive(Debug)]
pub(crate) struct Room {
    pieces: Arc<Semaphore>,
    unpacking: Arc<Semaphore>,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            pieces: Arc::new(Semaphore::new(PIECES)),
            unpacking: Arc::new(Semaphore::new(UNPACKED_AT_ONCE)),
        }
    }
}

impl Room {
    async fn take(&self, headers: &HeaderMap) -> Result<OwnedSemaphorePermit, Refusal> {
        let length = headers.get(header::CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        let length = length.unwrap_or(LONGEST);
        if length > LONGEST {
            return Err(too_long());
        }
        let pieces = (length / PIECE + 1) as u32;
        let taken = Arc::clone(&self.pieces).acquire_many_owned(pieces);
        let taken = tokio::time::timeout(WAITS, taken).await;
        let busy = |_| Refusal::busy("too many bodies at a time");
        taken.map_err(busy)?.map_err(|_| Refusal::bug())
    }
}

fn too_long() -> Refusal {
    Refusal::too_long(format!("expected a body of at most {LONGEST} bytes"))
}

pub(super) async fn put(
    State(state): State<Shared>,
    Node(node): Node,
    request: Request,
) -> Result<Json<Value>, Refusal> {
    let answer = taken(&state, &node, request).await;
    if let Err(refusal) = &answer {
        // What is to come again is no fault of the node.
        if !matches!(refusal.status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::REQUEST_TIMEOUT)
        {
            state.refused.note(&node, &refusal.message, Nanos::now());
            let values = [("node", node.as_str()), ("why", &refusal.message)];
            state.logs.batches.line(&node, "batches are refused", &values);
        }
        let counts = &state.counts;
        let count = match refusal.status {
            StatusCode::SERVICE_UNAVAILABLE => &counts.later,
            _ => &counts.refused,
        };
        Counts::add(count, 1);
    }
    answer
}

async fn taken(state: &Shared, node: &str, request: Request) -> Result<Json<Value>, Refusal> {
    let (parts, body) = request.into_parts();
    let _room = state.room.take(&parts.headers).await?;
    let bytes = whole(body, state.patience.body).await?;
    Counts::add(&state.counts.bytes, bytes.len() as u64);
    let one = Arc::clone(&state.room.unpacking).acquire_owned().await;
    let one = one.map_err(|_| Refusal::bug())?;
    let (node, oldest, ahead) = (node.to_owned(), state.oldest, Arc::clone(&state.ahead));
    let batches = tokio::task::spawn_blocking(move || {
        let now = Nanos::now();
        let mut batches = unpacked(&bytes, &node, now - oldest);
        batches.iter_mut().flatten().for_each(|batch| ahead.put_back(batch, now));
        drop(one);
        batches
    });
    let batches = batches.await.map_err(|_| Refusal::bug())??;
    for batch in &batches {
        Counts::add(&state.counts.rows, batch.shares.len() as u64);
        state.heard.note(batch, Instant::now());
    }
    let taken = state.ingest.put(batches).await?;
    Ok(Json(json!({ "new": taken.new, "already": taken.already })))
}

async fn whole(body: Body, patience: Duration) -> Result<Bytes, Refusal> {
    let all = tokio::time::timeout(patience, to_bytes(body, LONGEST)).await;
    let all = all
        .map_err(|_| Refusal::new(StatusCode::REQUEST_TIMEOUT, "the body did not come in time"))?;
    // A body without a length that was too long, and one that broke off, are told apart by nobody
    // who still listens.
    all.map_err(|_| too_long())
}

/// How far clocks of nodes are ahead: the start of an agent, and by how much its batches are put
/// back. Names are those of tokens, which bounds their number.
#[derive(Debug, Default)]
pub(crate) struct Ahead(Mutex<HashMap<String, (u64, Nanos)>>);

impl Ahead {
    /// Lets a batch that would end after now end about now. To refuse it would lose all of a node,
    /// and to have it wait would hold up what comes behind it. Batches that follow each other are
    /// put back by the same time as long as that fits, so that they do not overlap.
    fn put_back(&self, batch: &mut Batch, now: Nanos) {
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

/// Batches of a body, each of which a store takes, its cores can have done, and is not older than
/// so.
fn unpacked(bytes: &[u8], node: &str, oldest: Nanos) -> Result<Vec<Batch>, Refusal> {
    let (mut rest, mut batches, mut rows, mut left) = (bytes, Vec::new(), 0, MOST_UNPACKED);
    while !rest.is_empty() {
        let at = batches.len();
        let refused = |why: String| Refusal::question(format!("batch {at} of the body: {why}"));
        let Some((length, behind)) = rest.split_first_chunk() else {
            return Err(refused("expected a length of 4 bytes".to_owned()));
        };
        let length = u32::from_le_bytes(*length) as usize;
        let Some((packed, behind)) = behind.split_at_checked(length) else {
            let found = behind.len();
            return Err(refused(format!("expected {length} bytes, found {found}")));
        };
        rest = behind;
        let (batch, length) = wire::decode_within(packed, left).map_err(|error| match error {
            // An agent that was renewed before its server: it waits for the server.
            wire::WireError::Newer { .. } => Refusal::busy(error.to_string()),
            wire::WireError::TooLong { most } if most < wire::MOST_BYTES => Refusal::too_long(
                format!("expected a body that unpacks to at most {MOST_UNPACKED} bytes"),
            ),
            error => refused(error.to_string()),
        })?;
        left -= length;
        let checked = talea_store::check(&batch).and_then(|()| talea_store::plausible(&batch));
        checked.map_err(|error| refused(error.to_string()))?;
        if batch.end < oldest {
            let end = batch.end.seconds();
            return Err(refused(format!(
                "it ended {end} s after 1970, expected {} s at least: the node's clock is wrong, or it is older than `--oldest` of the server",
                oldest.seconds()
            )));
        }
        if batch.id.node != node {
            let other = &batch.id.node;
            let why =
                format!("{}: the token is of `{node}`, batch {at} of `{other}`", wire::OTHER_NODE);
            return Err(Refusal::role(&why));
        }
        rows += ingest::rows(&batch);
        batches.push(batch);
        if batches.len() > MOST_BATCHES || rows > MOST_ROWS {
            return Err(Refusal::too_long(format!(
                "expected at most {MOST_BATCHES} batches and {MOST_ROWS} rows in a body"
            )));
        }
    }
    Ok(batches)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{SECOND, batch, framed};

    #[test]
    fn bodies() {
        let two = framed(&[batch("n1", 0, &[]), batch("n1", 1, &[])]);
        assert_eq!(unpacked(&two, "n1", Nanos(0)).unwrap().len(), 2);
        assert_eq!(unpacked(&[], "n1", Nanos(0)).unwrap(), []);
        let refused = unpacked(&two, "n2", Nanos(0)).unwrap_err();
        assert_eq!(refused.status, StatusCode::FORBIDDEN);
        assert!(refused.message.contains("the token is of `n2`, batch 0 of `n1`"), "{refused:?}");
        for cut in 1..two.len() {
            // A cut exactly between two is a whole body.
            let found = unpacked(&two[..cut], "n1", Nanos(0));
            assert!(found.is_err() || found.unwrap().len() == 1, "{cut}");
        }
    }

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

    #[test]
    fn a_body_unpacks_to_no_more_than_is_said() {
        let mut large = batch("n1", 0, &[]);
        large.phases.push("x".repeat(50 << 20));
        let one = framed(std::slice::from_ref(&large));
        assert!(one.len() < 10_000);
        let two = unpacked(&one.repeat(2), "n1", Nanos(0)).unwrap();
        let kept: usize = two.iter().map(|batch| batch.phases[0].capacity()).sum();
        assert!(kept <= 2 * talea_store::LONGEST_NAME, "{kept}");
        let refused = unpacked(&one.repeat(3), "n1", Nanos(0)).unwrap_err();
        assert_eq!(refused.status, StatusCode::PAYLOAD_TOO_LARGE);
    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = unpacked(&bytes, "n1", Nanos(0));
        }
    }
}
