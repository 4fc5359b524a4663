//! The store that a command asks: a file, a server of Prometheus' API, or a server of ours.
//!
//! Owns which of them an address means. It refuses to write.

use std::path::PathBuf;

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
        let is_server = self.store.starts_with("http://") || self.store.starts_with("https://");
        match &self.token {
            Some(token) if is_server => {
                let remote = Remote::open(&self.store, token, self.authorities.as_deref())?;
                Ok(Box::new(remote))
            }
            None if is_server => Err(StoreError::Address {
                address: self.store.clone(),
                why: "a server wants to know who asks: expected --token-file FILE with what `talea serve token add user NAME` printed".to_owned(),
            }),
            _ => address::open(&self.store, Access::Read, &sqlite::Options::default()),
        }
    }
}
