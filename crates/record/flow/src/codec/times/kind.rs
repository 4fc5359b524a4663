//! Statistics of all gaps, or of all durations: a place for each of their contexts.
//!
//! Owns the zones of a context. Relative to an even index near its median, an index is in one of 16
//! zones: an index of its own where times are nearly constant, otherwise a quarter to a half of the
//! context's spread, then by parity and place in the zone. Indices beyond the zones are coded by
//! the length of their distance. A zone is coded with a table for the context after times like the
//! ones just before and like its own last two. A new table has the probabilities of the context
//! after fewer of them, and a new context those of all contexts of about this spread.

use super::before::{ABOVE, BELOW, Before, CONTEXTS, GROUPS, NEAR};
use super::ids::Ids;
use super::indices::{ExtraBits, INDICES, Lengths};
use super::level::Level;
use super::rans::{SYMBOLS, Symbols};
use super::zones::{Chance, Edges, Shape, Table, TableCounts, slopes};
use crate::times::Cell;

/// Zone of the anchor; zone 0 is all below, the last one all above.
const MIDDLE: i32 = SYMBOLS as i32 / 2;
/// Zones with a place of their own on either side of the anchor.
const ZONES: i32 = MIDDLE - 1;
/// Largest logarithm of the width of a zone.
const STEP_MAX: u32 = 8;
const STEPS: usize = STEP_MAX as usize + 1;

/// Spread up to which indices have zones of their own, in 1/256 of two indices.
const CONSTANT: i32 = 480;
/// Spread for which a zone is an index wide.
const NARROW: i32 = 240;

/// Memories in symbols: of a table; of shapes that tables or contexts share; of parities.
const OWN: u16 = 200;
const SHARED: u16 = 400;
const PARITIES: u8 = 30;

/// Weight in symbols of what is inherited: by tables of nearly constant times, by other tables, by
/// contexts, and by what contexts share.
const CLOSE: u16 = 6;
const DISTANT: u16 = 12;
const COMMON: u16 = 50;
const GIVEN: u16 = 60;

/// Contexts from this on are only found through [`Ids`]; a table of them would be too large.
const KNOWN_MAX: usize = 1 << 16;

/// Parity, before any observation.
const PARITY: Chance = Chance::new(30, 0);

/// Zones before any observation: of single indices (odd ones are rare), and of wider ones.
static BEGIN: [Edges; 2] = [slopes(30), slopes(100)];

/// Classes of zones: the anchor's pair of indices is in the middle.
static CLASS: [u8; SYMBOLS] = {
    let mut table = [NEAR; SYMBOLS];
    let mut zone = 0;
    while zone < SYMBOLS {
        if zone < MIDDLE as usize {
            table[zone] = BELOW;
        } else if zone > MIDDLE as usize + 1 {
            table[zone] = ABOVE;
        }
        zone += 1;
    }
    table
};

/// A time that was coded.
#[derive(Clone, Copy)]
pub(super) struct Coded {
    pub(super) cell: Cell,
    /// Class of its zone.
    pub(super) class: u8,
    /// True for an odd index, where parities are no chance.
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
    shapes: Vec<Shapes>,
    /// The first one is of no place.
    tables: Vec<Table>,
    /// Counts of each table.
    counts: Vec<TableCounts>,
    /// Zones of all contexts, by step.
    shared: [Shape; STEPS],
    /// First index of a context.
    first: Lengths,
    /// Spread of contexts on average.
    spread: i32,
}

/// A context's statistics that every time needs.
#[derive(Clone, Debug)]
struct Place {
    level: Level,
    /// Visits at which the anchor is looked at again.
    due: u32,
    anchor: i32,
    /// Logarithm of the width of a zone.
    step: u32,
    /// Classes of its last two times, the latest one in the low byte.
    last: u32,
    /// For a node: place of the edge that led to it last.
    arrival: u32,
    /// By odd indices among the last.
    parity: [Chance; 2],
    /// Its tables; 0 where there is none.
    tables: [u32; CONTEXTS],
}

/// Those that are needed now and then.
#[derive(Clone, Debug)]
struct Shapes {
    own: Shape,
    groups: [Shape; GROUPS],
    /// Lengths of far distances, by side.
    far: [Lengths; 2],
}

impl Kind {
    pub(super) fn new() -> Self {
        let mut kind = Self {
            known: Vec::new(),
            ids: Ids::new(),
            places: Vec::new(),
            shapes: Vec::new(),
            tables: vec![Table::new(&BEGIN[0])],
            counts: vec![TableCounts::NONE],
            shared: std::array::from_fn(|step| Shape::new(BEGIN[usize::from(step > 0)])),
            first: Lengths::NEW,
            spread: 512,
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
        let near = u32::from(NEAR);
        self.places.push(Place {
            level: Level::unknown(self.spread),
            due: 1,
            anchor: 0,
            step: 0,
            last: near << 8 | near,
            arrival: 0,
            parity: [PARITY; 2],
            tables: [0; CONTEXTS],
        });
        let shape = Shape::new(BEGIN[0]);
        let groups = std::array::from_fn(|_| shape.clone());
        self.shapes.push(Shapes { own: shape, groups, far: [Lengths::NEW; 2] });
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
        let index = self.first.first(coder, cell.index);
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
        let &Place { anchor, step, last, .. } = &self.places[at];
        let own = [last as u8, (last >> 8) as u8];
        let context = if step == 0 { before.context(own) } else { usize::from(own[0]) };
        let mut number = self.places[at].tables[context] as usize;
        if number == 0 {
            number = self.add_table(at, context, before);
        }
        let (place, table) = (&mut self.places[at], &mut self.tables[number]);
        let apart = i32::from(cell.index) - anchor;
        let zone = ((apart >> step) + MIDDLE).clamp(0, SYMBOLS as i32 - 1) as usize;
        let zone = coder.symbol(&table.starts, zone);
        let is_due = table.count(zone);
        let class = CLASS[zone];
        place.last = u32::from(own[0]) << 8 | u32::from(class);
        let mut is_odd = false;
        let apart = if zone == 0 || zone == SYMBOLS - 1 {
            let side = usize::from(zone != 0);
            self.shapes[at].far[side].far(coder, ZONES << step, apart, side == 1)
        } else if step == 0 {
            is_odd = zone & 1 == 1;
            zone as i32 - MIDDLE
        } else {
            let low = (zone as i32 - MIDDLE) << step;
            if anchor + low >= extra_bits.first {
                // Of long times both parities are as likely.
                low + coder.raw(step, apart as u32) as i32
            } else {
                is_odd = place.parity[before.recent()].code(coder, apart & 1 == 1, PARITIES);
                let rest = coder.raw(step - 1, apart as u32 >> 1) as i32;
                low + rest * 2 + i32::from(is_odd)
            }
        };
        // Malformed bytes may lead anywhere.
        let index = (anchor + apart) as u16 & (INDICES as u16 - 1);
        place.level.learn(index >> 1);
        if is_due || place.level.visits >= place.due {
            self.tidy(at, number, before);
        }
        Coded { cell: extra_bits.code(coder, index, cell.extra), class, is_odd }
    }

    /// Does what is due after some times only.
    #[cold]
    #[inline(never)]
    fn tidy(&mut self, at: usize, number: usize, before: Before) {
        if self.tables[number].is_due() {
            self.make(at, number, before);
        }
        if self.places[at].level.visits >= self.places[at].due {
            self.settle(at);
        }
    }

    #[cold]
    #[inline(never)]
    fn add_table(&mut self, at: usize, context: usize, before: Before) -> usize {
        let (place, shapes) = (&mut self.places[at], &self.shapes[at]);
        let prior = if place.step == 0 { &shapes.groups[before.group()] } else { &shapes.own };
        let number = self.tables.len();
        self.tables.push(Table::new(&prior.edges));
        self.counts.push(TableCounts::NONE);
        place.tables[context] = number as u32;
        number
    }

    /// Makes a table again.
    fn make(&mut self, at: usize, number: usize, before: Before) {
        let step = self.places[at].step as usize;
        let Shapes { own, groups, .. } = &mut self.shapes[at];
        let group = &mut groups[before.group()];
        let (table, counts) = (&mut self.tables[number], &mut self.counts[number]);
        let fresh = table.take();
        if let Some(fresh) = counts.add(&fresh, OWN) {
            let shared = &mut self.shared[step];
            shared.add(&fresh, SHARED, &BEGIN[usize::from(step > 0)], GIVEN);
            own.add(&fresh, SHARED, &shared.edges, COMMON);
            if step == 0 {
                group.add(&fresh, SHARED, &own.edges, CLOSE);
            }
        }
        if step == 0 {
            table.make(counts, &group.edges, CLOSE);
        } else {
            table.make(counts, &own.edges, DISTANT);
        }
    }

    /// Moves a place's anchor to its new median; what its tables know is lost.
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
        let shapes = &mut self.shapes[at];
        let prior = &self.shared[step as usize].edges;
        if step == place.step {
            shapes.own.shift((anchor - place.anchor) >> step, prior, COMMON);
        } else {
            shapes.own = Shape::new(*prior);
        }
        (place.anchor, place.step) = (anchor, step);
        shapes.groups.fill(Shape::new(shapes.own.edges));
        for &number in place.tables.iter().filter(|&&number| number > 0) {
            self.tables[number as usize] = Table::new(&shapes.own.edges);
            self.counts[number as usize] = TableCounts::NONE;
        }
    }
}
