//! Damage to bytes, the same for the same number.
//!
//! Owns the ways in which bytes go wrong: bits turned over, parts cut out, put in, copied from
//! elsewhere, and numbers replaced by extreme ones. Used by the property tests and by `cargo xtask
//! fuzz`.

/// Numbers that are the same everywhere.
pub(crate) struct Random(talea_model::random::Random);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(talea_model::random::Random::new(seed))
    }

    /// Any number.
    pub(crate) fn number(&mut self) -> u64 {
        self.0.number()
    }

    /// A number below `limit`; 0 below 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        if limit == 0 { 0 } else { (self.number() % limit as u64) as usize }
    }

    /// A number that programs get wrong.
    fn extreme(&mut self) -> u64 {
        let power = 1_u64 << self.below(64);
        match self.below(6) {
            0 => power,
            1 => power - 1,
            2 => power.wrapping_neg(),
            3 => u64::MAX,
            4 => self.number() & 0xffff,
            _ => self.number(),
        }
    }
}

/// A few damages to `bytes`; `other` is where foreign parts come from.
pub(crate) fn mutate(random: &mut Random, bytes: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len());
        let length = random.below(40).min(bytes.len() - at);
        match random.below(8) {
            0 | 1 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
            2 => {
                bytes.drain(at..at + length);
            }
            3 if random.below(4) == 0 => bytes.truncate(at),
            3 | 4 => {
                let from = random.below(other.len());
                let part = &other[from..(from + length).min(other.len())];
                bytes.splice(at..at, part.iter().copied());
            }
            5 => {
                let number = random.extreme().to_le_bytes();
                let width = 1 << random.below(4);
                for (byte, new) in bytes[at..].iter_mut().zip(&number[..width]) {
                    *byte = *new;
                }
            }
            6 => {
                // A number of variable length.
                let mut number = random.extreme();
                let mut put = Vec::new();
                while number >= 0x80 {
                    put.push(number as u8 | 0x80);
                    number >>= 7;
                }
                put.push(number as u8);
                let old = random.below(3).min(bytes.len() - at);
                bytes.splice(at..at + old, put);
            }
            _ => {
                let from = random.below(bytes.len());
                let part = bytes[from..(from + length).min(bytes.len())].to_vec();
                for (byte, new) in bytes[at..].iter_mut().zip(part) {
                    *byte = new;
                }
            }
        }
    }
}
