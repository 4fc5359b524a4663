//! Times of a thread that are in a ring.
//!
//! Owns the order of events and entries: some events have no entry, because the recorder had no
//! room for it or because this reader was too late.

use std::mem::offset_of;

use talea_model::Nanos;

use super::super::cells;
use super::super::layout::Thread;
use super::super::numbers::Cursor;
use super::stream::Entry;
use super::{How, Input, Source, ThreadFollower};

impl ThreadFollower {
    /// As [`Self::next_times`], for a ring; no times where they are lost, nothing where they are
    /// not there yet.
    pub(super) fn next_ring_times(
        &mut self,
        source: &Input<'_, impl Source>,
        how: &How<'_>,
    ) -> Option<(Option<(Nanos, Nanos)>, Entry)> {
        let (mode, quantiser) = how.times;
        loop {
            let stream = &self.thread.times;
            let decode = |from: &mut Cursor<'_>| cells::times(from, mode, quantiser);
            let known = self.next_entry.take();
            let Some(next) = known.or_else(|| self.times.next_ring_entry(source, stream, decode))
            else {
                // As for a stream, but the recorder may keep later times again.
                let ended = self.thread.events;
                if self.missing.is_some_and(|(events, before)| {
                    events == self.events && (ended > before || how.is_final)
                }) {
                    self.lost = self.missing.map_or(0, |(_, before)| before);
                }
                if self.events < self.lost {
                    return Some((None, Entry::default()));
                }
                self.missing = Some((self.events, ended));
                return None;
            };
            if next.number > self.events {
                self.next_entry = Some(next);
                return Some((None, Entry::default()));
            }
            self.end = next.end.unwrap_or(self.end);
            self.since = self.end;
            let (gap, duration) = next.times;
            let begin = self.end.saturating_add(gap);
            self.end = begin.saturating_add(duration);
            if next.number == self.events {
                return Some((Some((Nanos(begin), Nanos(self.end))), next.entry));
            }
        }
    }

    /// Offset of the word by which a reader of a ring releases chunks, and the chunk that it has
    /// reached; nothing before the first.
    pub fn ring_position(&self) -> Option<(u64, u64)> {
        let chunk = self.times.chunk();
        let word = self.offset.saturating_add(offset_of!(Thread, times_read) as u64);
        (chunk != 0).then_some((word, chunk))
    }

    /// Offset of its record in the file, which tells it apart from others of the process.
    pub fn offset(&self) -> u64 {
        self.offset
    }
}
