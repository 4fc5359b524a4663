//! Place of the server that tells observers its time.
//!
//! Owns the file `clock.server` in `live/`: the token of the run in hexadecimal digits, then one
//! address of the server in each line. Only its owner can read it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::read;
use crate::directory::replace_private;

/// Ending of the file's name.
pub(super) const ENDING: &str = "server";
/// Maximum number of addresses that are tried.
const MAX_ADDRESSES: usize = 64;

/// The server of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeServer {
    /// Word by which it knows the run's observers.
    pub token: [u8; 16],
    /// Its addresses, in the order in which they are tried.
    pub addresses: Vec<SocketAddr>,
}

fn file(live: &Path) -> PathBuf {
    live.join(format!("clock.{ENDING}"))
}

impl TimeServer {
    /// Leaves the place of a server in the folder `live` of a run directory.
    ///
    /// # Errors
    /// Those of the system.
    pub fn publish(&self, live: &Path) -> io::Result<()> {
        let mut text = format!("{:032x}\n", u128::from_be_bytes(self.token));
        for address in &self.addresses {
            text.extend([&address.to_string(), "\n"]);
        }
        replace_private(&file(live), text.as_bytes())
    }

    /// The server of a run; `None` where there is none, or its file is damaged.
    pub fn find(live: &Path) -> Option<Self> {
        let text = read(&file(live))?;
        let mut lines = text.lines();
        let token = lines.next().filter(|line| line.len() == 32)?;
        let token = u128::from_str_radix(token, 16).ok()?.to_be_bytes();
        let addresses = lines.take(MAX_ADDRESSES).map(str::parse).collect::<Result<_, _>>().ok()?;
        Some(Self { token, addresses })
    }

    /// Removes the place of a server that answers no more.
    pub fn withdraw(live: &Path) {
        let _ = fs::remove_file(file(live));
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn servers_are_found_while_they_answer() {
        let folder = tempfile::tempdir().unwrap();
        let live = folder.path();
        assert_eq!(TimeServer::find(live), None);
        let addresses = ["10.0.0.1:40000", "[2001:db8::1]:40000", "127.0.0.1:40000"];
        let addresses = addresses.map(|one| one.parse().unwrap()).to_vec();
        let server = TimeServer {
            token: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255],
            addresses,
        };
        server.publish(live).unwrap();
        assert_eq!(fs::metadata(file(live)).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(TimeServer::find(live), Some(server.clone()));
        TimeServer { token: [255; 16], addresses: Vec::new() }.publish(live).unwrap();
        assert_eq!(TimeServer::find(live).unwrap().token, [255; 16]);
        assert_eq!(fs::read_dir(live).unwrap().count(), 1);
        TimeServer::withdraw(live);
        assert_eq!(TimeServer::find(live), None);
        assert!(server.publish(&live.join("nowhere")).is_err());
    }

    #[test]
    fn damaged_files_name_no_server() {
        let folder = tempfile::tempdir().unwrap();
        let live = folder.path();
        let token = "0".repeat(32);
        for text in [
            String::new(),
            "0\n10.0.0.1:1\n".to_owned(),
            format!("{}z\n", "0".repeat(31)),
            format!("{token}\nnowhere\n"),
            format!("{token}\n10.0.0.1:70000\n"),
            "\u{0}\u{ff}".repeat(100_000),
        ] {
            fs::write(file(live), &text).unwrap();
            assert_eq!(TimeServer::find(live), None, "{text:.40}");
        }
        fs::write(file(live), format!("{token}\n{}", "10.0.0.1:1\n".repeat(1000))).unwrap();
        assert_eq!(TimeServer::find(live).unwrap().addresses.len(), MAX_ADDRESSES);
    }
}
