//! The name that was probably meant.
//!
//! Owns the bound of the edit distance (optimal string alignment, of lower-case letters). It
//! refuses guesses that share little with the given name, because a wrong suggestion costs more
//! than none.

/// Longest compared text, in characters.
const LONGEST: usize = 96;

/// The known name that is nearest to `name`, if it is near: at most a third of its characters
/// differ. Of equally near ones the first.
pub fn suggest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let first = |text: &str| text.to_lowercase().chars().take(LONGEST + 1).collect::<String>();
    let length = |text: &str| text.chars().count();
    let name = first(name);
    if name.is_empty() || length(&name) > LONGEST {
        return None;
    }
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        let other = first(candidate);
        let (own, its) = (length(&name), length(&other));
        let near = own.max(its) / 3;
        let bound = best.map_or(near, |(distance, _)| near.min(distance.saturating_sub(1)));
        if its > LONGEST || own.abs_diff(its) > bound {
            continue;
        }
        let distance = strsim::osa_distance(&name, &other);
        if distance <= bound && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate.to_owned())
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
        fn a_known_name_is_its_own_suggestion(
            names in prop::collection::vec("[a-z]{1,9}", 1..9),
            i in 0_usize..9
        ) {
            let name = &names[i % names.len()];
            prop_assert_eq!(suggest(name, names.iter().map(String::as_str)), Some(name.clone()));
        }
    }
}
