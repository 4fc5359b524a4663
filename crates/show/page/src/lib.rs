//! HTTP beside a running program: its page for browsers of this machine, and the states of its
//! hosts ([`hosts`]).
//!
//! Owns, for the page, HTTP on loopback and the permission to read: the address contains a random
//! token, and every request without it is refused, since all users of a machine reach its ports. A
//! browser gets the newest look at once and then each new one; a slow one skips looks. The page
//! computes nothing, and refuses every request that changes something.

mod connections;
pub mod hosts;
mod routes;
#[cfg(test)]
mod tests;
mod token;

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use talea_model::Nanos;
use talea_results::watch::WatchData;
use tokio::sync::watch;

use connections::Serving;
use token::Token;

/// Maximum number of connections. Those beyond it are closed at once.
const CONNECTIONS: usize = 256;
/// Maximum number of streams of looks.
const STREAMS: usize = 32;
/// Maximum time for the last look to reach the browsers.
const GRACE: Duration = Duration::from_secs(2);

/// Facts of a run that do not change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct About {
    /// Name of the run.
    pub name: String,
    /// Its directory, as commands name it.
    pub path: String,
    /// The command that was started.
    pub command: String,
    /// Time between looks.
    pub every_ns: Nanos,
}

/// Reasons why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The port is not free, or not allowed.
    #[error(
        "cannot listen on port {port} of this machine: {source}; choose another with --page=PORT, or omit PORT for any free port"
    )]
    Listen {
        /// Its number; 0 for any.
        port: u16,
        /// The error of the system.
        source: io::Error,
    },
    /// No thread, or no random number.
    #[error("cannot start the page: {0}")]
    Start(#[from] io::Error),
}

/// A port of 127.0.0.1 that waits for its page.
#[derive(Debug)]
pub struct Port(TcpListener);

impl Port {
    /// Takes a port; 0 is any free one.
    ///
    /// # Errors
    /// It is in use, or not allowed.
    pub fn take(port: u16) -> Result<Self, PageError> {
        let failed = |source| PageError::Listen { port, source };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(failed)?;
        Ok(Self(listener))
    }

    /// Opens the page of a run.
    ///
    /// # Errors
    /// Too few resources.
    pub fn open(self, about: &About) -> Result<Page, PageError> {
        let address = self.0.local_addr()?;
        let token = Token::new()?;
        let url = format!("http://{address}/{token}/");
        let (looks, receiver) = watch::channel(None);
        let app = routes::router(token, about, receiver);
        let serving = Serving::start(self.0, app, CONNECTIONS, "talea-page")?;
        Ok(Page { url, looks, serving })
    }
}

/// A page that browsers of this machine can open.
#[derive(Debug)]
pub struct Page {
    url: String,
    looks: watch::Sender<Option<Arc<str>>>,
    serving: Serving,
}

impl Page {
    /// The address, with the token.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Shows a look.
    pub fn show(&self, look: &WatchData) {
        // Keys are texts and numbers are finite or null, which is all that could fail.
        if let Ok(look) = serde_json::to_string(look) {
            self.looks.send_replace(Some(look.into()));
        }
    }

    /// Closes the page once the browsers have the last look, after two seconds at most.
    pub fn close(self) {
        let Self { looks, serving, .. } = self;
        // Streams end after their last look.
        drop(looks);
        serving.close(GRACE);
    }
}
