//! OpenTelemetry's two contexts, from bytes of any writer.
//!
//! Owns parsing the record of a thread (OTEP 4947) and the process context (OTEP 4719) with the
//! little of protobuf that its payload needs. Re-exported by `reader`. Bounded by the bytes at
//! hand, and never recursive: an attribute's value is read three levels deep.

/// The record that `otel_thread_ctx_v1` points to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// Trace, zeroes for none.
    pub trace: [u8; 16],
    /// Span, zeroes for none.
    pub span: [u8; 8],
    /// W3C trace flags.
    pub flags: u8,
    /// Index into the key map, and value. Each key once, in the order of keys.
    pub attributes: Vec<(u8, String)>,
}

/// Bytes that a record takes before its attributes: what to read first.
pub const RECORD_HEADER: usize = 28;

/// Bytes of the attributes that follow the header of a record; None if it is too short or not
/// valid.
pub fn attribute_bytes(header: &[u8]) -> Option<u16> {
    let header = header.get(..RECORD_HEADER)?;
    (header[24] == 1).then(|| u16::from_ne_bytes([header[26], header[27]]))
}

/// Reads a record; None if it is too short for its header or not valid. Attributes that are cut are
/// left out.
pub fn context(bytes: &[u8]) -> Option<Context> {
    let size = usize::from(attribute_bytes(bytes)?);
    let (header, rest) = bytes.split_at_checked(RECORD_HEADER)?;
    let mut rest = &rest[..size.min(rest.len())];
    let mut attributes = std::collections::BTreeMap::new();
    while let [key, length, more @ ..] = rest {
        let Some((value, next)) = more.split_at_checked(usize::from(*length)) else { break };
        // The last of a key counts.
        attributes.insert(*key, String::from_utf8_lossy(value).into_owned());
        rest = next;
    }
    Some(Context {
        trace: header[..16].try_into().ok()?,
        span: header[16..24].try_into().ok()?,
        flags: header[25],
        attributes: attributes.into_iter().collect(),
    })
}

/// Where the payload of a process context is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextHeader {
    /// Address in the process.
    pub payload: u64,
    /// Its bytes.
    pub bytes: u32,
    /// When it was written; changes with it, and must be the same after the payload was read.
    pub published: u64,
}

/// Bytes of the header of a process context.
pub const CONTEXT_HEADER: usize = 32;

/// Reads the header of a process context; None if it is none, of another version, or being written.
pub fn context_header(bytes: &[u8]) -> Option<ContextHeader> {
    let bytes = bytes.get(..CONTEXT_HEADER)?;
    let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let long = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let header = ContextHeader { payload: long(24)?, bytes: word(12)?, published: long(16)? };
    (bytes.starts_with(b"OTEL_CTX") && word(8)? == 2 && header.published != 0).then_some(header)
}

/// Description of the contexts of a process's threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessContext {
    /// Kind of thread context, `threadlocal.schema_version`.
    pub schema: Option<String>,
    /// Names of attributes by index, `threadlocal.attribute_key_map`; at most 256.
    pub keys: Vec<String>,
}

/// Reads the payload of a process context; None if it is no protobuf.
pub fn process_context(payload: &[u8]) -> Option<ProcessContext> {
    let mut found = ProcessContext::default();
    for field in Fields(payload) {
        // Field 2 of `ProcessContext`: a pair of key and value.
        let (2, pair) = field? else { continue };
        let (mut key, mut value) = (&b""[..], &b""[..]);
        for field in Fields(pair) {
            match field? {
                (1, bytes) => key = bytes,
                (2, bytes) => value = bytes,
                _ => {}
            }
        }
        match key {
            b"threadlocal.schema_version" => found.schema = text(value),
            b"threadlocal.attribute_key_map" => {
                let array = Fields(value).flatten().find(|&(number, _)| number == 5);
                let values = Fields(array.map_or(&[], |(_, bytes)| bytes)).flatten();
                // Indices count, so that what is no text has its place, too.
                let names = values.filter(|&(number, _)| number == 1);
                found.keys =
                    names.take(256).map(|(_, any)| text(any).unwrap_or_default()).collect();
            }
            _ => {}
        }
    }
    Some(found)
}

/// The text of an `AnyValue`.
fn text(any: &[u8]) -> Option<String> {
    let (_, bytes) = Fields(any).flatten().find(|&(number, _)| number == 1)?;
    Some(String::from_utf8_lossy(bytes).into_owned())
}

/// Fields of a message: number, and bytes of those that have a length (others have none). None once
/// for what is no message.
struct Fields<'a>(&'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = Option<(u64, &'a [u8])>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.0 = &[];
        }
        Some(field)
    }
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Option<(u64, &'a [u8])> {
        let tag = self.varint()?;
        let (number, bytes): (u64, &[u8]) = match tag & 7 {
            0 => {
                self.varint()?;
                (tag >> 3, &[])
            }
            1 => (tag >> 3, self.take(8).map(|_| &[][..])?),
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                (tag >> 3, self.take(length)?)
            }
            5 => (tag >> 3, self.take(4).map(|_| &[][..])?),
            _ => return None,
        };
        Some((number, bytes))
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.take(1)?.first()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::context as ours;

    #[test]
    fn what_we_publish_reads_back() {
        let found = process_context(&ours::payload()).unwrap();
        assert_eq!(found.schema.as_deref(), Some(ours::SCHEMA));
        assert_eq!(found.keys[usize::from(ours::KEY_INDEX)], ours::KEY);
        let record = context(&ours::record("solve")).unwrap();
        assert_eq!(record.attributes, [(ours::KEY_INDEX, "solve".to_owned())]);
        assert_eq!(record.trace, [0; 16]);
    }

    #[test]
    fn records_are_read_as_the_document_says() {
        let mut bytes = ours::record("solve");
        // The last of a key counts; what is cut does not.
        bytes[26..28].copy_from_slice(&12_u16.to_ne_bytes());
        bytes.extend([0, 1, b'x', 7, 1, b'y']);
        assert_eq!(context(&bytes).unwrap().attributes, [(0, "x".to_owned())]);
        bytes[24] = 0;
        assert_eq!(context(&bytes), None);
        assert_eq!(context(&bytes[..27]), None);
    }

    proptest! {
        #[test]
        fn names_come_back(name in "\\PC{0,80}") {
            let name = crate::table::cut(&name);
            let bytes = ours::record(name);
            prop_assert!(bytes.len() <= 640);
            prop_assert_eq!(&context(&bytes).unwrap().attributes[0].1, name);
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = context(&bytes);
            let _ = context_header(&bytes);
            let _ = process_context(&bytes);
        }

        #[test]
        fn damaged_payloads_do_not_panic(at in 0..100_usize, byte: u8, length in 0..120_usize) {
            let mut bytes = ours::payload();
            let at = at % bytes.len();
            bytes[at] = byte;
            bytes.truncate(length);
            let _ = process_context(&bytes);
        }
    }
}
