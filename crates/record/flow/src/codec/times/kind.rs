//! Statistics of all gaps, or of all durations: a place for each of their contexts.
//!
//! Owns the zones of a context. Relative to an even index near its median, an index is in one of 16
//! zones: an index of its own where times are nearly constant, otherwise a third to two thirds of
//! the spread, then by its digits in the zone. Indices beyond the zones are coded by their
//! distance. A zone is coded by a mixture of two tables of the context: after times like the ones
//! just before, and after times like its own last two. A new table has the probabilities of the
//! context after any times, and a new context those of all contexts of about this spread.

use super::before::{ABOVE, BELOW, Before, CONTEXTS, NEAR, OWN_CONTEXTS, Own};
use super::digits::{Digits, Id, STEP_MAX, STEPS};
use super::ids::Ids;
use super::indices::{ExtraBits, FirstIndices, INDICES};
use super::level::Level;
use super::rans::{SYMBOLS, Symbols};
use super::tables::{Starts, Table, Weight, starts};
use crate::times::Cell;

/// Zone of the anchor; zone 0 is all below, the last one all above.
const MIDDLE: i32 = SYMBOLS as i32 / 2;
/// Zones with a place of their own on either side of the anchor.
const ZONES: i32 = MIDDLE - 1;

/// Spread up to which indices have zones of their own, in 1/256 of two indices.
const CONSTANT: i32 = 480;
/// Spread for which a zone is an index wide.
const NARROW: i32 = 180;

/// Memories in symbols: of a context's tables, and of what contexts share.
const OWN: u8 = 80;
const SHARED: u8 = 255;
/// Symbols below which a table adds to what others inherit.
const YOUNG: u8 = 12;
/// Weights in symbols: of what a table inherits; of what a context does, and of its own zones after
/// they have moved; of what contexts share in the beginning.
const INHERITED: u8 = 2;
const COMMON: u8 = 8;
const MOVED: u8 = 30;
const GIVEN: u8 = 50;

/// Contexts from this on are only found through [`Ids`]; a table of them would be too large.
const KNOWN_MAX: usize = 1 << 16;

/// Zones before any observation: of single indices (odd ones are rare), and of wider ones.
static BEGIN: [Starts; 2] = [slopes(30), slopes(100)];

/// Probabilities that fall by a fifth from zone to zone away from the middle, those of odd ones by
/// `odd` percent of their neighbours'.
const fn slopes(odd: u32) -> Starts {
    let mut weights = [0; SYMBOLS];
    let mut i = 0;
    while i < SYMBOLS {
        let (mut weight, mut away) = (100_000, i.abs_diff(MIDDLE as usize));
        while away > 0 {
            weight = weight * 4 / 5;
            away -= 1;
        }
        weights[i] = if i % 2 == 1 { weight * odd / 100 } else { weight } + 300;
        i += 1;
    }
    starts(weights)
}

/// Classes of zones of single indices, where the anchor's pair is in the middle, and of wider ones,
/// where the anchor is between two zones.
static CLASSES: [[u8; SYMBOLS]; 2] = {
    let mut classes = [[NEAR; SYMBOLS]; 2];
    let mut zone = 0;
    while zone < SYMBOLS {
        let mut wide = 0;
        while wide < 2 {
            if zone + wide < MIDDLE as usize {
                classes[wide][zone] = BELOW;
            } else if zone + wide > MIDDLE as usize + 1 {
                classes[wide][zone] = ABOVE;
            }
            wide += 1;
        }
        zone += 1;
    }
    classes
};

/// A time that was coded.
#[derive(Clone, Copy)]
pub(super) struct Coded {
    pub(super) cell: Cell,
    /// Class of its zone.
    pub(super) class: u8,
    /// True for an odd index of nearly constant times; elsewhere parities are chance.
    pub(super) is_odd: bool,
}

/// Statistics of all gaps, or of all durations.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    /// Place of each context; 0 where there is none.
    known: Vec<u32>,
    /// The number of each place, minus 1, by context.
    ids: Ids,
    /// The first one is of no context.
    places: Vec<Place>,
    digits: Digits,
    /// Zones of all contexts, by step.
    shared: [Table; STEPS],
    /// First indices of contexts.
    first: FirstIndices,
    /// Spread of contexts on average.
    spread: i32,
    /// Takes all values in turn, evenly.
    dither: u16,
}

/// A context's statistics.
#[derive(Clone, Debug)]
struct Place {
    level: Level,
    /// Visits at which the anchor is looked at again.
    due: u32,
    anchor: i32,
    /// Logarithm of the width of a zone.
    step: u32,
    /// For a node: place of the edge that led to it last.
    arrival: u32,
    digits: Id,
    last: Own,
    /// Share of `by_last` in the mixture.
    weight: Weight,
    /// Its zones after any times, while its tables are young.
    zones: Table,
    by_before: [Table; CONTEXTS],
    by_last: [Table; OWN_CONTEXTS],
}

impl Kind {
    pub(super) fn new() -> Self {
        let begin = |step: usize| Table::new(BEGIN[usize::from(step > 0)], GIVEN);
        let mut kind = Self {
            known: Vec::new(),
            ids: Ids::new(),
            places: Vec::new(),
            digits: Digits::new(),
            shared: std::array::from_fn(begin),
            first: FirstIndices::NEW,
            spread: 512,
            dither: 0,
        };
        kind.add_place();
        kind
    }

    /// Number of contexts seen.
    pub(super) fn contexts(&self) -> usize {
        self.places.len() - 1
    }

    /// The place of a context; 0 of one that is new, or has a large number.
    #[inline]
    pub(super) fn known_place(&self, context: u32) -> usize {
        self.known.get(context as usize).map_or(0, |&at| at as usize)
    }

    /// The place of any context.
    pub(super) fn place(&mut self, context: u32) -> usize {
        let at = self.ids.get(u64::from(context)) + 1;
        if at == self.places.len() {
            self.add_place();
        }
        let (known, context) = (&mut self.known, context as usize);
        if context < KNOWN_MAX {
            if context >= known.len() {
                known.resize((context + 1).next_power_of_two(), 0);
            }
            known[context] = at as u32;
        }
        at
    }

    fn add_place(&mut self) {
        self.places.push(Place {
            level: Level::unknown(self.spread),
            due: 1,
            anchor: 0,
            step: 0,
            arrival: 0,
            digits: Id::NONE,
            last: Own::NOTHING,
            weight: Weight::EVEN,
            zones: self.shared[0].heir(COMMON),
            by_before: [Table::NEW; CONTEXTS],
            by_last: [Table::NEW; OWN_CONTEXTS],
        });
    }

    /// True of a place without times.
    pub(super) fn is_new(&self, at: usize) -> bool {
        self.places[at].level.visits == 0
    }

    /// Notes the place of the edge that led to a node.
    #[inline]
    pub(super) fn arrive(&mut self, at: usize, edge: usize) {
        self.places[at].arrival = edge as u32;
    }

    /// The place of the edge that led to a node last; 0 before the first.
    pub(super) fn arrival(&self, at: usize) -> usize {
        self.places[at].arrival as usize
    }

    /// Prepares a new place for times that are likely to resemble those of another.
    pub(super) fn expect(&mut self, at: usize, like: usize) {
        let level = self.places[like].level;
        self.places[at].level = Level { visits: 1, ..level };
        self.settle(at);
    }

    /// Codes the first time of a place.
    pub(super) fn code_first<S: Symbols>(
        &mut self,
        coder: &mut S,
        at: usize,
        extra_bits: &ExtraBits,
        cell: Cell,
    ) -> Coded {
        let index = self.first.code(coder, cell.index);
        self.places[at].level.begin(index >> 1);
        self.settle(at);
        Coded { cell: extra_bits.code(coder, index, cell.extra), class: NEAR, is_odd: false }
    }

    /// Codes a later time of a place.
    #[inline(always)]
    pub(super) fn code<S: Symbols>(
        &mut self,
        coder: &mut S,
        at: usize,
        before: Before,
        extra_bits: &ExtraBits,
        cell: Cell,
    ) -> Coded {
        let Self { places, digits, shared, .. } = self;
        // Multiples of the golden section are spread evenly.
        self.dither = self.dither.wrapping_add(0x9e37);
        let (place, dither) = (&mut places[at], self.dither);
        let (anchor, step) = (place.anchor, place.step);
        let apart = i32::from(cell.index) - anchor;
        let zone = ((apart >> step) + MIDDLE).clamp(0, SYMBOLS as i32 - 1) as usize;
        let zone = place.zone(coder, &mut shared[step as usize], before, zone, dither);
        let class = CLASSES[usize::from(step > 0)][zone];
        place.last = place.last.then(class);
        let mut is_odd = false;
        let digits_at = (&mut place.digits, step);
        let apart = if zone == 0 || zone == SYMBOLS - 1 {
            let (is_above, near) = (zone != 0, ZONES << step);
            let size = 1 + if is_above { apart - near } else { -1 - apart - near };
            let size = digits.beyond(coder, digits_at, is_above, size as u32, dither) as i32;
            if is_above { near + size - 1 } else { -near - size }
        } else if step == 0 {
            is_odd = zone & 1 == 1;
            zone as i32 - MIDDLE
        } else {
            let inside = digits.inside(coder, digits_at, zone, apart as u32, dither);
            ((zone as i32 - MIDDLE) << step) + inside as i32
        };
        // Malformed bytes may lead anywhere.
        let index = (anchor + apart) as u16 & (INDICES as u16 - 1);
        place.level.learn(index >> 1);
        if place.level.visits >= place.due {
            self.settle(at);
        }
        Coded { cell: extra_bits.code(coder, index, cell.extra), class, is_odd }
    }

    /// Moves a place's anchor to its new median; what its tables know is lost.
    #[cold]
    #[inline(never)]
    fn settle(&mut self, at: usize) {
        let place = &mut self.places[at];
        let Level { median, spread, visits } = place.level;
        place.due = match visits {
            0..4 => 4,
            4..16 => 16,
            _ => (visits / 32 + 1).saturating_mul(32),
        };
        if visits >= 8 {
            self.spread += (spread - self.spread) >> 1;
        }
        let anchor = ((median + 128) >> 8) * 2;
        let step = match spread {
            ..CONSTANT => 0,
            _ => (spread / NARROW).ilog2().clamp(1, STEP_MAX),
        };
        let near = (anchor - place.anchor).abs() << 7 <= (2 * spread).max(768);
        let alike = (step == 0) == (place.step == 0) && step.abs_diff(place.step) <= 2;
        if visits > 16 && near && alike || anchor == place.anchor && step == place.step {
            return;
        }
        if step == place.step {
            place.zones.shift((anchor - place.anchor) >> step);
            place.zones.doubt(MOVED);
        } else {
            place.zones = self.shared[step as usize].heir(COMMON);
        }
        (place.anchor, place.step) = (anchor, step);
        place.by_before.iter_mut().chain(&mut place.by_last).for_each(Table::forget);
        self.digits.forget(place.digits);
    }
}

impl Place {
    /// Codes a zone; `shared` are the zones of all contexts.
    #[inline(always)]
    fn zone<S: Symbols>(
        &mut self,
        coder: &mut S,
        shared: &mut Table,
        before: Before,
        zone: usize,
        dither: u16,
    ) -> usize {
        let by_before = &mut self.by_before[before.context()];
        let by_last = &mut self.by_last[self.last.context()];
        let seen = by_before.observations().min(by_last.observations());
        if seen == 0 {
            for table in [&mut *by_before, &mut *by_last] {
                if table.observations() == 0 {
                    *table = self.zones.heir(INHERITED);
                }
            }
        }
        let zone = self.weight.code(coder, [by_before, by_last], zone);
        by_before.learn(zone, OWN, dither);
        by_last.learn(zone, OWN, dither);
        if seen < INHERITED + YOUNG {
            self.zones.learn(zone, OWN, dither);
            shared.learn(zone, SHARED, dither);
        }
        zone
    }
}
