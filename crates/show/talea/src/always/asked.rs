//! The store that a command asks: a file, a server of Prometheus' API, or a server of ours.
//!
//! Owns which of them an address means. It refuses to write.

use std::path::PathBuf;

use talea_store::access::Server;
use talea_store::address::{self, Access};
use talea_store::remote::Remote;
use talea_store::{Store, StoreError, sqlite};

/// Where a store is, and as whom a server is asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    /// `sqlite:PATH`, `prometheus:http://HOST:PORT`, or `http://HOST:PORT` of `talea serve`.
    pub(crate) store: String,
    /// File with a user's token, for a server.
    pub(crate) token: Option<PathBuf>,
    /// Certificates of who vouches for it.
    pub(crate) authorities: Option<PathBuf>,
}

impl Place {
    /// Opens it to be asked.
    pub(crate) fn open(&self) -> Result<Box<dyn Store>, StoreError> {
        let server = Server::of(&self.store, self.token.clone(), self.authorities.clone())?;
        Ok(match server {
            Some(server) => Box::new(Remote::open(&server)?),
            None => address::open(&self.store, Access::Read, &sqlite::Options::default())?,
        })
    }
}
