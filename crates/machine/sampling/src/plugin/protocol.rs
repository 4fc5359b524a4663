//! The lines of a plug-in.
//!
//! Owns their grammar and bounds, and refuses the pipe: bytes come in, sets of numbers come out,
//! and what is no line of the protocol is counted. See [`super`] for the protocol itself.

use std::collections::BTreeMap;

use talea_topology::{CpuSet, Place};

use crate::root::is_name;
use crate::source::{Offered, Scope};

/// Longest line in bytes.
const LONGEST: usize = 4096;
/// Most counters and most places of one.
const MOST: usize = 1 << 16;
/// Bytes of a bad line that are kept for the message.
const SHOWN: usize = 60;
/// The first line.
pub(super) const HELLO: &str = "talea-plugin 1";

/// A counter that the plug-in declared.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Declared {
    pub(super) offered: Offered,
    pub(super) places: Vec<Place>,
}

/// How far the plug-in has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its first line is awaited.
    #[default]
    Hello,
    /// It declares counters.
    Declaring,
    /// It gives numbers.
    Giving,
    /// Its first line was another one: nothing of it is believed.
    Stranger,
}

/// Lines of a plug-in so far.
#[derive(Debug, Default)]
pub(super) struct Talk {
    pub(super) stage: Stage,
    pub(super) declared: BTreeMap<String, Declared>,
    /// Numbers of the set that is being given; of the last whole one.
    current: BTreeMap<(String, Place), f64>,
    pub(super) set: BTreeMap<(String, Place), f64>,
    /// Whole sets so far.
    pub(super) sets: u64,
    /// Lines that are none of the protocol, and the first of them.
    pub(super) bad: u64,
    pub(super) first_bad: Option<String>,
    line: Vec<u8>,
    too_long: bool,
}

impl Talk {
    /// Takes bytes as they come.
    pub(super) fn hear(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            match byte {
                b'\n' => {
                    let line = std::mem::take(&mut self.line);
                    match std::str::from_utf8(&line) {
                        Ok(text) if !self.too_long => self.line(text.trim_end_matches('\r')),
                        _ => self.bad(&String::from_utf8_lossy(&line)),
                    }
                    self.line = line;
                    self.line.clear();
                    self.too_long = false;
                }
                _ if self.line.len() < LONGEST => self.line.push(byte),
                _ => self.too_long = true,
            }
        }
    }

    fn line(&mut self, line: &str) {
        if line.trim().is_empty() || line.starts_with('#') {
            return;
        }
        match self.stage {
            Stage::Hello if line == HELLO => self.stage = Stage::Declaring,
            Stage::Hello => {
                self.stage = Stage::Stranger;
                self.bad(line);
            }
            Stage::Declaring if line == "end" => self.stage = Stage::Giving,
            Stage::Declaring => match declaration(line) {
                Some((name, declared)) if self.declared.len() < MOST => {
                    self.declared.insert(name, declared);
                }
                _ => self.bad(line),
            },
            Stage::Giving if line == "end" => {
                self.set = std::mem::take(&mut self.current);
                self.sets += 1;
            }
            Stage::Giving => match number(line) {
                // Only what was declared is kept, which bounds the set.
                Some((name, place, value))
                    if self
                        .declared
                        .get(&name)
                        .is_some_and(|d| d.places.binary_search(&place).is_ok()) =>
                {
                    self.current.insert((name, place), value);
                }
                _ => self.bad(line),
            },
            Stage::Stranger => {}
        }
    }

    fn bad(&mut self, line: &str) {
        self.bad += 1;
        self.first_bad.get_or_insert_with(|| {
            line.chars().map(|c| if c.is_control() { '?' } else { c }).take(SHOWN).collect()
        });
    }
}

/// `counter NAME growing|gauge UNIT PLACES...`
fn declaration(line: &str) -> Option<(String, Declared)> {
    let mut words = line.split_ascii_whitespace();
    let (keyword, name, kind, unit) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let growing = match kind {
        "growing" => true,
        "gauge" => false,
        _ => return None,
    };
    let (mut places, mut scope) = (Vec::new(), None);
    for word in words {
        let (its, mut more) = places_of(word)?;
        // All places of a counter are of one sort.
        if *scope.get_or_insert(its) != its || places.len() + more.len() > MOST {
            return None;
        }
        places.append(&mut more);
    }
    places.sort();
    places.dedup();
    let known = keyword == "counter" && is_name(name) && unit.len() <= 16;
    let unit = if unit == "-" { String::new() } else { unit.to_owned() };
    let declared = Declared { offered: Offered { scope: scope?, unit, growing }, places };
    known.then(|| (name.to_owned(), declared))
}

/// `pu:0-3,8`, `device:eth0`, `machine`.
fn places_of(word: &str) -> Option<(Scope, Vec<Place>)> {
    if word == "machine" {
        return Some((Scope::Machine, vec![Place::Machine]));
    }
    let (sort, rest) = word.split_once(':')?;
    if sort == "device" {
        return is_name(rest).then(|| (Scope::Device, vec![Place::Device(rest.to_owned())]));
    }
    let (scope, place): (Scope, fn(u32) -> Place) = match sort {
        "pu" => (Scope::Pu, Place::Pu),
        "numa" => (Scope::Numa, Place::Numa),
        "package" => (Scope::Package, Place::Package),
        _ => return None,
    };
    // The usual line has one place: no set is made for it, which would take time by the number.
    if let Some(one) = rest.parse().ok().filter(|&number: &u32| (number as usize) < MOST) {
        return Some((scope, vec![place(one)]));
    }
    let set = CpuSet::from_list(rest).ok().filter(|set| !set.is_empty())?;
    Some((scope, set.iter().map(|number| place(number as u32)).collect()))
}

/// `NAME PLACE VALUE`
fn number(line: &str) -> Option<(String, Place, f64)> {
    let mut words = line.split_ascii_whitespace();
    let (name, place, value) = (words.next()?, words.next()?, words.next()?);
    // A number is of one place; what names more is not unfolded first.
    if !place.starts_with("device:") && place.contains(['-', ',']) {
        return None;
    }
    let (_, mut places) = places_of(place)?;
    let value: f64 = value.parse().ok().filter(|value: &f64| value.is_finite())?;
    let one = places.len() == 1 && words.next().is_none();
    one.then(|| places.pop()).flatten().map(|place| (name.to_owned(), place, value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "talea-plugin 1\n# mine\ncounter watts gauge W package:0-1\n\
        counter ops growing - device:gpu0 device:gpu1\nend\nwatts package:0 50.5\nops device:gpu1 7\nend\n\
        watts package:1 60\n";

    #[test]
    fn sets_are_taken_whole() {
        let mut talk = Talk::default();
        talk.hear(TEXT.as_bytes());
        assert_eq!(talk.stage, Stage::Giving);
        assert_eq!(talk.declared["watts"].places, [Place::Package(0), Place::Package(1)]);
        assert_eq!(talk.declared["ops"].offered, Offered::growing(Scope::Device, ""));
        assert_eq!((talk.sets, talk.set.len(), talk.bad), (1, 2, 0));
        assert!((talk.set[&("watts".to_owned(), Place::Package(0))] - 50.5).abs() < 1e-9);
        talk.hear(b"end\n");
        assert_eq!(talk.set.keys().map(|key| &key.1).collect::<Vec<_>>(), [&Place::Package(1)]);
    }

    #[test]
    fn lines_of_no_sense_are_counted() {
        let mut talk = Talk::default();
        talk.hear(TEXT.as_bytes());
        for line in [
            "watts package:7 1",
            "watts package:0 inf",
            "watts package:0-1 1",
            "nope machine 1",
            "watts package:0 1 2",
            "\u{7}watts",
        ] {
            talk.hear(format!("{line}\n").as_bytes());
        }
        talk.hear(&[b'x'; 3 * LONGEST]);
        talk.hear(b"\n\xff\n");
        assert_eq!(talk.bad, 8);
        assert_eq!(talk.first_bad.as_deref(), Some("watts package:7 1"));
        let mut stranger = Talk::default();
        stranger.hear(b"hello\ncounter x gauge - machine\n");
        assert_eq!((stranger.stage, stranger.declared.len()), (Stage::Stranger, 0));
    }

    proptest! {
        #[test]
        fn any_bytes_are_heard(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            words in "(counter|gauge|growing|end|pu:0-9|machine|-|\n| |[a-z0-9]){0,60}",
        ) {
            let mut talk = Talk::default();
            talk.hear(TEXT.as_bytes());
            talk.hear(&bytes);
            talk.hear(words.as_bytes());
            prop_assert!(talk.line.len() <= LONGEST && talk.current.len() <= 4);
            let mut talk = Talk { stage: Stage::Declaring, ..Talk::default() };
            talk.hear(words.as_bytes());
        }

        #[test]
        fn cuts_do_not_matter(cut in 0..TEXT.len()) {
            let (mut whole, mut parts) = (Talk::default(), Talk::default());
            whole.hear(TEXT.as_bytes());
            parts.hear(&TEXT.as_bytes()[..cut]);
            parts.hear(&TEXT.as_bytes()[cut..]);
            prop_assert_eq!(whole.set, parts.set);
            prop_assert_eq!(whole.declared, parts.declared);
        }
    }
}
