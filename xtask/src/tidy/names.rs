//! Names of functions and files that say nothing of what they return or hold.
//!
//! Both stand in lists, with the rule. Refuses judging other names: whether a name fits is for
//! readers to say.

use std::path::Path;

use super::pieces::pieces;
use super::source::{Checkout, File, Role};
use super::{Finding, Kind};

/// Names of functions that other modules see.
const FUNCTIONS: &[&str] = &["of", "told", "shown", "said", "asked", "ruled", "seen"];

/// Files and folders that are named by a participle.
const FILES: &[&str] = &[
    "aside", "asked", "finished", "given", "gone", "held", "kept", "killed", "left", "made",
    "marked", "pinged", "recent", "refused", "ruled", "said", "seen", "shown", "told", "watched",
    "written",
];

pub(super) fn check(checkout: &Checkout) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in checkout.files.iter().filter(|file| file.role == Role::Product) {
        functions(file, &mut findings);
        let stem = file.path.strip_suffix(".rs").unwrap_or(&file.path);
        let parts = Path::new(stem).iter().filter_map(|part| part.to_str());
        for part in parts.filter(|part| FILES.contains(part)) {
            let wrong = format!("a file or folder named `{part}`");
            let todo = "name it for the thing inside (`query.rs`, not `asked.rs`)";
            findings.push(Finding::new(Kind::Names, &file.path, 1, wrong, todo));
        }
    }
    findings
}

fn functions(file: &File, findings: &mut Vec<Finding>) {
    let pieces = pieces(&file.text);
    for (index, text) in file.text.lines().enumerate() {
        let line = index + 1;
        let inside = pieces.iter().any(|piece| piece.lines.0 < line && line <= piece.lines.1);
        if inside || !file.has_product_at(line) {
            continue;
        }
        if let Some(name) = public_function(text).filter(|name| FUNCTIONS.contains(name)) {
            let wrong = format!("a public function named `{name}`");
            let todo = "name it for what it returns or does (`parse_interval`)";
            findings.push(Finding::new(Kind::Names, &file.path, line, wrong, todo));
        }
    }
}

/// The name in `pub(...) const unsafe fn name`.
fn public_function(line: &str) -> Option<&str> {
    let mut rest = line.trim_start().strip_prefix("pub")?;
    if let Some(inner) = rest.strip_prefix('(') {
        rest = inner.split_once(')')?.1;
    }
    let (qualifiers, rest) = rest.split_once("fn ")?;
    let known = |word| matches!(word, "const" | "unsafe" | "async" | "extern" | "\"C\"");
    if !qualifiers.split_whitespace().all(known) {
        return None;
    }
    rest.split(|sign: char| !sign.is_alphanumeric() && sign != '_').next()
}
