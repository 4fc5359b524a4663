//! Procedures whose calls take a short path: those about one request, and probes that return at
//! once.
//!
//! Owns recognising them by their class and the words found around their calls. The paths
//! themselves are `single`'s and `probe`'s.

use super::{Found, Out};
use crate::abi::table::Class;

/// Place among the found words of the flag that shows the completion of the request; `None` for
/// calls that wait.
///
/// The outer option is `None` for calls which are not about one request.
pub(super) fn completion_flag(class: Class, found: &[Found]) -> Option<Option<u8>> {
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
    Some(flag)
}

/// True if calls of this class, with these found words, take the short path.
pub(super) fn is_probe(class: Class, found: &[Found]) -> bool {
    matches!(class, Class::Iprobe | Class::Improbe)
        && matches!(
            found,
            [Found::IntOut { kind: Out::Flag, .. }, Found::Status { .. }, Found::Second]
        )
}
