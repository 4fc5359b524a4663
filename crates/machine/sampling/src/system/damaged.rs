//! Entry points of the parsers here for any bytes, for the search with damaged ones (`cargo xtask
//! fuzz`).
//!
//! Owns nothing, and says nothing of what was read but whether it can be asked: it must end, in
//! bounded memory.

use super::mappings::Mappings;
use super::record::{self, Record};
use crate::sys::buffer::Head;

/// A text of `/proc/PID/maps`, and questions about addresses in it.
pub fn maps(text: &[u8], addresses: &[u64]) {
    let mut named = 0_usize;
    let mappings = Mappings::of_text(text, |_, path| named += path.as_os_str().len());
    for &address in addresses {
        let _ = mappings.find(address);
    }
}

/// Records as they stand in a ring, one after the other: kind, flags and length, then as many
/// bytes; their mappings go into one process.
pub fn records(mut bytes: &[u8]) {
    let mut mappings = Mappings::default();
    while let Some((head, rest)) = bytes.split_first_chunk::<8>() {
        let [kind @ .., _, _, _, _] = *head;
        let [.., misc_low, misc_high, length_low, length_high] = *head;
        let head = Head {
            kind: u32::from_ne_bytes(kind),
            misc: u16::from_ne_bytes([misc_low, misc_high]),
        };
        let length = usize::from(u16::from_ne_bytes([length_low, length_high])).saturating_sub(8);
        let (body, rest) = rest.split_at(length.min(rest.len()));
        let _ = record::time(head, body);
        if let Some(Record::Mapped { mapping, .. }) = record::parse(head, body) {
            let _ = mappings.add(mapping);
            let _ = mappings.find(mapping.begin);
        }
        bytes = rest;
    }
}
