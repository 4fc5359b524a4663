//! Tests of journals: round trips, cut files, and damage that costs one block.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::container::Tag;

const KIND: Tag = Tag(*b"TEST");

fn written(blocks: &[(Tag, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, KIND).unwrap();
    for (tag, payload) in blocks {
        writer.append(*tag, payload).unwrap();
    }
    bytes
}

fn read(bytes: &[u8]) -> (Vec<(Tag, Vec<u8>)>, usize) {
    let journal = Journal::read(bytes, KIND, Path::new("test")).unwrap();
    let blocks = journal.blocks.iter().map(|block| (block.tag, block.bytes.to_vec())).collect();
    (blocks, journal.gaps.iter().count())
}

fn blocks() -> impl Strategy<Value = Vec<(Tag, Vec<u8>)>> {
    let payload = prop::collection::vec(any::<u8>(), 0..60);
    prop::collection::vec((any::<[u8; 4]>().prop_map(Tag), payload), 0..8)
}

#[test]
fn much_damage_is_told_in_few_words() {
    let block = (Tag(*b"SOME"), vec![7; 4]);
    let mut bytes = written(&vec![block; 50_000]);
    // The last byte of each payload.
    for at in (24..bytes.len()).skip(23).step_by(24) {
        bytes[at] ^= 1;
    }
    let journal = Journal::read(&bytes, KIND, Path::new("test")).unwrap();
    let details: Vec<&str> = journal.gaps.iter().map(|gap| gap.detail.as_str()).collect();
    assert_eq!((journal.blocks.len(), details.len()), (0, 101));
    let last = "1197600 bytes at 49900 more places are no whole blocks";
    assert!(details.contains(&last), "{details:?}");
}

proptest! {
    #[test]
    fn blocks_come_back(blocks in blocks()) {
        prop_assert_eq!(read(&written(&blocks)), (blocks, 0));
    }

    #[test]
    fn journals_one_after_the_other_are_one(first in blocks(), second in blocks()) {
        let all = [written(&first), written(&second)].concat();
        prop_assert_eq!(read(&all), ([first, second].concat(), 0));
    }

    #[test]
    fn a_cut_loses_the_last_block_only(blocks in blocks(), at in any::<prop::sample::Index>()) {
        let bytes = written(&blocks);
        let cut = 24 + at.index(bytes.len() - 23);
        let (found, _) = read(&bytes[..cut]);
        prop_assert!(blocks.starts_with(&found));
        let whole = blocks.iter().scan(24, |end, (_, payload)| {
            *end += 20 + payload.len();
            Some(*end)
        });
        prop_assert_eq!(found.len(), whole.filter(|&end| end <= cut).count());
    }

    #[test]
    fn damage_costs_one_block(
        blocks in blocks(),
        at in any::<prop::sample::Index>(),
        flip in 1..=255_u8
    ) {
        let mut bytes = written(&blocks);
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        if at >= 24 {
            let (found, gaps) = read(&bytes);
            prop_assert!(gaps >= 1);
            prop_assert_eq!(found.len() + 1, blocks.len());
        } else {
            prop_assert!(Journal::read(&bytes, KIND, Path::new("test")).is_err());
        }
    }
}
