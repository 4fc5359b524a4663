//! The form of blocks: a line of a switch or adapter, and one for each of its connected ports.
//!
//! Owns `Switch 36 "S-..." # "description" enhanced port 0 lid 9 lmc 0`, `Ca 1 "H-..." #
//! "description"` and `[1](3048c707b60001) "S-..."[32] # lid 93 lmc 0 "description" lid 9 4xDDR`.
//! Lines of identifiers (`vendid=0x2c9`) are skipped.

use std::collections::HashMap;

use super::super::ports::{Speed, speed};
use super::super::wrong;
use super::{Device, Error, Found, Side};

const EXPECTED: &str = "a device such as `Switch 36 \"S-0008f10500200b50\" # ...`, a port such as `[1] \"S-0008f10500108c5c\"[15] # ... 4xQDR`, or an identifier";

/// A port's line, with its peer by identifier and number of the port.
struct Port<'a> {
    line: u64,
    device: usize,
    number: u32,
    to: &'a str,
    reached: u32,
    lid: Option<u32>,
    speed: Speed,
}

pub(super) fn read(text: &str) -> Result<Found, Error> {
    let mut found = Found::default();
    let mut known: HashMap<&str, usize> = HashMap::new();
    let mut ports: Vec<Port<'_>> = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let content = line.trim();
        let identifier = || content.split_once('=').is_some_and(|(key, _)| key.ends_with("id"));
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        if content.starts_with('[') {
            let device = found.devices.len().checked_sub(1);
            let device = device
                .ok_or_else(|| wrong(number, "a switch or adapter before its ports", content))?;
            ports.push(port(content, number, device, found.devices[device].switch)?);
            continue;
        }
        if ["Switch", "Ca", "Rt"].contains(&content.split_whitespace().next().unwrap_or("")) {
            let (id, device) =
                device(content, number).ok_or_else(|| wrong(number, EXPECTED, content))?;
            if known.insert(id, found.devices.len()).is_some() {
                return Err(wrong(number, "a device that was not listed before", id));
            }
            found.devices.push(device);
        } else if !identifier() && !content.starts_with("switchguid=") {
            return Err(wrong(number, EXPECTED, content));
        }
    }
    for Port { line, device, number, to, reached, lid, speed } in ports {
        let there = known.get(to).copied().filter(|&there| there != device);
        let there =
            there.ok_or_else(|| wrong(line, "another device that the file describes", to))?;
        found.sides.push(Side { line, from: (device, number), to: (there, reached), lid, speed });
    }
    Ok(found)
}

fn device(line: &str, number: u64) -> Option<(&str, Device)> {
    let (before, behind) = line.split_once('#')?;
    let mut words = before.split_whitespace();
    let switch = words.next()? != "Ca";
    let _ports: u32 = words.next()?.parse().ok()?;
    let id = words.next()?.strip_prefix('"')?.strip_suffix('"')?;
    let guid = u64::from_str_radix(id.get(2..)?, 16).ok()?;
    let (_, description) = behind.split_once('"')?;
    let (description, rest) = description.rsplit_once('"')?;
    let lid = number_behind(rest, "lid");
    let description = description.trim().chars().take(128).collect();
    Some((id, Device { switch, id: id.to_owned(), guid, lid, description, line: number }))
}

fn port(line: &str, number: u64, device: usize, switch: bool) -> Result<Port<'_>, Error> {
    let other = || wrong(number, EXPECTED, line);
    let (own, rest) = bracketed(line).ok_or_else(other)?;
    // Identifier of an adapter's port, or the name of a switch's port on its outside.
    let rest = match rest.strip_prefix('(') {
        Some(inside) => inside.split_once(')').ok_or_else(other)?.1,
        None => rest,
    };
    let rest = rest.trim_start().strip_prefix('"').ok_or_else(other)?;
    let (to, rest) = rest.split_once('"').ok_or_else(other)?;
    let (reached, rest) = bracketed(rest).ok_or_else(other)?;
    let (_, comment) = rest.split_once('#').ok_or_else(other)?;
    // Bits of the port information follow it, if requested: `s=4 w=2 v=1`.
    let mut words = comment.split_whitespace().rev();
    let word = words.find(|word| !word.contains('=')).unwrap_or("");
    let width = word.find(['x', '?']).map(|at| if word.starts_with("??") { 2 } else { at + 1 });
    let parsed = width.and_then(|width| speed(word.get(..width)?, word.get(width..)?));
    let expected = "a width and speed such as 4xEDR at the end of the line";
    let speed = parsed.ok_or_else(|| wrong(number, expected, word))?;
    // Adapters' own identifiers stand before the description, those of the peer after it.
    let before = comment.split('"').next().unwrap_or("");
    let lid = if switch { None } else { number_behind(before, "lid") };
    Ok(Port { line: number, device, number: own, to, reached, lid, speed })
}

/// The number in brackets at the begin of a text, and the rest.
fn bracketed(text: &str) -> Option<(u32, &str)> {
    let (number, rest) = text.strip_prefix('[')?.split_once(']')?;
    Some((number.parse().ok()?, rest))
}

fn number_behind(text: &str, word: &str) -> Option<u32> {
    let mut words = text.split_whitespace();
    words.find(|found| *found == word)?;
    words.next()?.parse().ok()
}
