//! The statistics of cells: which index follows in a context, learned while coding.
//!
//! Owns one model for gaps and durations. The quantiser prefers even indices, so an index is a pair, then a last digit.
//! The pair is coded as its side of an anchor near the context's median, the zone of its distance in steps of about
//! the spread, and the place in the zone: a binary decision each. A decision is predicted from counters that all
//! contexts share in units of their own spread, then from the context's own ones, then from these split by the time
//! just before and by the context's last time, each believed the more the more it has seen. So a context seen twice
//! already has a distribution. The zones are those of adaptive Golomb codes (R. F. Rice, 1979), the counters blended as
//! in prediction by partial matching (J. G. Cleary, I. H. Witten, 1984); mixing them by learned weights instead gains
//! 0.2 % and takes a third more time.

use super::ids::Ids;
use super::place::{COARSE, FINE, Place, STEP_MAX, class3, class5, fresh};
use crate::codec::mix::{Counter, Mixer};
use crate::codec::range::{Bits, SCALE};

/// Indices of cells are below this.
pub(super) const INDICES: u16 = 1024;
/// Pairs of an even index and the odd one above it.
const PAIRS: u16 = INDICES / 2;

/// Zones that have decisions of their own; farther ones are coded by length and digits.
const ZONES: u32 = 4;
/// Digits with counters; the ones below are equally likely.
const DIGITS: u32 = 4;
/// First counter of the zones, of the first digits, of the far zones, of the other digits; 0 is the side.
const AT_ZONES: usize = 1;
const AT_FIRST: usize = 9;
const AT_FAR: usize = 32;
const AT_DIGITS: usize = 128;

/// Counters follow about the last so many bits.
const MEMORY: u8 = 255;
/// An input that is always on lets the mixture lean to one side.
const LEAN: i32 = 48;

/// All statistics of a stream of times.
#[derive(Clone, Debug)]
pub(super) struct Cells {
    ids: Ids,
    places: Vec<Place>,
    /// By kind, step, offset of the median from the anchor.
    shape: Vec<[Counter; FINE]>,
    /// By kind, step, last deviation, trend.
    motion: Vec<[Counter; COARSE]>,
    odd: Odd,
    /// First index of a context of which nothing is known, by kind.
    first: Vec<Counter>,
    /// Spread of contexts on average, by kind.
    spread: [i32; 2],
    /// Class of the deviation of the time coded last.
    before: usize,
}

/// Whether an index is odd.
#[derive(Clone, Debug)]
struct Odd {
    /// By the last few answers, and by pair.
    lately: Vec<Counter>,
    by_pair: Vec<Counter>,
    mixer: Mixer<4>,
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
            motion: vec![[Counter::default(); COARSE]; 2 * steps * 25],
            odd: Odd {
                lately: vec![Counter::default(); 64],
                by_pair: vec![Counter::default(); pairs],
                mixer: Mixer::new(8, 0.35, 0.02, 0.002),
                answers: 0,
            },
            first: vec![Counter::default(); 2 * pairs],
            spread: [512; 2],
            before: 1,
        }
    }

    /// Codes the gap before a visit of `node`, reached by `edge`; a decoder passes any index.
    pub(super) fn gap<B: Bits>(&mut self, coder: &mut B, edge: u32, node: u32, index: u16) -> u16 {
        let target = self.place(1, node);
        let at = self.place(0, edge);
        if self.places[at].is_unknown() && self.places[target].arrivals.visits > 0 {
            // A new edge is likely to resemble the other edges to its node.
            let arrivals = self.places[target].arrivals;
            self.places[at].expect(arrivals);
        }
        let index = self.index(coder, 0, at, index);
        self.places[target].arrivals.learn(index >> 1);
        index
    }

    /// Codes the duration of a visit of `node`.
    pub(super) fn duration<B: Bits>(&mut self, coder: &mut B, node: u32, index: u16) -> u16 {
        let at = self.place(1, node);
        self.index(coder, 1, at, index)
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
            let spread = place.level.spread;
            let motion = class5(place.last, spread) * 5 + class5(place.trend, spread / 2);
            let last = if place.is_due() { 3 } else { class3(place.last, spread) };
            let view = View {
                own: &mut place.own,
                shape: &mut self.shape[by_kind * 5 + offset],
                motion: &mut self.motion[by_kind * 25 + motion],
                split: place.split.as_deref_mut().map(|split| {
                    let (by_last, by_before) = split.split_at_mut(4);
                    [&mut by_last[last], &mut by_before[self.before]]
                }),
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
        self.before = class3(place.last, spread);
        (pair << 1) | u16::from(odd)
    }
}

/// Class of how much a context's own counters can be relied on.
fn confidence(place: &Place) -> usize {
    (place.level.visits.max(1).ilog2() as usize).min(7)
}

/// Codes a pair of which nothing is known.
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
        let set = confidence(place);
        let own = &mut place.odd[usize::from(pair) & 3];
        let lately = &mut self.lately[self.answers];
        let by_pair = &mut self.by_pair[usize::from(pair)];
        let logits = [own.logit(), lately.logit(), by_pair.logit(), LEAN];
        let odd = self.mixer.code(coder, set, &logits, odd);
        own.learn(odd, MEMORY);
        lately.learn(odd, MEMORY);
        by_pair.learn(odd, MEMORY);
        self.answers = ((self.answers << 1) | usize::from(odd)) & 63;
        odd
    }
}

/// What predicts one pair.
struct View<'a> {
    own: &'a mut [Counter; FINE],
    shape: &'a mut [Counter; FINE],
    motion: &'a mut [Counter; COARSE],
    split: Option<[&'a mut [Counter; COARSE]; 2]>,
}

impl View<'_> {
    /// Codes how far the pair is from the anchor.
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
            // Repeated far values find their way; that others share it costs little.
            let node = (digits * 7 + found * 5) as usize % 32;
            let bit = self.fine(coder, at + 16 + node, size >> i & 1 == 1);
            digits = (digits << 1) | u32::from(bit);
        }
        digits - 1
    }

    /// Codes the side or a zone, by all counters.
    #[inline]
    fn coarse<B: Bits>(&mut self, coder: &mut B, node: usize, bit: bool) -> bool {
        let shared = u32::midpoint(self.shape[node].chance(), self.motion[node].chance());
        let mut chance = self.own[node].pull(shared as i32, &TRUST_OWN);
        if let Some(split) = &self.split {
            chance = split[1][node].pull(chance, &TRUST_SPLIT);
            chance = split[0][node].pull(chance, &TRUST_SPLIT);
        }
        let bit = coder.bit(possible(chance), bit);
        self.own[node].learn(bit, MEMORY);
        self.shape[node].learn(bit, MEMORY);
        self.motion[node].learn(bit, MEMORY);
        if let Some(split) = &mut self.split {
            split[0][node].learn(bit, MEMORY);
            split[1][node].learn(bit, MEMORY);
        }
        bit
    }

    /// Codes a digit, by the context's own and the shared counters.
    #[inline]
    fn fine<B: Bits>(&mut self, coder: &mut B, node: usize, bit: bool) -> bool {
        let (own, shape) = (&mut self.own[node], &mut self.shape[node]);
        let chance = own.pull(shape.chance() as i32, &TRUST_DIGIT);
        let bit = coder.bit(possible(chance), bit);
        own.learn(bit, MEMORY);
        shape.learn(bit, MEMORY);
        bit
    }
}

/// A probability that leaves a little to either value.
#[inline]
fn possible(chance: i32) -> u32 {
    chance.clamp(32, SCALE as i32 - 32) as u32
}

/// Trust in a counter by how often it was seen, in 1/256: `most` of it in the end, half of that after `half`.
const fn trust(half: usize, most: usize) -> [i32; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        table[i] = (most * i / (i + half)) as i32;
        i += 1;
    }
    table
}

static TRUST_OWN: [i32; 256] = trust(8, 256);
static TRUST_SPLIT: [i32; 256] = trust(30, 200);
static TRUST_DIGIT: [i32; 256] = trust(16, 256);
