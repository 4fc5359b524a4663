//! Lines of at most 100 columns, files of at most 400 lines of product code, and how files open.
//!
//! A line may be longer where a literal lies across the last column: rustfmt does not break
//! literals. Comments and blank lines are counted as lines of code. Refuses the words in the lines.

use super::pieces::{Sort, pieces};
use super::source::{Checkout, File, Role};
use super::{Finding, Kind};

const COLUMNS: usize = 100;
const LINES: usize = 400;

pub(super) fn check(checkout: &Checkout) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &checkout.files {
        columns(file, &mut findings);
        length(file, &mut findings);
        opening(file, &mut findings);
        if file.role == Role::Orphan {
            let wrong = "no module declares this file";
            findings.push(Finding::new(
                Kind::Orphans,
                &file.path,
                1,
                wrong,
                "declare or delete it",
            ));
        }
    }
    findings
}

fn columns(file: &File, findings: &mut Vec<Finding>) {
    let pieces = pieces(&file.text);
    let literals: Vec<_> = pieces.iter().filter(|piece| piece.sort == Sort::Literal).collect();
    for (index, text) in file.text.lines().enumerate() {
        let line = index + 1;
        let width = text.chars().count();
        if width <= COLUMNS {
            continue;
        }
        let lies_across = literals.iter().any(|piece| {
            let begins = (piece.lines.0, piece.columns.0) < (line, COLUMNS);
            begins && (piece.lines.1, piece.columns.1) >= (line, COLUMNS)
        });
        if !lies_across {
            let wrong = format!("{width} columns");
            let todo = format!("break it at {COLUMNS}");
            findings.push(Finding::new(Kind::Columns, &file.path, line, wrong, todo));
        }
    }
}

fn length(file: &File, findings: &mut Vec<Finding>) {
    let lines = file.product_lines();
    if lines > LINES {
        let wrong = format!("{lines} lines of product code");
        let todo = format!("divide it into files of at most {LINES} by what its parts do");
        findings.push(Finding::new(Kind::Lengths, &file.path, 1, wrong, todo));
    }
}

fn opening(file: &File, findings: &mut Vec<Finding>) {
    if !file.text.starts_with("//!") {
        let wrong = "does not open with `//!`";
        let todo = "say in 3 to 8 lines what it owns and what it refuses";
        findings.push(Finding::new(Kind::Openings, &file.path, 1, wrong, todo));
    }
}
