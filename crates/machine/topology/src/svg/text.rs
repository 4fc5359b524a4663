//! Text for pictures: external names made harmless, amounts for people.
//!
//! Owns escapes, cuts, and the number of characters that fit. Hidden characters are replaced, so
//! that a name cannot look like another.

use talea_model::text::{REPLACEMENT, is_hidden};
use talea_model::units::si;

/// Text escaped for XML, at most `longest` characters.
pub(crate) fn xml(text: &str, longest: usize) -> String {
    let mut out = String::with_capacity(text.len().min(longest) + 8);
    for (at, c) in text.chars().enumerate() {
        if at == longest {
            out.push('…');
            break;
        }
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if is_hidden(c) => out.push(REPLACEMENT),
            c => out.push(c),
        }
    }
    out
}

/// Capacities in the form of vendors: powers of 1,024.
pub(crate) fn capacity(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let text = if value >= 99.5 || (value - value.round()).abs() < 0.05 {
        format!("{value:.0}")
    } else {
        format!("{value:.1}")
    };
    format!("{text} {}", UNITS[unit])
}

/// A value in at most this many characters: with its unit, without, or `None`.
pub(crate) fn fitting(value: f64, unit: &str, characters: usize) -> Option<String> {
    let bare = if is_counted(unit) { amount(value, "") } else { si(value, "") };
    let texts = [amount(value, unit), bare.clone(), bare.replace(' ', "")];
    texts.into_iter().find(|text| text.chars().count() <= characters)
}

/// Three significant digits and the unit. Prefixes go with units only: shares and ratios have none.
/// Counts - events, bytes - have no thousandth parts: 20.5 m/s would be read as metres, so that it
/// is 0.0205 /s.
pub fn amount(value: f64, unit: &str) -> String {
    match unit {
        "" if value != 0.0 && (0.001..1000.0).contains(&value.abs()) => {
            let digits = 2_usize.saturating_sub(value.abs().log10().floor().max(0.0) as usize);
            format!("{value:.digits$}")
        }
        "%" if value.abs() >= 99.95 || value == 0.0 => format!("{value:.0} %"),
        "%" => format!("{value:.1} %"),
        _ if is_counted(unit) && value != 0.0 && value.abs() < 0.9995 => {
            let unit = unit.strip_prefix('1').unwrap_or(unit);
            format!("{} {unit}", below_one(value)).trim_end().to_owned()
        }
        _ => si(value, unit),
    }
}

/// True if a unit is of pieces: plain numbers, bytes, and either of them per time.
fn is_counted(unit: &str) -> bool {
    matches!(unit.split('/').next(), Some("" | "1" | "B"))
}

/// Three digits of a number below one; one digit and the power of ten where there would be too many
/// zeros.
fn below_one(value: f64) -> String {
    if value.abs() < 0.001 {
        return format!("{value:.0e}");
    }
    let digits = (2.0 - value.abs().log10().floor()) as usize;
    format!("{value:.digits$}")
}

/// Lines of at most `width` characters, broken between words.
pub(crate) fn lines(text: &str, width: usize, most: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word: String = word.chars().take(width).collect();
        let full = out.len() == most;
        match out.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            Some(line) if full => {
                line.push('…');
                return out;
            }
            _ => out.push(word),
        }
    }
    out
}

/// Lines of unbroken parts, with a separator between them.
pub(crate) fn lines_between(parts: &[String], between: &str, width: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for part in parts {
        match out.last_mut() {
            Some(line)
                if line.chars().count() + between.chars().count() + part.chars().count()
                    <= width =>
            {
                line.push_str(between);
                line.push_str(part);
            }
            _ => out.push(part.clone()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_and_capacities() {
        assert_eq!(amount(1.234, ""), "1.23");
        assert_eq!(amount(12.34, ""), "12.3");
        assert_eq!(amount(123.4, ""), "123");
        assert_eq!(amount(12_345.0, "/s"), "12.3 k/s");
        assert_eq!(amount(97.25, "%"), "97.2 %");
        assert_eq!(amount(0.954, "B"), "0.954 B");
        assert_eq!(amount(0.0205, "1/s"), "0.0205 /s");
        assert_eq!(amount(0.443, "/s"), "0.443 /s");
        assert_eq!(amount(20.5, "1/s"), "20.5 /s");
        assert_eq!(amount(0.000_295, "B/s"), "3e-4 B/s");
        assert_eq!(amount(0.0205, "s"), "20.5 ms");
        assert_eq!(fitting(0.443, "1/s", 6).as_deref(), Some("0.44"));
        assert_eq!(capacity(32 << 20), "32 MiB");
        assert_eq!(capacity(28_835_840), "27.5 MiB");
        assert_eq!(capacity(811_748_818_944), "756 GiB");
        assert_eq!(fitting(12_345.0, "B/s", 9).as_deref(), Some("12.3 kB/s"));
        assert_eq!(fitting(12_345.0, "B/s", 7).as_deref(), Some("12.3 k"));
        assert_eq!(fitting(12_345.0, "B/s", 3), None);
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(lines("aa bb ccc d", 5, 9), ["aa bb", "ccc d"]);
        assert_eq!(lines("aa bb ccc d", 5, 1), ["aa bb…"]);
    }
}
