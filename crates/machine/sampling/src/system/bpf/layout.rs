//! Keys and values of the BPF program's maps, as bytes.
//!
//! Owns their layouts, which are those of `bpf/system.bpf.c`: all numbers in the machine's order,
//! without room in between. Maps are opened with these sizes, so that a program with others is
//! refused when it is loaded.

use std::sync::Arc;

use crate::system::hit::{FileId, Hit, State};
use crate::system::rates::{MOST_COUNTERS, Sum};

/// `struct key`.
pub(super) const KEY: usize = 80;
/// `struct file_id`.
pub(super) const FILE_ID: usize = 16;
/// `struct file_name`.
pub(super) const NAME: usize = 64;
/// `struct text`.
pub(super) const TEXT: usize = 8 + 64;
/// `struct tls`.
pub(super) const TLS: usize = 16;
/// `struct sums`.
pub(super) const SUMS: usize = MOST_COUNTERS * 24;

/// Numbers of `losses`, in its order.
pub(super) const SAMPLES: u32 = 0;
/// No room in the map of counts.
pub(super) const FULL: u32 = 1;
/// The mapping of an address could not be looked up.
pub(super) const NO_MAPPING: u32 = 2;
/// A phase could not be read.
pub(super) const NO_PHASE: u32 = 3;
/// A counter was less than before.
pub(super) const RESET: u32 = 4;
/// A counter did not run, or hardly.
pub(super) const UNCOUNTED: u32 = 5;
/// No room in the map of rates.
pub(super) const NO_RATE: u32 = 6;
/// A count did not fit into 64 bits.
pub(super) const BEYOND: u32 = 7;

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |word| u64::from_ne_bytes(*word))
}

fn half(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |half| u32::from_ne_bytes(*half))
}

/// The hit of a key, and the number of its phase.
pub(super) fn hit(key: &[u8; KEY], count: u64) -> (Hit, u64) {
    let state = match half(key, 56) {
        0 => State::Idle,
        1 => State::User,
        _ => State::Kernel,
    };
    let mut name = [0; 16];
    name.copy_from_slice(&key[64..]);
    let hit = Hit {
        core: half(key, 48),
        state,
        process: half(key, 52),
        user: (state != State::Idle).then(|| half(key, 60)),
        name,
        executable: FileId::of_kernel(half(key, 40), word(key, 0)),
        file: FileId::of_kernel(half(key, 44), word(key, 8)),
        offset: word(key, 16),
        group: word(key, 24),
        phase: None,
        count,
    };
    (hit, word(key, 32))
}

/// Growth of the first counters; `None` without any.
pub(super) fn sums(bytes: &[u8; SUMS], counters: usize) -> Option<Vec<Sum>> {
    let sum = |at| Sum {
        samples: word(bytes, at),
        nanos: word(bytes, at + 8),
        count: word(bytes, at + 16),
    };
    let sums: Vec<Sum> = (0..counters).map(|counter| sum(counter * 24)).collect();
    sums.iter().any(|sum| sum.samples > 0).then_some(sums)
}

/// The key of a file's name. The kernel has 12 bits for major and 20 for minor numbers; others are
/// no file's.
pub(super) fn file_id(file: FileId) -> [u8; FILE_ID] {
    let device = file.device;
    let major = device >> 32 & 0xffff_f000 | device >> 8 & 0xfff;
    let minor = device >> 12 & 0xffff_ff00 | device & 0xff;
    let mut key = [0; FILE_ID];
    key[..8].copy_from_slice(&file.inode.to_ne_bytes());
    key[8..].copy_from_slice(&(major << 20 | minor & 0xf_ffff).to_ne_bytes());
    key
}

/// A name up to its zero.
pub(super) fn name(bytes: &[u8; NAME]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// A phase's text.
pub(super) fn text(bytes: &[u8; TEXT]) -> Option<Arc<[u8]>> {
    let length = usize::try_from(word(bytes, 0)).ok()?;
    bytes[8..].get(..length).filter(|text| !text.is_empty()).map(Into::into)
}

/// Where a process's phases are.
pub(super) fn tls(tls: super::Tls) -> [u8; TLS] {
    let mut bytes = [0; TLS];
    bytes[..8].copy_from_slice(&tls.offset.to_ne_bytes());
    bytes[8..].copy_from_slice(&u64::from(tls.attribute).to_ne_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn files_are_found_again_by_what_was_hit() {
        let mut key = [0; KEY];
        key[..8].copy_from_slice(&77_u64.to_ne_bytes());
        key[40..44].copy_from_slice(&(253_u32 << 20 | 0x1_2345).to_ne_bytes());
        key[56] = 1;
        let (hit, phase) = hit(&key, 3);
        assert_eq!((hit.state, hit.count, hit.file, phase), (State::User, 3, None, 0));
        let id = file_id(hit.executable.unwrap());
        assert_eq!(id[..8], key[..8]);
        assert_eq!(id[8..12], key[40..44]);
        assert_eq!(id[12..], [0; 4]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_text_or_none(bytes in proptest::array::uniform32(any::<u8>())) {
            let mut text = [0; TEXT];
            text[..32].copy_from_slice(&bytes);
            if let Some(found) = super::text(&text) {
                prop_assert!(found.len() <= TEXT - 8);
            }
            let mut long = [b'x'; NAME];
            long[0] = bytes[0];
            prop_assert!(name(&long).len() <= NAME);
        }
    }
}
