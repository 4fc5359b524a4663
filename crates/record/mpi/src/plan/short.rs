//! Procedures whose calls take a short path: those about one request, and probes that return at
//! once.
//!
//! Owns recognising them by their class and the words found around their calls. The paths
//! themselves are `single`'s and `probe`'s.

use super::{Found, Out};
use crate::abi::table::Class;

/// A call about one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneRequest {
    /// Place among the found words of the flag that shows completion; `None` if the call waits.
    pub flag: Option<u8>,
}

/// `None` for calls that are not about one request.
pub(super) fn one_request(class: Class, found: &[Found]) -> Option<OneRequest> {
    let (Some(Found::Request { pointer: true, .. }), Class::Wait | Class::Test) =
        (found.first(), class)
    else {
        return None;
    };
    let mut flag = None;
    for (found, place) in found.iter().zip(0..).skip(1) {
        match found {
            Found::IntOut { kind: Out::Flag, .. } => flag = Some(place),
            Found::Status { .. } | Found::Second => {}
            _ => return None,
        }
    }
    Some(OneRequest { flag })
}

/// True if calls of this class, with these found words, take the short path.
pub(super) fn is_probe(class: Class, found: &[Found]) -> bool {
    matches!(class, Class::Iprobe | Class::Improbe)
        && matches!(
            found,
            [Found::IntOut { kind: Out::Flag, .. }, Found::Status { .. }, Found::Second]
        )
}
