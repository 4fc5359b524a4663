//! The form of one line a port: `CA 134 1 0x7cfe9003003b4bde 4x EDR - SW 1719 10 0x7cfe9003009ce5b0
//! ( 'o0001 HCA-1' - 'ib-i1l1s01' )`.
//!
//! Owns this syntax. A line without a second end is a port that is not connected; it describes its
//! device alone.

use std::collections::{HashMap, HashSet};

use super::super::ports::speed;
use super::super::wrong;
use super::{Device, Error, Found, Side};

const EXPECTED: &str = "a port such as `CA 134 1 0x7cfe9003003b4bde 4x EDR - SW 1719 10 0x7cfe9003009ce5b0 ( 'a' - 'b' )`";

/// One end of a line: type, local identifier, port and identifier.
struct End<'a> {
    switch: bool,
    lid: u32,
    port: u32,
    guid: u64,
    name: &'a str,
}

/// Devices by identifier and local identifier: ports of an adapter may be listed with the
/// identifier of the adapter.
#[derive(Default)]
struct Known {
    devices: HashMap<(u64, u32), usize>,
    guids: HashSet<u64>,
}

pub(super) fn read(text: &str) -> Result<Found, Error> {
    let mut found = Found::default();
    let mut known = Known::default();
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let other = || wrong(number, EXPECTED, line);
        let mut rest = line;
        let from = end(&mut rest).ok_or_else(other)?;
        let (width, name) = (word(&mut rest), word(&mut rest));
        let speed = speed(width, name).ok_or_else(|| {
            let expected = "a width and a speed such as 4x EDR (SDR to XDR, or ???)";
            wrong(number, expected, &format!("{width} {name}"))
        })?;
        let Some(mut rest) = rest.strip_prefix("- ") else {
            let quoted = rest.strip_prefix('\'').and_then(|name| name.strip_suffix('\''));
            let name = quoted.unwrap_or(rest).trim();
            device(&mut found, &mut known, &End { name, ..from }, number)?;
            continue;
        };
        let to = end(&mut rest).ok_or_else(other)?;
        let (own, others) = names_of(rest).ok_or_else(other)?;
        let one = device(&mut found, &mut known, &End { name: own, ..from }, number)?;
        let two = device(&mut found, &mut known, &End { name: others, ..to }, number)?;
        if one == two {
            return Err(wrong(number, "two devices", line));
        }
        let (from, to, lid) = ((one, from.port), (two, to.port), Some(from.lid));
        found.sides.push(Side { line: number, from, to, lid, speed });
    }
    Ok(found)
}

/// Takes the first word of a text.
fn word<'a>(rest: &mut &'a str) -> &'a str {
    let text = rest.trim_start();
    let (word, behind) = text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()));
    *rest = behind.trim_start();
    word
}

/// Takes type, local identifier, port and identifier from the begin of a text.
fn end<'a>(rest: &mut &'a str) -> Option<End<'a>> {
    let switch = match word(rest) {
        "SW" | "RT" => true,
        "CA" => false,
        _ => return None,
    };
    let (lid, port) = (word(rest).parse().ok()?, word(rest).parse().ok()?);
    let guid = u64::from_str_radix(word(rest).strip_prefix("0x")?, 16).ok()?;
    Some(End { switch, lid, port, guid, name: "" })
}

/// The two names of `( 'a' - 'b' )`.
fn names_of(text: &str) -> Option<(&str, &str)> {
    let inner = text.trim().strip_prefix('(')?.strip_suffix(')')?.trim();
    let (own, others) = inner.strip_prefix('\'')?.strip_suffix('\'')?.split_once("' - '")?;
    Some((own.trim(), others.trim()))
}

fn device(found: &mut Found, known: &mut Known, end: &End<'_>, line: u64) -> Result<usize, Error> {
    if let Some(&at) = known.devices.get(&(end.guid, end.lid)) {
        if found.devices[at].switch != end.switch {
            let expected = format!("the type that line {} gives", found.devices[at].line);
            return Err(wrong(line, expected, &format!("0x{:016x}", end.guid)));
        }
        return Ok(at);
    }
    let at = found.devices.len();
    known.devices.insert((end.guid, end.lid), at);
    let mut id = format!("{}-{:016x}", if end.switch { 'S' } else { 'H' }, end.guid);
    if !known.guids.insert(end.guid) {
        id = format!("{id}-{}", end.lid);
    }
    found.devices.push(Device {
        switch: end.switch,
        id,
        guid: end.guid,
        lid: Some(end.lid),
        description: end.name.chars().take(128).collect(),
        line,
    });
    Ok(at)
}
