//! Places on PCI buses and types of PCI devices, in the form of files.
//!
//! Owns these three texts. `None` for an invalid text.

use crate::objects::Pci;

fn hex(text: &str) -> Option<u32> {
    u32::from_str_radix(text, 16).ok()
}

fn hex_byte(text: &str) -> Option<u8> {
    u8::from_str_radix(text, 16).ok()
}

/// `0000:[01-0d]`.
pub(super) fn buses(text: &str) -> Option<(u32, u8, u8)> {
    let (domain, range) = text.split_once(':')?;
    let (first, last) = range.strip_prefix('[')?.strip_suffix(']')?.split_once('-')?;
    Some((hex(domain)?, hex_byte(first)?, hex_byte(last)?))
}

/// `0000:00:02.0`.
pub(super) fn bus_id(text: &str) -> Option<(u32, u8, u8, u8)> {
    let (domain, rest) = text.split_once(':')?;
    let (bus, rest) = rest.split_once(':')?;
    let (device, function) = rest.split_once('.')?;
    Some((hex(domain)?, hex_byte(bus)?, hex_byte(device)?, hex_byte(function)?))
}

/// `0604 [8086:2f04] [8086:0000] 02`, since version 3 with the programming interface after it; true
/// if it is valid.
pub(super) fn pci_type(pci: &mut Pci, text: &str) -> bool {
    let pair = |text: &str| -> Option<(u16, u16)> {
        let (first, second) = text.strip_prefix('[')?.strip_suffix(']')?.split_once(':')?;
        Some((u16::from_str_radix(first, 16).ok()?, u16::from_str_radix(second, 16).ok()?))
    };
    let mut words = text.split_ascii_whitespace();
    let mut read = || -> Option<Pci> {
        let class = u16::from_str_radix(words.next()?, 16).ok()?;
        let (ids, subsystem) = (pair(words.next()?)?, pair(words.next()?)?);
        let revision = hex_byte(words.next()?)?;
        let interface = words.next().and_then(hex_byte).unwrap_or(0);
        Some(Pci { class, ids, subsystem, revision, interface, ..*pci })
    };
    let read = read();
    if let Some(read) = read {
        *pci = read;
    }
    read.is_some()
}
