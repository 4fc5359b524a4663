//! Iterations as bytes, for the file of a summary.
//!
//! Owns the form: numbers of variable length, four for each iteration or group. Of an iteration two
//! are nearly always 0, because it begins where the one before it ends.

use talea_model::Nanos;
use talea_run::live::numbers::{Cursor, put_number, put_signed};

/// Iterations; for `#[serde(with)]`.
pub(super) mod each {
    use std::sync::Arc;

    use serde::{Deserializer, Serializer};
    use talea_flow::iterations::Iteration;

    use super::{Cursor, Nanos, Packed, put_number, put_signed};

    /// Writes iterations.
    pub(crate) fn serialize<S: Serializer>(all: &[Iteration], to: S) -> Result<S::Ok, S::Error> {
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
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Arc<[Iteration]>, D::Error> {
        let (mut event, mut time) = (0_u64, 0_u64);
        let all = from.deserialize_bytes(Packed(|from: &mut Cursor<'_>| {
            let start = usize::try_from(event.wrapping_add_signed(from.signed()?)).ok()?;
            let end = start.checked_add(usize::try_from(from.number()?).ok()?)?;
            let begin = Nanos(time.wrapping_add_signed(from.signed()?));
            let duration = Nanos(from.number()?);
            (event, time) = (end as u64, begin.0.wrapping_add(duration.0));
            Some(Iteration { events: start..end, begin, duration })
        }))?;
        Ok(all.into())
    }
}

/// Groups of iterations; for `#[serde(with)]`.
pub(super) mod groups {
    use serde::{Deserializer, Serializer};

    use super::{Cursor, Nanos, Packed, put_number, put_signed};
    use crate::course::Group;

    /// Writes groups.
    pub(crate) fn serialize<S: Serializer>(all: &[Group], to: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        let mut time = 0_u64;
        for Group { begin, sum, min, max } in all {
            put_signed(&mut bytes, begin.0.wrapping_sub(time) as i64);
            put_number(&mut bytes, sum.0);
            put_number(&mut bytes, min.0);
            put_number(&mut bytes, max.0.wrapping_sub(min.0));
            time = begin.0.wrapping_add(sum.0);
        }
        to.serialize_bytes(&bytes)
    }

    /// Reads them back.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Group>, D::Error> {
        let mut time = 0_u64;
        from.deserialize_bytes(Packed(|from: &mut Cursor<'_>| {
            let begin = Nanos(time.wrapping_add_signed(from.signed()?));
            let (sum, min) = (Nanos(from.number()?), Nanos(from.number()?));
            let max = Nanos(min.0.checked_add(from.number()?)?);
            time = begin.0.wrapping_add(sum.0);
            Some(Group { begin, sum, min, max })
        }))
    }
}

/// Reads items until the bytes end.
struct Packed<F>(F);

impl<T, F: FnMut(&mut Cursor<'_>) -> Option<T>> serde::de::Visitor<'_> for Packed<F> {
    type Value = Vec<T>;

    fn expecting(&self, text: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        text.write_str("packed iterations")
    }

    fn visit_bytes<E: serde::de::Error>(mut self, bytes: &[u8]) -> Result<Self::Value, E> {
        let mut from = Cursor::new(bytes);
        let mut all = Vec::new();
        while !from.is_done() {
            all.push((self.0)(&mut from).ok_or_else(|| E::custom("damaged iterations"))?);
        }
        Ok(all)
    }
}
