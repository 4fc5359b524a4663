//! Decimal numbers out of a text, eight digits at a time.
//!
//! Owns the arithmetic within a 64-bit word (SWAR, as D. Lemire and W. Muła describe for eight
//! digits): the first byte that is no digit is found with one addition, the digits before it become
//! a number with three multiplications. It knows unsigned numbers of at most 19 digits and needs
//! eight bytes after every number; for anything else it gives up, and the careful parser decides.

/// Reads numbers and the byte after each.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

const ZEROS: u64 = 0x3030_3030_3030_3030;
const HIGH: u64 = 0x8080_8080_8080_8080;
/// Takes ten and more above 127, nine and less not.
const TEN_UP: u64 = 0x7676_7676_7676_7676;
/// Bits of a word to those of its whole bytes.
const WHOLE_BYTES: u32 = 0b11_1000;
const POWERS: [u64; 8] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// Eight digits, the first in the lowest byte, as a number.
#[inline]
fn eight(digits: u64) -> u64 {
    let pairs = (digits * 10 + (digits >> 8)) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_FFFF_0000_FFFF;
    (fours * 10_000 + (fours >> 32)) & 0xFFFF_FFFF
}

impl Cursor<'_> {
    #[inline]
    fn word(&self) -> Option<u64> {
        let bytes = self.bytes.get(self.at..)?.first_chunk()?;
        Some(u64::from_le_bytes(*bytes))
    }

    /// The number that begins here and the byte after it; the cursor then stands after that byte.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "a call for each number would cost as much as the number"
    )]
    pub(super) fn number(&mut self) -> Option<(u64, u8)> {
        let word = self.word()?;
        let digits = word ^ ZEROS;
        // Bytes below the first that is no digit do not carry, so that its mark is right; marks
        // above it need not be.
        let stops = (digits.wrapping_add(TEN_UP) | digits) & HIGH;
        if stops == 0 {
            return self.long(eight(digits));
        }
        let bits = stops.trailing_zeros() & WHOLE_BYTES;
        if bits == 0 {
            return None;
        }
        self.at += (bits as usize >> 3) + 1;
        Some((eight(digits << (64 - bits)), (word >> bits) as u8))
    }

    /// An event type and the colon after it. Nearly all have eight digits: the begin of the next
    /// number is then known without waiting for the bytes, as the processor predicts it.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the cursor stays in registers")]
    pub(super) fn event_type(&mut self) -> Option<u32> {
        if self.bytes.get(self.at + 8) == Some(&b':') {
            let digits = self.word()? ^ ZEROS;
            if (digits.wrapping_add(TEN_UP) | digits) & HIGH == 0 {
                self.at += 9;
                return Some(eight(digits) as u32);
            }
        }
        match self.number()? {
            (number, b':') => u32::try_from(number).ok(),
            _ => None,
        }
    }

    /// The rest after eight digits: up to eleven more.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "as above: times and types have eight digits and more"
    )]
    fn long(&mut self, first: u64) -> Option<(u64, u8)> {
        self.at += 8;
        let word = self.word()?;
        let digits = word ^ ZEROS;
        let stops = (digits.wrapping_add(TEN_UP) | digits) & HIGH;
        if stops == 0 {
            self.at += 8;
            let (number, stop, at) = self.longest(first * 100_000_000 + eight(digits))?;
            self.at = at;
            return Some((number, stop));
        }
        let bits = stops.trailing_zeros() & WHOLE_BYTES;
        self.at += (bits as usize >> 3) + 1;
        let more = if bits == 0 { 0 } else { eight(digits << (64 - bits)) };
        Some((first * POWERS[bits as usize >> 3] + more, (word >> bits) as u8))
    }

    /// The rest after sixteen digits: up to three more. The cursor comes by value, so that it stays
    /// in registers elsewhere.
    #[cold]
    fn longest(mut self, first: u64) -> Option<(u64, u8, usize)> {
        let word = self.word()?;
        let digits = word ^ ZEROS;
        let stops = (digits.wrapping_add(TEN_UP) | digits) & HIGH;
        let bits = stops.trailing_zeros() & WHOLE_BYTES;
        if stops == 0 || bits > 24 {
            return None;
        }
        self.at += (bits as usize >> 3) + 1;
        let more = if bits == 0 { 0 } else { eight(digits << (64 - bits)) };
        Some((first * POWERS[bits as usize >> 3] + more, (word >> bits) as u8, self.at))
    }

    /// True if the line ends with this byte, after which the cursor stands, or with it and the
    /// next.
    #[inline]
    pub(super) fn line_ends(&mut self, stop: u8) -> Option<()> {
        if stop == b'\r' && self.bytes.get(self.at) == Some(&b'\n') {
            self.at += 1;
            return Some(());
        }
        (stop == b'\n').then_some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number(text: &str) -> Option<(u64, u8, usize)> {
        let mut cursor = Cursor { bytes: text.as_bytes(), at: 0 };
        cursor.number().map(|(number, stop)| (number, stop, cursor.at))
    }

    #[test]
    fn what_it_refuses() {
        for text in ["", ":1234567", "-1:2345678", "12", "1234567", "12345678901234567890:1234567"]
        {
            assert_eq!(number(text), None, "{text}");
        }
        assert_eq!(number("0:......."), Some((0, b':', 2)));
        assert_eq!(number("12\n\u{7f}......"), Some((12, b'\n', 3)));
        assert_eq!(number("1ÿ........"), Some((1, 0xc3, 2)));
    }

    proptest! {
        #[test]
        fn any_number_of_up_to_19_digits(
            number in 0..10_u64.pow(19),
            short in 0..20_u32,
            zeros in 0..4_usize,
            stop: u8
        ) {
            prop_assume!(!stop.is_ascii_digit());
            let value = number / 10_u64.pow(short.min(19));
            let digits = format!("{}{value}", "0".repeat(zeros));
            let mut text = digits.clone().into_bytes();
            text.push(stop);
            text.extend_from_slice(b"98765432");
            let mut cursor = Cursor { bytes: &text, at: 0 };
            let found = cursor.number();
            if digits.len() <= 19 {
                prop_assert_eq!(found, Some((value, stop)));
                prop_assert_eq!(cursor.at, digits.len() + 1);
            } else {
                prop_assert_eq!(found, None);
            }
        }
    }
}
