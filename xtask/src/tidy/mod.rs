//! Rules of ARCHITECTURE.md and of the code's style that a program can check.
//!
//! Each check returns findings; this file prints them, and a table of their numbers beside their
//! bounds. Bounds form a ratchet: more findings than a bound are an error, and fewer are one too,
//! until the bound is lowered. Refuses changing files.

mod circles;
mod crates;
mod examples;
mod invariants;
mod items;
mod modules;
mod names;
mod paths;
mod pieces;
mod source;
#[cfg(test)]
mod tests;
mod text;
mod words;

use std::fmt::Write as _;
use std::path::Path;

use source::Checkout;

/// Findings that are left, by kind; kinds without a bound have none.
const BOUNDS: &[(Kind, usize)] = &[];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Layers,
    Examples,
    Circles,
    Columns,
    Lengths,
    Openings,
    Orphans,
    Words,
    Names,
    Invariants,
    Share,
}

/// All kinds, in the order of the table, each with what it counts.
const KINDS: [(Kind, &str); 11] = [
    (Kind::Layers, "dependencies that break the layers, and crates missing in tables"),
    (Kind::Examples, "crates whose manifest and examples disagree on doc tests"),
    (Kind::Circles, "files in circles"),
    (Kind::Columns, "lines of more than 100 columns"),
    (Kind::Lengths, "files of more than 400 lines of product code"),
    (Kind::Openings, "files that do not open with //!"),
    (Kind::Orphans, "files that no module declares"),
    (Kind::Words, "words that the rules of language exclude"),
    (Kind::Names, "functions and files with names that say nothing"),
    (Kind::Invariants, "breaks of invariants 1 and 8"),
    (Kind::Share, "the command's share of the code"),
];

/// One thing that is wrong, and what to do.
#[derive(Debug)]
struct Finding {
    kind: Kind,
    path: String,
    line: usize,
    wrong: String,
    todo: String,
}

impl Finding {
    fn new(
        kind: Kind,
        path: &str,
        line: usize,
        wrong: impl Into<String>,
        todo: impl Into<String>,
    ) -> Self {
        Self { kind, path: path.to_owned(), line, wrong: wrong.into(), todo: todo.into() }
    }
}

/// Checks the checkout at `root`, prints everything, and says whether all bounds hold.
pub(crate) fn run(root: &Path) -> Result<bool, String> {
    let checkout = Checkout::read(root)?;
    let findings = findings(&checkout)?;
    let mut text = String::new();
    for Finding { path, line, wrong, todo, .. } in &findings {
        let _ = writeln!(text, "{path}:{line}: {wrong}; {todo}");
    }
    let (table, holds) = table(&findings, BOUNDS);
    print!("{text}\n{}\n{table}", by_crate(&checkout));
    Ok(holds)
}

fn findings(checkout: &Checkout) -> Result<Vec<Finding>, String> {
    let mut findings = names::check(checkout);
    findings.extend(words::check(checkout)?);
    findings.extend(text::check(checkout));
    findings.extend(circles::check(checkout));
    findings.extend(examples::check(checkout));
    findings.extend(crates::check(checkout)?);
    findings.extend(invariants::check(checkout)?);
    findings.extend(crates::share(checkout));
    Ok(findings)
}

/// Numbers of findings beside their bounds, and whether all are as they must be.
fn table(findings: &[Finding], bounds: &[(Kind, usize)]) -> (String, bool) {
    let mut text = String::from("found  bound\n");
    let mut holds = true;
    for (kind, counted) in KINDS {
        let found = findings.iter().filter(|finding| finding.kind == kind).count();
        let bound =
            bounds.iter().find(|(bounded, _)| *bounded == kind).map_or(0, |(_, bound)| *bound);
        let todo = match found.cmp(&bound) {
            std::cmp::Ordering::Less if found == 0 => {
                ": remove the bound in xtask/src/tidy/mod.rs".to_owned()
            }
            std::cmp::Ordering::Less => {
                format!(": lower the bound to {found} in xtask/src/tidy/mod.rs")
            }
            std::cmp::Ordering::Equal => String::new(),
            std::cmp::Ordering::Greater => ": too many; each is listed above".to_owned(),
        };
        holds &= todo.is_empty();
        let _ = writeln!(text, "{found:5}  {bound:5}  {counted}{todo}");
    }
    (text, holds)
}

fn by_crate(checkout: &Checkout) -> String {
    let lines = crates::lines(checkout);
    let product: usize = lines.iter().map(|(_, lines)| lines).sum();
    let percent = |part: usize, whole: usize| part as f64 * 100.0 / whole.max(1) as f64;
    let mut text = String::from(" lines of product code\n");
    for (name, lines) in lines {
        let _ = writeln!(text, "{lines:6}  {:4.1} %  {name}", percent(lines, product));
    }
    let (own, all) = crates::command(checkout);
    let _ = writeln!(text, "{product:6}          all crates");
    let _ = writeln!(
        text,
        "{all:6}          with tests; the command is {:.1} % of them",
        percent(own, all)
    );
    text
}
