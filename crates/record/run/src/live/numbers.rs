//! Numbers of variable length, texts and lists: the elements of all small records.
//!
//! Owns their bytes, for writer and reader alike. Numbers are LEB128, signed ones zigzag first;
//! lists are differences.

/// Appends an unsigned number, seven bits a byte, lowest first.
pub fn put_number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed number.
pub fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_number(out, zigzag(value));
}

/// Small absolute values become small numbers.
pub const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The inverse of [`zigzag`].
const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Appends a text with its length before it.
pub fn put_text(out: &mut Vec<u8>, text: &str) {
    put_number(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Appends a list with its length before it.
pub(crate) fn put_all<T>(out: &mut Vec<u8>, all: &[T], mut put: impl FnMut(&mut Vec<u8>, &T)) {
    put_number(out, all.len() as u64);
    for one in all {
        put(out, one);
    }
}

/// Reads records from bytes; every method returns `None` where the bytes end or are invalid.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Number of bytes read so far.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Number of bytes not yet read.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// True at the end.
    pub fn is_done(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// The next byte.
    pub fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// The next `count` bytes.
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(count)?;
        let bytes = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(bytes)
    }

    /// An unsigned number.
    pub fn number(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                return None;
            }
            value |= part << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// A signed number.
    pub fn signed(&mut self) -> Option<i64> {
        self.number().map(unzigzag)
    }

    /// A text; bytes that are no UTF-8 are replaced.
    pub fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.number()?).ok()?;
        Some(String::from_utf8_lossy(self.take(length)?).into_owned())
    }
}

/// Appends a list: its length, then the differences from entry to entry.
pub fn put_list(out: &mut Vec<u8>, list: &[i64]) {
    put_number(out, list.len() as u64);
    let mut last = 0_i64;
    for &entry in list {
        put_signed(out, entry.wrapping_sub(last));
        last = entry;
    }
}

/// Reads a list; its length can be no more than the remaining bytes.
pub fn get_list(from: &mut Cursor<'_>) -> Option<Vec<i64>> {
    let length = usize::try_from(from.number()?).ok()?;
    if length > from.left() {
        return None;
    }
    let mut last = 0_i64;
    (0..length)
        .map(|_| {
            last = last.wrapping_add(from.signed()?);
            Some(last)
        })
        .collect()
}

/// A list; each entry takes a byte at least, which bounds its length.
pub(crate) fn get_all<'a, T>(
    from: &mut Cursor<'a>,
    mut get: impl FnMut(&mut Cursor<'a>) -> Option<T>,
) -> Option<Vec<T>> {
    let length = from.number()?;
    if length > from.left() as u64 {
        return None;
    }
    (0..length).map(|_| get(from)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_back(value: u64, signed: i64) {
            let mut out = Vec::new();
            put_number(&mut out, value);
            put_signed(&mut out, signed);
            let mut from = Cursor::new(&out);
            prop_assert_eq!(from.number(), Some(value));
            prop_assert_eq!(from.signed(), Some(signed));
            prop_assert!(from.is_done());
        }

        #[test]
        fn lists_come_back(list: Vec<i64>) {
            let mut out = Vec::new();
            put_list(&mut out, &list);
            prop_assert_eq!(get_list(&mut Cursor::new(&out)), Some(list));
        }
    }
}
