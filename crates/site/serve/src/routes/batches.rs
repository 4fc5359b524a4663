//! Batches of agents.
//!
//! Owns the framing (a 32-bit little-endian length and the wire form, one after the other), its
//! bounds, and that a node's token puts batches of this node alone. Nothing of a request is stored
//! when anything of it is refused.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use talea_model::Nanos;
use talea_model::shares::Batch;
use talea_store::wire;

use super::answers::Stored;
use crate::access::Node;
use crate::counts::Counts;
use crate::ingest;
use crate::refusal::Refusal;
use crate::room::{LONGEST, too_long};
use crate::state::Shared;

/// Most batches of a body.
const MOST_BATCHES: usize = 4096;
/// Most bytes of JSON of all of them: a body may unpack to a thousand times of what it was.
const MOST_UNPACKED: u64 = 128 << 20;
/// Most rows of all of them.
const MOST_ROWS: usize = 1 << 20;
pub(super) async fn put(
    State(state): State<Shared>,
    Node(node): Node,
    request: Request,
) -> Result<Json<Stored>, Refusal> {
    let answer = taken(&state, &node, request).await;
    if let Err(refusal) = &answer {
        // A request that is to be repeated is no error of the node.
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

async fn taken(state: &Shared, node: &str, request: Request) -> Result<Json<Stored>, Refusal> {
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
    Ok(Json(Stored { new: taken.new, already: taken.already }))
}

async fn whole(body: Body, patience: Duration) -> Result<Bytes, Refusal> {
    let all = tokio::time::timeout(patience, to_bytes(body, LONGEST)).await;
    let all = all
        .map_err(|_| Refusal::new(StatusCode::REQUEST_TIMEOUT, "the body did not come in time"))?;
    // A body without a length that was too long, and one that broke off, need no distinction: the
    // client has gone.
    all.map_err(|_| too_long())
}

/// Batches of a body. Each one is accepted by the store, possible for its cores, and not older than
/// the limit.
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
    use crate::testing::{batch, framed};

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
