//! External text, prepared for a picture or a page.
//!
//! Owns the escapes of XML; [`talea_model::text`] defines the characters that are replaced and the
//! cut of long text.

/// At most `longest` characters without any that are not drawn; cuts and replacements are visible.
pub(crate) use talea_model::text::shortened as plain;

/// `plain` with the five special characters of XML replaced.
pub(crate) fn xml(text: &str, longest: usize) -> String {
    let mut out = String::new();
    for c in plain(text, longest).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hidden_and_nothing_long_gets_through() {
        assert_eq!(plain("a\u{202e}b\nc", 10), "a\u{fffd}b\u{fffd}c");
        assert_eq!(plain("abcdef", 3), "abc…");
        assert_eq!(xml("<img onerror='x'>&", 99), "&lt;img onerror=&#39;x&#39;&gt;&amp;");
    }
}
