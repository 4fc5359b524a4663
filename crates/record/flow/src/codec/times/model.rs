//! The statistics of all times of a stream.
//!
//! Owns the order of an event: its gap, in the context of the edge that led to it, then its
//! duration, in the context of its node. Gaps and durations have statistics of their own, and in
//! common what is known of the times just before.

use super::before::Before;
use super::indices::ExtraBits;
pub(super) use super::indices::INDICES;
use super::kind::Kind;
use super::rans::Symbols;
use crate::times::Cell;

/// All statistics of a stream of times.
#[derive(Clone, Debug)]
pub(super) struct Model {
    extra_bits: ExtraBits,
    gaps: Kind,
    durations: Kind,
    before: Before,
}

impl Model {
    /// Without observations; `extra_bits` has the number of extra bits of each cell.
    pub(super) fn new(extra_bits: impl Fn(u16) -> u8) -> Self {
        Self {
            extra_bits: ExtraBits::new(extra_bits),
            gaps: Kind::new(),
            durations: Kind::new(),
            before: Before::NOTHING,
        }
    }

    /// Forgets all observations.
    pub(super) fn restart(&mut self) {
        (self.gaps, self.durations) = (Kind::new(), Kind::new());
        self.before = Before::NOTHING;
    }

    /// Number of contexts seen.
    pub(super) fn contexts(&self) -> usize {
        self.gaps.contexts() + self.durations.contexts()
    }

    /// Codes gap and duration of a visit of `node`, reached by `edge`: a decoder passes any.
    #[inline(always)]
    pub(super) fn event<S: Symbols>(
        &mut self,
        coder: &mut S,
        (edge, node): (u32, u32),
        gap: Cell,
        duration: Cell,
    ) -> (Cell, Cell) {
        let (from, at) = (self.gaps.known_place(edge), self.durations.known_place(node));
        if from == 0 || at == 0 {
            return self.new_event(coder, (edge, node), gap, duration);
        }
        let Self { extra_bits, gaps, durations, before } = self;
        let gap = gaps.code(coder, from, *before, extra_bits, gap);
        let between = before.then(gap.class, gap.is_odd);
        let duration = durations.code(coder, at, between, extra_bits, duration);
        durations.arrive(at, from);
        *before = between.then(duration.class, duration.is_odd);
        (gap.cell, duration.cell)
    }

    /// Likewise of an edge or a node that is new, or has a large number.
    #[cold]
    #[inline(never)]
    fn new_event<S: Symbols>(
        &mut self,
        coder: &mut S,
        (edge, node): (u32, u32),
        gap: Cell,
        duration: Cell,
    ) -> (Cell, Cell) {
        let Self { extra_bits, gaps, durations, before } = self;
        let (from, at) = (gaps.place(edge), durations.place(node));
        if gaps.is_new(from) && durations.arrival(at) > 0 {
            // A new edge is likely to resemble the other edges to its node.
            gaps.expect(from, durations.arrival(at));
        }
        let gap = if gaps.is_new(from) {
            gaps.code_first(coder, from, extra_bits, gap)
        } else {
            gaps.code(coder, from, *before, extra_bits, gap)
        };
        let between = before.then(gap.class, gap.is_odd);
        let duration = if durations.is_new(at) {
            durations.code_first(coder, at, extra_bits, duration)
        } else {
            durations.code(coder, at, between, extra_bits, duration)
        };
        durations.arrive(at, from);
        *before = between.then(duration.class, duration.is_odd);
        (gap.cell, duration.cell)
    }
}
