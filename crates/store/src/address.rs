//! Where a store is, as people write it: `sqlite:PATH` or `prometheus:http://HOST:PORT[/prefix]`.
//!
//! Owns the forms and what is said of those that are known but not built.

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

/// What somebody wants of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Put and ask; a file that is missing is made.
    Write,
    /// Ask only, beside a process that may write.
    Read,
}

/// Parses an address.
///
/// # Errors
/// Says which forms there are, and of one that is not built that it is not.
pub fn parse(address: &str) -> Result<Address, StoreError> {
    let refused =
        |why: &str| Err(StoreError::Address { address: address.to_owned(), why: why.to_owned() });
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
        _ => refused("expected `sqlite:PATH` or `prometheus:http://HOST:PORT`"),
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
            ["", "a.db", "sqlite:", "prometheus:x", "https://x"].map(said).join("\n")
        );
    }
}
