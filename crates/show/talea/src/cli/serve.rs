//! The command line of `talea serve`.

// Doc comments of fields are help texts, which know no markup.
#![allow(clippy::doc_markdown)]

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use talea_model::{Bytes, Nanos};
use talea_serve::access::{Kind, Role};
use talea_serve::{MOST_CONNECTIONS, MOST_OF_ADDRESS};

use super::values;
use crate::always::{ServeChange, ServeOptions};

/// Serve many nodes: take batches of their agents, answer browsers, scripts and Grafana
#[derive(Debug, Args)]
#[command(subcommand_negates_reqs = true)]
#[command(long_about = "\
Serve many nodes: take batches of their agents, answer browsers, scripts and Grafana.

Users see their own jobs and processes, operators everything. Both log in with a password, or with a token; each node sends with a token of its own.")]
#[command(after_long_help = "\
Examples:
  talea serve user add anna --uid 1000                  asks for a password
  talea serve user add root --uid 0 --operator          sees everything
  (umask 077; talea serve token add node n001 > n001.token)      for the agent of node n001
  talea serve --store sqlite:/var/lib/talea/site.db --listen 0.0.0.0:8090 \\
              --tls-cert cert.pem --tls-key key.pem
  talea agent --store https://server:8090 --token-file /etc/talea/token     on each node

Without TLS others can read passwords and tokens on the way: then it listens on loopback only,
behind a proxy that has TLS, unless --insecure is given. SIGHUP reads the certificates again; users
and tokens are read again when their files change. SIGTERM and SIGINT end it after what is under
way. docs/server.md has the routes.")]
pub(super) struct ServeArgs {
    /// Where batches are kept: sqlite:PATH or prometheus:http://HOST:PORT[/PREFIX]
    #[arg(long, value_name = "STORE", required = true)]
    store: Option<String>,
    /// Address and port to listen on; port 0 is any free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8090")]
    listen: SocketAddr,
    /// Certificates in PEM, the server's own first
    #[arg(long, value_name = "FILE", requires = "tls_key", value_hint = ValueHint::FilePath)]
    tls_cert: Option<PathBuf>,
    /// Its key in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert", value_hint = ValueHint::FilePath)]
    tls_key: Option<PathBuf>,
    /// Listen on other addresses than 127.0.0.0/8 without TLS
    #[arg(long)]
    insecure: bool,
    /// Maximum number of connections of one address; raise it behind a proxy
    #[arg(long, value_name = "N", value_parser = per_address, default_value_t = MOST_OF_ADDRESS)]
    per_address: usize,
    /// Length of the finest slices of a new store; 0s keeps batches
    #[arg(long, value_name = "TIME", value_parser = values::time, default_value = "1min")]
    slice: Nanos,
    /// Maximum size of the store: 1M to 1024T; agents keep the rest
    #[arg(long, value_name = "SIZE", value_parser = values::large)]
    most: Option<Bytes>,
    /// Oldest batches that are taken
    #[arg(long, value_name = "TIME", value_parser = values::step, default_value = "90d")]
    oldest: Nanos,
    /// Folder of own rules, beside the built-in ones
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    rules: Option<PathBuf>,
    /// Folder of the files users and tokens
    #[arg(long, value_name = "DIR", global = true, default_value = "/etc/talea")]
    #[arg(value_hint = ValueHint::DirPath)]
    config: PathBuf,
    #[command(subcommand)]
    change: Option<What>,
}

fn per_address(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|n| (1..=MOST_CONNECTIONS).contains(n));
    number.ok_or_else(|| format!("expected a number from 1 to {MOST_CONNECTIONS}"))
}

#[derive(Debug, Subcommand)]
enum What {
    /// Users who may log in
    #[command(subcommand)]
    User(Users),
    /// Secrets of nodes and scripts
    #[command(subcommand)]
    Token(Tokens),
}

#[derive(Debug, Subcommand)]
enum Users {
    /// Add or change a user; reads the password from the terminal or standard input
    Add {
        /// Login name
        name: String,
        /// User ID on the nodes; the user sees the jobs of this ID
        #[arg(long)]
        uid: u32,
        /// Permission to see all jobs and nodes
        #[arg(long)]
        operator: bool,
    },
    /// Remove a user with all tokens
    Remove {
        /// Login name
        name: String,
    },
    /// Name, uid and role of all
    List,
}

#[derive(Debug, Subcommand)]
enum Tokens {
    /// Make a token and print it, once
    Add {
        /// Kind of token
        kind: Good,
        /// The node's name, or the user's
        name: String,
    },
    /// Remove all tokens of a name
    Remove {
        /// Kind of tokens
        kind: Good,
        /// The node's name, or the user's
        name: String,
    },
    /// Kind, name and the begin of the hash of all
    List,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Good {
    /// Sends batches of one node
    Node,
    /// Reads with the permissions of a user
    User,
}

impl From<Good> for Kind {
    fn from(good: Good) -> Self {
        match good {
            Good::Node => Self::Node,
            Good::User => Self::User,
        }
    }
}

/// Command of `talea serve`.
#[derive(Clone, Debug)]
pub(crate) enum Serve {
    Serve(ServeOptions),
    Change(PathBuf, ServeChange),
}

impl From<ServeArgs> for Serve {
    fn from(args: ServeArgs) -> Self {
        let change = match args.change {
            None => {
                return Self::Serve(ServeOptions {
                    store: args.store.unwrap_or_default(),
                    slice: args.slice,
                    most: args.most,
                    oldest: args.oldest,
                    listen: args.listen,
                    config: args.config,
                    tls: args.tls_cert.zip(args.tls_key),
                    insecure: args.insecure,
                    per_address: args.per_address,
                    rules: args.rules,
                });
            }
            Some(What::User(Users::Add { name, uid, operator })) => {
                let role = if operator { Role::Operator } else { Role::User };
                ServeChange::AddUser { name, uid, role }
            }
            Some(What::User(Users::Remove { name })) => ServeChange::RemoveUser { name },
            Some(What::User(Users::List)) => ServeChange::ListUsers,
            Some(What::Token(Tokens::Add { kind, name })) => {
                ServeChange::AddToken { kind: kind.into(), name }
            }
            Some(What::Token(Tokens::Remove { kind, name })) => {
                ServeChange::RemoveToken { kind: kind.into(), name }
            }
            Some(What::Token(Tokens::List)) => ServeChange::ListTokens,
        };
        Self::Change(args.config, change)
    }
}
