//! Stretches of the sequence: cutting them, and finding equal ones.
//!
//! Owns nothing but the two functions. Equal stretches are found by a hash and then compared, so
//! that chance plays no part, and numbered in the order of their first appearance.

use std::collections::HashMap;

use super::super::region::{NONE, Span};

/// Divides `span` where `begins` reports the begin of a new iteration.
pub(super) fn divide(sequence: &[u32], span: Span, begins: impl Fn(u32, u32) -> bool) -> Vec<Span> {
    let mut pieces = Vec::new();
    let mut begin = span.begin;
    for (at, pair) in (span.begin + 1..).zip(span.slice(sequence).windows(2)) {
        if begins(pair[0], pair[1]) {
            pieces.push(Span { begin, end: at });
            begin = at;
        }
    }
    pieces.push(Span { begin, end: span.end });
    pieces
}

/// Numbers the spans so that those with the same events have the same number, and returns one span
/// for each number.
pub(super) fn distinct(sequence: &[u32], spans: &[Span]) -> (Vec<u32>, Vec<Span>) {
    let mut numbers = Vec::with_capacity(spans.len());
    let mut first: Vec<Span> = Vec::new();
    // Numbers with the same hash form a list that ends with NONE.
    let mut by_hash: HashMap<u64, u32> = HashMap::new();
    let mut next: Vec<u32> = Vec::new();
    for span in spans {
        let events = span.slice(sequence);
        let same = |number: u32| first[number as usize].slice(sequence) == events;
        if let Some(&last) = numbers.last().filter(|&&last| same(last)) {
            numbers.push(last);
            continue;
        }
        let hash = events.iter().fold(events.len() as u64, |hash, &event| {
            (hash.rotate_left(5) ^ u64::from(event)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        });
        let head = by_hash.entry(hash).or_insert(NONE);
        let mut at = *head;
        while at != NONE && !same(at) {
            at = next[at as usize];
        }
        if at == NONE {
            at = first.len() as u32;
            next.push(std::mem::replace(head, at));
            first.push(*span);
        }
        numbers.push(at);
    }
    (numbers, first)
}
