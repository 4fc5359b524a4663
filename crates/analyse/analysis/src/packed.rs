//! Iterations as bytes, for the file of a summary.
//!
//! Owns the form: four numbers of variable length for each. Two of them are nearly always 0,
//! because an iteration begins where the one before it ends.

use serde::de::Visitor;
use serde::{Deserializer, Serializer};
use talea_flow::iterations::Iteration;
use talea_model::Nanos;
use talea_run::live::numbers::{Cursor, put_number, put_signed};

/// Writes iterations; for `#[serde(with)]`.
pub(super) fn serialize<S: Serializer>(all: &[Iteration], to: S) -> Result<S::Ok, S::Error> {
    let mut bytes = Vec::new();
    let (mut event, mut time) = (0_u64, 0_u64);
    for Iteration { events, begin, duration } in all {
        put_signed(&mut bytes, (events.start as u64).wrapping_sub(event) as i64);
        put_number(&mut bytes, events.len() as u64);
        put_signed(&mut bytes, begin.0.wrapping_sub(time) as i64);
        put_number(&mut bytes, duration.0);
        (event, time) = (events.end as u64, begin.0.wrapping_add(duration.0));
    }
    to.serialize_bytes(&bytes)
}

/// Reads them back.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Iteration>, D::Error> {
    from.deserialize_bytes(Packed)
}

struct Packed;

impl Visitor<'_> for Packed {
    type Value = Vec<Iteration>;

    fn expecting(&self, text: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        text.write_str("packed iterations")
    }

    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        let mut from = Cursor::new(bytes);
        let mut all = Vec::new();
        let (mut event, mut time) = (0_u64, 0_u64);
        while !from.is_done() {
            let one =
                read(&mut from, event, time).ok_or_else(|| E::custom("damaged iterations"))?;
            (event, time) = (one.events.end as u64, one.begin.0.wrapping_add(one.duration.0));
            all.push(one);
        }
        Ok(all)
    }
}

fn read(from: &mut Cursor<'_>, event: u64, time: u64) -> Option<Iteration> {
    let start = usize::try_from(event.wrapping_add_signed(from.signed()?)).ok()?;
    let end = start.checked_add(usize::try_from(from.number()?).ok()?)?;
    let begin = Nanos(time.wrapping_add_signed(from.signed()?));
    Some(Iteration { events: start..end, begin, duration: Nanos(from.number()?) })
}
