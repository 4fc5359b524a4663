//! Names with `*` and `?` in them, compared in bounded time.
//!
//! Owns the comparison. It refuses sets and escapes: patterns come from people who look for a
//! library, and what they do not know must not change what they get. Going back to the last star
//! only is enough, so that time is at most the product of the lengths.

/// True when the whole name is like the pattern.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    // Where the last star stands, and how much of the name it has taken.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&c) if c == '?' || c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((at, taken)) = star else { return false };
                star = Some((at, taken + 1));
                (p, n) = (at + 1, taken + 1);
            }
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition.
    fn slow(pattern: &[char], name: &[char]) -> bool {
        match (pattern.split_first(), name.split_first()) {
            (None, None) => true,
            (Some(('*', rest)), _) => (0..=name.len()).any(|taken| slow(rest, &name[taken..])),
            (None, Some(_)) | (Some(_), None) => false,
            (Some((c, pattern)), Some((n, name))) => (*c == '?' || c == n) && slow(pattern, name),
        }
    }

    proptest! {
        #[test]
        fn as_defined(pattern in "[ab*?é]{0,8}", name in "[abé]{0,8}") {
            let (p, n): (Vec<char>, Vec<char>) = (
                pattern.chars().collect(),
                name.chars().collect()
            );
            prop_assert_eq!(matches(&pattern, &name), slow(&p, &n));
        }
    }

    #[test]
    fn many_stars_take_no_time() {
        assert!(!matches(&"*a".repeat(500), &"a".repeat(499)));
        assert!(!matches(&format!("{}b", "*a".repeat(500)), &"a".repeat(4000)));
    }
}
