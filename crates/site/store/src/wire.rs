//! The form that batches travel and wait in: JSON, packed with zstd, with a version.
//!
//! Owns both directions. What is decoded was checked, has no name longer than
//! [`LONGEST_NAME`](crate::LONGEST_NAME), and took no more memory than [`MOST_BYTES`] of JSON
//! whatever the bytes claim. Fields that a later version adds are passed over; a change that old
//! readers would misunderstand counts the version up.

use std::io::Read;

use serde::{Deserialize, Serialize};
use talea_model::shares::Batch;

use crate::arrival;

/// The version that this build writes, and the newest that it reads.
pub const VERSION: u32 = 1;
/// Most bytes of JSON of a batch.
pub const MOST_BYTES: u64 = 64 << 20;
/// Fast enough to be nothing beside the sampling; more gains little on tables of numbers.
const LEVEL: i32 = 3;
/// Most memory that a frame may ask of its reader: 2^23 bytes.
const WINDOW: u32 = 23;

/// A server's error for a batch of another node than its token's: agents know by it that this batch
/// will never be accepted.
pub const OTHER_NODE: &str = "a node's token puts batches of this node alone";

/// Why bytes are no batch.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// They are not zstd's, or damaged.
    #[error("batch cannot be unpacked, expected a whole zstd frame: {0}")]
    Packed(std::io::Error),
    /// They unpack to too much.
    #[error("batch unpacks to more than {most} bytes")]
    TooLong {
        /// Its permission.
        most: u64,
    },
    /// A later build made them.
    #[error("batch has version {found}, this build reads up to {VERSION}")]
    Newer {
        /// Their version.
        found: u32,
    },
    /// They are JSON of something else, or none.
    #[error("batch is not as expected: {0}")]
    Json(serde_json::Error),
    /// They are a batch that contradicts itself.
    #[error("batch contradicts itself: {0}")]
    Check(String),
}

#[derive(Serialize)]
struct Written<'a> {
    version: u32,
    batch: &'a Batch,
}

#[derive(Deserialize)]
struct Found {
    version: u32,
    batch: Batch,
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// Bytes of a batch.
///
/// # Errors
/// A batch of more than [`MOST_BYTES`] of JSON, which no reader would take.
pub fn encode(batch: &Batch) -> Result<Vec<u8>, WireError> {
    let json = serde_json::to_vec(&Written { version: VERSION, batch }).map_err(WireError::Json)?;
    if json.len() as u64 > MOST_BYTES {
        return Err(WireError::TooLong { most: MOST_BYTES });
    }
    zstd::bulk::compress(&json, LEVEL).map_err(WireError::Packed)
}

/// The batch of bytes that nobody vouches for.
///
/// # Errors
/// Says what was expected of them.
pub fn decode(bytes: &[u8]) -> Result<Batch, WireError> {
    decode_within(bytes, MOST_BYTES).map(|(batch, _)| batch)
}

/// The same for one of many, which may have so many bytes of JSON; how many it had stands beside
/// it.
///
/// # Errors
/// As [`decode`].
pub fn decode_within(bytes: &[u8], most: u64) -> Result<(Batch, u64), WireError> {
    let most = most.min(MOST_BYTES);
    let mut unpacked = zstd::stream::Decoder::with_buffer(bytes).map_err(WireError::Packed)?;
    unpacked.window_log_max(WINDOW).map_err(WireError::Packed)?;
    let mut json = Vec::new();
    unpacked.take(most + 1).read_to_end(&mut json).map_err(WireError::Packed)?;
    let length = json.len() as u64;
    if length > most {
        return Err(WireError::TooLong { most });
    }
    let mut found: Found = serde_json::from_slice(&json).map_err(|error| {
        // A batch of a later version need not look like a batch of this one.
        match serde_json::from_slice::<Version>(&json) {
            Ok(Version { version }) if version > VERSION => WireError::Newer { found: version },
            _ => WireError::Json(error),
        }
    })?;
    if found.version > VERSION {
        return Err(WireError::Newer { found: found.version });
    }
    found.batch.check().map_err(WireError::Check)?;
    arrival::shorten(&mut found.batch);
    Ok((found.batch, length))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use talea_model::shares::Upkeep;

    use super::*;
    use crate::tests::made::{batch, batches};

    fn packed(text: &str) -> Vec<u8> {
        zstd::bulk::compress(text.as_bytes(), 1).unwrap()
    }

    proptest! {
        #[test]
        fn batches_come_back(batches in batches()) {
            for mut batch in batches {
                let found = decode(&encode(&batch).unwrap()).unwrap();
                // What a store keeps of it is the same.
                prop_assert_eq!(arrival::losses(&found), arrival::losses(&batch));
                arrival::shorten(&mut batch);
                prop_assert_eq!(found, batch);
            }
        }

        #[test]
        fn no_bytes_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
        }

        #[test]
        fn damage_does_no_harm(at in any::<prop::sample::Index>(), flip in 1..=255_u8) {
            let mut bytes = encode(&batch("n", 0, 0)).unwrap();
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            let _ = decode(&bytes);
        }
    }

    #[test]
    fn errors_say_what_was_expected() {
        assert!(matches!(decode(b""), Err(WireError::Packed(_) | WireError::Json(_))));
        assert!(matches!(decode(b"{}"), Err(WireError::Packed(_))));
        assert!(matches!(decode(&packed("{}")), Err(WireError::Json(_))));
        let newer = decode(&packed(r#"{"version":2,"batch":7}"#)).unwrap_err();
        assert_eq!(newer.to_string(), "batch has version 2, this build reads up to 1");
        let mut wrong = batch("n", 0, 0);
        wrong.end = talea_model::Nanos(0);
        let wrong = decode(&encode(&wrong).unwrap()).unwrap_err();
        assert!(matches!(wrong, WireError::Check(_)), "{wrong}");
        let deep = packed(&format!("{{\"version\":1,\"batch\":{}", "[".repeat(1_000_000)));
        assert!(matches!(decode(&deep), Err(WireError::Json(_))));
    }

    #[test]
    fn agents_of_before_say_nothing_of_themselves() {
        let mut told = batch("n", 0, 0);
        told.upkeep = Some(Upkeep { waiting: 3, ..Upkeep::default() });
        assert_eq!(decode(&encode(&told).unwrap()).unwrap(), told);
        told.upkeep = None;
        let text = serde_json::to_string(&Written { version: VERSION, batch: &told }).unwrap();
        assert!(!text.contains("upkeep"), "{text}");
        // What a later one says more is passed over, and what it says less is zero.
        let later =
            text.replacen("\"gaps\":", "\"upkeep\":{\"waiting\":3,\"more\":1},\"gaps\":", 1);
        let later = decode(&packed(&later)).unwrap();
        assert_eq!(later.upkeep, Some(Upkeep { waiting: 3, ..Upkeep::default() }));
    }

    #[test]
    fn names_are_cut_and_take_no_room() {
        let mut long = batch("n", 0, 0);
        long.phases.push("x".repeat(1 << 20));
        let packed = encode(&long).unwrap();
        assert!(packed.len() < 1000);
        let found = decode(&packed).unwrap();
        assert!(found.phases[0].capacity() <= crate::LONGEST_NAME, "{}", found.phases[0].len());
        assert_eq!(found.gaps.iter().map(|gap| gap.count).collect::<Vec<_>>(), [1]);
        let length = decode_within(&packed, MOST_BYTES).unwrap().1;
        assert!(length > 1 << 20);
        assert!(decode_within(&packed, length).is_ok());
        assert!(matches!(decode_within(&packed, length - 1), Err(WireError::TooLong { .. })));
    }

    #[test]
    fn what_unpacks_to_much_is_refused() {
        let bomb = zstd::bulk::compress(&vec![b' '; MOST_BYTES as usize + 1], 1).unwrap();
        assert!(bomb.len() < 100_000);
        assert!(matches!(decode(&bomb), Err(WireError::TooLong { .. })));
    }
}
