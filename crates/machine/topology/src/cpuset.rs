//! Sets of PUs or of NUMA nodes, in hwloc's and in Linux's notation.
//!
//! Owns both texts: masks of 32 bits with commas between (`0x00000001,0xffffffff`, an empty word is
//! zero, `0xf...f` first is an infinite set), and lists (`0-3,8`). Refuses members from [`MOST`]
//! on, which no machine has. A set takes memory only for words with members: in a machine of
//! 100,000 PUs, the sets of its cores are as small as those of a laptop's.

use std::fmt::{self, Write};

/// Highest member + 1 that a set may have: room for [`MOST_PUS`] with gaps between their numbers.
pub const MOST: usize = 1 << 17;
/// Maximum number of PUs of a machine.
pub const MOST_PUS: usize = 100_000;

/// A set of small numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CpuSet {
    /// Places of words and their 64 members each, lowest first, no word of zeros.
    words: Vec<(u32, u64)>,
}

/// A text that is no set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a set such as `0x0000000f` or `0-3,8`, found `{0}`")]
pub struct NotASet(pub String);

impl CpuSet {
    /// A set of one member.
    pub fn single(member: usize) -> Self {
        let mut set = Self::default();
        set.insert(member);
        set
    }

    /// Reads hwloc's masks. An infinite set ends at [`MOST`].
    pub fn from_mask(text: &str) -> Result<Self, NotASet> {
        let wrong = || NotASet(text.chars().take(80).collect());
        let mut words: Vec<&str> = text.trim().split(',').collect();
        let infinite = words.first() == Some(&"0xf...f");
        if infinite {
            words.remove(0);
        }
        let mut set = Self::default();
        let count = words.len();
        for (place, word) in words.into_iter().rev().enumerate() {
            let digits = word.trim_start_matches("0x").trim_start_matches("0X");
            let bits = match digits {
                "" if word.is_empty() && count > 1 || word.is_empty() && infinite => 0,
                _ => u32::from_str_radix(digits, 16).map_err(|_| wrong())?,
            };
            if bits == 0 {
                continue;
            }
            if 32 * (place + 1) > MOST {
                return Err(wrong());
            }
            set.add_bits(place / 2, u64::from(bits) << (32 * (place % 2)));
        }
        if infinite {
            set.insert_range(32 * count, MOST - 1);
        }
        Ok(set)
    }

    /// Reads Linux's lists; the empty text is the empty set.
    pub fn from_list(text: &str) -> Result<Self, NotASet> {
        let wrong = || NotASet(text.chars().take(80).collect());
        let number = |text: &str| -> Result<usize, NotASet> {
            text.trim().parse().ok().filter(|&n| n < MOST).ok_or_else(wrong)
        };
        // The longest valid list, of every other number, is shorter; parsing a longer one would
        // waste time.
        if text.len() > 8 * MOST {
            return Err(wrong());
        }
        let mut set = Self::default();
        for part in text.trim().split(',').filter(|part| !part.trim().is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(wrong());
            }
            set.insert_range(first, last);
        }
        Ok(set)
    }

    /// Adds a member, unless it is beyond [`MOST`].
    pub fn insert(&mut self, member: usize) {
        if member < MOST {
            self.add_bits(member / 64, 1 << (member % 64));
        }
    }

    /// Adds members of one word. Words mostly come in order, so that they go to the end.
    fn add_bits(&mut self, place: usize, bits: u64) {
        let place = place as u32;
        match self.words.last_mut() {
            Some((last, word)) if *last == place => *word |= bits,
            Some((last, _)) if *last > place => {
                match self.words.binary_search_by_key(&place, |&(at, _)| at) {
                    Ok(at) => self.words[at].1 |= bits,
                    Err(at) => self.words.insert(at, (place, bits)),
                }
            }
            _ => self.words.push((place, bits)),
        }
    }

    /// Adds the members from one to another, both below [`MOST`]; none if they are in the wrong
    /// order.
    fn insert_range(&mut self, first: usize, last: usize) {
        if first > last {
            return;
        }
        let range = (first / 64..=last / 64).map(|place| {
            let low = if place == first / 64 { u64::MAX << (first % 64) } else { u64::MAX };
            let high = if place == last / 64 { u64::MAX >> (63 - last % 64) } else { u64::MAX };
            (place as u32, low & high)
        });
        *self = self.or(&Self { words: range.collect() });
    }

    /// The word at a place.
    fn word(&self, place: u32) -> u64 {
        let found = self.words.binary_search_by_key(&place, |&(at, _)| at);
        found.map_or(0, |at| self.words[at].1)
    }

    /// True if it is a member.
    pub fn contains(&self, member: usize) -> bool {
        u32::try_from(member / 64).is_ok_and(|place| self.word(place) >> (member % 64) & 1 == 1)
    }

    /// Memory of its members in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<(u32, u64)>() * self.words.len()
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.words.iter().map(|(_, word)| word.count_ones() as usize).sum()
    }

    /// True if it has no member.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The smallest member.
    pub fn first(&self) -> Option<usize> {
        self.iter().next()
    }

    /// All members, smallest first.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().flat_map(|&(place, word)| {
            let first = 64 * place as usize;
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| first + bit)
        })
    }

    /// Each word of either set, with its place.
    fn with<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = (u32, u64, u64)> + 'a {
        let (mut own, mut others) = (self.words.iter().peekable(), other.words.iter().peekable());
        std::iter::from_fn(move || {
            let next = |words: &mut std::iter::Peekable<std::slice::Iter<'_, (u32, u64)>>| {
                words.peek().map(|&&(place, _)| place)
            };
            let place = match (next(&mut own), next(&mut others)) {
                (Some(a), Some(b)) => a.min(b),
                (a, b) => a.or(b)?,
            };
            let a = own.next_if(|&&(at, _)| at == place).map_or(0, |&(_, word)| word);
            let b = others.next_if(|&&(at, _)| at == place).map_or(0, |&(_, word)| word);
            Some((place, a, b))
        })
    }

    fn of_words(words: impl Iterator<Item = (u32, u64)>) -> Self {
        Self { words: words.filter(|&(_, word)| word != 0).collect() }
    }

    /// True if all members are in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.words.iter().all(|&(place, word)| word & !other.word(place) == 0)
    }

    /// True if any member is in `other`.
    pub fn intersects(&self, other: &Self) -> bool {
        let (few, many) =
            if self.words.len() <= other.words.len() { (self, other) } else { (other, self) };
        few.words.iter().any(|&(place, word)| word & many.word(place) != 0)
    }

    /// Intersection.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let (few, many) =
            if self.words.len() <= other.words.len() { (self, other) } else { (other, self) };
        Self::of_words(few.words.iter().map(|&(place, word)| (place, word & many.word(place))))
    }

    /// Union.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        Self::of_words(self.with(other).map(|(place, a, b)| (place, a | b)))
    }

    /// Members that `other` lacks.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        Self::of_words(self.words.iter().map(|&(place, word)| (place, word & !other.word(place))))
    }

    /// The text in hwloc's masks.
    pub fn to_mask(&self) -> String {
        let Some(&(last, high)) = self.words.last() else { return "0x00000000".to_owned() };
        let top = 2 * last + u32::from(high >> 32 != 0);
        let mut words = self.words.iter().rev().peekable();
        let mut out = String::new();
        for half in (0..=top).rev() {
            while words.next_if(|&&(place, _)| place > half / 2).is_some() {}
            let word = words.peek().filter(|&&&(place, _)| place == half / 2);
            let bits = word.map_or(0, |&&(_, word)| (word >> (32 * (half % 2))) as u32);
            let comma = if half == top { "" } else { "," };
            // As in hwloc: a word of zeros between two others is left out.
            if bits == 0 && half > 0 {
                out.push_str(comma);
            } else if bits == 0 {
                out.push_str(",0x0");
            } else {
                // Writing into a String cannot fail.
                let _ = write!(out, "{comma}0x{bits:08x}");
            }
        }
        out
    }
}

/// The text in Linux's list form.
impl fmt::Display for CpuSet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut members = self.iter().peekable();
        let mut comma = "";
        while let Some(first) = members.next() {
            let mut last = first;
            while members.next_if_eq(&(last + 1)).is_some() {
                last += 1;
            }
            match last - first {
                0 => write!(out, "{comma}{first}")?,
                _ => write!(out, "{comma}{first}-{last}")?,
            }
            comma = ",";
        }
        Ok(())
    }
}

impl FromIterator<usize> for CpuSet {
    fn from_iter<I: IntoIterator<Item = usize>>(members: I) -> Self {
        let mut set = Self::default();
        members.into_iter().for_each(|member| set.insert(member));
        set
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn texts_come_back(members in prop::collection::btree_set(0..9000_usize, 0..80)) {
            let set: CpuSet = members.iter().copied().collect();
            prop_assert_eq!(
                set.iter().collect::<Vec<_>>(),
                members.iter().copied().collect::<Vec<_>>()
            );
            prop_assert_eq!(CpuSet::from_mask(&set.to_mask()), Ok(set.clone()));
            prop_assert_eq!(CpuSet::from_list(&set.to_string()), Ok(set.clone()));
            prop_assert_eq!(set.len(), members.len());
        }

        #[test]
        fn any_text_is_a_set_or_refused(text in "[0-9a-fx,.f-]{0,40}") {
            let _ = (CpuSet::from_mask(&text), CpuSet::from_list(&text));
        }

        #[test]
        fn sets_are_sets(
            a in prop::collection::btree_set(0..200_usize, 0..40),
            b in prop::collection::btree_set(0..200_usize, 0..40)
        ) {
            let (x, y): (CpuSet, CpuSet) = (
                a.iter().copied().collect(),
                b.iter().copied().collect()
            );
            prop_assert_eq!(x.and(&y), a.intersection(&b).copied().collect());
            prop_assert_eq!(x.or(&y), a.union(&b).copied().collect());
            prop_assert_eq!(x.without(&y), a.difference(&b).copied().collect());
            prop_assert_eq!(x.is_subset(&y), a.is_subset(&b));
            prop_assert_eq!(x.intersects(&y), !a.is_disjoint(&b));
        }
    }

    #[test]
    fn masks_of_hwloc() {
        let members = |text| CpuSet::from_mask(text).unwrap().iter().collect::<Vec<_>>();
        assert_eq!(members("0x00000005"), [0, 2]);
        assert_eq!(members("0x00000001,,0x00000002"), [1, 64]);
        assert!(members("0x0").is_empty());
        assert_eq!(CpuSet::from_mask("0xf...f").unwrap().len(), MOST);
        assert_eq!(CpuSet::from_mask("0xf...f,0x0").unwrap().first(), Some(32));
        for wrong in ["", "0xg", "12x", "0x1 2", &format!("0x1{}", ",".repeat(MOST))] {
            assert!(CpuSet::from_mask(wrong).is_err(), "{wrong}");
        }
    }
}
