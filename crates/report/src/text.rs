//! External text, prepared for a picture or a page.
//!
//! Owns the removal of characters (control characters, and marks that change the direction of writing and
//! so can make a name look like another), the cutting of long text, and the escapes of XML.

/// At most `longest` characters without any that are not drawn; cuts and replacements are visible.
pub(crate) fn plain(text: &str, longest: usize) -> String {
    let mut out = String::new();
    for (at, c) in text.chars().enumerate() {
        if at == longest {
            out.push('…');
            break;
        }
        out.push(if hidden(c) { '\u{fffd}' } else { c });
    }
    out
}

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

fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{fffe}' | '\u{ffff}')
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
