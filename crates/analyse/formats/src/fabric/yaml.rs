//! The subset of YAML that descriptions of networks use.
//!
//! Owns maps and lists by indentation, lists in one line (`[4, 16]`), quotes around whole values,
//! and comments. It refuses the rest of YAML (maps in one line, anchors, texts of several lines,
//! tabs as indentation): such a file is an error with that reason, never a wrong tree. Follows YAML
//! 1.2.2, chapters 6 to 8.

use super::{Error, wrong};

/// Maximum nesting of lists and maps.
const DEEPEST: usize = 32;

/// A value with its first line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node<'a> {
    pub(super) line: u64,
    pub(super) value: Value<'a>,
}

/// Content of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// Text without its quotes; empty where there is none.
    Text(&'a str),
    List(Vec<Node<'a>>),
    Map(Vec<(&'a str, Node<'a>)>),
}

impl<'a> Node<'a> {
    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        match &self.value {
            Value::Map(entries) => {
                entries.iter().find(|(own, _)| *own == key).map(|(_, node)| node)
            }
            _ => None,
        }
    }

    /// Its keys, if it is a map.
    pub(super) fn keys(&self) -> Vec<&'a str> {
        match &self.value {
            Value::Map(entries) => entries.iter().map(|(key, _)| *key).collect(),
            _ => Vec::new(),
        }
    }

    /// Its text, if it is a text.
    pub(super) fn text(&self) -> Option<&'a str> {
        match self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Its members, if it is a list.
    pub(super) fn list(&self, expected: &str) -> Result<&[Self], Error> {
        match &self.value {
            Value::List(members) => Ok(members),
            _ => Err(wrong(self.line, expected, self.text().unwrap_or("a map"))),
        }
    }
}

/// A line with content.
#[derive(Clone, Copy, Debug)]
struct Line<'a> {
    number: u64,
    indent: usize,
    content: &'a str,
}

/// Reads the first document of a text.
pub(super) fn read(text: &str) -> Result<Node<'_>, Error> {
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let content = without_comment(line).trim_end();
        let begin = content.trim_start_matches(' ');
        if begin.is_empty() || (lines.is_empty() && (begin == "---" || begin.starts_with('%'))) {
            continue;
        }
        if begin == "---" || begin == "..." {
            break;
        }
        if begin.starts_with('\t') {
            return Err(wrong(number, "blanks as indentation, not tabs", begin));
        }
        lines.push(Line { number, indent: content.len() - begin.len(), content: begin });
    }
    let Some(first) = lines.first().copied() else {
        return Err(Error::Nothing { expected: "a list or a map" });
    };
    let mut reader = Reader { lines, at: 0 };
    let root = reader.block(first.indent, 0)?;
    match reader.lines.get(reader.at) {
        Some(line) => {
            Err(wrong(line.number, "a line that is indented as those before", line.content))
        }
        None => Ok(root),
    }
}

/// The part of a line before a comment, which begins after a blank and outside of quotes.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut before = b' ';
    for (at, byte) in line.bytes().enumerate() {
        match (quote, byte) {
            (None, b'#') if before == b' ' || before == b'\t' => return &line[..at],
            (None, b'"' | b'\'') if matches!(before, b' ' | b'[' | b',' | b':') => {
                quote = Some(byte);
            }
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
        before = byte;
    }
    line
}

struct Reader<'a> {
    lines: Vec<Line<'a>>,
    at: usize,
}

impl<'a> Reader<'a> {
    /// The value that begins at this line, at its indentation.
    fn block(&mut self, indent: usize, depth: usize) -> Result<Node<'a>, Error> {
        let line = self.lines[self.at];
        if depth > DEEPEST {
            return Err(wrong(
                line.number,
                format!("lists and maps up to {DEEPEST} deep"),
                line.content,
            ));
        }
        if member(line.content).is_some() {
            return self.list(indent, depth);
        }
        if entry(line.content).is_some() {
            return self.map(indent, depth);
        }
        self.at += 1;
        scalar(line.number, line.content)
    }

    fn list(&mut self, indent: usize, depth: usize) -> Result<Node<'a>, Error> {
        let number = self.lines[self.at].number;
        let mut members = Vec::new();
        while let Some(line) = self.lines.get_mut(self.at).filter(|line| line.indent == indent) {
            let Some(inner) = member(line.content) else { break };
            if inner.is_empty() {
                let number = line.number;
                self.at += 1;
                members.push(self.below(number, indent + 1, depth)?);
                continue;
            }
            // The text after the dash is indented by the width of the text before it.
            line.indent += line.content.len() - inner.len();
            line.content = inner;
            let inside = line.indent;
            members.push(self.block(inside, depth + 1)?);
        }
        Ok(Node { line: number, value: Value::List(members) })
    }

    fn map(&mut self, indent: usize, depth: usize) -> Result<Node<'a>, Error> {
        let number = self.lines[self.at].number;
        let mut entries: Vec<(&'a str, Node<'a>)> = Vec::new();
        while let Some(&line) = self.lines.get(self.at).filter(|line| line.indent == indent) {
            let Some((key, inner)) = entry(line.content).filter(|_| member(line.content).is_none())
            else {
                break;
            };
            if entries.iter().any(|(own, _)| *own == key) {
                return Err(wrong(line.number, "each key of a map once", key));
            }
            self.at += 1;
            let node = if inner.is_empty() {
                // A list may have the indentation of its key.
                let same = self
                    .lines
                    .get(self.at)
                    .is_some_and(|next| next.indent == indent && member(next.content).is_some());
                self.below(line.number, if same { indent } else { indent + 1 }, depth)?
            } else {
                scalar(line.number, inner)?
            };
            entries.push((key, node));
        }
        Ok(Node { line: number, value: Value::Map(entries) })
    }

    /// The value on the next lines with at least this indentation; an empty text if there is none.
    fn below(&mut self, number: u64, least: usize, depth: usize) -> Result<Node<'a>, Error> {
        match self.lines.get(self.at) {
            Some(next) if next.indent >= least => {
                let indent = next.indent;
                self.block(indent, depth + 1)
            }
            _ => Ok(Node { line: number, value: Value::Text("") }),
        }
    }
}

/// The text after the dash of a list's member.
fn member(content: &str) -> Option<&str> {
    let inner = content.strip_prefix('-')?;
    (inner.is_empty() || inner.starts_with(' ')).then(|| inner.trim_start())
}

/// Key and value of a map's entry.
fn entry(content: &str) -> Option<(&str, &str)> {
    let colon = content.match_indices(':').map(|(at, _)| at);
    let mut colon = colon.filter(|at| matches!(content.as_bytes().get(at + 1), None | Some(b' ')));
    let at = colon.next()?;
    let key = unquoted(content[..at].trim_end());
    let good = !key.is_empty() && !key.contains(['"', '\'', '{', '[']);
    good.then(|| (key, content[at + 1..].trim_start()))
}

/// A text or a list in one line.
fn scalar(line: u64, text: &str) -> Result<Node<'_>, Error> {
    let other = || wrong(line, "a value in one line, without `{`, `&`, `*`, `!`, `|` or `>`", text);
    if let Some(inner) = text.strip_prefix('[') {
        let inner = inner.strip_suffix(']').filter(|inner| !inner.contains(['[', ']', '{']));
        let inner = inner.ok_or_else(other)?.trim();
        let members = inner.split(',').filter(|_| !inner.is_empty());
        let members = members.map(|member| scalar(line, member.trim()));
        return Ok(Node { line, value: Value::List(members.collect::<Result<_, _>>()?) });
    }
    if text.starts_with(['{', '&', '*', '!', '|', '>', '@', '`']) {
        return Err(other());
    }
    let plain = unquoted(text);
    if plain.len() == text.len() && text.starts_with(['"', '\'']) {
        return Err(other());
    }
    Ok(Node { line, value: Value::Text(plain) })
}

/// A text without its quotes.
fn unquoted(text: &str) -> &str {
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The tree in one line.
    fn told(node: &Node<'_>) -> String {
        match &node.value {
            Value::Text(text) => format!("`{text}`"),
            Value::List(members) => {
                format!("[{}]", members.iter().map(told).collect::<Vec<_>>().join(" "))
            }
            Value::Map(entries) => {
                let one = |(key, node): &(&str, Node<'_>)| format!("{key}={}", told(node));
                format!("{{{}}}", entries.iter().map(one).collect::<Vec<_>>().join(" "))
            }
        }
    }

    #[test]
    fn trees() {
        let tree =
            |text: &str| read(text).map_or_else(|error| error.to_string(), |node| told(&node));
        let text = "\
# A comment
---
- a: 1   # of one
  b:
    - x
    -  c: 'q # r'
       d: \"s\"
  e:
  - 4
  - [5, 6]
  f: []
- 
  g: n[1-2],m#3
  h:
...
- ignored
";
        assert_eq!(
            tree(text),
            "[{a=`1` b=[`x` {c=`q # r` d=`s`}] e=[`4` [`5` `6`]] f=[]} {g=`n[1-2],m#3` h=``}]"
        );
        assert_eq!(tree("a: b: c\nd: e:f"), "{a=`b: c` d=`e:f`}");
        let said = [
            "",
            "\ta: 1",
            "a: {b: 1}",
            "a: &x",
            "a: \"b",
            "a: 1\n  b: 2",
            "a: 1\na: 2",
            "a: 1\n- b",
            "a: [1",
            "a: [[1]]",
        ]
        .map(tree);
        insta::assert_snapshot!(said.join("\n"));
        let deep: Vec<String> = (0..99).map(|depth| format!("{}a:", " ".repeat(depth))).collect();
        let deep = deep.join("\n");
        assert!(
            tree(&deep).starts_with("line 34: expected lists and maps up to 32 deep"),
            "{}",
            tree(&deep)
        );
    }

    proptest! {
        #[test]
        fn no_text_does_harm(text in "[ab:\\-\\[\\], \n'\"#{]{0,60}") {
            let _ = read(&text);
        }
    }
}
