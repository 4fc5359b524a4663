//! `talea serve`: the server of many nodes, and who may ask it.
//!
//! Owns what is said about users and tokens, and how a password comes in: from the terminal without
//! being shown, twice, or as a line of standard input; never from the command line, which everybody
//! on a machine can read.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use talea_model::{Bytes, Nanos};
use talea_run::functions::HostFunctions;
use talea_serve::RuleFindings;
use talea_serve::access::{self, Kind, Role};

use super::{AlwaysError, jobs};
use crate::terminal::{fitted, say};

/// Options of the command.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// Address of the store.
    pub(crate) store: String,
    /// Length of the finest slices of a new store.
    pub(crate) slice: Nanos,
    /// Most bytes of it.
    pub(crate) most: Option<Bytes>,
    /// Oldest batches that are taken.
    pub(crate) oldest: Nanos,
    /// Where it listens.
    pub(crate) listen: SocketAddr,
    /// Folder of users and tokens.
    pub(crate) config: PathBuf,
    /// Certificates and key.
    pub(crate) tls: Option<(PathBuf, PathBuf)>,
    /// Listens elsewhere than on loopback without them.
    pub(crate) insecure: bool,
    /// Most connections of one address.
    pub(crate) per_address: usize,
    /// Folder of own rules.
    pub(crate) rules: Option<PathBuf>,
}

/// Change of users and tokens in a folder.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    AddUser { name: String, uid: u32, role: Role },
    RemoveUser { name: String },
    ListUsers,
    AddToken { kind: Kind, name: String },
    RemoveToken { kind: Kind, name: String },
    ListTokens,
}

/// Serves until a signal.
pub(crate) fn serve(options: &Options) -> Result<(), AlwaysError> {
    let rules = jobs::rules(options.rules.as_deref())?;
    let places = HostFunctions::for_everybody();
    talea_serve::serve(talea_serve::Options {
        store: options.store.clone(),
        slice: options.slice,
        most: options.most,
        oldest: options.oldest,
        longest: talea_serve::LONGEST_QUERY,
        memory: talea_serve::MEMORY_OF_QUERY,
        listen: options.listen,
        config: options.config.clone(),
        tls: options.tls.clone(),
        insecure: options.insecure,
        findings: Arc::new(RuleFindings::new(&options.store, rules, places.clone(), Box::new(say))),
        functions: Arc::new(places),
        connections: talea_serve::MOST_CONNECTIONS,
        connections_of_address: options.per_address,
        patience: talea_serve::Patience::default(),
        ready: Box::new(|address| say(&format!("listening on {address}"))),
    })?;
    Ok(())
}

/// Changes or lists who may ask.
pub(crate) fn change(config: &Path, change: &Change) -> Result<(), AlwaysError> {
    let text = match change {
        Change::AddUser { name, uid, role } => {
            let password = password()?;
            let changed = access::add_user(config, name, *uid, *role, &password)?;
            say(&format!("{} `{name}`", if changed { "changed" } else { "added" }));
            String::new()
        }
        Change::RemoveUser { name } => {
            if !access::remove_user(config, name)? {
                return Err(AlwaysError::Nobody(format!("user `{name}`")));
            }
            say(&format!("removed `{name}` and all tokens of it"));
            String::new()
        }
        Change::ListUsers => {
            let users = access::list_users(config)?;
            let line = |user: &access::User| {
                format!("{}\t{}\t{}\n", fitted(&user.name), user.uid, user.role.word())
            };
            users.iter().map(line).collect()
        }
        Change::AddToken { kind, name } => {
            let token = access::add_token(config, *kind, name)?;
            say("this token is shown once; nobody can read it from the server's files");
            format!("{token}\n")
        }
        Change::RemoveToken { kind, name } => {
            let count = access::remove_tokens(config, *kind, name)?;
            if count == 0 {
                return Err(AlwaysError::Nobody(format!("token of {} `{name}`", kind.word())));
            }
            say(&format!("removed {count} of {} `{name}`", kind.word()));
            String::new()
        }
        Change::ListTokens => {
            let tokens = access::list_tokens(config)?;
            let line = |token: &access::Token| {
                let name = fitted(&token.name);
                format!("{}\t{name}\t{}\n", token.kind.word(), token.mark())
            };
            tokens.iter().map(line).collect()
        }
    };
    io::stdout().write_all(text.as_bytes()).map_err(AlwaysError::Output)
}

/// A password from who sits there, or a line of standard input.
fn password() -> Result<String, AlwaysError> {
    let input = io::stdin();
    if !input.is_terminal() {
        return line();
    }
    let before = tcgetattr(&input).map_err(|error| AlwaysError::Password(error.into()))?;
    let mut hidden = before.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&input, OptionalActions::Flush, &hidden)
        .map_err(|error| AlwaysError::Password(error.into()))?;
    let both = asked("password: ").and_then(|first| Ok((first, asked("again: ")?)));
    // However it went, the terminal must show again what is typed.
    let _ = tcsetattr(&input, OptionalActions::Flush, &before);
    let (first, again) = both?;
    if first == again { Ok(first) } else { Err(AlwaysError::Passwords) }
}

fn asked(what: &str) -> Result<String, AlwaysError> {
    let mut terminal = io::stderr();
    let _ = write!(terminal, "{what}");
    let line = line();
    let _ = writeln!(terminal);
    line
}

fn line() -> Result<String, AlwaysError> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(AlwaysError::Password)?;
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}
