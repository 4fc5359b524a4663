//! Servers that the observers of a run use.
//!
//! Owns the files `*.server` in `live/`: `clock.server` of the one that tells its time, and
//! `watch-HOST-PID.server` of each command that watches the program. A file has a token in
//! hexadecimal digits, then one address of the server in each line. Only its owner can read it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::{is_running, read, with_ending};
use crate::directory::{plain_host, replace_private};

/// Ending of the file's name.
pub(super) const ENDING: &str = "server";
/// Maximum number of addresses that are tried.
const MAX_ADDRESSES: usize = 64;

/// Name of the server that tells its time.
pub const CLOCK: &str = "clock";
/// Begin of the names of servers that watch a program.
const WATCH: &str = "watch-";
/// Maximum number of servers that watch a program at once.
const MAX_WATCHERS: usize = 8;

/// A server of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    /// Word by which it knows the run's observers.
    pub token: [u8; 16],
    /// Its addresses, in the order in which they are tried.
    pub addresses: Vec<SocketAddr>,
}

fn file(live: &Path, name: &str) -> PathBuf {
    live.join(format!("{name}.{ENDING}"))
}

/// Name of the server of this process, on `host`, that watches a program.
pub fn watcher_name(host: &str) -> String {
    format!("{WATCH}{}-{}", plain_host(host), std::process::id())
}

/// The servers that watch a program, by name; the newest where there are many.
pub fn watchers(live: &Path) -> Vec<(String, ServerAddress)> {
    let mut names = watcher_files(live);
    names.sort_by_key(|(path, name)| {
        let made = fs::metadata(path).and_then(|about| about.modified()).ok();
        (std::cmp::Reverse(made), name.clone())
    });
    let names: Vec<String> = names.into_iter().map(|(_, name)| name).collect();
    let server = |name: String| Some((name.clone(), ServerAddress::find(live, &name)?));
    names.into_iter().filter_map(server).take(MAX_WATCHERS).collect()
}

/// Files of the servers that watch a program, with their names.
fn watcher_files(live: &Path) -> Vec<(PathBuf, String)> {
    let name = |path: &PathBuf| Some(path.file_stem()?.to_str()?.to_owned());
    let all = with_ending(live, ENDING).into_iter();
    let named = all.filter_map(|path| name(&path).map(|name| (path, name)));
    named.filter(|(_, name)| name.starts_with(WATCH)).collect()
}

/// Removes the files of servers on `host` whose processes were killed.
pub fn remove_dead_watchers(live: &Path, host: &str) {
    let begin = format!("{WATCH}{}-", plain_host(host));
    for (path, name) in watcher_files(live) {
        let pid = name.strip_prefix(&begin).and_then(|pid| pid.parse().ok());
        if pid.is_some_and(|pid| !is_running(pid)) {
            let _ = fs::remove_file(path);
        }
    }
}

impl ServerAddress {
    /// Leaves the place of a server in the folder `live` of a run directory.
    ///
    /// # Errors
    /// Those of the system.
    pub fn publish(&self, live: &Path, name: &str) -> io::Result<()> {
        let mut text = format!("{:032x}\n", u128::from_be_bytes(self.token));
        for address in &self.addresses {
            text.extend([&address.to_string(), "\n"]);
        }
        replace_private(&file(live, name), text.as_bytes())
    }

    /// The server of this name; `None` where there is none, or its file is damaged.
    pub fn find(live: &Path, name: &str) -> Option<Self> {
        let text = read(&file(live, name))?;
        let mut lines = text.lines();
        let token = lines.next().filter(|line| line.len() == 32)?;
        let token = u128::from_str_radix(token, 16).ok()?.to_be_bytes();
        let addresses = lines.take(MAX_ADDRESSES).map(str::parse).collect::<Result<_, _>>().ok()?;
        Some(Self { token, addresses })
    }

    /// Removes the place of a server that answers no more.
    pub fn withdraw(live: &Path, name: &str) {
        let _ = fs::remove_file(file(live, name));
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
        assert_eq!(ServerAddress::find(live, CLOCK), None);
        let addresses = ["10.0.0.1:40000", "[2001:db8::1]:40000", "127.0.0.1:40000"];
        let addresses = addresses.map(|one| one.parse().unwrap()).to_vec();
        let server = ServerAddress {
            token: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255],
            addresses,
        };
        server.publish(live, CLOCK).unwrap();
        assert_eq!(fs::metadata(file(live, CLOCK)).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(ServerAddress::find(live, CLOCK), Some(server.clone()));
        ServerAddress { token: [255; 16], addresses: Vec::new() }.publish(live, CLOCK).unwrap();
        assert_eq!(ServerAddress::find(live, CLOCK).unwrap().token, [255; 16]);
        assert_eq!(fs::read_dir(live).unwrap().count(), 1);
        assert_eq!(watchers(live), []);
        server.publish(live, &watcher_name("a host")).unwrap();
        assert_eq!(watchers(live), [(watcher_name("a host"), server.clone())]);
        // A process that was killed.
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let dead = format!("{WATCH}{}-{}", plain_host("a host"), child.id());
        server.publish(live, &dead).unwrap();
        assert_eq!(watchers(live).len(), 2);
        remove_dead_watchers(live, "another");
        assert_eq!(watchers(live).len(), 2);
        remove_dead_watchers(live, "a host");
        assert_eq!(watchers(live), [(watcher_name("a host"), server.clone())]);
        ServerAddress::withdraw(live, CLOCK);
        assert_eq!(ServerAddress::find(live, CLOCK), None);
        assert!(server.publish(&live.join("nowhere"), CLOCK).is_err());
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
            fs::write(file(live, CLOCK), &text).unwrap();
            assert_eq!(ServerAddress::find(live, CLOCK), None, "{text:.40}");
        }
        fs::write(file(live, CLOCK), format!("{token}\n{}", "10.0.0.1:1\n".repeat(1000))).unwrap();
        assert_eq!(ServerAddress::find(live, CLOCK).unwrap().addresses.len(), MAX_ADDRESSES);
    }
}
