//! Layers of crates, the table of crates, and lines of product code by crate.
//!
//! ARCHITECTURE.md states both: the line "Layers, lowest first" and the table under "Crates". What
//! is checked is read from there, so that page and imports cannot differ. Dependencies of tests are
//! free.

use std::collections::BTreeMap;

use super::source::{Checkout, File, Member};
use super::{Finding, Kind};

const PAGE: &str = "ARCHITECTURE.md";
const LAYERS: &str = "Layers, lowest first: ";
/// Shared by tests: in no layer, because no product may depend on it.
const TESTING: &str = "testing";
/// The command, and how much of the code it may be, in percent.
const COMMAND: (&str, usize) = ("talea", 7);

pub(super) fn check(checkout: &Checkout) -> Result<Vec<Finding>, String> {
    let page = checkout.document(PAGE)?;
    let (line, layers) = layers(&page)?;
    let mut findings = Vec::new();
    let crates: Vec<&Member> = checkout.members.iter().filter(|member| member.is_crate()).collect();
    for member in &crates {
        dependencies(member, &layers, &mut findings);
        if member.name != TESTING && !layers.contains_key(member.name.as_str()) {
            let wrong = format!("`{}` is in no layer", member.name);
            let todo = "add it to the line of layers";
            findings.push(Finding::new(Kind::Layers, PAGE, line, wrong, todo));
        }
    }
    for name in layers.keys().filter(|name| !crates.iter().any(|member| member.name == **name)) {
        let wrong = format!("layer with `{name}`, which is no crate");
        findings.push(Finding::new(Kind::Layers, PAGE, line, wrong, "take it out"));
    }
    table(&page, &crates, &mut findings);
    Ok(findings)
}

/// The line of the layers, and the layer of each crate.
fn layers(page: &str) -> Result<(usize, BTreeMap<&str, usize>), String> {
    let (index, text) = page
        .lines()
        .enumerate()
        .find_map(|(index, line)| Some((index, line.strip_prefix(LAYERS)?)))
        .ok_or_else(|| format!("{PAGE}: no line begins with `{LAYERS}`; write it"))?;
    let text = text.split('.').next().unwrap_or(text);
    let mut layers = BTreeMap::new();
    for (height, names) in text.split('·').enumerate() {
        layers.extend(names.split_whitespace().map(|name| (name, height)));
    }
    Ok((index + 1, layers))
}

fn dependencies(member: &Member, layers: &BTreeMap<&str, usize>, findings: &mut Vec<Finding>) {
    let path = format!("{}/Cargo.toml", member.folder);
    let own = layers.get(member.name.as_str());
    for package in packages(&member.manifest) {
        let Some(name) = package.strip_prefix("talea-") else { continue };
        if name == TESTING {
            let wrong = format!("depends on `{package}`, which is for tests");
            let todo = "move it to dev-dependencies";
            findings.push(Finding::new(Kind::Layers, &path, 1, wrong, todo));
        } else if let (Some(own), Some(other)) = (own, layers.get(name))
            && other >= own
        {
            let wrong = format!("depends on `{package}`, which is not in a lower layer");
            let todo = format!("move what both need down, or change the layers in {PAGE}");
            findings.push(Finding::new(Kind::Layers, &path, 1, wrong, todo));
        }
    }
}

/// Packages of `[dependencies]`, `[build-dependencies]` and those of targets.
fn packages(manifest: &toml::Table) -> Vec<&str> {
    let mut tables = vec![manifest];
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    tables.extend(
        targets.into_iter().flat_map(toml::Table::values).filter_map(toml::Value::as_table),
    );
    let mut packages = Vec::new();
    for table in tables {
        for kind in ["dependencies", "build-dependencies"] {
            let entries = table.get(kind).and_then(toml::Value::as_table);
            packages.extend(entries.into_iter().flat_map(toml::Table::keys).map(String::as_str));
        }
    }
    packages
}

/// The table of crates has each crate's folder, and no other.
fn table(page: &str, crates: &[&Member], findings: &mut Vec<Finding>) {
    let mut rows = BTreeMap::new();
    let mut inside = false;
    for (index, line) in page.lines().enumerate() {
        inside = if line.starts_with("## ") { line == "## Crates" } else { inside };
        let cell = line.strip_prefix("| `").and_then(|rest| rest.split_once('`'));
        if let (true, Some((folder, _))) = (inside, cell) {
            rows.insert(format!("crates/{folder}"), index + 1);
        }
    }
    for member in crates.iter().filter(|member| !rows.contains_key(&member.folder)) {
        let wrong = format!("`{}` is not in the table of crates", member.folder);
        findings.push(Finding::new(Kind::Layers, PAGE, 1, wrong, "add a row for it"));
    }
    for (folder, line) in rows {
        if !crates.iter().any(|member| member.folder == folder) {
            let wrong = format!("row of `{folder}`, which is no crate");
            findings.push(Finding::new(Kind::Layers, PAGE, line, wrong, "take it out"));
        }
    }
}

/// Lines of product code by crate, largest first; what only tests use is no product.
pub(super) fn lines(checkout: &Checkout) -> Vec<(&str, usize)> {
    let mut lines: Vec<(&str, usize)> = Vec::new();
    for (number, member) in checkout.members.iter().enumerate() {
        if member.is_crate() && member.name != TESTING {
            let files = checkout.files.iter().filter(|file| file.member == number);
            lines.push((&member.name, files.map(File::product_lines).sum()));
        }
    }
    lines.sort_by_key(|(name, lines)| (std::cmp::Reverse(*lines), *name));
    lines
}

/// The command's product code is a small part of all lines of Rust in `crates/`, tests included.
pub(super) fn share(checkout: &Checkout) -> Option<Finding> {
    let (own, all) = command(checkout);
    (own * 100 >= all * COMMAND.1).then(|| {
        let wrong = format!("{own} of {all} lines, {} % or more", COMMAND.1);
        let todo = "move what another program could want to a library";
        Finding::new(Kind::Share, "crates/show/talea", 1, wrong, todo)
    })
}

/// Lines of the command's product code, and lines of Rust in `crates/`.
pub(super) fn command(checkout: &Checkout) -> (usize, usize) {
    let lines = lines(checkout);
    let own = lines.iter().find(|(name, _)| *name == COMMAND.0).map_or(0, |(_, lines)| *lines);
    let is_crate = |file: &&File| checkout.members[file.member].is_crate();
    let all = checkout.files.iter().filter(is_crate).map(|file| file.text.lines().count()).sum();
    (own, all)
}
