//! Speed of reading traces, compared with the floor: counting line ends in the same bytes.
//!
//! Owns a generated trace like Extrae's (states, events with one to nine pairs, messages; 16 tasks)
//! and the order of measurements. It has no clock: the caller supplies one and prints the figures.

use talea_model::Nanos;

use super::{Options, read, read_bytes, write};

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Name of the step.
    pub what: &'static str,
    /// Bytes of text processed.
    pub bytes: u64,
    /// Its time.
    pub time: Nanos,
}

impl Measure {
    /// Bytes in a nanosecond, which are gigabytes in a second.
    pub fn rate(&self) -> f64 {
        self.bytes as f64 / self.time.0.max(1) as f64
    }
}

/// Reproducible pseudorandom numbers (xorshift64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

/// The text of a `.prv` of about that many bytes, at least a header.
pub fn synthetic(bytes: usize) -> Vec<u8> {
    use std::io::Write as _;
    const TASKS: u64 = 16;
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    let mut text = Vec::with_capacity(bytes + 1024);
    // The trace does not end before its records do, for any size.
    text.extend_from_slice(b"#Paraver (01/02/2026 at 03:04):9999999999999_ns:1(16):1:16(");
    text.extend_from_slice("1:1,".repeat(TASKS as usize - 1).as_bytes());
    text.extend_from_slice(b"1:1),0\n");
    let mut now = 1_000_000;
    while text.len() < bytes {
        let task = 1 + numbers.below(TASKS);
        now += numbers.below(20_000);
        let kind = numbers.below(20);
        // Writing to a vector cannot fail.
        let _ = match kind {
            0..8 => {
                let (end, state) = (now + numbers.below(900_000), 1 + 14 * numbers.below(2));
                writeln!(text, "1:{task}:1:{task}:1:{now}:{end}:{state}")
            }
            8..11 => {
                let other = 1 + numbers.below(TASKS);
                let received = now + numbers.below(90_000);
                let size = 8 << numbers.below(20);
                writeln!(
                    text,
                    "3:{task}:1:{task}:1:{now}:{now}:{other}:1:{other}:1:{received}:{received}:{size}:77"
                )
            }
            _ => {
                let call = numbers.below(20);
                let _ = write!(text, "2:{task}:1:{task}:1:{now}:50000001:{call}");
                for counter in 0..numbers.below(9) {
                    let value = numbers.below(1 << (10 + 2 * counter));
                    let _ = write!(text, ":4200005{counter}:{value}");
                }
                writeln!(text)
            }
        };
    }
    text
}

/// Measures with the text of a trace, such as that of [`synthetic`]; `now` is any clock.
pub fn measure(text: &[u8], mut now: impl FnMut() -> Nanos) -> Vec<Measure> {
    let size = text.len() as u64;
    let mut table = Vec::new();
    let mut timed = |what, work: &mut dyn FnMut() -> usize| {
        let begin = now();
        let result = std::hint::black_box(work());
        table.push(Measure { what, bytes: size, time: now() - begin });
        result
    };
    timed("line ends counted (floor)", &mut || memchr::memchr_iter(b'\n', text).count());
    let records = |trace: Result<talea_model::Trace, super::Error>| {
        trace.map_or(0, |trace| trace.order.len())
    };
    timed("read from memory, columns reserved", &mut || {
        records(read_bytes(text, &Options::default()))
    });
    timed("read from a stream, size known", &mut || {
        records(read(text, &Options { size: Some(size), ..Options::default() }))
    });
    timed("read from a stream, size not known", &mut || records(read(text, &Options::default())));
    let trace = read_bytes(text, &Options::default());
    if let Ok(trace) = trace {
        timed("written", &mut || write(&trace, std::io::sink()).map_or(0, |()| 1));
    }
    table
}
