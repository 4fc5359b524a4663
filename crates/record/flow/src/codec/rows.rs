//! Rows of numbers: of each column recent values are cheap, and others cost about their digits.
//!
//! Owns the statistics of the columns of one table. The caller knows the columns, and what each
//! number is expected to be. A number that is neither expected nor one of the last few of its
//! column is written as its length and its leading digits, which are learned, and the rest of its
//! digits, which are copied.

use super::mix::Counter;
use super::range::{self, Bits};

/// Number of recent values of a column.
const RECENT: usize = 8;
/// Binary digits of a length, from 0 to 64.
const LENGTH: u32 = 7;
/// Number of digits behind the first one that are learned.
const LEADING: u32 = 4;
/// Memory of counters.
const MEMORY: u8 = 120;

/// Statistics of a column.
#[derive(Clone, Debug)]
struct Column {
    /// The last different values, the latest first.
    recent: [u64; RECENT],
    /// Whether a value is the expected one, one of the recent ones, the latest of these.
    expected: Flag,
    known: Flag,
    latest: Flag,
    place: [Counter; RECENT],
    lengths: [Counter; 1 << LENGTH],
    /// For each length.
    leading: Vec<[Counter; 1 << LEADING]>,
}

/// A decision that follows from the last four of its kind.
#[derive(Clone, Debug, Default)]
struct Flag {
    /// As bits, the latest one last.
    before: usize,
    counters: [Counter; 16],
}

impl Flag {
    fn code<B: Bits>(&mut self, coder: &mut B, flag: bool) -> bool {
        let flag = self.counters[self.before].code(coder, flag, MEMORY);
        self.before = (self.before << 1 | usize::from(flag)) % self.counters.len();
        flag
    }
}

/// Codes a number of `digits` binary digits, each by a counter of the ones before.
fn digits<B: Bits>(coder: &mut B, counters: &mut [Counter], digits: u32, number: u64) -> u64 {
    let mut node = 1_usize;
    for digit in (0..digits).rev() {
        let bit = counters[node].code(coder, number >> digit & 1 == 1, MEMORY);
        node = node << 1 | usize::from(bit);
    }
    node as u64 - (1 << digits)
}

impl Column {
    fn new() -> Self {
        Self {
            recent: [0; RECENT],
            expected: Flag::default(),
            known: Flag::default(),
            latest: Flag::default(),
            place: Default::default(),
            lengths: [Counter::default(); 1 << LENGTH],
            leading: vec![Default::default(); u64::BITS as usize + 1],
        }
    }

    fn code<B: Bits>(&mut self, coder: &mut B, expected: u64, number: u64) -> u64 {
        if self.expected.code(coder, number == expected) {
            return expected;
        }
        let place = self.recent.iter().position(|&one| one == number);
        let place = if !self.known.code(coder, place.is_some()) {
            RECENT
        } else if self.latest.code(coder, place == Some(0)) {
            0
        } else {
            let place = place.unwrap_or(0) as u64;
            digits(coder, &mut self.place, RECENT.ilog2(), place) as usize
        };
        let number = match self.recent.get(place) {
            Some(&known) => known,
            None => self.literal(coder, number),
        };
        let place = place.min(RECENT - 1);
        self.recent[..=place].rotate_right(1);
        self.recent[0] = number;
        number
    }

    fn literal<B: Bits>(&mut self, coder: &mut B, number: u64) -> u64 {
        let length = u64::BITS - number.leading_zeros();
        let length = digits(coder, &mut self.lengths, LENGTH, length.into()) as u32;
        // Malformed bytes may give an impossible length.
        let Some(behind) = length.min(u64::BITS).checked_sub(1) else { return 0 };
        let learned = behind.min(LEADING);
        let copied = behind - learned;
        let counters = &mut self.leading[behind as usize];
        let leading = digits(coder, counters, learned, number >> copied & ((1 << learned) - 1));
        let rest = coder.raw(copied, number & ((1 << copied) - 1));
        (1 << learned | leading) << copied | rest
    }
}

/// Writes rows.
#[derive(Debug)]
pub struct Encoder {
    coder: range::Encoder,
    columns: Vec<Column>,
}

impl Encoder {
    /// An empty table of this many columns.
    pub fn new(columns: usize) -> Self {
        Self { coder: range::Encoder::new(), columns: vec![Column::new(); columns] }
    }

    /// Appends a number to a column, and the number that a reader would expect there.
    pub fn push(&mut self, column: usize, expected: u64, number: u64) {
        self.columns[column].code(&mut self.coder, expected, number);
    }

    /// Ends the table.
    pub fn finish(self) -> Vec<u8> {
        self.coder.finish()
    }
}

/// Reads them back.
#[derive(Debug)]
pub struct Decoder<'a> {
    coder: range::Decoder<'a>,
    columns: Vec<Column>,
}

impl<'a> Decoder<'a> {
    /// Begins to read the output of [`Encoder::finish`].
    pub fn new(bytes: &'a [u8], columns: usize) -> Self {
        Self { coder: range::Decoder::new(bytes), columns: vec![Column::new(); columns] }
    }

    /// The next number, with the arguments of its `push`; `None` after the end of the bytes.
    /// Numbers take as few bytes as they are expected: the caller bounds how many are read.
    pub fn next(&mut self, column: usize, expected: u64) -> Option<u64> {
        let number = self.columns[column].code(&mut self.coder, expected, 0);
        (!self.coder.exhausted()).then_some(number)
    }

    /// True if all bytes were used.
    pub fn is_at_end(&self) -> bool {
        self.coder.at_end()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn coded(rows: &[(usize, u64, u64)]) -> Vec<u8> {
        let mut encoder = Encoder::new(3);
        for &(column, expected, number) in rows {
            encoder.push(column, expected, number);
        }
        encoder.finish()
    }

    proptest! {
        #[test]
        fn numbers_come_back(
            rows in prop::collection::vec(
                (
                    0..3_usize,
                    prop_oneof![Just(7), any::<u64>()],
                    prop_oneof![
                        0..4_u64,
                        Just(7),
                        Just(u64::MAX),
                        (0..64_u32).prop_map(|at| 1 << at),
                        any::<u64>(),
                    ],
                ),
                0..300,
            ),
        ) {
            let bytes = coded(&rows);
            let mut decoder = Decoder::new(&bytes, 3);
            for &(column, expected, number) in &rows {
                prop_assert_eq!(decoder.next(column, expected), Some(number));
            }
            prop_assert!(decoder.is_at_end());
        }

        #[test]
        fn any_bytes_give_numbers_that_come_back(
            bytes in prop::collection::vec(any::<u8>(), 0..50),
            expected in prop::collection::vec((0..3_usize, any::<u64>()), 100),
        ) {
            let mut decoder = Decoder::new(&bytes, 3);
            let read: Vec<(usize, u64, u64)> = expected
                .iter()
                .map_while(|&(column, one)| Some((column, one, decoder.next(column, one)?)))
                .collect();
            let bytes = coded(&read);
            let mut decoder = Decoder::new(&bytes, 3);
            for &(column, expected, number) in &read {
                prop_assert_eq!(decoder.next(column, expected), Some(number));
            }
        }
    }

    #[test]
    fn a_cut_table_ends() {
        let rows: Vec<_> = (0..1000).map(|at: u64| (0, 0, at * at * at)).collect();
        let bytes = coded(&rows);
        let mut decoder = Decoder::new(&bytes[..bytes.len() / 2], 1);
        let read = (0..1000).take_while(|_| decoder.next(0, 0).is_some()).count();
        assert!((400..600).contains(&read), "{read}");
    }

    #[test]
    fn expected_and_recent_numbers_take_little_and_others_their_digits() {
        let same: Vec<_> = (0..4000).map(|at| (0, at, at)).collect();
        let two: Vec<_> = (0..4000).map(|at| (0, 0, [24_882, 24_888][at % 5 / 4])).collect();
        // Sixteen digits below a leading one.
        let noise = |at: u64| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        let other: Vec<_> = (1..=4000).map(|at| (0, 0, 0x1_0000 | noise(at))).collect();
        let sizes = [&same, &two, &other].map(|rows| coded(rows).len());
        assert!(sizes[0] < 40 && sizes[1] < 450 && sizes[2] < 8250, "{sizes:?}");
    }
}
