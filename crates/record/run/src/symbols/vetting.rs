//! Checks of debug information before it is passed to a parser that trusts it.
//!
//! Owns two checks that addr2line and object leave out. Nested inlined calls are parsed by
//! recursion, a byte a level, so that a small file can overflow the stack, which ends a program
//! without a message. And compressed sections may unfold to more than memory holds; see RFC 8878
//! for the blocks of Zstandard.

use addr2line::gimli::{
    DebugAbbrev, DebugInfo, DebugInfoUnitHeadersIter, EndianSlice, RunTimeEndian,
};
use object::{CompressedData, CompressionFormat, Object, ObjectSection};

use super::debug_file::Elf;

/// Maximum nesting of entries, which nest a few dozen deep, through namespaces, blocks and inlined
/// calls.
const MOST_NESTED: isize = 1000;
/// Maximum ratio of unfolding; debug sections shrink to a tenth at best.
const MOST_UNFOLDED: u64 = 256;
/// Size to which a section may unfold in any case.
const SMALL: u64 = 1 << 16;
/// Maximum size of a Zstandard block.
const BLOCK: u64 = 128 << 10;

type Bytes<'a> = EndianSlice<'a, RunTimeEndian>;

/// Reasons why debug information is not read. The texts stand in parentheses before the path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error(
        "section `{section}` of {length} bytes unfolds to more than {MOST_UNFOLDED} times as many"
    )]
    Unfolds { section: String, length: u64 },
    #[error("entries nest more than {MOST_NESTED} deep at offset {offset:#x} of `{section}`")]
    Nested { section: &'static str, offset: usize },
}

/// Checks that a file's debug information can be read with little memory and stack.
pub(super) fn vet(elf: &Elf<'_>) -> Result<(), Refusal> {
    for section in elf.sections() {
        if let Ok(data) = section.compressed_data()
            && unfolds_too_far(&data)
        {
            let section = section.name().unwrap_or("?").to_owned();
            return Err(Refusal::Unfolds { section, length: data.data.len() as u64 });
        }
    }
    let part =
        |name: &str| elf.section_by_name(name).and_then(|section| section.uncompressed_data().ok());
    let names = [(".debug_info", ".debug_abbrev"), (".debug_info.dwo", ".debug_abbrev.dwo")];
    for (info, abbreviations) in names {
        let (Some(entries), Some(abbreviations)) = (part(info), part(abbreviations)) else {
            continue;
        };
        let endian =
            if elf.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
        let abbreviations = DebugAbbrev::new(&abbreviations, endian);
        let units = DebugInfo::new(&entries, endian).units();
        if let Some(offset) = too_deep(units, &abbreviations) {
            return Err(Refusal::Nested { section: info, offset });
        }
    }
    Ok(())
}

/// Place at which entries nest too deeply. A unit that cannot be read ends where its reader will
/// stop, too.
fn too_deep(
    mut units: DebugInfoUnitHeadersIter<Bytes<'_>>,
    abbreviations: &DebugAbbrev<Bytes<'_>>,
) -> Option<usize> {
    while let Ok(Some(unit)) = units.next() {
        let Ok(abbreviations) = unit.abbreviations(abbreviations) else { continue };
        let Ok(mut entries) = unit.entries_raw(&abbreviations, None) else { continue };
        while !entries.is_empty() {
            if entries.next_depth() > MOST_NESTED {
                let begin = unit.offset().to_debug_info_offset(&unit).map_or(0, |begin| begin.0);
                return Some(begin + entries.next_offset().0);
            }
            match entries.read_abbreviation() {
                Ok(Some(entry)) if entries.skip_attributes(entry.attributes()).is_err() => break,
                Ok(_) => {}
                Err(_) => break,
            }
        }
    }
    None
}

fn unfolds_too_far(section: &CompressedData<'_>) -> bool {
    let most = (section.data.len() as u64).saturating_mul(MOST_UNFOLDED).saturating_add(SMALL);
    let claimed = match section.format {
        CompressionFormat::None => 0,
        CompressionFormat::Zstandard => zstandard(section.data).max(section.uncompressed_size),
        _ => section.uncompressed_size,
    };
    claimed > most
}

/// Maximum size to which the blocks of Zstandard's frames may unfold.
fn zstandard(mut bytes: &[u8]) -> u64 {
    let mut sum = 0_u64;
    while let Some(body) = frame_body(bytes) {
        bytes = body;
        let mut checksum = 0;
        if let Some(descriptor) = descriptor(body) {
            let (fields, ends_with_checksum) = descriptor;
            checksum = if ends_with_checksum { 4 } else { 0 };
            bytes = body.get(fields..).unwrap_or_default();
        }
        while let Some((header, rest)) = bytes.split_first_chunk::<3>() {
            let header = u32::from_le_bytes([header[0], header[1], header[2], 0]);
            let (last, kind, size) = (header & 1 == 1, header >> 1 & 3, u64::from(header >> 3));
            sum = sum.saturating_add(if kind == 2 { BLOCK } else { size });
            let stored = if kind == 1 { 1 } else { size };
            bytes = rest.get(stored as usize..).unwrap_or_default();
            if last {
                break;
            }
        }
        bytes = bytes.get(checksum..).unwrap_or_default();
    }
    sum
}

/// The bytes after the magic number of the next frame; frames to skip contain nothing.
fn frame_body(mut bytes: &[u8]) -> Option<&[u8]> {
    loop {
        let (magic, rest) = bytes.split_first_chunk::<4>()?;
        match u32::from_le_bytes(*magic) {
            0xfd2f_b528 => return Some(rest),
            0x184d_2a50..=0x184d_2a5f => {
                let (length, rest) = rest.split_first_chunk::<4>()?;
                bytes = rest.get(u32::from_le_bytes(*length) as usize..)?;
            }
            _ => return None,
        }
    }
}

/// Length of a frame's header after its magic number, and true if a checksum ends the frame.
fn descriptor(frame: &[u8]) -> Option<(usize, bool)> {
    let flags = *frame.first()?;
    let single = flags >> 5 & 1 == 1;
    let dictionary = [0, 1, 2, 4][usize::from(flags & 3)];
    let content = match flags >> 6 {
        0 => usize::from(single),
        power => 1 << power,
    };
    Some((1 + usize::from(!single) + dictionary + content, flags >> 2 & 1 == 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block: the last flag, its kind, its size, and its stored bytes.
    fn block(last: u32, kind: u32, size: u32, stored: &[u8]) -> Vec<u8> {
        [&(last | kind << 1 | size << 3).to_le_bytes()[..3], stored].concat()
    }

    #[test]
    fn blocks_of_zstandard_are_summed_up() {
        // A window of its own, no content size, a checksum at the end.
        let head = [&0xfd2f_b528_u32.to_le_bytes()[..], &[0b100, 0]].concat();
        let checksum = [1, 2, 3, 4];
        let skipped = [&0x184d_2a51_u32.to_le_bytes()[..], &3_u32.to_le_bytes(), &[7; 3]].concat();
        let repeated = block(0, 1, (1 << 21) - 1, &[0]);
        let stored = block(0, 0, 5, b"12345");
        let packed = block(1, 2, 4, &[9; 4]);
        let frame = [&head[..], &repeated, &stored, &packed, &checksum].concat();
        let all = [&frame[..], &skipped, &frame].concat();
        assert_eq!(zstandard(&frame), (1 << 21) - 1 + 5 + BLOCK);
        assert_eq!(zstandard(&all), 2 * zstandard(&frame));
        for end in 0..all.len() {
            assert!(zstandard(&all[..end]) <= zstandard(&all), "{end}");
        }
    }
}
