//! Where a store is, as people write it: `sqlite:PATH`, `prometheus:http://HOST:PORT[/prefix]`, or
//! a server's address.
//!
//! Owns the forms, and what of an address may be said: names and passwords of any address are found
//! and hidden here. It opens what needs no token; the way to a server is [`crate::access`]'s.

use std::path::PathBuf;

use crate::Store;
use crate::error::StoreError;
use crate::prometheus::{self, Prometheus};
use crate::sqlite::{Options, Sqlite};

/// A parsed address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A file of `SQLite`.
    Sqlite(PathBuf),
    /// A server that speaks Prometheus' API, by the address of it without `/api/v1`.
    Prometheus(String),
}

/// Purpose of a store's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Put and ask; a file that is missing is made.
    Write,
    /// Ask only, beside a process that may write.
    Read,
}

/// Parses the address of what is a store itself.
///
/// # Errors
/// Says which forms there are, and of a server that it is none.
pub fn parse(address: &str) -> Result<Address, StoreError> {
    let refused =
        |why: &str| Err(StoreError::Address { address: redacted(address), why: why.to_owned() });
    match address.split_once(':') {
        Some(("sqlite", "")) => refused("expected a path after `sqlite:`"),
        Some(("sqlite", path)) => Ok(Address::Sqlite(PathBuf::from(path))),
        Some(("prometheus", server)) => {
            Prometheus::at(server, &prometheus::Options::default())?;
            Ok(Address::Prometheus(server.to_owned()))
        }
        Some(("http" | "https", _)) => refused(
            "a server of talea is no store of its own, expected `sqlite:PATH` or `prometheus:http://HOST:PORT`",
        ),
        _ => refused(
            "expected `sqlite:PATH`, `prometheus:http://HOST:PORT`, or `http://HOST:PORT` or `https://HOST:PORT` of a server",
        ),
    }
}

/// Opens the store at an address.
///
/// # Errors
/// As [`parse`], and what the file refuses.
pub fn open(
    address: &str,
    access: Access,
    options: &Options,
) -> Result<Box<dyn Store>, StoreError> {
    let store: Box<dyn Store> = match (parse(address)?, access) {
        (Address::Sqlite(path), Access::Write) => Box::new(Sqlite::open(&path, options)?),
        (Address::Sqlite(path), Access::Read) => Box::new(Sqlite::open_to_read(&path, options)?),
        (Address::Prometheus(server), _) => {
            Box::new(Prometheus::at(&server, &prometheus::Options::default())?)
        }
    };
    Ok(store)
}

/// An address as it may be said: what stands behind `?` or before a host may be a secret.
pub fn redacted(address: &str) -> String {
    let (before, _) = address.split_once('?').unwrap_or((address, ""));
    match before.split_once("://") {
        // Wherever a name ends and a password begins: nothing of either.
        Some((scheme, _)) if has_user(address) => format!("{scheme}://..."),
        _ => before.to_owned(),
    }
}

/// Whether somebody is named before the host, also where a password has `/` or `?` in it.
pub(crate) fn has_user(address: &str) -> bool {
    let Some((_, rest)) = address.split_once("://") else { return false };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_port = |port: &str| port.bytes().all(|digit| digit.is_ascii_digit());
    let is_host = !host.contains('@')
        && (host.ends_with(']') || host.rsplit_once(':').is_none_or(|(_, port)| is_port(port)));
    !is_host && rest.contains('@')
}

/// Whether it is that of a server of ours, which is asked with a token.
pub fn is_server(address: &str) -> bool {
    address.starts_with("http://") || address.starts_with("https://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        assert_eq!(parse("sqlite:a:b").unwrap(), Address::Sqlite(PathBuf::from("a:b")));
        let server = "http://h:9090/prefix";
        let found = parse(&format!("prometheus:{server}")).unwrap();
        assert_eq!(found, Address::Prometheus(server.to_owned()));
        let said = |address| parse(address).unwrap_err().to_string();
        insta::assert_snapshot!(
            ["", "a.db", "sqlite:", "prometheus:x", "https://x", "http://joe:secret@h"]
                .map(said)
                .join("\n")
        );
    }
}
