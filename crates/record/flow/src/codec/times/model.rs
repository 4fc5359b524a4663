//! The statistics of cells for fast decoding: one symbol of 16 a time, in units of its context.
//!
//! Owns one model for gaps and durations. The quantiser prefers even indices, so an index is a
//! pair, then a last digit. The pair is coded as its zone, about as wide as the context's spread,
//! relative to an anchor near the context's median; then by its place in the zone. Zones beyond
//! seven on either side are coded by the length of their distance. The probabilities of zones are a
//! mixture: those of the context, those that it has after times like the two just before, and those
//! that all contexts of about this spread share. A context begins with what is shared, so that
//! short streams learn nearly as much from other contexts as from their own.

use super::ids::Ids;
use super::place::{BEFORE, Level};
use super::rans::Symbols;
use super::zones::{Chance, ZONES, Zones, code_mixed};
use crate::times::Cell;

/// Indices of cells are below this.
pub(super) const INDICES: usize = 1024;
/// Pairs of an even index and the odd one above it.
const PAIRS: i32 = INDICES as i32 / 2;
/// Digits of a first pair that are equally likely.
const FIRST_RAW: u32 = 5;

/// Digits inside a zone that are learned; those below are equally likely.
const INSIDE_DIGITS: u32 = 2;

/// Zone 0 is all below, the last one all above.
const MIDDLE: i32 = 8;
/// Zones with a place of their own on either side of the anchor.
const NEAR: i32 = 7;
/// Largest logarithm of the width of a zone.
const STEP_MAX: u32 = 8;
const STEPS: usize = STEP_MAX as usize + 1;

/// Memory in observations: of a context, of what contexts share, of what splits a context further.
const OWN: u8 = 60;
const SHARED: u8 = 60;
const SPLIT: u8 = 30;

/// Confidence of what a context inherits, in observations.
const INHERITED: u8 = 3;

/// Contexts from this on are only found through [`Ids`]; a table of them would be too large.
const KNOWN_MAX: usize = 1 << 16;

/// Number of classes of a context's last deviation.
const LAST: usize = 5;

/// The last digit and the inside of a zone, before any observation.
const DIGIT: Chance = Chance::new(30, 0);
const INSIDE: Chance = Chance::new(50, 6);

/// Five classes of zones.
static CLASS5: [u8; ZONES] = [0, 0, 0, 0, 0, 0, 1, 2, 2, 3, 4, 4, 4, 4, 4, 4];
/// Classes of the last two zones after one more, by those before.
static NEXT: [[usize; ZONES]; BEFORE] = {
    let mut table = [[0; ZONES]; BEFORE];
    let mut before = 0;
    while before < BEFORE {
        let mut zone = 0;
        while zone < ZONES {
            let class = if zone < 7 { 0 } else { 1 + (zone > 8) as usize };
            table[before][zone] = before % 3 * 3 + class;
            zone += 1;
        }
        before += 1;
    }
    table
};

/// All statistics of a stream of times.
#[derive(Clone, Debug)]
pub(super) struct Model {
    /// Extra bits of each cell.
    extra_bits: Box<[u8; INDICES]>,
    /// For each kind the number after that of the place of each context; 0 where there is none.
    known: [Vec<u32>; 2],
    /// The same for all contexts.
    ids: Ids,
    places: Vec<Place>,
    /// By kind, step, last deviation, deviations just before.
    motion: Vec<Zones>,
    /// Lengths of far distances, by kind and side.
    far: [[Zones; 2]; 2],
    /// The last six last digits.
    digits: usize,
    /// First pair of a context, by kind.
    first: [Zones; 2],
    /// Spread of contexts on average, by kind.
    spread: [i32; 2],
    /// Classes of the deviations of the last two times coded.
    before: usize,
}

/// A context's statistics.
#[derive(Clone, Debug)]
struct Place {
    level: Level,
    /// For a node: place of the edge that led to it last; `usize::MAX` before the first.
    arrival: usize,
    /// Class of the last zone.
    last: u8,
    anchor: i32,
    /// Logarithm of the width of a zone.
    step: u32,
    digit: [Chance; 4],
    own: Zones,
    /// By the deviations just before.
    by_before: [Zones; BEFORE],
    /// First digits inside each zone: the second by the first.
    inside: [[Chance; 4]; ZONES],
    /// Lengths of far distances, by side.
    far: [Zones; 2],
}

impl Place {
    fn new(spread: i32) -> Self {
        Self {
            level: Level::unknown(spread),
            arrival: usize::MAX,
            last: 2,
            anchor: 0,
            step: 0,
            digit: [DIGIT; 4],
            own: Zones::middle(0),
            by_before: [Zones::middle(0); BEFORE],
            inside: [[INSIDE; 4]; ZONES],
            far: [Zones::even(0); 2],
        }
    }

    /// Adds one visit; true if it looked for a new anchor.
    #[inline]
    fn learn(&mut self, pair: u16) -> bool {
        self.level.learn(pair);
        let due = self.level.visits.is_multiple_of(32) || matches!(self.level.visits, 1 | 4 | 16);
        if due {
            self.settle();
        }
        due
    }

    /// Moves the anchor to the new median; what was learned around the old one is lost.
    fn settle(&mut self) {
        let anchor = (self.level.median + 128) >> 8;
        let step = step_of(self.level.spread);
        let near = (anchor - self.anchor).abs() << 8 <= self.level.spread.max(256);
        let settled = self.level.visits > 16 && near && step.abs_diff(self.step) <= 1;
        if settled || anchor == self.anchor && step == self.step {
            return;
        }
        (self.anchor, self.step) = (anchor, step);
        self.own.reset();
        self.by_before.iter_mut().for_each(Zones::reset);
        self.inside = [[INSIDE; 4]; ZONES];
    }
}

/// Logarithm of the width of zones that fits `spread`, which is in 1/256 of a pair.
fn step_of(spread: i32) -> u32 {
    ((spread / 240).max(1) as u32).ilog2().min(STEP_MAX)
}

impl Model {
    /// Without observations; `extra_bits` has the number of extra bits of each cell.
    pub(super) fn new(extra_bits: impl Fn(u16) -> u8) -> Self {
        let bits = std::array::from_fn(|index| extra_bits(index as u16).min(32));
        Self {
            extra_bits: Box::new(bits),
            known: [Vec::new(), Vec::new()],
            ids: Ids::new(),
            places: Vec::new(),
            motion: vec![Zones::middle(2); 2 * STEPS * LAST * BEFORE],
            far: [[Zones::even(2); 2]; 2],
            digits: 0,
            first: [Zones::even(2); 2],
            spread: [512; 2],
            before: 4,
        }
    }

    /// Codes gap and duration of a visit of `node`, reached by `edge`: a
    /// decoder passes any.
    #[inline]
    pub(super) fn event<S: Symbols>(
        &mut self,
        coder: &mut S,
        (edge, node): (u32, u32),
        gap: Cell,
        duration: Cell,
    ) -> (Cell, Cell) {
        let target = self.place(1, node);
        let at = self.place(0, edge);
        let arrival = std::mem::replace(&mut self.places[target].arrival, at);
        if self.places[at].level.visits == 0 && arrival != usize::MAX {
            // A new edge is likely to resemble the other edges to its node.
            let level = self.places[arrival].level;
            self.places[at].level = Level { visits: 1, ..level };
            self.places[at].settle();
        }
        (self.cell(coder, 0, at, gap), self.cell(coder, 1, target, duration))
    }

    /// The place of a context.
    #[inline]
    fn place(&mut self, kind: usize, context: u32) -> usize {
        match self.known[kind].get(context as usize) {
            Some(&after) if after > 0 => after as usize - 1,
            _ => self.find_place(kind, context),
        }
    }

    /// Likewise of one that is new or has a large number.
    #[inline(never)]
    fn find_place(&mut self, kind: usize, context: u32) -> usize {
        let at = self.ids.get(u64::from(context) << 1 | kind as u64);
        if at == self.places.len() {
            self.places.push(Place::new(self.spread[kind]));
        }
        let (known, context) = (&mut self.known[kind], context as usize);
        if context < KNOWN_MAX {
            if context >= known.len() {
                known.resize((context + 1).next_power_of_two(), 0);
            }
            known[context] = at as u32 + 1;
        }
        at
    }

    #[inline]
    fn cell<S: Symbols>(
        &mut self,
        coder: &mut S,
        kind: usize,
        at: usize,
        Cell { index, extra }: Cell,
    ) -> Cell {
        let pair = self.pair(coder, kind, at, index >> 1);
        let place = &mut self.places[at];
        let odd = if self.extra_bits[usize::from(pair) << 1] > 0 {
            // Of long times both are as likely.
            coder.raw(1, u32::from(index & 1)) == 1
        } else {
            let recent = usize::from(self.digits != 0);
            let own = &mut place.digit[usize::from(pair) & 1 | recent << 1];
            let odd = own.code(coder, index & 1 == 1, SPLIT);
            self.digits = ((self.digits << 1) | usize::from(odd)) & 63;
            odd
        };
        if place.learn(pair) && place.level.visits >= 8 {
            self.spread[kind] += (place.level.spread - self.spread[kind]) >> 1;
        }
        let index = pair << 1 | u16::from(odd);
        let width = self.extra_bits[usize::from(index)];
        if width == 0 {
            return Cell { index, extra: 0 };
        }
        let low = u32::from(width.min(16));
        let high = u32::from(width) - low;
        let extra = coder.raw(low, extra) | coder.raw(high, extra >> 16) << 16;
        Cell { index, extra }
    }

    /// Codes a pair.
    #[inline]
    fn pair<S: Symbols>(&mut self, coder: &mut S, kind: usize, at: usize, pair: u16) -> u16 {
        let place = &mut self.places[at];
        if place.level.visits == 0 {
            let high = usize::from(pair >> FIRST_RAW);
            let high = self.first[kind].code(coder, high, SPLIT) as u16;
            return high << FIRST_RAW | coder.raw(FIRST_RAW, u32::from(pair)) as u16;
        }
        let step = place.step;
        let group = (kind * STEPS + step as usize) * LAST;
        let motion = &mut self.motion[(group + usize::from(place.last)) * BEFORE + self.before];
        let split = &mut place.by_before[self.before];
        place.own.inherit(motion, INHERITED);
        split.inherit(&place.own, INHERITED);
        let apart = i32::from(pair) - place.anchor;
        let zone = ((apart >> step) + MIDDLE).clamp(0, ZONES as i32 - 1) as usize;
        let models = [&place.own, &*motion, &*split];
        let zone = code_mixed(coder, models, zone);
        place.own.learn(zone, OWN);
        motion.learn(zone, SHARED);
        split.learn(zone, SPLIT);
        place.last = CLASS5[zone];
        self.before = NEXT[self.before][zone];
        let apart = if zone == 0 || zone == ZONES - 1 {
            let side = usize::from(zone != 0);
            let shared = &mut self.far[kind][side];
            far(coder, shared, &mut place.far[side], NEAR << step, apart, side == 1)
        } else {
            let mut rest = step;
            let mut low = 0;
            let mut digits = 1;
            while rest > step.saturating_sub(INSIDE_DIGITS) {
                rest -= 1;
                let digit =
                    place.inside[zone][digits & 3].code(coder, apart >> rest & 1 == 1, SHARED);
                digits = digits << 1 | usize::from(digit);
                low |= i32::from(digit) << rest;
            }
            if rest > 0 {
                low |= coder.raw(rest, apart as u32) as i32;
            }
            ((zone as i32 - MIDDLE) << step) + low
        };
        (place.anchor + apart).clamp(0, PAIRS - 1) as u16
    }
}

/// Codes a distance from the anchor of `near` or more, or of less than `-near`.
#[cold]
fn far<S: Symbols>(
    coder: &mut S,
    shared: &mut Zones,
    own: &mut Zones,
    near: i32,
    apart: i32,
    above: bool,
) -> i32 {
    let size = 1 + if above { apart - near } else { -1 - apart - near };
    own.inherit(shared, 2);
    let length = own.code(coder, size.max(1).ilog2() as usize & (ZONES - 1), SPLIT);
    shared.learn(length, SPLIT);
    let size = 1 << length | coder.raw(length as u32, size as u32) as i32;
    if above { near + size - 1 } else { -near - size }
}
