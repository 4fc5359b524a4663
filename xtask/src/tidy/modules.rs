//! The modules of one library or program, and the file that defines the item of a path.
//!
//! Follows `mod`, `#[path]`, imports, re-exports and globs as the language does, as far as names in
//! the source allow. Names that macros define count as items of the module that they are looked for
//! in. Refuses types: a method call names no module, so none is looked for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::visit::Visit;

use super::items::{attributes, is_for_tests, lines, name_of};
use super::paths::{Found, Paths};

/// Files of a package by path: their numbers and syntax.
pub(super) type Parsed = BTreeMap<PathBuf, (usize, syn::File)>;

/// Imports that lead in a circle, or to one another forever, end here.
const DEEPEST: usize = 24;

pub(super) struct Module {
    /// Number of the file that its text is in.
    pub file: usize,
    pub parent: Option<usize>,
    /// From the crate's root: `["sites", "known"]`.
    pub path: Vec<String>,
    /// Paths in it, inline modules not included.
    pub found: Vec<Found>,
    /// Lines of items with `#[cfg(test)]`.
    pub tests: Vec<(usize, usize)>,
    children: BTreeMap<String, usize>,
    items: BTreeSet<String>,
    imports: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
}

/// Where a path leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Module(usize),
    /// An item, defined in the module of this number.
    Item(usize),
}

pub(super) struct Tree {
    /// The first one is the root.
    pub modules: Vec<Module>,
    /// Files of modules with `#[cfg(test)]`.
    pub tests: BTreeSet<usize>,
}

impl Tree {
    /// Follows `mod` from a root.
    pub(super) fn grow(root: &Path, parsed: &Parsed) -> Result<Self, String> {
        let mut tree = Self { modules: Vec::new(), tests: BTreeSet::new() };
        let (file, syntax) = &parsed[root];
        let folder = root.parent().unwrap_or(root).to_owned();
        let folders = Folders { own: folder.clone(), below: folder };
        tree.add(None, &[], *file, &syntax.items, &folders, parsed)?;
        Ok(tree)
    }

    fn add(
        &mut self,
        parent: Option<usize>,
        path: &[String],
        file: usize,
        items: &[syn::Item],
        folders: &Folders,
        parsed: &Parsed,
    ) -> Result<usize, String> {
        let number = self.modules.len();
        self.modules.push(Module::new(file, parent, path));
        let mut paths = Paths::default();
        for item in items {
            if is_for_tests(attributes(item)) {
                self.modules[number].tests.push(lines(item));
                if let syn::Item::Mod(module) = item
                    && module.content.is_none()
                {
                    self.add_test(module, folders, parsed);
                }
                continue;
            }
            if let syn::Item::Mod(module) = item {
                let name = module.ident.to_string();
                let below: Vec<String> = path.iter().cloned().chain([name.clone()]).collect();
                if written_path(&module.attrs).is_some_and(|written| written.starts_with("../")) {
                    // A file of another package, which has it among its own.
                    continue;
                }
                let child = if let Some((_, inner)) = &module.content {
                    let folder = folders.below.join(&name);
                    let folders = Folders { own: folder.clone(), below: folder };
                    self.add(Some(number), &below, file, inner, &folders, parsed)?
                } else {
                    let (file, folders) = locate(module, folders, parsed)
                        .ok_or_else(|| format!("module without a file: `{}`", below.join("::")))?;
                    let syntax = &parsed[&file].1;
                    self.add(
                        Some(number),
                        &below,
                        parsed[&file].0,
                        &syntax.items,
                        &folders,
                        parsed,
                    )?
                };
                self.modules[number].children.insert(name, child);
                continue;
            }
            if let Some(name) = name_of(item) {
                self.modules[number].items.insert(name);
            }
            paths.visit_item(item);
        }
        let module = &mut self.modules[number];
        for (name, path) in paths.imports {
            module.imports.entry(name).or_insert(path);
        }
        module.globs = paths.globs;
        module.found = paths.found;
        Ok(number)
    }

    /// A module of tests in files of its own, with all modules below it.
    fn add_test(&mut self, module: &syn::ItemMod, folders: &Folders, parsed: &Parsed) {
        let Some((path, folders)) = locate(module, folders, parsed) else { return };
        let (file, syntax) = &parsed[&path];
        if !self.tests.insert(*file) {
            return;
        }
        for item in &syntax.items {
            if let syn::Item::Mod(module) = item
                && module.content.is_none()
            {
                self.add_test(module, &folders, parsed);
            }
        }
    }

    /// Where a path in a module leads, if it stays in the crate.
    pub(super) fn resolve(&self, module: usize, path: &[String]) -> Option<Place> {
        self.follow(module, path, 0)
    }

    fn follow(&self, module: usize, path: &[String], depth: usize) -> Option<Place> {
        if depth > DEEPEST {
            return None;
        }
        let (first, mut rest) = path.split_first()?;
        let mut place = match first.as_str() {
            "crate" | "$crate" => Place::Module(0),
            "self" => Place::Module(module),
            "super" => Place::Module(self.modules[module].parent?),
            name => self.step(module, name, depth)?,
        };
        while let (Place::Module(at), Some((name, others))) = (place, rest.split_first()) {
            rest = others;
            place = match name.as_str() {
                "super" => Place::Module(self.modules[at].parent?),
                "self" => place,
                // Items that macros define have no names here: they are taken for the module's own.
                name => self.step(at, name, depth).unwrap_or(Place::Item(at)),
            };
        }
        Some(place)
    }

    /// The place that a name stands for in a module.
    fn step(&self, module: usize, name: &str, depth: usize) -> Option<Place> {
        let here = &self.modules[module];
        if let Some(child) = here.children.get(name) {
            return Some(Place::Module(*child));
        }
        if here.items.contains(name) {
            return Some(Place::Item(module));
        }
        if let Some(path) = here.imports.get(name) {
            // `use name::name` and `use name;` of another crate would look for themselves.
            let outside = path.first().is_some_and(|first| first == name);
            return if outside { None } else { self.follow(module, path, depth + 1) };
        }
        here.globs.iter().find_map(|glob| {
            let Place::Module(from) = self.follow(module, glob, depth + 1)? else { return None };
            if depth > DEEPEST { None } else { self.step(from, name, depth + 1) }
        })
    }
}

impl Module {
    fn new(file: usize, parent: Option<usize>, path: &[String]) -> Self {
        Self {
            file,
            parent,
            path: path.to_vec(),
            found: Vec::new(),
            tests: Vec::new(),
            children: BTreeMap::new(),
            items: BTreeSet::new(),
            imports: BTreeMap::new(),
            globs: Vec::new(),
        }
    }

    /// The whole path that a written one stands for, if its first word is imported here.
    pub(super) fn spelled_out(&self, path: &[String]) -> Vec<String> {
        match self.imports.get(&path[0]) {
            Some(import) => import.iter().chain(&path[1..]).cloned().collect(),
            None => path.to_vec(),
        }
    }
}

/// Where files of modules below one are looked for.
struct Folders {
    /// Of the file itself, which `#[path]` starts from.
    own: PathBuf,
    /// Of the modules below.
    below: PathBuf,
}

/// The file of a module without a body, and the folders of that file.
fn locate(module: &syn::ItemMod, folders: &Folders, parsed: &Parsed) -> Option<(PathBuf, Folders)> {
    let name = module.ident.to_string();
    if let Some(written) = written_path(&module.attrs) {
        let path = folders.own.join(written);
        let own = path.parent()?.to_owned();
        return parsed
            .contains_key(&path)
            .then(|| (path, Folders { own: own.clone(), below: own }));
    }
    let below = folders.below.join(&name);
    let flat = folders.below.join(format!("{name}.rs"));
    if parsed.contains_key(&flat) {
        return Some((flat, Folders { own: folders.below.clone(), below }));
    }
    let nested = below.join("mod.rs");
    parsed.contains_key(&nested).then(|| (nested, Folders { own: below.clone(), below }))
}

fn written_path(attributes: &[syn::Attribute]) -> Option<String> {
    attributes.iter().find(|attribute| attribute.path().is_ident("path")).and_then(|attribute| {
        let syn::Meta::NameValue(pair) = &attribute.meta else { return None };
        let syn::Expr::Lit(literal) = &pair.value else { return None };
        let syn::Lit::Str(text) = &literal.lit else { return None };
        Some(text.value())
    })
}
