//! Lists of hosts in Slurm's notation: `a,b[0-3,07],r[0-1]n[1-2]`.
//!
//! Owns brackets, ranges, leading zeros (kept: `[08-11]` is `08`, `09`, `10`, `11`) and several
//! brackets in a name; the last one varies fastest. It refuses more names than its caller's
//! maximum, and steps in ranges.

use super::short;

/// Longest name in bytes.
pub(super) const LONGEST: usize = 256;

/// All names of a list, in its order; else the expected form.
pub fn expand(text: &str, most: usize) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for part in parts(text)? {
        let room = most - names.len();
        names.append(&mut of_part(part, room, most)?);
    }
    Ok(names)
}

/// Parts between the commas that are in no brackets.
fn parts(text: &str) -> Result<Vec<&str>, String> {
    let mut parts = Vec::new();
    let (mut begin, mut inside) = (0, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' if inside => return Err("`]` before the next `[`".to_owned()),
            b'[' => inside = true,
            b']' if !inside => return Err("`[` before `]`".to_owned()),
            b']' => inside = false,
            b',' if !inside => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    if inside {
        return Err("`]` behind `[`".to_owned());
    }
    parts.push(&text[begin..]);
    if parts.iter().any(|part| part.is_empty()) {
        return Err("a name between commas".to_owned());
    }
    Ok(parts)
}

fn of_part(part: &str, room: usize, most: usize) -> Result<Vec<String>, String> {
    let too_many = || format!("at most {most} names");
    if room == 0 {
        return Err(too_many());
    }
    let mut names = vec![String::new()];
    let mut rest = part;
    while let Some((before, behind)) = rest.split_once('[') {
        let (ranges, behind) = behind.split_once(']').ok_or("`]` behind `[`")?;
        // Before it is written once for each number.
        fits(&names, before)?;
        let numbers = numbers(ranges, room, most)?;
        if names.len().saturating_mul(numbers.len()) > room {
            return Err(too_many());
        }
        let with = |name: &String| {
            let begin = format!("{name}{before}");
            numbers.iter().map(move |number| format!("{begin}{number}")).collect::<Vec<_>>()
        };
        names = names.iter().flat_map(with).collect();
        rest = behind;
    }
    fits(&names, rest)?;
    for name in &mut names {
        name.push_str(rest);
    }
    Ok(names)
}

/// Checks that names may have this suffix. They are about as long as the first one.
fn fits(names: &[String], behind: &str) -> Result<(), String> {
    let longest = names.first().is_some_and(|name| name.len() + behind.len() > LONGEST);
    if longest { Err(format!("names of at most {LONGEST} bytes")) } else { Ok(()) }
}

fn numbers(ranges: &str, room: usize, most: usize) -> Result<Vec<String>, String> {
    let mut numbers = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let of = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let number = text.parse::<u64>().ok().filter(|_| digits && text.len() <= 18);
            number.ok_or_else(|| format!("a range such as 1-5 instead of `{}`", short(range)))
        };
        let (begin, end) = (of(first)?, of(last)?);
        if end < begin {
            return Err(format!("a range that goes up instead of `{}`", short(range)));
        }
        if end - begin >= (room - numbers.len()) as u64 {
            return Err(format!("at most {most} names"));
        }
        let width = first.len();
        numbers.extend((begin..=end).map(|number| format!("{number:0width$}")));
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lists_and_their_names() {
        let names = |text| expand(text, 100).map(|names| names.join(" "));
        assert_eq!(names("a,b[0-3,07],c"), Ok("a b0 b1 b2 b3 b07 c".to_owned()));
        assert_eq!(names("n[08-11]-ib"), Ok("n08-ib n09-ib n10-ib n11-ib".to_owned()));
        assert_eq!(names("r[0-1]n[1-2]"), Ok("r0n1 r0n2 r1n1 r1n2".to_owned()));
        for text in ["", "a,,b", "a[", "a]", "a[1", "a[[1]]", "a[]", "a[3-1]", "a[1-]", "a[x]"] {
            assert!(names(text).is_err(), "{text}");
        }
        assert_eq!(expand("a[0-99],b", 100), Err("at most 100 names".to_owned()));
        assert_eq!(expand("a[0-9][0-9][0-9]", 100), Err("at most 100 names".to_owned()));
        assert_eq!(expand("a[0-999999999999999999]", 5), Err("at most 5 names".to_owned()));
        assert_eq!(expand("a[1,2,3,4,5,6]", 5), Err("at most 5 names".to_owned()));
    }

    #[test]
    fn long_texts_are_not_written_often() {
        let long = "n".repeat(1 << 20);
        for text in [
            format!("{long}[0-999999]"),
            format!("[0-999999]{long}"),
            format!("a[0-999]{long}[0-999]"),
            long.clone(),
        ] {
            assert_eq!(expand(&text, 1 << 20), Err("names of at most 256 bytes".to_owned()));
        }
        let error = expand(&format!("a[{long}]"), 9).unwrap_err();
        assert!(error.starts_with("a range such as 1-5 instead of `nnn") && error.len() < 100);
    }

    proptest! {
        #[test]
        fn no_text_does_harm(text in "[a-b0-9\\[\\],-]{0,40}") {
            if let Ok(names) = expand(&text, 1000) {
                prop_assert!(names.len() <= 1000);
            }
        }
    }
}
