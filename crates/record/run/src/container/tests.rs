//! Round trips, the two ways of writing against each other, and hostile bytes.

use std::fs::File;

use std::path::Path;

use proptest::prelude::*;

use super::*;

fn written(sections: &[(SectionId, Vec<u8>)]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), Tag::RUN).unwrap();
    for (id, payload) in sections {
        writer.append(*id, payload).unwrap();
    }
    writer.finish().unwrap()
}

fn read(bytes: &[u8]) -> Result<Container<'_>, ReadError> {
    Container::read(bytes, Tag::RUN, Path::new("t.talea"))
}

fn example() -> Vec<u8> {
    written(&[
        (SectionId::new(*b"META", 0), b"hello".to_vec()),
        (SectionId::new(*b"RANK", 0), vec![7; 100]),
        (SectionId::new(*b"RANK", 1), Vec::new()),
    ])
}

/// Sections with distinct ids and small payloads.
fn any_sections() -> impl Strategy<Value = Vec<(SectionId, Vec<u8>)>> {
    let id = (any::<[u8; 4]>(), 0..4_u32);
    let payload = prop::collection::vec(any::<u8>(), 0..64);
    prop::collection::btree_map(id, payload, 0..8).prop_map(|all| {
        all.into_iter().map(|((tag, n), payload)| (SectionId::new(tag, n), payload)).collect()
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(sections in any_sections()) {
        let bytes = written(&sections);
        let container = read(&bytes).unwrap();
        prop_assert!(container.damage().is_empty());
        let back: Vec<_> =
            container.sections().iter().map(|s| (s.id, s.bytes.to_vec())).collect();
        prop_assert_eq!(back, sections);
    }

    #[test]
    fn every_truncation_is_an_error(
        sections in any_sections(),
        cut in any::<prop::sample::Index>()
    ) {
        let bytes = written(&sections);
        let end = cut.index(bytes.len());
        prop_assert!(read(&bytes[..end]).is_err());
    }

    #[test]
    fn every_flipped_bit_is_found(
        sections in any_sections(),
        place in any::<prop::sample::Index>(),
        bit in 0..8_u8,
    ) {
        let mut bytes = written(&sections);
        let place = place.index(bytes.len());
        bytes[place] ^= 1_u8 << bit;
        if let Ok(container) = read(&bytes) {
            // Exactly the section that contains the bit is lost.
            prop_assert_eq!(container.damage().len(), 1);
            let damage = container.damage()[0];
            let range = damage.offset..damage.offset + damage.length;
            prop_assert!(range.contains(&(place as u64)));
            prop_assert_eq!(container.sections().len(), sections.len() - 1);
        }
    }

    #[test]
    fn any_bytes_with_good_checksums_do_not_panic(
        offset in any::<u64>(), count in 0..4_u32,
        directory in prop::collection::vec(any::<u8>(), 0..128),
    ) {
        // A hostile writer can compute checksums too.
        let mut bytes = header_bytes(Tag::RUN).to_vec();
        bytes.extend(&directory);
        let at = bytes.len();
        bytes.extend(if offset % 2 == 0 { HEADER as u64 } else { offset }.to_le_bytes());
        bytes.extend(count.to_le_bytes());
        bytes.extend(checksum(&directory).to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(checksum(&bytes[at..]).to_le_bytes());
        bytes.extend(END_MAGIC);
        let _ = read(&bytes);
    }

    #[test]
    fn processes_writing_at_offsets_make_the_same_file(sections in any_sections()) {
        let lengths: Vec<_> = sections.iter().map(|(id, p)| (*id, p.len() as u64)).collect();
        let file = tempfile::tempfile().unwrap();
        let layout = Layout::new(Tag::RUN, &lengths).unwrap();
        // The last one first: order does not matter.
        let mut checksums = vec![0; sections.len()];
        for (index, (_, payload)) in sections.iter().enumerate().rev() {
            checksums[index] = layout.placements()[index].write(&file, payload).unwrap();
        }
        prop_assert!(read(&bytes_of(&file)).is_err());
        layout.write_header(&file).unwrap();
        prop_assert!(read(&bytes_of(&file)).is_err());
        layout.write_tail(&file, &checksums).unwrap();
        let bytes = bytes_of(&file);
        prop_assert_eq!(bytes.len() as u64, layout.file_length());
        prop_assert_eq!(bytes, written(&sections));
    }
}

fn bytes_of(file: &File) -> Vec<u8> {
    use std::os::unix::fs::FileExt;
    let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

#[test]
fn errors_name_place_and_expectation() {
    let check = |bytes: &[u8], expected: &str| {
        assert_eq!(read(bytes).unwrap_err().to_string(), format!("{expected}: `t.talea`"));
    };
    let good = example();
    check(b"#!/bin/sh", "not a Talea file: expected `TALEA` and three control bytes at offset 0");
    check(
        &good[..good.len() - 1],
        "file is incomplete: expected a footer at the end, offset 224; its writer was stopped or it \
         was not copied as a whole",
    );
    let mut newer = good.clone();
    newer[8] = 7;
    let sum = checksum(&newer[..20]);
    newer[20..24].copy_from_slice(&sum.to_le_bytes());
    check(&newer, "made by a newer talea: version 7, this one reads up to 1");
    let mut flipped = good.clone();
    flipped[130] ^= 1;
    check(
        &flipped,
        "file is damaged at offset 129, expected a directory that matches its checksum",
    );
    let other = Container::read(&good, Tag(*b"JOB\n"), Path::new("t.talea")).unwrap_err();
    assert_eq!(other.to_string(), "file is of kind `RUN `, expected `JOB\\n`: `t.talea`");
}

#[test]
fn a_damaged_section_leaves_the_others() {
    let mut bytes = example();
    bytes[60] ^= 0x10;
    let container = read(&bytes).unwrap();
    assert_eq!(container.get(SectionId::new(*b"META", 0)).unwrap().bytes, b"hello");
    assert_eq!(container.all(Tag(*b"RANK")).map(|s| s.id.number).collect::<Vec<_>>(), [1]);
    assert_eq!(
        container.damage()[0].gap().detail,
        "section `RANK 0` at offset 29 does not match its checksum, 100 bytes are left out"
    );
}

#[test]
fn a_section_may_come_in_pieces_but_only_once() {
    let id = SectionId::new(*b"RANK", 3);
    let mut writer = Writer::new(Vec::new(), Tag::RUN).unwrap();
    writer.stream(id, |to| (0..10).try_for_each(|i| to.write_all(&[i]))).unwrap();
    let error = writer.append(id, b"again").unwrap_err();
    assert_eq!(
        error.to_string(),
        "section `RANK 3` at offset 34 was written before, expected another tag or number"
    );
    let bytes = writer.finish().unwrap();
    assert_eq!(read(&bytes).unwrap().get(id).unwrap().bytes, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

#[test]
fn a_layout_refuses_what_does_not_fit() {
    let id = SectionId::new(*b"RANK", 0);
    let other = SectionId::new(*b"RANK", 1);
    let check = |sections: &[(SectionId, u64)], expected: &str| {
        assert_eq!(Layout::new(Tag::RUN, sections).unwrap_err().to_string(), expected);
    };
    check(
        &[(id, 1), (id, 1)],
        "section `RANK 0` at offset 25 is listed before, expected another tag or number",
    );
    check(
        &[(id, 1), (other, u64::MAX)],
        "section `RANK 1` of 18446744073709551615 bytes at offset 25 ends behind the largest file",
    );
    let layout = Layout::new(Tag::RUN, &[(id, 4)]).unwrap();
    let file = tempfile::tempfile().unwrap();
    let error = layout.placements()[0].write(&file, b"12345").unwrap_err();
    assert_eq!(error.to_string(), "at offset 24: 5 given, expected 4");
    assert!(layout.write_tail(&file, &[]).is_err());
}

/// The bytes of version 1, which every later build must read.
#[test]
fn the_first_version_stays_readable() {
    let bytes = include_bytes!("../../samples/container-1.talea");
    assert_eq!(bytes[..], example()[..], "the writer changed: raise VERSION and keep this sample");
    assert_eq!(read(bytes).unwrap().sections().len(), 3);
}
