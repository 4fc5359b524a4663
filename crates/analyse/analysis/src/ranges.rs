//! Numbers of ranks and threads as text.
//!
//! Owns the form of runs of numbers, and of numbers at equal distances.

/// Minimum of numbers at equal distances that are written as such.
const FEWEST: usize = 4;

/// Ascending numbers as text: `0-3,8`, `0-12:4` for every fourth from 0 to 12, and `1-19:4/5` for
/// four of every five from 1 to 19, as the kernel writes lists of CPUs.
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
        let taken = if count < FEWEST { 1 } else { count };
        let (_, end) = left[taken - 1];
        texts.push(match last - first {
            0 if taken == 1 => first.to_string(),
            _ if taken == 1 => format!("{first}-{last}"),
            0 => format!("{first}-{end}:{step}"),
            more => format!("{first}-{end}:{}/{step}", more + 1),
        });
        left = &left[taken..];
    }
    texts.join(",")
}

/// Distance of the first two runs, and how many from the first on are of its length and at this
/// distance; the last of them may be shorter.
fn equidistant(runs: &[(u32, u32)]) -> (u32, usize) {
    let [(first, last), (second, _), ..] = runs else { return (0, 1) };
    let (step, length) = (second - first, last - first);
    let follows = |pair: &[(u32, u32)]| {
        pair[0].1 - pair[0].0 == length
            && pair[1].0 - pair[0].0 == step
            && pair[1].1 - pair[1].0 <= length
    };
    (step, 1 + runs.windows(2).take_while(|pair| follows(pair)).count())
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
        let four_of_five = |last: u32| (0..=last).filter(|n| n % 5 != 0).collect::<Vec<_>>();
        check(&four_of_five(14), "1-4,6-9,11-14");
        check(&four_of_five(19), "1-19:4/5");
        check(&four_of_five(17), "1-17:4/5");
        check(&[0, 1, 4, 5, 8, 9, 12, 16, 20, 24, 28], "0-12:2/4,16-28:4");
        check(&[0, 1, 4, 5, 8, 9, 12, 13, 14], "0-1,4-5,8-9,12-14");
        check(&[0, u32::MAX], "0,4294967295");
    }
}
