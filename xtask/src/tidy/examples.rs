//! Doc tests run exactly where there are examples.
//!
//! rustdoc compiles a whole crate to find that it has no example, so that manifests of such crates
//! have `doctest = false`. A crate with an example must not have it, or the example is never run.

use super::source::{Checkout, File, Member, Role};
use super::{Finding, Kind};

/// Words after the fence of a block of Rust.
const RUST: &[&str] = &["", "rust", "no_run", "should_panic", "compile_fail", "ignore"];

pub(super) fn check(checkout: &Checkout) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, member) in checkout.members.iter().enumerate() {
        let own = |file: &&File| file.member == number && file.role == Role::Product;
        let files: Vec<&File> = checkout.files.iter().filter(own).collect();
        let library = format!("{}/src/lib.rs", member.folder);
        if !files.iter().any(|file| file.path == library) {
            continue;
        }
        let example = files.iter().find_map(|file| Some((&file.path, first_example(&file.text)?)));
        let manifest = format!("{}/Cargo.toml", member.folder);
        match (example, is_tested(member)) {
            (Some((path, line)), false) => {
                let wrong =
                    format!("an example that is never run, by `doctest = false` of {manifest}");
                findings.push(Finding::new(Kind::Examples, path, line, wrong, "remove that line"));
            }
            (None, true) => {
                let wrong = "doc tests are on, and no file has an example";
                let todo = "write `doctest = false` under [lib]";
                findings.push(Finding::new(Kind::Examples, &manifest, 1, wrong, todo));
            }
            _ => {}
        }
    }
    findings
}

/// True unless the manifest turns doc tests off.
fn is_tested(member: &Member) -> bool {
    let library = member.manifest.get("lib").and_then(toml::Value::as_table);
    library.and_then(|lib| lib.get("doctest")).and_then(toml::Value::as_bool).unwrap_or(true)
}

/// Line of the first block of Rust in comments of documentation, counted from 1.
fn first_example(text: &str) -> Option<usize> {
    let mut inside = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let text = line.strip_prefix("//!").or_else(|| line.strip_prefix("///"));
        let Some(language) = text.and_then(|text| text.trim_start().strip_prefix("```")) else {
            continue;
        };
        inside = !inside;
        let mut words = language.split(',').map(str::trim);
        if inside && words.all(|word| RUST.contains(&word)) {
            return Some(index + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_other_languages_are_no_examples() {
        let text = "//! ```text\n//! a\n//! ```\n/// ```c\n/// ```\n// ```\nlet a = \"```\";\n";
        assert_eq!(first_example(text), None);
        for begin in ["//! ```", "    /// ```no_run", "/// ```rust,no_run"] {
            assert_eq!(first_example(&format!("{text}{begin}\n")), Some(8), "{begin}");
        }
    }
}
