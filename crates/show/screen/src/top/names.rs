//! Names of functions and users on the screen, each looked up once.
//!
//! Owns the bound on remembered names. Functions are those of this host's files and kernel.

use std::collections::{BTreeMap, HashMap};

use talea_model::Module;
use talea_run::functions::Functions;
use talea_store::Value;

use super::rows::Naming;

/// Maximum number of names of functions that are kept.
const MOST_NAMES: usize = 100_000;

/// Functions and users by name, each looked up once.
pub(super) struct Names {
    functions: Option<Functions>,
    known: HashMap<(Option<Module>, Option<u64>), String>,
    users: BTreeMap<u64, String>,
}

impl Names {
    /// Users by `/etc/passwd`.
    pub(super) fn new() -> Self {
        let text = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        Self { functions: None, known: HashMap::new(), users: of_passwd(&text) }
    }
}

impl Naming for Names {
    fn function(&mut self, value: &Value) -> String {
        let Value::Function { module, address } = value else { return String::new() };
        let key = (module.clone(), *address);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let name =
            self.functions.get_or_insert_with(Functions::new).name(module.as_ref(), *address);
        let file = module.as_ref().and_then(|module| module.path.rsplit('/').next());
        let name = file.map_or_else(|| name.clone(), |file| format!("{name}  {file}"));
        if self.known.len() >= MOST_NAMES {
            self.known.clear();
        }
        self.known.insert(key, name.clone());
        name
    }

    fn user(&self, user: u64) -> String {
        self.users.get(&user).map_or_else(|| user.to_string(), |name| format!("{user} {name}"))
    }
}

/// Names of users by number; passwd(5).
pub(super) fn of_passwd(text: &str) -> BTreeMap<u64, String> {
    let user = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next()?.to_owned();
        Some((fields.nth(1)?.parse().ok()?, name))
    };
    text.lines().filter_map(user).collect()
}
