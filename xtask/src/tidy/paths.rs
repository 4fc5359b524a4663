//! The paths in the items of one module: imports, types, expressions, and the words in macros.
//!
//! Macros are not expanded: a path among their words counts as one. Single words are left out, as
//! an import or an item of the same module gives them. Refuses following them.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

use super::items::{attributes, is_for_tests};

/// A path as it is written, with the line it begins in.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub segments: Vec<String>,
    pub line: usize,
    /// Whether `*` follows, in an import.
    pub glob: bool,
}

/// Collects paths.
#[derive(Default)]
pub(super) struct Paths {
    pub found: Vec<Found>,
    /// Imported names and the paths that they stand for.
    pub imports: Vec<(String, Vec<String>)>,
    pub globs: Vec<Vec<String>>,
}

impl Paths {
    fn import(&mut self, tree: &syn::UseTree, before: &[String]) {
        let with = |name: &syn::Ident| -> Vec<String> {
            before.iter().cloned().chain([name.to_string()]).collect()
        };
        match tree {
            syn::UseTree::Path(part) => self.import(&part.tree, &with(&part.ident)),
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.import(tree, before));
            }
            syn::UseTree::Name(name) if name.ident == "self" => {
                let last = before.last().cloned().unwrap_or_default();
                self.leaf(last, before.to_vec(), &name.ident);
            }
            syn::UseTree::Name(name) => {
                self.leaf(name.ident.to_string(), with(&name.ident), &name.ident);
            }
            syn::UseTree::Rename(rename) => {
                let path =
                    if rename.ident == "self" { before.to_vec() } else { with(&rename.ident) };
                self.leaf(rename.rename.to_string(), path, &rename.ident);
            }
            syn::UseTree::Glob(glob) => {
                let line = glob.star_token.spans[0].start().line;
                self.globs.push(before.to_vec());
                self.found.push(Found { segments: before.to_vec(), line, glob: true });
            }
        }
    }

    fn leaf(&mut self, name: String, path: Vec<String>, at: &syn::Ident) {
        let line = at.span().start().line;
        self.found.push(Found { segments: path.clone(), line, glob: false });
        self.imports.push((name, path));
    }

    /// Words with `::` between them.
    fn words(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let is = |at: usize, sign: char| {
            let token = tokens.get(at);
            matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
        };
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Group(group) => self.words(group.stream()),
                TokenTree::Ident(first) => {
                    let mut segments = vec![first.to_string()];
                    while is(at + 1, ':') && is(at + 2, ':') {
                        let Some(TokenTree::Ident(next)) = tokens.get(at + 3) else { break };
                        segments.push(next.to_string());
                        at += 3;
                    }
                    if segments.len() > 1 {
                        let line = first.span().start().line;
                        self.found.push(Found { segments, line, glob: false });
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }
}

impl<'a> Visit<'a> for Paths {
    fn visit_item(&mut self, item: &'a syn::Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'a syn::ImplItemFn) {
        if !is_for_tests(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        if item.leading_colon.is_none() {
            self.import(&item.tree, &[]);
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        if path.leading_colon.is_none() && path.segments.len() > 1 {
            let segments = path.segments.iter().map(|part| part.ident.to_string()).collect();
            let line = path.segments[0].ident.span().start().line;
            self.found.push(Found { segments, line, glob: false });
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'a syn::Macro) {
        // The name of a macro is no word of its arguments: `print!` has no path before it.
        let line = call.path.segments[0].ident.span().start().line;
        let mut segments: Vec<String> =
            call.path.segments.iter().map(|part| part.ident.to_string()).collect();
        if let Some(last) = segments.last_mut() {
            last.push('!');
        }
        self.found.push(Found { segments, line, glob: false });
        self.words(call.tokens.clone());
    }

    // Attributes name macros and lints of other crates, never an item of this one, but for
    // functions in strings, which serde takes.
    fn visit_attribute(&mut self, attribute: &'a syn::Attribute) {
        let syn::Meta::List(list) = &attribute.meta else { return };
        self.words(list.tokens.clone());
    }
}
