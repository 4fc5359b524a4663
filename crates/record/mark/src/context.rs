//! Data for OpenTelemetry's readers: a record for each phase, and the process context that
//! describes its attribute.
//!
//! Owns the bytes of both, and publishing the process context. Follows OTEP 4947 (thread context)
//! and OTEP 4719 (process context, version 2 of its header, `ProcessContext` of
//! opentelemetry-proto). A record never changes once it is published and is never freed, so that
//! entering a phase is one store of its address.

use std::sync::atomic::{Ordering, fence};

use crate::mapping;

/// Index of the attribute in the key map.
pub const KEY_INDEX: u8 = 0;
/// Name of the attribute.
pub const KEY: &str = "talea.phase";
/// Kind of thread context that the two documents agree on.
pub const SCHEMA: &str = "tlsdesc_v1_dev";
/// Bytes of a record before its attributes.
const RECORD_HEADER: usize = 28;

/// The record of a phase. No trace is active: both ids are zero.
pub(crate) fn record(name: &str) -> Vec<u8> {
    let length = name.len().min(usize::from(u8::MAX));
    let mut bytes = vec![0; RECORD_HEADER];
    bytes[24] = 1;
    bytes[26..28].copy_from_slice(&(length as u16 + 2).to_ne_bytes());
    bytes.extend([KEY_INDEX, length as u8]);
    bytes.extend(&name.as_bytes()[..length]);
    bytes
}

fn field(number: u8, bytes: &[u8], out: &mut Vec<u8>) {
    // Everything here has fewer than 128 bytes, so that a length is one byte.
    debug_assert!(bytes.len() < 128);
    out.extend([number << 3 | 2, bytes.len() as u8]);
    out.extend(bytes);
}

/// An attribute of the process: `KeyValue { key = 1, value = 2 }` as field 2 of `ProcessContext`.
fn attribute(key: &str, value: &[u8], out: &mut Vec<u8>) {
    let mut pair = Vec::new();
    field(1, key.as_bytes(), &mut pair);
    field(2, value, &mut pair);
    field(2, &pair, out);
}

/// The payload: schema and key map.
pub(crate) fn payload() -> Vec<u8> {
    // `AnyValue` has strings as field 1 and arrays as field 5; an array's values are its field 1.
    let text = |text: &str| {
        let mut value = Vec::new();
        field(1, text.as_bytes(), &mut value);
        value
    };
    let (mut keys, mut array, mut out) = (Vec::new(), Vec::new(), Vec::new());
    field(1, &text(KEY), &mut keys);
    field(5, &keys, &mut array);
    attribute("threadlocal.schema_version", &text(SCHEMA), &mut out);
    attribute("threadlocal.attribute_key_map", &array, &mut out);
    out
}

/// Whether someone else in this process has published a context: there shall be one only, and its
/// key map would not know our key.
pub(crate) fn taken() -> bool {
    let maps = std::fs::read("/proc/self/maps").unwrap_or_default();
    maps.split(|&byte| byte == b'\n').any(|line| {
        [&b"/memfd:OTEL_CTX"[..], b"[anon_shmem:OTEL_CTX]", b"[anon:OTEL_CTX]"]
            .iter()
            .any(|name| line.windows(name.len()).any(|part| part == *name))
    })
}

/// Publishes the process context; false if there is no memory.
#[allow(clippy::cast_ptr_alignment, reason = "mappings begin at a page, and offsets are multiples")]
pub(crate) fn publish() -> bool {
    const BYTES: usize = 4096;
    let Some(base) = mapping::named(c"OTEL_CTX", BYTES) else { return false };
    let payload = payload();
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the mapping is ours, new, and longer than what is written; its begin is aligned for
    // all of it.
    unsafe {
        mapping::keep_from_children(base, BYTES);
        libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut now);
        let published = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        base.add(32).copy_from_nonoverlapping(payload.as_ptr(), payload.len());
        base.add(8).cast::<u32>().write(2);
        base.add(12).cast::<u32>().write(payload.len() as u32);
        base.add(16).cast::<u64>().write(published.max(1));
        base.add(24).cast::<u64>().write(base.add(32) as u64);
        // The signature says that the rest is there.
        fence(Ordering::SeqCst);
        base.cast::<u64>().write_volatile(u64::from_ne_bytes(*b"OTEL_CTX"));
        mapping::announce(base, BYTES, c"OTEL_CTX");
    }
    true
}
