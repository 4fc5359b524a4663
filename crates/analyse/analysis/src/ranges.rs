//! Numbers of ranks and threads as text.
//!
//! Owns the form of runs of numbers, and of numbers at equal distances.

/// Minimum of numbers at equal distances that are written as such.
const FEWEST: usize = 4;

/// Ascending numbers as text: `0-3,8`, and `0-12:4` for every fourth from 0 to 12.
pub fn ranges(numbers: impl IntoIterator<Item = u32>) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let mut texts: Vec<String> = Vec::new();
    let mut left = &runs[..];
    while let Some(&(first, last)) = left.first() {
        let (step, count) = equidistant(left);
        let taken = if count >= FEWEST {
            texts.push(format!("{first}-{}:{step}", left[count - 1].0));
            count
        } else {
            let is_one = first == last;
            texts.push(if is_one { first.to_string() } else { format!("{first}-{last}") });
            1
        };
        left = &left[taken..];
    }
    texts.join(",")
}

/// Distance of the first two runs, and how many from the first on are single numbers at this
/// distance.
fn equidistant(runs: &[(u32, u32)]) -> (u32, usize) {
    let distance = |pair: &[(u32, u32)]| match pair {
        [(a, last), (b, end)] if a == last && b == end => b.checked_sub(*a),
        _ => None,
    };
    let Some(step) = runs.get(..2).and_then(distance) else { return (0, 1) };
    let same = runs.windows(2).take_while(|pair| distance(pair) == Some(step));
    (step, 1 + same.count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_at_equal_distances_are_one_entry() {
        let check = |numbers: &[u32], expected| {
            assert_eq!(ranges(numbers.iter().copied()), expected);
        };
        check(&[], "");
        check(&[0, 1, 2, 3, 8], "0-3,8");
        check(&[0, 4, 8], "0,4,8");
        check(&[0, 4, 8, 12], "0-12:4");
        check(&[1, 3, 5, 7, 8, 10, 20, 30, 40], "1,3,5,7-8,10-40:10");
        check(&[1, 2, 4, 6, 8, 10, 11], "1-2,4,6,8,10-11");
        check(&[0, u32::MAX], "0,4294967295");
    }
}
