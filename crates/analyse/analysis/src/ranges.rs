//! Numbers of ranks and threads as text.
//!
//! Owns the form of runs of numbers.

/// Ranks as text: `0-3,8`.
pub fn ranges(ranks: impl IntoIterator<Item = u32>) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for rank in ranks {
        match parts.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(rank) => *last = rank,
            _ => parts.push((rank, rank)),
        }
    }
    let text = |&(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    parts.iter().map(text).collect::<Vec<_>>().join(",")
}
