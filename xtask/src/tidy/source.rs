//! The checkout as the checks see it: members of the workspace, their files, their module trees.
//!
//! Owns what counts as product code: files that `src/lib.rs`, `src/main.rs` or a program of
//! `src/bin` reach by `mod`, without items that have `#[cfg(test)]`. Comments and blank lines of
//! these files count as lines of code, because readers have to read past them too. Refuses judging.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::modules::{Module, Tree};

/// One package of the workspace.
pub(super) struct Member {
    /// Name of its folder: `mpi` of `crates/record/mpi`.
    pub name: String,
    /// Relative to the top of the checkout, with `/`.
    pub folder: String,
    pub manifest: toml::Table,
    /// One for the library and one for each program.
    pub trees: Vec<Tree>,
}

impl Member {
    /// Whether it lies in `crates/`, as everything that users get does.
    pub(super) fn is_crate(&self) -> bool {
        self.folder.starts_with("crates/")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Part of a library or program.
    Product,
    /// A test, an example, a build script.
    Aside,
    /// In `src`, but no module declares it.
    Orphan,
}

pub(super) struct File {
    /// Relative to the top of the checkout, with `/`.
    pub path: String,
    pub text: String,
    pub role: Role,
    /// Index of the member.
    pub member: usize,
    /// First and last line of each item with `#[cfg(test)]`, counted from 1.
    pub tests: Vec<(usize, usize)>,
}

impl File {
    /// Whether a line of this file is product code.
    pub(super) fn has_product_at(&self, line: usize) -> bool {
        self.role == Role::Product
            && !self.tests.iter().any(|&(first, last)| (first..=last).contains(&line))
    }

    /// Lines of product code, comments and blank lines included.
    pub(super) fn product_lines(&self) -> usize {
        (1..=self.text.lines().count()).filter(|&line| self.has_product_at(line)).count()
    }
}

pub(super) struct Checkout {
    pub root: PathBuf,
    pub members: Vec<Member>,
    pub files: Vec<File>,
}

impl Checkout {
    /// Reads all members and their files.
    pub(super) fn read(root: &Path) -> Result<Self, String> {
        let manifest = read_manifest(&root.join("Cargo.toml"))?;
        let mut checkout = Self { root: root.to_owned(), members: Vec::new(), files: Vec::new() };
        for folder in member_folders(root, &manifest)? {
            checkout.add_member(&folder)?;
        }
        Ok(checkout)
    }

    /// Text of a document, by its path from the top.
    pub(super) fn document(&self, path: &str) -> Result<String, String> {
        read(&self.root.join(path))
    }

    fn add_member(&mut self, folder: &str) -> Result<(), String> {
        let top = self.root.join(folder);
        let manifest = read_manifest(&top.join("Cargo.toml"))?;
        let mut paths = Vec::new();
        collect(&top, &mut paths)?;
        paths.sort();
        let member = self.members.len();
        let mut parsed = BTreeMap::new();
        for path in paths {
            let text = read(&path)?;
            let relative = relative_to(&self.root, &path);
            let syntax = syn::parse_file(&text).map_err(|error| {
                format!("{relative}:{}: {error}; run cargo check", error.span().start().line)
            })?;
            parsed.insert(path, (self.files.len(), syntax));
            let role = Role::Aside;
            self.files.push(File { path: relative, text, role, member, tests: Vec::new() });
        }
        let mut trees = Vec::new();
        let mut reached = BTreeSet::new();
        for start in starts(&top) {
            let tree = Tree::grow(&start, &parsed)?;
            for module in &tree.modules {
                reached.insert(module.file);
                mark(&mut self.files, module);
            }
            reached.extend(tree.tests.iter().copied());
            trees.push(tree);
        }
        for (path, (file, _)) in &parsed {
            if path.starts_with(top.join("src")) && !reached.contains(file) {
                self.files[*file].role = Role::Orphan;
            }
        }
        let name = folder.rsplit('/').next().unwrap_or(folder).to_owned();
        self.members.push(Member { name, folder: folder.to_owned(), manifest, trees });
        Ok(())
    }
}

/// Notes that a module's file is product code, but for its tests.
fn mark(files: &mut [File], module: &Module) {
    let file = &mut files[module.file];
    file.role = Role::Product;
    file.tests.extend(&module.tests);
}

/// Roots of a package's libraries and programs.
fn starts(top: &Path) -> Vec<PathBuf> {
    let source = top.join("src");
    let mut starts = vec![source.join("lib.rs"), source.join("main.rs")];
    if let Ok(entries) = std::fs::read_dir(source.join("bin")) {
        starts.extend(entries.flatten().map(|entry| entry.path()));
    }
    starts.retain(|path| path.is_file() && path.extension().is_some_and(|end| end == "rs"));
    starts.sort();
    starts
}

/// Folders that `members` of the workspace names, `crates/record/*` included.
fn member_folders(root: &Path, manifest: &toml::Table) -> Result<Vec<String>, String> {
    let members = manifest
        .get("workspace")
        .and_then(|workspace| workspace.get("members"))
        .and_then(toml::Value::as_array)
        .ok_or("Cargo.toml: no workspace.members; run this from the top of the checkout")?;
    let mut folders = Vec::new();
    for member in members.iter().filter_map(toml::Value::as_str) {
        let Some(parent) = member.strip_suffix("/*") else {
            folders.push(member.to_owned());
            continue;
        };
        let entries = std::fs::read_dir(root.join(parent))
            .map_err(|error| format!("{error}: `{parent}`, of workspace.members"))?;
        let mut below: Vec<String> = entries
            .flatten()
            .filter(|entry| entry.path().join("Cargo.toml").is_file())
            .map(|entry| relative_to(root, &entry.path()))
            .collect();
        below.sort();
        folders.extend(below);
    }
    Ok(folders)
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries =
        std::fs::read_dir(folder).map_err(|error| format!("{error}: `{}`", folder.display()))?;
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            if entry.file_name() != "target" {
                collect(&path, into)?;
            }
        } else if path.extension().is_some_and(|end| end == "rs") {
            into.push(path);
        }
    }
    Ok(())
}

fn read_manifest(path: &Path) -> Result<toml::Table, String> {
    read(path)?.parse().map_err(|error| format!("{error}: `{}`", path.display()))
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{error}: `{}`", path.display()))
}

fn relative_to(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
}
