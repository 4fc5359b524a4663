//! The statistics of cells: which index follows in a context, learned while coding.
//!
//! Owns one model for gaps and durations. The quantiser prefers even indices, so an index is a pair, then a last digit.
//! The pair is coded as its side of an anchor near the context's median, the zone of its distance in steps of about
//! the spread, and the place in the zone: a binary decision each. A decision is predicted by a mixture of the
//! context's own counters, the same split by its last time and by the time just before, and counters that all
//! contexts share in units of their own spread, from which a context seen twice already has a distribution.
//! Follows the adaptive Golomb codes of lossless audio coders, with context mixing in the place of a fixed code.

use super::ids::Ids;
use super::place::{COARSE, FINE, Place, STEP_MAX, class3, class5, fresh};
use crate::codec::mix::{Counter, Mixer};
use crate::codec::range::Bits;

/// Indices of cells are below this.
pub(super) const INDICES: u16 = 1024;
/// Pairs of an even index and the odd one above it.
const PAIRS: u16 = INDICES / 2;

/// Zones that have decisions of their own; farther ones are coded by length and digits.
const ZONES: u32 = 4;
/// Digits with counters; the ones below are equally likely.
const DIGITS: u32 = 4;
/// First counter of the zones, of the first digits, of the far zones, of the other digits.
const AT_ZONES: usize = 1;
const AT_FIRST: usize = 9;
const AT_FAR: usize = 32;
const AT_DIGITS: usize = 128;

const INPUTS: usize = 6;
/// Mixture weights depend on kind, decision and visits so far.
const SETS: usize = 2 * 16 * 8;
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
    mixer: Mixer<INPUTS>,
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
            mixer: Mixer::new(SETS, 0.25, 0.02, 0.002),
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
            first(
                &mut self.first[kind * usize::from(PAIRS)..],
                coder,
                index >> 1,
            )
        } else {
            let by_kind = kind * (STEP_MAX as usize + 1) + place.step as usize;
            let offset = class5(
                place.level.median - (place.anchor << 8),
                256 << place.step >> 1,
            );
            let spread = place.level.spread;
            let motion = class5(place.last, spread) * 5 + class5(place.trend, spread / 2);
            let last = if place.is_due() {
                3
            } else {
                class3(place.last, spread)
            };
            let view = View {
                sets: (kind * 8 + confidence(place)) * 16,
                own: &mut place.own,
                shape: &mut self.shape[by_kind * 5 + offset],
                motion: &mut self.motion[by_kind * 25 + motion],
                by_last: place.by_last.as_deref_mut().map(|split| &mut split[last]),
                by_before: place
                    .by_before
                    .as_deref_mut()
                    .map(|split| &mut split[self.before]),
                mixer: &mut self.mixer,
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
        pair << 1 | u16::from(odd)
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
        node = node << 1 | usize::from(bit);
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
        own.learn(odd, 250);
        lately.learn(odd, 1000);
        by_pair.learn(odd, 1000);
        self.answers = (self.answers << 1 | usize::from(odd)) & 63;
        odd
    }
}

/// What predicts one pair.
struct View<'a> {
    sets: usize,
    own: &'a mut [Counter; FINE],
    shape: &'a mut [Counter; FINE],
    motion: &'a mut [Counter; COARSE],
    by_last: Option<&'a mut [Counter; COARSE]>,
    by_before: Option<&'a mut [Counter; COARSE]>,
    mixer: &'a mut Mixer<INPUTS>,
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
        let zone = if far {
            ZONES + self.far(coder, side, zone.saturating_sub(ZONES))
        } else {
            found
        };
        let mut node = 1;
        for i in (0..step).rev() {
            let bit = distance >> i & 1 == 1;
            let bit = if far || i + DIGITS < step {
                coder.raw(1, u64::from(bit)) == 1
            } else if i + 1 == step {
                self.coarse(coder, AT_FIRST + lane, bit)
            } else {
                self.fine(coder, AT_DIGITS + lane * 16 + node, bit)
            };
            node = node << 1 | usize::from(bit);
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
            digits = digits << 1 | u32::from(bit);
        }
        digits - 1
    }

    /// Codes a decision by the mixture of all counters.
    #[inline]
    fn coarse<B: Bits>(&mut self, coder: &mut B, node: usize, bit: bool) -> bool {
        let mut chance = (self.shape[node].chance() as i32 * 1 + self.motion[node].chance() as i32) / 2;
        let toward = |chance: i32, counter: Counter, table: &[i32; 256]| {
            chance + (((counter.chance() as i32 - chance) * table[counter.seen() as usize]) >> 8)
        };
        chance = toward(chance, self.own[node], &TRUST_OWN);
        if let Some(c) = &self.by_before { chance = toward(chance, c[node], &TRUST_SPLIT); }
        if let Some(c) = &self.by_last { chance = toward(chance, c[node], &TRUST_SPLIT); }
        let chance = (chance.clamp(32, 65536-32)) as u32;
        let bit = coder.bit(chance, bit);
        self.own[node].learn(bit, 250);
        self.shape[node].learn(bit, 1000);
        self.motion[node].learn(bit, 500);
        for counters in [&mut self.by_last, &mut self.by_before]
            .into_iter()
            .flatten()
        {
            counters[node].learn(bit, 250);
        }
        bit
    }

    /// Codes a digit by its own and the shared counters, weighted by how often the own were seen. Near even odds this
    /// is as good as the mixture, and takes a third of its time.
    #[inline]
    fn fine<B: Bits>(&mut self, coder: &mut B, node: usize, bit: bool) -> bool {
        let (own, shape) = (&mut self.own[node], &mut self.shape[node]);
        let trust = TRUST[own.seen() as usize];
        let chance = (own.chance() * trust + shape.chance() * (256 - trust)) >> 8;
        let bit = coder.bit(chance, bit);
        own.learn(bit, 250);
        shape.learn(bit, 1000);
        bit
    }
}

/// Weight of a context's own counter after so many observations, in 1/256.
static TRUST: [u32; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        table[i] = (256 * i / (i + 16)) as u32;
        i += 1;
    }
    table
};

const fn trust(a: usize, num: usize) -> [i32; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        table[i] = (num * i / (i + a)) as i32;
        i += 1;
    }
    table
}
static TRUST_OWN: [i32; 256] = trust(30, 256);
static TRUST_SPLIT: [i32; 256] = trust(30, 64);
