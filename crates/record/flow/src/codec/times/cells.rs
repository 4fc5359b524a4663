//! The statistics of cells: the next index in a context, learned while coding.
//!
//! Owns one model for gaps and durations. The quantiser prefers even indices, so an index is a
//! pair, then a last digit. The pair is coded as its side of an anchor near the context's median,
//! the zone of its distance in steps of about the spread, and the place in the zone: a binary
//! decision each. A decision is predicted from counters that all contexts share in units of their
//! own spread, from the context's own ones, and from these split by the two times just before and
//! by the context's last times, mixed by weights that are learned for contexts of about as many
//! visits. The zones are those of adaptive Golomb codes (R. F. Rice, 1979), the mixture that of paq
//! (M. Mahoney, 2005).

use super::ids::Ids;
use super::mixture::Mixture;
use super::place::{AGES, BEFORE, COARSE, FINE, Place, STEP_MAX, class3, class5, fresh};
use crate::codec::mix::Counter;
use crate::codec::range::{Bits, SCALE};

/// Indices of cells are below this.
pub(super) const INDICES: u16 = 1024;
/// Pairs of an even index and the odd one above it.
const PAIRS: u16 = INDICES / 2;

/// Zones that have decisions of their own; farther ones are coded by length and digits.
const ZONES: u32 = 4;
/// Digits with counters; the ones below are equally likely.
const DIGITS: u32 = 4;
/// First counter of the zones, of the first digits, of the far zones, of the other digits; 0 is the
/// side.
const AT_ZONES: usize = 1;
const AT_FIRST: usize = 9;
const AT_FAR: usize = 32;
const AT_DIGITS: usize = 128;

/// Memory of counters in bits: those of a context, those that contexts share, those that split a
/// context further.
const OWN: u8 = 255;
const SHARED: u8 = 60;
const SPLIT: u8 = 30;
/// A constant input lets the mixture lean to one side.
const LEAN: i16 = 48;

/// All statistics of a stream of times.
#[derive(Clone, Debug)]
pub(super) struct Cells {
    ids: Ids,
    places: Vec<Place>,
    /// By kind, step, offset of the median from the anchor.
    shape: Vec<[Counter; FINE]>,
    /// By kind, step, last deviation, deviations just before.
    motion: Vec<[Counter; COARSE]>,
    /// By age and decision.
    mixture: Mixture<6>,
    odd: Odd,
    /// First index of an unknown context, by kind.
    first: Vec<Counter>,
    /// Spread of contexts on average, by kind.
    spread: [i32; 2],
    /// Classes of the deviations of the last two times coded.
    before: usize,
    /// Place of the target node of the last gap.
    target: usize,
}

/// Parity of an index.
#[derive(Clone, Debug)]
struct Odd {
    /// By the last few results, and by pair.
    lately: Vec<Counter>,
    by_pair: Vec<Counter>,
    mixture: Mixture<4>,
    answers: usize,
}

impl Default for Cells {
    fn default() -> Self {
        Self::new()
    }
}

impl Cells {
    pub(super) fn new() -> Self {
        let steps = STEP_MAX as usize + 1;
        let pairs = usize::from(PAIRS);
        Self {
            ids: Ids::new(),
            places: Vec::new(),
            shape: vec![fresh(); 2 * steps * 5],
            motion: vec![[Counter::default(); COARSE]; 2 * steps * 5 * BEFORE],
            mixture: Mixture::new(AGES * COARSE, 28),
            odd: Odd {
                lately: vec![Counter::default(); 64],
                by_pair: vec![Counter::default(); pairs],
                mixture: Mixture::new(AGES, 35),
                answers: 0,
            },
            first: vec![Counter::default(); 2 * pairs],
            spread: [512; 2],
            before: 4,
            target: 0,
        }
    }

    /// Codes the gap before a visit of `node`, reached by `edge`; a decoder passes any index.
    pub(super) fn gap<B: Bits>(&mut self, coder: &mut B, edge: u32, node: u32, index: u16) -> u16 {
        self.target = self.place(1, node);
        let at = self.place(0, edge);
        let arrival = std::mem::replace(&mut self.places[self.target].arrival, at);
        if self.places[at].is_unknown() && arrival != usize::MAX {
            // A new edge is likely to resemble the other edges to its node.
            let level = self.places[arrival].level;
            self.places[at].expect(level);
        }
        self.index(coder, 0, at, index)
    }

    /// Codes the duration of a visit of the last gap's target node.
    pub(super) fn duration<B: Bits>(&mut self, coder: &mut B, index: u16) -> u16 {
        self.index(coder, 1, self.target, index)
    }

    fn place(&mut self, kind: usize, context: u32) -> usize {
        let at = self.ids.get(u64::from(context) << 1 | kind as u64);
        if at == self.places.len() {
            self.places.push(Place::new(self.spread[kind]));
        }
        at
    }

    fn index<B: Bits>(&mut self, coder: &mut B, kind: usize, at: usize, index: u16) -> u16 {
        let place = &mut self.places[at];
        let pair = if place.is_unknown() {
            first(&mut self.first[kind * usize::from(PAIRS)..], coder, index >> 1)
        } else {
            let by_kind = kind * (STEP_MAX as usize + 1) + place.step as usize;
            let offset = class5(place.level.median - (place.anchor << 8), 128 << place.step);
            let motion = class5(place.last, place.level.spread) * BEFORE + self.before;
            let lately = place.lately();
            let view = View {
                mixture: &mut self.mixture,
                age: place.age(),
                own: &mut place.own,
                shape: &mut self.shape[by_kind * 5 + offset],
                motion: &mut self.motion[by_kind * 5 * BEFORE + motion],
                by_last: &mut place.by_last[lately],
                by_before: &mut place.by_before[self.before],
            };
            let apart = view.code(coder, place.step, i32::from(index >> 1) - place.anchor);
            // Malformed bytes may point outside.
            (place.anchor + apart).clamp(0, i32::from(PAIRS) - 1) as u16
        };
        let odd = self.odd.code(coder, place, pair, index & 1 == 1);
        let spread = place.level.spread;
        place.learn(pair);
        if place.level.visits >= 8 {
            self.spread[kind] += (spread - self.spread[kind]) >> 6;
        }
        self.before = self.before % 3 * 3 + class3(place.last, spread);
        (pair << 1) | u16::from(odd)
    }
}

/// Codes a pair of an unknown context.
fn first<B: Bits>(counters: &mut [Counter], coder: &mut B, pair: u16) -> u16 {
    let mut node = 1_usize;
    for digit in (0..9).rev() {
        let bit = counters[node].code(coder, pair >> digit & 1 == 1, 30);
        node = (node << 1) | usize::from(bit);
    }
    node as u16 & (PAIRS - 1)
}

impl Odd {
    fn code<B: Bits>(&mut self, coder: &mut B, place: &mut Place, pair: u16, odd: bool) -> bool {
        let (age, recent) = (place.age(), usize::from(self.answers != 0));
        let own = &mut place.odd[usize::from(pair) & 1 | recent << 1];
        let lately = &mut self.lately[self.answers];
        let by_pair = &mut self.by_pair[usize::from(pair)];
        let logits = [own.logit(), lately.logit(), by_pair.logit(), LEAN];
        let odd = self.mixture.code(coder, age, &logits, odd);
        own.learn(odd, SPLIT);
        lately.learn(odd, OWN);
        by_pair.learn(odd, SHARED);
        self.answers = ((self.answers << 1) | usize::from(odd)) & 63;
        odd
    }
}

/// Predictors of one pair.
struct View<'a> {
    mixture: &'a mut Mixture<6>,
    age: usize,
    own: &'a mut [Counter; FINE],
    shape: &'a mut [Counter; FINE],
    motion: &'a mut [Counter; COARSE],
    by_last: &'a mut [Counter; COARSE],
    by_before: &'a mut [Counter; COARSE],
}

impl View<'_> {
    /// Codes the distance of the pair from the anchor.
    fn code<B: Bits>(mut self, coder: &mut B, step: u32, apart: i32) -> i32 {
        let below = self.coarse(coder, 0, apart < 0);
        let side = usize::from(below);
        let distance = if apart < 0 { -apart - 1 } else { apart } as u32;
        let zone = distance >> step;
        let mut found = 0;
        while found < ZONES {
            let node = AT_ZONES + side * ZONES as usize + found as usize;
            if !self.coarse(coder, node, zone > found) {
                break;
            }
            found += 1;
        }
        let far = found == ZONES;
        let lane = side * ZONES as usize + found.min(ZONES - 1) as usize;
        let zone =
            if far { ZONES + self.far(coder, side, zone.saturating_sub(ZONES)) } else { found };
        let mut node = 1;
        for i in (0..step).rev() {
            let bit = distance >> i & 1 == 1;
            let bit = if far || i + DIGITS < step {
                coder.bit(SCALE / 2, bit)
            } else if i + 1 == step {
                self.fine(coder, AT_FIRST + lane, bit)
            } else {
                self.fine(coder, AT_DIGITS + lane * 16 + node, bit)
            };
            node = (node << 1) | usize::from(bit);
        }
        let digits = node as u32 ^ 1 << step;
        let distance = (zone << step | digits).min(u32::from(PAIRS)) as i32;
        if below { -distance - 1 } else { distance }
    }

    /// Codes the number of a far zone by its length and digits.
    fn far<B: Bits>(&mut self, coder: &mut B, side: usize, zone: u32) -> u32 {
        let size = zone + 1;
        let bits = size.ilog2();
        let at = AT_FAR + side * 48;
        let mut found = 0;
        while found < 10 && self.fine(coder, at + found as usize, bits > found) {
            found += 1;
        }
        let mut digits = 1;
        for i in (0..found).rev() {
            // Repeated far values use the same node; sharing it costs little.
            let node = (digits * 7 + found * 5) as usize % 32;
            let bit = self.fine(coder, at + 16 + node, size >> i & 1 == 1);
            digits = (digits << 1) | u32::from(bit);
        }
        digits - 1
    }

    /// Codes the side or a zone, by all counters.
    #[inline]
    fn coarse<B: Bits>(&mut self, coder: &mut B, node: usize, bit: bool) -> bool {
        let (own, shape) = (&mut self.own[node], &mut self.shape[node]);
        let motion = &mut self.motion[node];
        let (by_last, by_before) = (&mut self.by_last[node], &mut self.by_before[node]);
        let logits =
            [own.logit(), shape.logit(), motion.logit(), by_last.logit(), by_before.logit(), LEAN];
        let bit = self.mixture.code(coder, self.age * COARSE + node, &logits, bit);
        own.learn(bit, OWN);
        shape.learn(bit, SHARED);
        motion.learn(bit, SHARED);
        by_last.learn(bit, SPLIT);
        by_before.learn(bit, SPLIT);
        bit
    }

    /// Codes a digit, by the context's own and the shared counters.
    #[inline]
    fn fine<B: Bits>(&mut self, coder: &mut B, node: usize, bit: bool) -> bool {
        let (own, shape) = (&mut self.own[node], &mut self.shape[node]);
        let chance = own.pull(shape.chance() as i32, &TRUST_DIGIT);
        let bit = coder.bit(possible(chance), bit);
        own.learn(bit, SHARED);
        shape.learn(bit, SHARED);
        bit
    }
}

/// A probability that leaves a little to either value.
#[inline]
fn possible(chance: i32) -> u32 {
    chance.clamp(32, SCALE as i32 - 32) as u32
}

/// Trust in a counter by its number of observations, in 1/256: `most` of it in the end, half of
/// that after `half`.
const fn trust(half: usize, most: usize) -> [i32; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        table[i] = (most * i / (i + half)) as i32;
        i += 1;
    }
    table
}

static TRUST_DIGIT: [i32; 256] = trust(16, 256);
