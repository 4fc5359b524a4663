//! A sample as the kernel writes it.
//!
//! Owns taking one apart; see `perf_event_open(2)`, `PERF_RECORD_SAMPLE`. Nothing is copied but
//! registers.

use crate::sys::sampled::REGISTER_COUNT;

/// General registers of a thread in user mode, in DWARF's order (rax, rdx, rcx, rbx, rsi, rdi, rbp,
/// rsp, r8 to r15).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// The instruction pointer.
    pub ip: u64,
    /// The others.
    pub general: [u64; 16],
}

impl Registers {
    /// The stack pointer.
    pub fn sp(&self) -> u64 {
        self.general[7]
    }
}

/// Part of the stack in a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stack<'a> {
    /// Addresses that the kernel found along frame pointers, 8 bytes each: innermost first, the
    /// first an instruction, the others return addresses.
    Chain(&'a [u8]),
    /// Registers, and a copy of the stack from the stack pointer up.
    Copy {
        /// The registers.
        registers: Registers,
        /// The copy.
        bytes: &'a [u8],
    },
    /// Nothing: the thread had no user mode, as at its very end.
    Unknown,
}

/// One sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample<'a> {
    /// `CLOCK_MONOTONIC` in nanoseconds.
    pub time: u64,
    /// Which set was counted.
    pub set: usize,
    /// Counts of the set's counters, 8 bytes each.
    pub counts: &'a [u8],
    /// Where the thread was.
    pub stack: Stack<'a>,
}

/// Words of 8 bytes, read one by one.
pub(super) struct Words<'a>(pub(super) &'a [u8]);

impl<'a> Words<'a> {
    pub(super) fn next(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_ne_bytes(*first))
    }

    pub(super) fn take(&mut self, bytes: u64) -> Option<&'a [u8]> {
        let (first, rest) = self.0.split_at_checked(usize::try_from(bytes).ok()?)?;
        self.0 = rest;
        Some(first)
    }
}

/// Markers in a call chain that say whose addresses follow are above this.
const CONTEXT: u64 = -4096_i64 as u64;

impl<'a> Sample<'a> {
    /// A sample of an event that takes such ones; `set_of` tells the set by the event's number.
    /// None if it is none.
    pub(super) fn parse(
        body: &'a [u8],
        copied: bool,
        set_of: impl Fn(u64) -> Option<usize>,
    ) -> Option<Self> {
        let words = &mut Words(body);
        let set = set_of(words.next()?)?;
        let (_ids, time) = (words.next()?, words.next()?);
        let count = words.next()?;
        let (_enabled, _running) = (words.next()?, words.next()?);
        let counts = words.take(count.checked_mul(8)?)?;
        let stack = if copied { copy(words)? } else { chain(words)? };
        Some(Self { time, set, counts, stack })
    }
}

fn chain<'a>(words: &mut Words<'a>) -> Option<Stack<'a>> {
    let length = words.next()?;
    let mut chain = words.take(length.checked_mul(8)?)?;
    // The marker of user addresses comes before them.
    while let Some((first, rest)) = chain.split_first_chunk::<8>() {
        if u64::from_ne_bytes(*first) < CONTEXT {
            break;
        }
        chain = rest;
    }
    Some(if chain.is_empty() { Stack::Unknown } else { Stack::Chain(chain) })
}

fn copy<'a>(words: &mut Words<'a>) -> Option<Stack<'a>> {
    let abi = words.next()?;
    if abi == 0 {
        return Some(Stack::Unknown);
    }
    let mut values = [0; REGISTER_COUNT];
    for value in &mut values {
        *value = words.next()?;
    }
    // The kernel's order: ax, bx, cx, dx, si, di, bp, sp, ip, r8 ...
    let [ax, bx, cx, dx, si, di, bp, sp, ip, rest @ ..] = values;
    let mut general = [ax, dx, cx, bx, si, di, bp, sp, 0, 0, 0, 0, 0, 0, 0, 0];
    general[8..].copy_from_slice(&rest);
    let registers = Registers { ip, general };
    let room = words.next()?;
    let bytes = words.take(room)?;
    // How much of that was there to copy follows it.
    let copied = if room == 0 { 0 } else { words.next()? };
    let bytes = bytes.get(..usize::try_from(copied).ok()?)?;
    Some(Stack::Copy { registers, bytes })
}
