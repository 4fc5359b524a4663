//! Text from outside - names of processes, jobs, phases, files - made fit to be shown.
//!
//! Owns the one list of characters that no terminal, picture, page or log shows as they are:
//! control characters, marks that turn the direction of writing, and characters that are not drawn.
//! All of them let a name look like another one. The list is Unicode's `Cc`,
//! `Default_Ignorable_Code_Point` and `Noncharacter_Code_Point`, and its separators of lines. JSON
//! and files for programs keep text as it is.

/// Replacement of a hidden character.
pub const REPLACEMENT: char = '\u{fffd}';

/// Whether a character is one that readers do not see, or that changes how its neighbours are read.
pub fn is_hidden(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    c.is_control()
        || is_ignorable(c)
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}')
        || matches!(c, '\u{fdd0}'..='\u{fdef}')
        || u32::from(c) & 0xfffe == 0xfffe
}

/// `Default_Ignorable_Code_Point` of Unicode 16 (DerivedCoreProperties.txt); marks of direction are
/// among them.
fn is_ignorable(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
    ) || matches!(c, '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
        || matches!(c, '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}')
        || matches!(c, '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Text with a mark in place of each hidden character.
pub fn without_hidden(text: &str) -> String {
    text.chars().map(|c| if is_hidden(c) { REPLACEMENT } else { c }).collect()
}

/// The same of a message of several lines, whose ends and tabulators stay.
pub fn without_hidden_in_lines(text: &str) -> String {
    let stays = |c: char| matches!(c, '\n' | '\t') || !is_hidden(c);
    text.chars().map(|c| if stays(c) { c } else { REPLACEMENT }).collect()
}

/// Text without hidden characters, cut after `longest` characters; `…` shows the cut.
pub fn shortened(text: &str, longest: usize) -> String {
    let mut out = String::with_capacity(text.len().min(longest.saturating_mul(4)));
    for (at, c) in text.chars().enumerate() {
        if at == longest {
            out.push('…');
            break;
        }
        out.push(if is_hidden(c) { REPLACEMENT } else { c });
    }
    out
}

/// Text without hidden characters in at most `width` characters. A cut text ends with `…`.
pub fn clean(text: &str, width: usize) -> String {
    let mut out = without_hidden(&text.chars().take(width + 1).collect::<String>());
    if out.chars().count() > width {
        out = out.chars().take(width.saturating_sub(1)).collect();
        out.push('…');
    }
    out
}

/// Text in lines of at most `width` characters, broken between words. Each word is [`clean`], cut
/// to `longest`: a longer one has a line of its own.
pub fn wrapped(text: &str, width: usize, longest: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = clean(word, longest);
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_look_like_others() {
        let hidden = [
            '\0',
            '\t',
            '\n',
            '\x1b',
            '\x7f',
            '\u{85}',
            '\u{9b}',
            '\u{ad}',
            '\u{34f}',
            '\u{61c}',
            '\u{115f}',
            '\u{180e}',
            '\u{200b}',
            '\u{200d}',
            '\u{200e}',
            '\u{200f}',
            '\u{2028}',
            '\u{2029}',
            '\u{202a}',
            '\u{202e}',
            '\u{2060}',
            '\u{2066}',
            '\u{2069}',
            '\u{206f}',
            '\u{3164}',
            '\u{fe0f}',
            '\u{feff}',
            '\u{ffa0}',
            '\u{fff9}',
            '\u{fffb}',
            '\u{fffe}',
            '\u{ffff}',
            '\u{1ffff}',
            '\u{fdd0}',
            '\u{1d173}',
            '\u{e0001}',
            '\u{e0041}',
            '\u{e01ef}',
            '\u{10ffff}',
        ];
        for c in hidden {
            assert!(is_hidden(c), "U+{:04X}", u32::from(c));
            assert_eq!(without_hidden(&format!("a{c}b")), "a\u{fffd}b");
        }
        for c in "aZ 0~ äßéÑ λЖ中文かな한글 אבג عربى ❤😀 …\u{a0}\u{301}\u{fffd}\u{20ac}".chars()
        {
            assert!(!is_hidden(c), "U+{:04X}", u32::from(c));
        }
    }

    #[test]
    fn messages_keep_their_lines() {
        assert_eq!(without_hidden_in_lines("a\n\tb\r\u{202e}c"), "a\n\tb\u{fffd}\u{fffd}c");
    }

    #[test]
    fn cuts_are_seen() {
        assert_eq!(shortened("abcdef", 3), "abc…");
        assert_eq!(shortened("a\u{200b}c", 3), "a\u{fffd}c");
    }

    #[test]
    fn sentences_break_between_words() {
        assert_eq!(wrapped("one two three", 7, 7), ["one two", "three"]);
        assert_eq!(wrapped("abcdefgh i", 4, 4), ["abc…", "i"]);
        assert_eq!(wrapped("abcdefgh i", 4, 9), ["abcdefgh", "i"]);
        assert_eq!(wrapped("a\u{2066}b \u{ad}", 9, 9), ["a\u{fffd}b \u{fffd}"]);
    }

    #[test]
    fn text_from_outside_can_neither_command_nor_deceive() {
        assert_eq!(clean("a\x1b[2Jb", 10), "a\u{fffd}[2Jb");
        assert_eq!(clean("a\u{202e}b\u{200b}\u{61c}c", 10), "a\u{fffd}b\u{fffd}\u{fffd}c");
        assert_eq!(clean("abcdef", 4), "abc…");
        assert_eq!(clean("abcd", 4), "abcd");
    }
}
