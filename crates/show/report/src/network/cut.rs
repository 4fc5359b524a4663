//! Choice of the coloured lines where there are too many.
//!
//! Owns the rule for lines that cross each other, so that pictures and pages
//! (`web/src/network/cut.ts`) leave the same ones grey: those with most are coloured, equal lines
//! are treated equally, and zero is never coloured. It refuses to look at places: of equal lines
//! none is nearer to the cut.

use talea_model::notation::grouped;

/// For each line true if it is coloured: at most about `most`, those with the largest sizes. Sizes
/// are not negative; absent ones come first, as unknown values must be visible, unless these alone
/// are too many.
///
/// Equal lines at the cut are all left out, unless no line with anything would be left: then those
/// with most are all included.
pub(super) fn coloured(sizes: &[Option<f64>], most: usize) -> Vec<bool> {
    if sizes.len() <= most {
        return vec![true; sizes.len()];
    }
    let absent = sizes.iter().filter(|size| size.is_none()).count();
    let hatched = absent <= most;
    let mut out: Vec<bool> = sizes.iter().map(|size| size.is_none() && hatched).collect();
    let room = if hatched { most - absent } else { most };
    let mut order: Vec<(f64, usize)> =
        (0..).zip(sizes).filter_map(|(at, size)| Some(((*size)?, at))).collect();
    order.retain(|(size, _)| *size > 0.0);
    order.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut lit = 0;
    for alike in order.chunk_by(|one, other| one.0.total_cmp(&other.0).is_eq()) {
        if lit > 0 && lit + alike.len() > room {
            break;
        }
        for &(_, at) in alike {
            out[at] = true;
        }
        lit += alike.len();
    }
    out
}

/// Note on lines that are left grey; `None` if all are coloured.
pub(super) fn note(sizes: &[Option<f64>], coloured: &[bool]) -> Option<String> {
    let lit = coloured.iter().filter(|lit| **lit).count();
    let grey = || sizes.iter().zip(coloured).filter(|(_, lit)| !**lit).map(|(size, _)| size);
    if lit == sizes.len() {
        return None;
    }
    let why = if grey().all(|size| *size == Some(0.0)) {
        "the others have none"
    } else {
        "those with most"
    };
    let absent = match grey().filter(|size| size.is_none()).count() {
        0 => String::new(),
        absent => format!("; {} of the others are not known", grouped(absent as u64)),
    };
    let [lit, all] = [lit, sizes.len()].map(|count| grouped(count as u64));
    Some(format!("{lit} of {all} lines are coloured, {why}{absent}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same cases as in `web/test/network.test.mjs`.
    #[test]
    fn lines_alike_are_coloured_together() {
        let check = |sizes: &[f64], most, expected: &str| {
            let sizes: Vec<_> =
                sizes.iter().map(|&size| Some(size).filter(|s| !s.is_nan())).collect();
            let lit = coloured(&sizes, most);
            let marks: String = lit.iter().map(|&lit| if lit { '#' } else { '.' }).collect();
            assert_eq!(marks, expected, "{sizes:?} at {most}");
        };
        let absent = f64::NAN;
        check(&[0.0, 1.0, absent], 3, "###");
        check(&[1.0, 3.0, 2.0, 4.0], 2, ".#.#");
        // Where the cut is among equal ones, none of them is coloured.
        check(&[2.0, 1.0, 1.0, 1.0], 2, "#...");
        check(&[1.0, 2.0, 1.0, 3.0, 1.0], 4, ".#.#.");
        // Unless nothing would be.
        check(&[1.0, 1.0, 1.0], 2, "###");
        check(&[0.5, 1.0, 1.0, 1.0], 2, ".###");
        // Zero has no colour of its own among so many.
        check(&[0.0, 5.0, 0.0, 0.0], 3, ".#..");
        check(&[0.0, 0.0, 0.0], 2, "...");
        // Unknown values are visible, unless they hide others.
        check(&[absent, 1.0, 2.0, 0.0], 2, "#.#.");
        check(&[absent, absent, absent, 1.0], 2, "...#");
        check(&[absent, absent, 1.0, 1.0], 2, "####");
    }

    #[test]
    fn what_is_grey_is_said() {
        let check = |sizes: &[Option<f64>], expected: Option<&str>| {
            assert_eq!(note(sizes, &coloured(sizes, 2)).as_deref(), expected);
        };
        check(&[Some(1.0), Some(0.0)], None);
        check(
            &[Some(1.0), Some(0.0), Some(0.0)],
            Some("1 of 3 lines are coloured, the others have none"),
        );
        check(
            &[Some(1.0), Some(2.0), Some(3.0)],
            Some("2 of 3 lines are coloured, those with most"),
        );
        check(
            &[None, None, None, Some(1.0)],
            Some("1 of 4 lines are coloured, those with most; 3 of the others are not known"),
        );
    }
}
