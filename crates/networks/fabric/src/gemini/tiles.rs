//! Tiles of a router chip: their numbers, names and counters.
//!
//! Owns the grid of 48 tiles, the six counters of each as registers of a Gemini name them, and the
//! possible uses of a tile. It refuses to know the destinations of tiles: those are data of a
//! machine. Follows Cray's "Using the Cray Gemini Hardware Counters" (S-0025-10) and Pedretti et
//! al. 2013; an Aries has the same grid.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::FabricError;
use crate::machine::RouterId;

/// Rows of the grid.
pub const ROWS: usize = 6;
/// Columns of the grid.
pub const COLUMNS: usize = 8;
/// Tiles of a chip.
pub const TILES: usize = ROWS * COLUMNS;
/// Counters of a tile.
pub const COUNTERS: usize = 6;
/// Counters of a chip, tile after tile.
pub const READINGS: usize = TILES * COUNTERS;
/// Width of a counter in bits.
pub const BITS: u8 = 48;
/// Bytes of a phit, the unit that links move.
pub const PHIT: u64 = 3;
/// Nanoseconds of a tick of the counters of stalls, which run at 800 MHz.
pub const TICK: f64 = 1.25;

/// A tile, by row times eight plus column; below 48.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct Tile(u8);

impl Tile {
    /// The tile with this number; `None` beyond 47.
    pub fn from_number(number: usize) -> Option<Self> {
        u8::try_from(number).ok().filter(|&number| usize::from(number) < TILES).map(Self)
    }

    /// All tiles in order.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..TILES as u8).map(Self)
    }

    /// Number.
    pub fn at(self) -> usize {
        usize::from(self.0)
    }

    /// Row in the grid.
    pub fn row(self) -> usize {
        self.at() / COLUMNS
    }

    /// Column in the grid.
    pub fn column(self) -> usize {
        self.at() % COLUMNS
    }
}

impl fmt::Display for Tile {
    /// Form such as `l32`: row 3, column 2.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "l{}{}", self.row(), self.column())
    }
}

impl FromStr for Tile {
    type Err = FabricError;

    fn from_str(text: &str) -> Result<Self, FabricError> {
        if let [b'l', row @ b'0'..=b'5', column @ b'0'..=b'7'] = text.as_bytes() {
            return Ok(Self((row - b'0') * COLUMNS as u8 + column - b'0'));
        }
        let name = text.chars().take(40).collect();
        Err(FabricError::Unknown { what: "tile (l00 to l57)", name })
    }
}

impl TryFrom<String> for Tile {
    type Error = FabricError;

    fn try_from(text: String) -> Result<Self, FabricError> {
        text.parse()
    }
}

impl From<Tile> for String {
    fn from(tile: Tile) -> Self {
        tile.to_string()
    }
}

/// Counters of a tile, in the order of its registers. All count data that come into the tile, not
/// those that leave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TileCounter {
    /// Phits of requests.
    Vc0Phits,
    /// Phits of responses.
    Vc1Phits,
    /// Packets of requests.
    Vc0Packets,
    /// Packets of responses.
    Vc1Packets,
    /// Ticks that requests waited to get to their outgoing tile.
    InqStalls,
    /// Ticks that requests waited to get to the next router.
    CreditStalls,
}

impl TileCounter {
    /// All counters, in the order of registers.
    pub const ALL: [Self; COUNTERS] = [
        Self::Vc0Phits,
        Self::Vc1Phits,
        Self::Vc0Packets,
        Self::Vc1Packets,
        Self::InqStalls,
        Self::CreditStalls,
    ];

    /// Place among the counters of a tile.
    pub fn at(self) -> usize {
        self as usize
    }

    /// Heading of its column in the tables of Gemini's monitor.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Vc0Phits => "VC0_PHITS",
            Self::Vc1Phits => "VC1_PHITS",
            Self::Vc0Packets => "VC0_PKTS",
            Self::Vc1Packets => "VC1_PKTS",
            Self::InqStalls => "INQ_STALLS",
            Self::CreditStalls => "OUTQ_STALLS",
        }
    }
}

/// Name of the register of a tile's counter, such as `GM_3_2_TILE_PERFORMANCE_COUNTERS_0`.
pub fn register(tile: Tile, counter: TileCounter) -> String {
    format!("GM_{}_{}_TILE_PERFORMANCE_COUNTERS_{}", tile.row(), tile.column(), counter.at())
}

/// Names of all 288 registers, in the order in which readings are kept: tile after tile, six
/// counters each.
pub fn registers() -> impl Iterator<Item = String> {
    Tile::all()
        .flat_map(|tile| TileCounter::ALL.into_iter().map(move |counter| register(tile, counter)))
}

/// Tile and counter of a register's name.
pub fn of_register(name: &str) -> Option<(Tile, TileCounter)> {
    let (place, counter) = name.strip_prefix("GM_")?.split_once("_TILE_PERFORMANCE_COUNTERS_")?;
    let [row, b'_', column] = place.as_bytes() else { return None };
    let [counter] = counter.as_bytes() else { return None };
    let tile = format!("l{}{}", char::from(*row), char::from(*column)).parse().ok()?;
    let counter = usize::from(counter.checked_sub(b'0')?);
    Some((tile, *TileCounter::ALL.get(counter)?))
}

/// Label of a tile's direction in a list of tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Label {
    /// Towards larger X.
    #[serde(rename = "X+")]
    XPlus,
    /// Towards smaller X.
    #[serde(rename = "X-")]
    XMinus,
    /// Towards larger Y.
    #[serde(rename = "Y+")]
    YPlus,
    /// Towards smaller Y.
    #[serde(rename = "Y-")]
    YMinus,
    /// Towards larger Z.
    #[serde(rename = "Z+")]
    ZPlus,
    /// Towards smaller Z.
    #[serde(rename = "Z-")]
    ZMinus,
    /// Inside a chassis of an Aries machine.
    #[serde(rename = "green")]
    Green,
    /// Between chassis of a group.
    #[serde(rename = "black")]
    Black,
    /// Between groups.
    #[serde(rename = "blue")]
    Blue,
    /// To the nodes of the router.
    #[serde(rename = "HH")]
    Host,
}

impl Label {
    /// All labels, in the order in which tables list them.
    pub const ALL: [Self; 10] = [
        Self::XPlus,
        Self::XMinus,
        Self::YPlus,
        Self::YMinus,
        Self::ZPlus,
        Self::ZMinus,
        Self::Green,
        Self::Black,
        Self::Blue,
        Self::Host,
    ];

    /// Name in lists.
    pub fn name(self) -> &'static str {
        match self {
            Self::XPlus => "X+",
            Self::XMinus => "X-",
            Self::YPlus => "Y+",
            Self::YMinus => "Y-",
            Self::ZPlus => "Z+",
            Self::ZMinus => "Z-",
            Self::Green => "green",
            Self::Black => "black",
            Self::Blue => "blue",
            Self::Host => "HH",
        }
    }

    /// Label with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|label| label.name() == name)
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Material of a tile's lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// Between the two chips of a Gemini blade.
    Mezzanine,
    /// Inside a chassis.
    Backplane,
    /// Between chassis.
    Cable,
    /// Between chip and nodes.
    Host,
    /// Copper of an Aries: backplane, or cables inside a group.
    Copper,
    /// Optical cables of an Aries, between groups.
    Optical,
}

impl Wire {
    /// Wires of a Gemini, in the order in which a fabric lists them.
    pub const GEMINI: [Self; 4] = [Self::Mezzanine, Self::Backplane, Self::Cable, Self::Host];
    /// Wires of an Aries.
    pub const ARIES: [Self; 2] = [Self::Copper, Self::Optical];

    /// Name of the kind of link.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mezzanine => "mezzanine",
            Self::Backplane => "backplane",
            Self::Cable => "cable",
            Self::Host => "host",
            Self::Copper => "copper",
            Self::Optical => "optical",
        }
    }

    /// Bytes a second of a tile, one way. Gemini's are those of LDMS's `gemini.h` (its host's is an
    /// estimate); those of an Aries are three lanes of 14 or 12.5 Gbit/s.
    pub fn lane(self) -> f64 {
        match self {
            Self::Mezzanine => 2.343_75e9,
            Self::Backplane => 1.875e9,
            Self::Cable => 1.171_875e9,
            Self::Host => 1.300_125e9,
            Self::Copper => 5.25e9,
            Self::Optical => 4.687_5e9,
        }
    }
}

/// Destination of a network tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Peer {
    /// Router at the other end.
    pub to: RouterId,
    /// Its tile.
    pub tile: Tile,
    /// Label of the direction.
    pub label: Label,
    /// Its wire.
    pub wire: Wire,
}

/// Use of a tile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Use {
    /// Not connected, or unknown.
    #[default]
    Unused,
    /// Nodes.
    Host,
    /// Another router.
    Network(Peer),
}

/// Uses of the tiles of one chip.
pub type TileMap = [Use; TILES];

/// Host tiles of a Gemini: the two middle columns of its four lower rows.
pub const HOST_TILES: [usize; 8] = [19, 20, 27, 28, 35, 36, 43, 44];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tiles_and_registers() {
        assert_eq!(Tile::from_number(26).unwrap().to_string(), "l32");
        assert_eq!("l57".parse(), Ok(Tile::from_number(47).unwrap()));
        for text in ["", "l", "l5", "l60", "l08", "100", "l000", "m00", "l0é"] {
            assert!(text.parse::<Tile>().is_err(), "{text}");
        }
        let names: Vec<String> = registers().collect();
        assert_eq!(names.len(), 288);
        assert_eq!(names[0], "GM_0_0_TILE_PERFORMANCE_COUNTERS_0");
        assert_eq!(names[26 * 6 + 5], "GM_3_2_TILE_PERFORMANCE_COUNTERS_5");
        for (at, name) in names.iter().enumerate() {
            let (tile, counter) = of_register(name).unwrap();
            assert_eq!(tile.at() * COUNTERS + counter.at(), at);
        }
        for name in ["GM_6_0_TILE_PERFORMANCE_COUNTERS_0", "GM_0_0_TILE_PERFORMANCE_COUNTERS_6"] {
            assert_eq!(of_register(name), None);
        }
        assert_eq!(of_register("GM__TILE_PERFORMANCE_COUNTERS_"), None);
    }

    #[test]
    fn labels_are_found_by_name() {
        for label in Label::ALL {
            assert_eq!(Label::named(label.name()), Some(label));
        }
        assert_eq!(Label::named("W+"), None);
    }
}
