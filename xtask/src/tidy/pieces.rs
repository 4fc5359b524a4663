//! Comments and literals of a file of Rust, with their places; everything between them is code.
//!
//! A lexer of what decides where comments and literals begin and end: strings of all kinds, nested
//! comments, characters and lifetimes. Refuses everything else of the language.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// `//!` and `///`.
    Documentation,
    /// Other comments.
    Comment,
    /// Strings, raw and of bytes, too.
    Literal,
}

/// A comment or a literal.
#[derive(Debug)]
pub(super) struct Piece<'a> {
    pub sort: Sort,
    /// Without the signs that begin and end it.
    pub text: &'a str,
    /// First and last line, counted from 1.
    pub lines: (usize, usize),
    /// Characters before it in its first line, and before its end in its last.
    pub columns: (usize, usize),
}

/// All comments and literals, in order.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut lexer = Lexer { text, at: 0, line: 1, line_begin: 0, pieces: Vec::new() };
    while lexer.at < text.len() {
        lexer.step();
    }
    lexer.pieces
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    /// Where the line begins, in bytes.
    line_begin: usize,
    pieces: Vec<Piece<'a>>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn step(&mut self) {
        let rest = self.rest();
        if rest.starts_with("//") {
            let documents =
                rest.starts_with("//!") || (rest.starts_with("///") && !rest.starts_with("////"));
            let (sort, open) =
                if documents { (Sort::Documentation, 3) } else { (Sort::Comment, 2) };
            let length = rest.find('\n').unwrap_or(rest.len());
            self.take(sort, open, length, 0);
        } else if rest.starts_with("/*") {
            self.take(Sort::Comment, 2, block(rest), 2);
        } else if rest.starts_with('\'') {
            self.advance(character(rest));
        } else if rest.starts_with('"') {
            self.take(Sort::Literal, 1, quoted(rest, 1), 1);
        } else if rest.starts_with(|sign: char| sign.is_alphanumeric() || sign == '_') {
            self.word();
        } else {
            self.advance(rest.chars().next().map_or(1, char::len_utf8));
        }
    }

    /// A word; `r`, `b`, `c` and their pairs may begin a literal.
    fn word(&mut self) {
        let rest = self.rest();
        let end =
            rest.find(|sign: char| !sign.is_alphanumeric() && sign != '_').unwrap_or(rest.len());
        let after = &rest[end..];
        match &rest[..end] {
            "b" | "c" if after.starts_with('"') => {
                self.take(Sort::Literal, end + 1, quoted(rest, end + 1), 1);
            }
            "r" | "br" | "cr" => {
                let hashes = after.len() - after.trim_start_matches('#').len();
                if !after[hashes..].starts_with('"') {
                    return self.advance(end);
                }
                let open = end + hashes + 1;
                let close = format!("\"{}", "#".repeat(hashes));
                let length =
                    rest[open..].find(&close).map_or(rest.len(), |at| open + at + close.len());
                self.take(Sort::Literal, open, length, close.len());
            }
            _ => self.advance(end),
        }
    }

    /// Notes a piece of so many bytes, with `open` and `close` bytes of signs around its text.
    fn take(&mut self, sort: Sort, open: usize, length: usize, close: usize) {
        let text = self.rest();
        let text = text.get(open..length.saturating_sub(close)).unwrap_or_default();
        let begin = (self.line, self.column());
        self.advance(length);
        let lines = (begin.0, self.line);
        self.pieces.push(Piece { sort, text, lines, columns: (begin.1, self.column()) });
    }

    fn column(&self) -> usize {
        self.text[self.line_begin..self.at].chars().count()
    }

    fn advance(&mut self, bytes: usize) {
        let end = (self.at + bytes.max(1)).min(self.text.len());
        for (offset, _) in self.text[self.at..end].match_indices('\n') {
            self.line += 1;
            self.line_begin = self.at + offset + 1;
        }
        self.at = end;
    }
}

/// Bytes to the end of a string whose text begins at `open`.
fn quoted(rest: &str, open: usize) -> usize {
    let mut escaped = false;
    for (at, sign) in rest[open..].char_indices() {
        match sign {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return open + at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Bytes of a character or of the sign of a lifetime.
fn character(rest: &str) -> usize {
    let mut signs = rest.char_indices().skip(1);
    match signs.next() {
        // The sign after a backslash belongs to the escape, also if it is a quote.
        Some((_, '\\')) => {
            signs.next();
            signs.find(|(_, sign)| *sign == '\'').map_or(rest.len(), |(at, _)| at + 1)
        }
        Some(_) => match signs.next() {
            Some((at, '\'')) => at + 1,
            _ => 1,
        },
        None => 1,
    }
}

/// Bytes of a comment that may hold others.
fn block(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        if here.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}
