//! Words that the rules of language exclude, in comments, literals and documents.
//!
//! Each stands in a list with its replacement. Tests are free. Words that are wrong in
//! one meaning only (`least`, `most`, `hit`) are not in the lists, because no program can tell.

use std::path::Path;

use super::pieces::{Sort, pieces};
use super::source::{Checkout, Role};
use super::{Finding, Kind};

/// Files that have to name them.
const LISTS: [&str; 2] = ["xtask/src/tidy/names.rs", "xtask/src/tidy/words.rs"];

/// Excluded anywhere, with what to say instead.
const ANYWHERE: &[(&str, &str)] = &[
    ("told", "`stated`, `given` or, for `told apart`, `distinguished`"),
    ("foretell", "`predict`"),
    ("foretells", "`predicts`"),
    ("foretold", "`predicted`"),
    ("whom", "`its owner`, `its user`, or the noun"),
    ("whomever", "the noun"),
    ("whoever", "the noun: `a caller that`, `the user`"),
    ("it is hit", "`it is reached` or `it is sampled`"),
    ("was hit", "`was sampled` or `was reached`"),
    ("were hit", "`were sampled` or `were reached`"),
    ("of which", "a sentence of its own"),
];

/// Excluded where a sentence begins.
const FIRST: &[(&str, &str)] = &[
    ("What", "begin with the noun that it stands for"),
    ("Who", "begin with the noun: `The user`, `A caller`"),
    ("Whom", "begin with the noun"),
    ("Whose", "begin with the noun"),
    ("Whoever", "begin with the noun: `A caller`"),
];

pub(super) fn check(checkout: &Checkout) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for file in &checkout.files {
        if file.role != Role::Product || LISTS.contains(&file.path.as_str()) {
            continue;
        }
        // Comments of successive lines are one text.
        let mut last = None;
        for piece in pieces(&file.text) {
            let goes_on = piece.sort != Sort::Literal
                && last == Some((piece.sort, piece.lines.0 - 1, piece.columns.0));
            last = Some((piece.sort, piece.lines.1, piece.columns.0));
            for (index, text) in piece.text.lines().enumerate() {
                let line = piece.lines.0 + index;
                if !file.has_product_at(line) {
                    continue;
                }
                anywhere(&file.path, line, text, &mut findings);
                if index == 0 && !goes_on {
                    first(&file.path, line, text, &mut findings);
                }
            }
        }
    }
    for path in documents(checkout)? {
        document(&path, &checkout.document(&path)?, &mut findings);
    }
    Ok(findings)
}

fn documents(checkout: &Checkout) -> Result<Vec<String>, String> {
    let folder = checkout.root.join("docs");
    let entries =
        std::fs::read_dir(&folder).map_err(|error| format!("{error}: `{}`", folder.display()))?;
    let mut paths: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| Path::new(name).extension().is_some_and(|end| end == "md"))
        .map(|name| format!("docs/{name}"))
        .collect();
    paths.sort();
    Ok(paths)
}

/// A text in Markdown, but for blocks of code.
fn document(path: &str, text: &str, findings: &mut Vec<Finding>) {
    let mut fenced = false;
    let mut begins = true;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced && !line.starts_with("    ") {
            anywhere(path, index + 1, line, findings);
            if begins {
                first(path, index + 1, line, findings);
            }
        }
        begins = line.trim().is_empty();
    }
}

fn anywhere(path: &str, line: usize, text: &str, findings: &mut Vec<Finding>) {
    let lower = text.to_lowercase();
    for (word, instead) in ANYWHERE {
        if lower.match_indices(word).any(|(at, _)| stands_alone(&lower, at, word.len())) {
            let wrong = format!("`{word}`");
            findings.push(Finding::new(Kind::Words, path, line, wrong, format!("say {instead}")));
        }
    }
}

fn first(path: &str, line: usize, text: &str, findings: &mut Vec<Finding>) {
    let text = text.trim_start();
    let end = text.find(|sign: char| !sign.is_alphabetic()).unwrap_or(text.len());
    // A single word is a name, and questions may begin as they must.
    if text.len() == end || text.trim_end().ends_with('?') {
        return;
    }
    if let Some((word, todo)) = FIRST.iter().find(|(word, _)| *word == &text[..end]) {
        let wrong = format!("begins with `{word}`");
        findings.push(Finding::new(Kind::Words, path, line, wrong, *todo));
    }
}

/// Whether no letter, digit or sign of a name stands beside a word.
fn stands_alone(text: &str, at: usize, length: usize) -> bool {
    let is_part = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '`');
    !text[..at].ends_with(is_part) && !text[at + length..].starts_with(is_part)
}
