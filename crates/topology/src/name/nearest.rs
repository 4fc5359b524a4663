//! The kind that was probably meant by an unknown word.
//!
//! Owns the measure: the number of different characters (Levenshtein), a third of the word and one
//! at most.

use crate::objects::ObjectKind;

use super::NameError;

pub(super) fn unknown_kind(found: &str) -> NameError {
    let lower = found.to_ascii_lowercase();
    let nearest = ObjectKind::ALL
        .into_iter()
        .flat_map(|kind| [(kind, kind.name()), (kind, kind.short())])
        .map(|(kind, name)| (distance(&lower, &name.to_ascii_lowercase()), kind))
        .min_by_key(|&(distance, _)| distance)
        .filter(|&(distance, _)| distance <= 1 + lower.len() / 3)
        .map(|(_, kind)| kind);
    NameError::Kind { found: found.chars().take(40).collect(), nearest }
}

/// Edit distance of two words.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    // Kinds have short names: the rest cannot be near any.
    for (i, x) in a.chars().take(40).enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let swap = before + usize::from(x != y);
            before = row[j + 1];
            row[j + 1] = swap.min(row[j] + 1).min(before + 1);
        }
    }
    row[b.len()] + a.chars().count().saturating_sub(40)
}
