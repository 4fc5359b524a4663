//! Text from outside, made fit for a picture or a page.
//!
//! Owns the escapes of XML; [`talea_model::text`] says which characters are replaced and where long text is cut.

/// At most `longest` characters without anything that is not drawn; what was cut or replaced can be seen.
pub(crate) use talea_model::text::shortened as plain;

/// `plain` with the five characters that mean something in XML replaced.
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
