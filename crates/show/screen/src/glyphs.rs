//! Values as glyphs: bars of eighth blocks, columns that grow upwards, digits of tenths.
//!
//! Owns the glyphs that the programs and the text of commands share. It refuses colours
//! ([`crate::colour`]).

/// Eighth blocks, growing upwards.
const UPWARDS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
/// Mark of an absent value.
pub const ABSENT: &str = "░";

/// A bar of `width` columns for a part from 0 to 1, in eighth blocks; the rest of its columns is
/// left to the caller.
pub fn bar(part: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (part.clamp(0.0, 1.0) * (width * 8) as f64).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// One column that is filled from below.
pub fn upwards(part: f64) -> &'static str {
    // The minimum value is visible too: an empty column marks an absent value.
    UPWARDS[((part.clamp(0.0, 1.0) * 8.0).round() as usize).clamp(1, 8)]
}

/// The tenth of the scale that a value is in, as a digit.
pub fn digit(part: f64) -> &'static str {
    const DIGITS: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
    DIGITS[((part.clamp(0.0, 1.0) * 10.0) as usize).min(9)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_eighths() {
        assert_eq!(bar(0.5, 4), "██");
        assert_eq!(bar(0.25 + 1.0 / 32.0, 4), "█▏");
        assert_eq!(bar(7.0, 2), "██");
        assert_eq!(bar(f64::NAN, 2), "");
    }

    #[test]
    fn glyphs_grow() {
        assert_eq!([0.0, 0.5, 1.0, f64::NAN].map(upwards), ["▁", "▄", "█", "▁"]);
        assert_eq!([0.0, 0.55, 1.0].map(digit), ["0", "5", "9"]);
    }
}
