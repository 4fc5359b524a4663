//! The name that was probably meant.
//!
//! Owns a bounded edit distance (optimal string alignment, of lower-case letters). It refuses guesses that share little with the
//! given name, because a wrong suggestion costs more than none.

/// Longest compared text, in characters.
const LONGEST: usize = 96;

/// The known name that is nearest to `name`, if it is near: at most a third of its characters differ. Of equally near ones the first.
pub fn suggest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let name: Vec<char> = name.to_lowercase().chars().take(LONGEST + 1).collect();
    if name.is_empty() || name.len() > LONGEST {
        return None;
    }
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        let other: Vec<char> = candidate.to_lowercase().chars().take(LONGEST + 1).collect();
        let near = name.len().max(other.len()) / 3;
        let bound = best.map_or(near, |(distance, _)| near.min(distance.saturating_sub(1)));
        if other.len() > LONGEST || name.len().abs_diff(other.len()) > bound {
            continue;
        }
        let distance = distance(&name, &other);
        if distance <= bound && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate.to_owned())
}

/// Number of insertions, deletions, replacements and swaps of neighbours that turn one text into the other.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    let mut row = last.clone();
    for i in 1..=a.len() {
        row[0] = i;
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + same);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        std::mem::swap(&mut before, &mut last);
        std::mem::swap(&mut last, &mut row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let known = ["PAPI_L3_TCM", "PAPI_L3_TCA", "instructions", "cycles"];
        let nearest = |name| suggest(name, known);
        assert_eq!(nearest("PAPI_L3_TMC").as_deref(), Some("PAPI_L3_TCM"));
        assert_eq!(nearest("papi_l3_tca").as_deref(), Some("PAPI_L3_TCA"));
        assert_eq!(nearest("instuctions").as_deref(), Some("instructions"));
        assert_eq!(nearest("temperature"), None);
        assert_eq!(nearest(""), None);
        assert_eq!(nearest(&"x".repeat(1 << 20)), None);
    }

    proptest! {
        #[test]
        fn a_known_name_is_its_own_suggestion(names in prop::collection::vec("[a-z]{1,9}", 1..9), i in 0_usize..9) {
            let name = &names[i % names.len()];
            prop_assert_eq!(suggest(name, names.iter().map(String::as_str)), Some(name.clone()));
        }

        #[test]
        fn distance_is_symmetric(a in "[abc]{0,7}", b in "[abc]{0,7}") {
            let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
            prop_assert_eq!(distance(&a, &b), distance(&b, &a));
            prop_assert!(distance(&a, &b) <= a.len().max(b.len()));
            prop_assert_eq!(distance(&a, &b) == 0, a == b);
        }
    }
}
