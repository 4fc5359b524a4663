//! A file system of one file that stops answering, as a file server that is away.
//!
//! Owns the daemon's side of FUSE (`linux/fuse.h`, fuse(4)) in a thread of the caller, as far as
//! starting a program and reading its file need it. While it is stopped it takes no request, so
//! that each process that uses the file waits in the kernel. Mounting needs root and `/dev/fuse`.
//!
//! Used by the integration tests and by `cargo xtask attack`.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

/// A mounted file system with one file.
pub(crate) struct Hanging {
    folder: PathBuf,
    name: String,
    state: Arc<State>,
    daemon: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    stopped: AtomicBool,
    /// True while it is stopped and every earlier request has its answer.
    still: AtomicBool,
    ended: AtomicBool,
}

impl Hanging {
    /// Makes the folder and mounts the file system there, with a file of this name and these bytes;
    /// else the reason why this user cannot.
    pub(crate) fn mounted(folder: &Path, name: &str, bytes: Vec<u8>) -> Result<Self, String> {
        let device = File::options().read(true).write(true).open("/dev/fuse");
        let device = device.map_err(|error| format!("/dev/fuse cannot be opened: {error}"))?;
        fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        let options =
            format!("fd={},rootmode=40000,user_id=0,group_id=0,allow_other\0", device.as_raw_fd());
        let options = std::ffi::CStr::from_bytes_with_nul(options.as_bytes());
        let options = options.map_err(|error| error.to_string())?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount("talea", folder, "fuse", flags, options)
            .map_err(|error| format!("no file system can be mounted: {error}"))?;
        let state = Arc::<State>::default();
        let shared = Arc::clone(&state);
        let file = name.to_owned();
        let daemon = std::thread::spawn(move || serve(&device, &file, &bytes, &shared));
        let (folder, name) = (folder.to_owned(), name.to_owned());
        Ok(Self { folder, name, state, daemon: Some(daemon) })
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// Stops it; earlier requests have their answers then.
    pub(crate) fn stop(&self) {
        self.state.stopped.store(true, Ordering::SeqCst);
        while !self.state.still.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub(crate) fn go_on(&self) {
        self.state.stopped.store(false, Ordering::SeqCst);
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        // No process waits once the device is closed.
        self.state.ended.store(true, Ordering::SeqCst);
        let _ = self.daemon.take().map(JoinHandle::join);
        let _ = unmount(&self.folder, UnmountFlags::DETACH);
    }
}

/// Answers until the end; takes no request while it is stopped, as a process after SIGSTOP.
fn serve(device: &File, name: &str, bytes: &[u8], state: &State) {
    let mut request = vec![0; 1 << 18];
    while !state.ended.load(Ordering::SeqCst) {
        let stopped = state.stopped.load(Ordering::SeqCst);
        state.still.store(stopped, Ordering::SeqCst);
        let mut ready = [PollFd::new(device, PollFlags::IN)];
        let soon = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        let is_ready = !stopped && poll(&mut ready, Some(&soon)) == Ok(1);
        if !is_ready {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        }
        let Ok(length) = (&*device).read(&mut request) else { return };
        if let Some(answer) = answer(&request[..length], name, bytes) {
            // The answer to an interrupted request is refused.
            let _ = (&*device).write_all(&answer);
        }
    }
}

/// Bytes at a place; zeros where the request ends before.
fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..at + N).and_then(|part| part.try_into().ok()).unwrap_or([0; N])
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes_at(bytes, at))
}

/// The answer to a request; none to requests without one.
fn answer(request: &[u8], name: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    const NO_SUCH: i32 = -2;
    const NOT_DONE: i32 = -38;
    let word = |at: usize| u32::from_ne_bytes(bytes_at(request, at));
    let (code, unique, node, body) = (word(4), number(request, 8), number(request, 16), 40);
    let attributes = |node: u64| {
        let is_file = node == 2;
        let size = if is_file { bytes.len() as u64 } else { 0 };
        let mode: u32 = if is_file { 0o100_755 } else { 0o040_755 };
        let longs = [node, size, size.div_ceil(512), 0, 0, 0];
        let words = [0, 0, 0, mode, 1, 0, 0, 0, 4096, 0];
        [longs.map(u64::to_ne_bytes).concat(), words.map(u32::to_ne_bytes).concat()].concat()
    };
    let zeros = |count: usize| vec![0_u8; count];
    let (error, data) = match code {
        // Forgetting and interrupting.
        2 | 36 | 42 => return None,
        // The begin: version 7.31, with what is written at most.
        26 => {
            let mut data = zeros(64);
            data[..4].copy_from_slice(&7_u32.to_ne_bytes());
            data[4..8].copy_from_slice(&31_u32.to_ne_bytes());
            data[20..24].copy_from_slice(&4096_u32.to_ne_bytes());
            (0, data)
        }
        1 if request.get(body..).and_then(|wanted| wanted.strip_suffix(&[0]))
            == Some(name.as_bytes()) =>
        {
            (0, [&2_u64.to_ne_bytes()[..], &zeros(32), &attributes(2)].concat())
        }
        1 => (NO_SUCH, Vec::new()),
        3 => (0, [&zeros(16)[..], &attributes(node)].concat()),
        // Opening files and folders.
        14 | 27 => (0, zeros(16)),
        15 => {
            let from = (number(request, body + 8) as usize).min(bytes.len());
            let to = (from + word(body + 16) as usize).min(bytes.len());
            (0, bytes[from..to].to_vec())
        }
        // Flushing and releasing.
        18 | 25 | 29 => (0, Vec::new()),
        _ => (NOT_DONE, Vec::new()),
    };
    let length = (16 + data.len()) as u32;
    Some([&length.to_ne_bytes()[..], &error.to_ne_bytes(), &unique.to_ne_bytes(), &data].concat())
}
