//! Texts in JSON.

use std::fmt::Write;

/// A quoted string.
pub(super) fn quoted(text: &str, out: &mut String) {
    out.push('"');
    for one in text.chars() {
        match one {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            control if control.is_control() => {
                // Formatting into a String cannot fail. Controls lie below U+10000, so that four
                // digits do.
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}
