//! The place of a store: a file, a server of Prometheus' API, or a server of ours.
//!
//! Owns the choice between them by the address. It refuses to write.

use std::path::PathBuf;

use crate::access::Server;
use crate::address::{self, Access};
use crate::remote::Remote;
use crate::{Store, StoreError, sqlite};

/// Address of a store, and the user's credentials for a server.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// `sqlite:PATH`, `prometheus:http://HOST:PORT`, or `http://HOST:PORT` of `talea serve`.
    pub store: String,
    /// File with a user's token, for a server.
    pub token: Option<PathBuf>,
    /// PEM file of the certificate authorities to trust.
    pub authorities: Option<PathBuf>,
}

impl Place {
    /// Opens it for questions.
    ///
    /// # Errors
    /// An address of no known form, and the reasons of the store.
    pub fn open(&self) -> Result<Box<dyn Store>, StoreError> {
        let server =
            Server::from_address(&self.store, self.token.clone(), self.authorities.clone())?;
        Ok(match server {
            Some(server) => Box::new(Remote::open(&server)?),
            None => address::open(&self.store, Access::Read, &sqlite::Options::default())?,
        })
    }
}
