//! The protocol buffer of pprof (`profile.proto` of google/pprof), written field by field.
//!
//! Owns the numbers of the fields used: sample types, samples with locations from the innermost out
//! and the thread as a label, locations with one line each, functions, strings.

use std::collections::HashMap;

use super::{Frame, Samples, Unit};

/// One profile of all threads, not compressed.
pub fn pprof(samples: &Samples) -> Vec<u8> {
    let mut strings = Strings::default();
    strings.number("");
    let mut out = Vec::new();
    let (kind, unit) = match samples.unit {
        Unit::Nanoseconds => ("cpu", "nanoseconds"),
        Unit::Count => ("samples", "count"),
        Unit::Bytes => ("space", "bytes"),
    };
    let value_type = message(&[(1, strings.number(kind)), (2, strings.number(unit))]);
    bytes(1, &value_type, &mut out);
    let thread_key = strings.number("thread");
    for thread in &samples.threads {
        let label = message(&[(1, thread_key), (2, strings.number(&thread.name))]);
        for sample in &thread.samples {
            let mut locations = Vec::new();
            let known =
                sample.stack.iter().rev().filter(|&&one| (one as usize) < samples.frames.len());
            for &frame in known {
                // Numbers of locations begin with 1.
                varint(u64::from(frame) + 1, &mut locations);
            }
            let mut values = Vec::new();
            varint(sample.weight, &mut values);
            let mut body = Vec::new();
            bytes(1, &locations, &mut body);
            bytes(2, &values, &mut body);
            bytes(3, &label, &mut body);
            bytes(2, &body, &mut out);
        }
    }
    for (Frame { name, file, line }, id) in samples.frames.iter().zip(1_u64..) {
        let mut location = message(&[(1, id)]);
        bytes(4, &message(&[(1, id), (2, u64::from(line.unwrap_or_default()))]), &mut location);
        bytes(4, &location, &mut out);
        let name = strings.number(name);
        let file = strings.number(file.as_deref().unwrap_or_default());
        bytes(5, &message(&[(1, id), (2, name), (3, name), (4, file)]), &mut out);
    }
    for text in &strings.all {
        bytes(6, text.as_bytes(), &mut out);
    }
    out
}

/// Texts, each once; the first is empty.
#[derive(Default)]
struct Strings {
    all: Vec<String>,
    numbers: HashMap<String, u64>,
}

impl Strings {
    fn number(&mut self, text: &str) -> u64 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.all.len() as u64;
        self.all.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}

fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// A field of bytes: wire type 2.
fn bytes(field: u64, content: &[u8], out: &mut Vec<u8>) {
    varint(field << 3 | 2, out);
    varint(content.len() as u64, out);
    out.extend_from_slice(content);
}

/// A message of numbers: wire type 0. A missing field has zero.
fn message(fields: &[(u64, u64)]) -> Vec<u8> {
    let mut out = Vec::new();
    for &(field, number) in fields.iter().filter(|(_, number)| *number != 0) {
        varint(field << 3, &mut out);
        varint(number, &mut out);
    }
    out
}
