//! The list of tiles that a Cray prints: `rtr --interconnect`.
//!
//! Owns the two forms: `c0-0c0s0g0l00[(0,0,0)] Z+ -> c0-0c0s1g0l32[(0,0,1)]  LinkType: backplane`
//! of Gemini, and `c0-0c0s0a0l00(0:0:0) green -> c0-0c0s6a0l10(0:0:6)` of Aries, where tiles may
//! also be `blue -> unused` or `ptile -> processor`. Each network tile must be listed once, must
//! lead to one that leads back, and in a torus to the next place in its direction: so a cut file is
//! detected. Nodes follow from the names of routers. Geminis that a torus lacks are a gap. It
//! refuses other names of cables than `cable...`.

use std::collections::HashMap;

use talea_fabric::gemini::generate::fabric;
use talea_fabric::gemini::geometry::nodes;
use talea_fabric::gemini::tiles::{HOST_TILES, TILES};
use talea_fabric::gemini::{Chip, Label, Machine, Peer, Tile, TileMap, Use, Wire};
use talea_fabric::shape::Torus;
use talea_fabric::shape::torus::Direction;
use talea_fabric::{Coordinate, Draft, RouterId};
use talea_model::Gaps;

use super::{Error, at_line, lengths, missing, wrong};

/// Longest name of a router in bytes.
const LONGEST: usize = 64;

const GEMINI: &str = "`c0-0c0s0g0l00[(0,0,0)] Z+ -> c0-0c0s1g0l32[(0,0,1)]  LinkType: backplane`";
const ARIES: &str = "`c0-0c0s0a0l00(0:0:0) green -> c0-0c0s6a0l10(0:0:6)`";

/// Place of a tile.
#[derive(Clone, Copy, Debug, PartialEq)]
struct End<'a> {
    router: &'a str,
    tile: Tile,
    at: Coordinate,
}

/// Destination of a tile in a line.
#[derive(Clone, Copy, Debug)]
enum Leads<'a> {
    Nowhere,
    Processor,
    To(End<'a>, Label, Wire),
}

struct Line<'a> {
    number: u64,
    from: End<'a>,
    leads: Leads<'a>,
}

/// Reads a list.
pub fn read(bytes: &[u8]) -> Result<Machine, Error> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = Vec::new();
    let mut chip = None;
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let chip = *chip.get_or_insert(if line.contains('[') { Chip::Gemini } else { Chip::Aries });
        let parsed = match chip {
            Chip::Gemini => of_gemini(line, number)?,
            Chip::Aries => of_aries(line, number)?,
        };
        lines.push(parsed);
    }
    let chip = chip.ok_or(Error::Nothing { expected: "lines of tiles such as those of rtr" })?;
    assemble(chip, &lines)
}

fn of_gemini(line: &str, number: u64) -> Result<Line<'_>, Error> {
    let other = |expected: &str| wrong(number, format!("{expected} as in {GEMINI}"), line);
    let words: Vec<&str> = line.split_whitespace().take(7).collect();
    let [from, label, "->", to, "LinkType:", kind] = words[..] else {
        return Err(other("two tiles, a way and a type of link"));
    };
    let end = |text| end(text, "[(", ")]", ',');
    let from = end(from).ok_or_else(|| other("a tile that leads"))?;
    let to = end(to).ok_or_else(|| other("a tile that is reached"))?;
    let wire = match kind {
        "mezzanine" => Wire::Mezzanine,
        "backplane" => Wire::Backplane,
        _ if kind.starts_with("cable") => Wire::Cable,
        _ => {
            let expected = "the type of link mezzanine, backplane or cable...";
            return Err(wrong(number, expected, kind));
        }
    };
    let label = Label::named(label)
        .filter(|label| way(*label).is_some())
        .ok_or_else(|| wrong(number, "the way X+, X-, Y+, Y-, Z+ or Z-", label))?;
    Ok(Line { number, from, leads: Leads::To(to, label, wire) })
}

fn of_aries(line: &str, number: u64) -> Result<Line<'_>, Error> {
    let other = |expected: &str| wrong(number, format!("{expected} as in {ARIES}"), line);
    let words: Vec<&str> = line.split_whitespace().take(5).collect();
    let [from, label, "->", to] = words[..] else {
        return Err(other("two tiles and a colour"));
    };
    let end = |text| end(text, "(", ")", ':');
    let from = end(from).ok_or_else(|| other("a tile that leads"))?;
    let leads = match (label, to) {
        ("ptile", "processor") => Leads::Processor,
        ("green" | "black" | "blue", "unused") => Leads::Nowhere,
        ("green" | "black" | "blue", to) => {
            let to = end(to).ok_or_else(|| other("a tile that is reached, or `unused`"))?;
            match label {
                "green" => Leads::To(to, Label::Green, Wire::Copper),
                "black" => Leads::To(to, Label::Black, Wire::Copper),
                _ => Leads::To(to, Label::Blue, Wire::Optical),
            }
        }
        _ => {
            let expected = "green, black, blue, or ptile with a processor";
            return Err(wrong(number, expected, label));
        }
    };
    Ok(Line { number, from, leads })
}

/// Router, tile and coordinate of `c0-0c0s0g0l00[(0,0,0)]`.
fn end<'a>(text: &'a str, open: &str, close: &str, comma: char) -> Option<End<'a>> {
    let (name, at) = text.split_once(open)?;
    let mut values = at.strip_suffix(close)?.split(comma);
    let mut value = || values.next()?.parse::<u16>().ok();
    let at = Coordinate::new(&[value()?, value()?, value()?])?;
    if values.next().is_some() {
        return None;
    }
    let split = name.len().checked_sub(3)?;
    let (router, tile) = (name.get(..split)?, name.get(split..)?);
    let named = !router.is_empty() && router.len() <= LONGEST;
    named.then_some(End { router, tile: tile.parse().ok()?, at })
}

fn way(label: Label) -> Option<(usize, Direction)> {
    match label {
        Label::XPlus => Some((0, Direction::Plus)),
        Label::XMinus => Some((0, Direction::Minus)),
        Label::YPlus => Some((1, Direction::Plus)),
        Label::YMinus => Some((1, Direction::Minus)),
        Label::ZPlus => Some((2, Direction::Plus)),
        Label::ZMinus => Some((2, Direction::Minus)),
        _ => None,
    }
}

/// A router, and the line of its first name.
#[derive(Clone, Copy)]
struct Named<'a> {
    at: Coordinate,
    name: &'a str,
    line: u64,
}

fn assemble(chip: Chip, lines: &[Line<'_>]) -> Result<Machine, Error> {
    let routers = routers(lines)?;
    let by_name: HashMap<&str, usize> =
        routers.iter().enumerate().map(|(at, router)| (router.name, at)).collect();
    let mut gaps = Gaps::default();
    let torus = match chip {
        Chip::Gemini => Some(torus(&routers, &mut gaps)?),
        Chip::Aries => None,
    };
    let tiles = tiles(chip, lines, &routers, &by_name)?;
    for line in lines {
        check(line, &tiles, &by_name, torus.as_ref())?;
    }
    let mut draft = Draft::default();
    for router in &routers {
        let id =
            draft.router(router.name.to_owned(), Some(router.at)).map_err(at_line(router.line))?;
        for node in nodes(router.name) {
            draft.host(node, id).map_err(at_line(router.line))?;
        }
    }
    let wires = if chip == Chip::Gemini { &Wire::GEMINI[..] } else { &Wire::ARIES };
    let fabric = fabric(draft, &tiles, wires)?;
    Ok(Machine { chip, fabric, torus, tiles, gaps })
}

/// Routers by coordinate, which is a torus' order.
fn routers<'a>(lines: &[Line<'a>]) -> Result<Vec<Named<'a>>, Error> {
    let mut known: HashMap<&str, Coordinate> = HashMap::new();
    let mut routers: Vec<Named<'_>> = Vec::new();
    for Line { number, from, .. } in lines {
        let at = *known.entry(from.router).or_insert_with(|| {
            routers.push(Named { at: from.at, name: from.router, line: *number });
            from.at
        });
        if at != from.at {
            let expected = format!("the coordinate {at}, as `{}` had before", from.router);
            return Err(wrong(*number, expected, &from.at.to_string()));
        }
    }
    routers.sort_by_key(|router| (router.at, router.line));
    let twice = routers.windows(2).find(|pair| pair[0].at == pair[1].at);
    if let Some([first, second]) = twice {
        let expected = format!("a coordinate that `{}` has not", first.name);
        return Err(wrong(second.line, expected, &second.at.to_string()));
    }
    Ok(routers)
}

fn torus(routers: &[Named<'_>], gaps: &mut Gaps) -> Result<Torus, Error> {
    let places: Vec<_> = routers.iter().map(|router| (router.line, router.at)).collect();
    let torus = Torus::new(&lengths(&places)?)?;
    let absent = torus.routers().saturating_sub(routers.len());
    if absent > 0 {
        let lengths: Vec<String> = torus.lengths().iter().map(ToString::to_string).collect();
        let detail =
            format!("the list has not {absent} Geminis of the torus of {}", lengths.join("x"));
        gaps.note(missing(detail, absent as u64));
    }
    Ok(torus)
}

fn tiles(
    chip: Chip,
    lines: &[Line<'_>],
    routers: &[Named<'_>],
    by_name: &HashMap<&str, usize>,
) -> Result<Vec<TileMap>, Error> {
    let mut tiles = vec![[Use::Unused; TILES]; routers.len()];
    let mut listed = vec![0_u64; routers.len()];
    for Line { number, from, leads } in lines {
        let Some(&router) = by_name.get(from.router) else { continue };
        if listed[router] >> from.tile.at() & 1 == 1 {
            let found = format!("{}{}", from.router, from.tile);
            return Err(wrong(*number, "a tile that was not listed before", &found));
        }
        listed[router] |= 1 << from.tile.at();
        tiles[router][from.tile.at()] = match leads {
            Leads::Nowhere => Use::Unused,
            Leads::Processor => Use::Host,
            Leads::To(to, label, wire) => {
                let there = by_name.get(to.router).copied();
                let Some(there) = there.filter(|&there| routers[there].at == to.at) else {
                    let expected = "a router whose tiles are listed, with its coordinate";
                    return Err(wrong(*number, expected, &format!("{}{}", to.router, to.at)));
                };
                let to_id = RouterId(there as u32);
                Use::Network(Peer { to: to_id, tile: to.tile, label: *label, wire: *wire })
            }
        };
    }
    if chip == Chip::Gemini {
        // The list has network tiles only.
        for (map, listed) in tiles.iter_mut().zip(listed) {
            for tile in HOST_TILES.into_iter().filter(|tile| listed >> tile & 1 == 0) {
                map[tile] = Use::Host;
            }
        }
    }
    Ok(tiles)
}

/// Checks that a tile leads in the direction of its label, and to one that leads back.
fn check(
    line: &Line<'_>,
    tiles: &[TileMap],
    by_name: &HashMap<&str, usize>,
    torus: Option<&Torus>,
) -> Result<(), Error> {
    let Line { number, from, leads: Leads::To(to, label, wire) } = line else { return Ok(()) };
    let next = torus.zip(way(*label)).and_then(|(torus, (axis, direction))| {
        Some(torus.coordinate(torus.neighbour(torus.router(from.at)?, axis, direction)))
    });
    if let Some(next) = next.filter(|next| *next != to.at) {
        let expected = format!("{next} in direction {label} of {}", from.at);
        return Err(wrong(*number, expected, &to.at.to_string()));
    }
    let back = by_name.get(to.router).and_then(|&there| tiles.get(there)?.get(to.tile.at()));
    let own = by_name.get(from.router).copied();
    let both = matches!(back, Some(Use::Network(peer))
        if Some(peer.to.at()) == own && peer.tile == from.tile && peer.wire == *wire);
    if both {
        return Ok(());
    }
    let expected = format!("a line of the same kind back from {}{}", to.router, to.tile);
    Err(wrong(*number, expected, &format!("{}{} leads there alone", from.router, from.tile)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use talea_fabric::gemini::{machine, rtr};

    use super::*;
    use crate::fabric::damaged::{changed, changes};

    const SAMPLE: &str = "\
c0-0c0s0a0l00(0:0:0) green -> c0-0c0s6a0l10(0:0:6)
c0-0c0s0a0l01(0:0:0) blue -> unused
c0-0c0s0a0l02(0:0:0) black -> c0-0c1s0a0l02(0:1:0)
c0-0c0s0a0l53(0:0:0) ptile -> processor
c0-0c0s6a0l10(0:0:6) green -> c0-0c0s0a0l00(0:0:0)
c0-0c0s6a0l33(0:0:6) blue -> c2-0c0s6a0l33(1:0:6)
c0-0c1s0a0l02(0:1:0) black -> c0-0c0s0a0l02(0:0:0)
c2-0c0s6a0l33(1:0:6) blue -> c0-0c0s6a0l33(0:0:6)
";

    #[test]
    fn tiles_of_aries() {
        let machine = read(SAMPLE.as_bytes()).unwrap();
        assert_eq!((machine.chip, machine.torus.as_ref()), (Chip::Aries, None));
        let fabric = &machine.fabric;
        assert_eq!((fabric.routers().len(), fabric.hosts().len()), (4, 16));
        assert_eq!(fabric.links().len(), 6);
        let first = machine.tiles(RouterId(0)).unwrap();
        assert_eq!((first[1], first[43]), (Use::Unused, Use::Host));
        assert_eq!(fabric.links()[0].capacity, Some(5.25e9));
        assert_eq!(fabric.hosts()[3].name, "c0-0c0s0n3");
    }

    fn refused(text: &str) -> String {
        read(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn what_is_wrong_with_lists() {
        let good = rtr(&machine([2, 2, 2]).unwrap());
        let lines: Vec<&str> = good.lines().collect();
        let told = [
            ("empty", String::new()),
            ("twice", format!("{good}{}", lines[7])),
            ("one-way", lines[1..].join("\n")),
            ("cut", good[..good.len() - 12].to_owned()),
            ("cut tile", good[..good.len() - 70].to_owned()),
            ("unknown type", good.replacen("backplane", "string", 1)),
            ("unknown way", good.replacen(" Z+ ", " W+ ", 1)),
            ("out of range", good.replacen("l00[(0,0,0)]", "l00[(0,0,99999)]", 1)),
            ("other coordinate", good.replacen("l01[(0,0,0)]", "l01[(0,0,9)]", 1)),
            ("far", good.replace("(1,1,1)", "(1,1,200)")),
            ("same place", good.replace("(1,1,1)", "(1,1,0)")),
            ("other way", good.replacen(" Z+ ", " Y+ ", 1)),
            ("ocr", good.replacen("g0l00", "g0100", 1)),
            ("mixed", format!("{good}{SAMPLE}")),
            ("colour", SAMPLE.replace("green", "red")),
            ("no router", SAMPLE.replacen("s6a0l10(0:0:6)", "s7a0l10(0:0:7)", 1)),
        ]
        .map(|(name, text)| format!("{name}: {}", refused(&text)));
        insta::assert_snapshot!(told.join("\n"));
    }

    #[test]
    fn a_gemini_that_is_not_there() {
        // Without (1,1,1) and all tiles that lead there.
        let text = rtr(&machine([2, 2, 3]).unwrap());
        let text: String = text
            .lines()
            .filter(|line| !line.contains("(1,1,1)"))
            .flat_map(|line| [line, "\n"])
            .collect();
        let machine = read(text.as_bytes()).unwrap();
        assert_eq!(machine.fabric.routers().len(), 11);
        let told: Vec<String> = machine.gaps.iter().map(talea_model::Gap::sentence).collect();
        assert_eq!(told, ["the list has not 1 Geminis of the torus of 2x2x3"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn what_is_generated_is_read(x in 1_u16..5, y in 1_u16..6, z in 1_u16..11) {
            prop_assume!((x, y, z) != (1, 1, 1));
            let machine = machine([x, y, z]).unwrap();
            let text = rtr(&machine);
            let read = read(text.as_bytes()).unwrap();
            prop_assert_eq!(&read, &machine);
            prop_assert_eq!(rtr(&read), text);
        }

        #[test]
        fn a_file_that_was_cut_is_refused(at in any::<prop::sample::Index>()) {
            let text = rtr(&machine([3, 2, 2]).unwrap());
            // The end of the last word may be missing: for a cable the begin of its name is enough.
            let end = at.index(text.len() - "cable15z\n".len());
            prop_assert!(read(&text.as_bytes()[..end]).is_err());
        }

    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(
            changes in changes(),
            aries: bool,
        ) {
            let text = if aries { SAMPLE.to_owned() } else { rtr(&machine([1, 2, 2]).unwrap()) };
            let _ = read(&changed(&text, &changes));
        }
    }
}
