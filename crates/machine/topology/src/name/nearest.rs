//! The kind that was probably meant by an unknown word.
//!
//! Owns the bound: the edit distance (optimal string alignment) is at most a third of the word and
//! one.

use crate::objects::ObjectKind;

use super::NameError;

pub(super) fn unknown_kind(found: &str) -> NameError {
    // Kinds have short names: a longer word cannot be near any.
    let lower: String = found.to_ascii_lowercase().chars().take(40).collect();
    let nearest = ObjectKind::ALL
        .into_iter()
        .flat_map(|kind| [(kind, kind.name()), (kind, kind.short())])
        .map(|(kind, name)| (strsim::osa_distance(&lower, &name.to_ascii_lowercase()), kind))
        .min_by_key(|&(distance, _)| distance)
        .filter(|&(distance, _)| distance <= 1 + lower.len() / 3)
        .map(|(_, kind)| kind);
    NameError::Kind { found: found.chars().take(40).collect(), nearest }
}
