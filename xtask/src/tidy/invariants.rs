//! Invariants of ARCHITECTURE.md that a program can check.
//!
//! The first one names the crates that never do I/O; the eighth the places of unsafe code. Both
//! lists are read from the page. Paths are compared as they are written, with imports spelled out.

use super::pieces::pieces;
use super::source::{Checkout, File, Role};
use super::{Finding, Kind};

const PAGE: &str = "ARCHITECTURE.md";

/// Paths of I/O, clocks and threads, and the macros that print.
const OUTSIDE: &[&[&str]] = &[
    &["std", "fs"],
    &["std", "net"],
    &["std", "process"],
    &["std", "env"],
    &["std", "time", "Instant", "now"],
    &["std", "time", "SystemTime", "now"],
    &["std", "thread", "spawn"],
    &["std", "thread", "scope"],
    &["std", "io", "stdout"],
    &["std", "io", "stderr"],
    &["std", "io", "stdin"],
    &["talea_model", "Nanos", "now"],
    &["println!"],
    &["print!"],
    &["eprintln!"],
    &["eprint!"],
    &["dbg!"],
];

pub(super) fn check(checkout: &Checkout) -> Result<Vec<Finding>, String> {
    let page = checkout.document(PAGE)?;
    let mut findings = Vec::new();
    outside(checkout, &names(&page, 1)?, &mut findings);
    unsafe_code(checkout, &names(&page, 8)?, &mut findings);
    Ok(findings)
}

/// Names in backticks in the first sentence of an invariant.
fn names(page: &str, number: usize) -> Result<Vec<&str>, String> {
    let begin = format!("{number}. ");
    let text = page
        .lines()
        .skip_while(|line| *line != "## Invariants")
        .find(|line| line.starts_with(&begin))
        .ok_or_else(|| format!("{PAGE}: no invariant {number}; write it on one line"))?;
    let text = text.split([';', '.']).nth(1).unwrap_or(text);
    let text = text.split(" never ").next().unwrap_or(text);
    Ok(text.split('`').skip(1).step_by(2).collect())
}

fn outside(checkout: &Checkout, crates: &[&str], findings: &mut Vec<Finding>) {
    for member in checkout.members.iter().filter(|member| crates.contains(&member.name.as_str())) {
        for module in member.trees.iter().flat_map(|tree| &tree.modules) {
            for found in &module.found {
                let path = module.spelled_out(&found.segments);
                let begins = |outside: &[&str]| {
                    path.len() >= outside.len() && path.iter().zip(outside).all(|(a, b)| a == b)
                };
                if OUTSIDE.iter().any(|outside| begins(outside)) {
                    let wrong = format!("`{}` in a crate of invariant 1", path.join("::"));
                    let todo = "let the caller do it and pass the result";
                    let file = &checkout.files[module.file].path;
                    findings.push(Finding::new(Kind::Invariants, file, found.line, wrong, todo));
                }
            }
        }
    }
}

fn unsafe_code(checkout: &Checkout, places: &[&str], findings: &mut Vec<Finding>) {
    for (number, member) in checkout.members.iter().enumerate() {
        if !member.is_crate() {
            continue;
        }
        for module in member.trees.iter().flat_map(|tree| &tree.modules) {
            let own: Vec<&str> = std::iter::once(member.name.as_str())
                .chain(module.path.iter().map(String::as_str))
                .collect();
            let allowed = places.iter().any(|place| {
                let place: Vec<&str> = place.split("::").collect();
                // The last word of a place may be a function of the module.
                own.starts_with(&place) || place.len() > 2 && place[..place.len() - 1] == own
            });
            let file = &checkout.files[module.file];
            debug_assert_eq!(file.member, number);
            if !allowed && file.role == Role::Product {
                findings.extend(unsafe_lines(file).into_iter().map(|line| {
                    let wrong = "unsafe code outside the places of invariant 8";
                    let todo = "move it to one of them, or write it without `unsafe`";
                    Finding::new(Kind::Invariants, &file.path, line, wrong, todo)
                }));
            }
        }
    }
}

/// Lines of product code with the word `unsafe` outside comments and literals.
fn unsafe_lines(file: &File) -> Vec<usize> {
    let pieces = pieces(&file.text);
    let mut lines = Vec::new();
    for (index, text) in file.text.lines().enumerate() {
        let line = index + 1;
        if !file.has_product_at(line) {
            continue;
        }
        let found = text.match_indices("unsafe").any(|(at, word)| {
            let column = text[..at].chars().count();
            let beside = |sign: char| sign.is_alphanumeric() || matches!(sign, '_');
            let alone =
                !text[..at].ends_with(beside) && !text[at + word.len()..].starts_with(beside);
            alone
                && !pieces.iter().any(|piece| {
                    (piece.lines.0, piece.columns.0) <= (line, column)
                        && (line, column) < (piece.lines.1, piece.columns.1)
                })
        });
        if found {
            lines.push(line);
        }
    }
    lines
}
