//! Placement of this process: the objects of its host, and the PUs on which its threads may run.
//!
//! Owns the kernel queries at the begin and at the end of the recording. Nothing here is on the
//! event path, and properties that the kernel does not provide stay absent.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use talea_model::Nanos;
use talea_run::directory::host_file;
use talea_run::places::{MOST_THREADS, ThreadPlace};
use talea_sampling::discover::sysfs;
use talea_sampling::family::Family;
use talea_sampling::{Root, placement};
use talea_topology::xml;

use super::Process;

impl Process {
    /// Notes for each thread the PUs on which it may run and ran.
    pub(super) fn note_places(&self) {
        let threads = placement(&Root::machine(), &mut Family::new(&[std::process::id()], false));
        let mut bytes = Vec::new();
        for thread in threads.into_iter().take(MOST_THREADS) {
            let place = ThreadPlace {
                tid: thread.tid,
                name: thread.name,
                allowed: thread.allowed.to_string(),
                last: thread.pu,
                busy: Nanos((thread.cpu_seconds * 1e9).round() as u64),
            };
            place.put(&mut bytes);
        }
        let Ok(_guard) = self.slow.lock() else { return };
        // SAFETY: this stream is only written under `slow`. Without room the places are missing,
        // which the reader reports.
        let _ = unsafe { self.memory.append(&raw mut (*self.memory.header()).places, &bytes) };
    }
}

/// Writes the objects of this host into the run directory unless they are there; `talea run` has
/// done it for its own host.
///
/// Of the ranks of a host the one that can create the file writes it; where that fails, views
/// report that nothing is known.
pub(super) fn note_host(host: &str) {
    let Some(directory) = std::env::var_os("TALEA_OUT").map(PathBuf::from) else { return };
    let path = host_file(&directory, host);
    let (Some(folder), false) = (path.parent(), path.exists()) else { return };
    let new = path.with_extension("xml.new");
    // A run directory that was removed is not created again.
    if (folder.is_dir() || std::fs::create_dir(folder).is_ok())
        && let Ok(mut file) = File::options().write(true).create_new(true).open(&new)
        && let Some(topology) = sysfs::topology(&Root::machine())
        && file.write_all(xml::write(&topology, xml::Version::Two).as_bytes()).is_ok()
    {
        let _ = std::fs::rename(&new, &path);
    }
}
