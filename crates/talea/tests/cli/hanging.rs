//! A file system that hangs, as a file server that is away: the agent goes on, and so does who asks for functions.
//!
//! Owns a small file system of one file, by the protocol of FUSE (`linux/fuse.h`, fuse(4)), that stops answering when it is told to.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use talea_model::Module;
use talea_run::foreign::Readers;
use talea_run::symbols::{Bounds, FunctionNames, NoNames};

use super::always::{Running, of, plain, samples};
use super::bench::{Bench, missing};

const FILE: &str = "program";

/// A mounted file system with one file.
struct Hanging {
    folder: PathBuf,
    stopped: Arc<AtomicBool>,
    ended: Arc<AtomicBool>,
    server: Option<JoinHandle<()>>,
}

impl Hanging {
    /// Mounts it with the bytes of a program; none where this user may not.
    #[track_caller]
    fn mounted(bench: &Bench, bytes: Vec<u8>) -> Option<Self> {
        let folder = bench.path("mounted");
        fs::create_dir(&folder).unwrap();
        let Ok(device) = File::options().read(true).write(true).open("/dev/fuse") else {
            return missing("/dev/fuse cannot be opened");
        };
        let options =
            format!("fd={},rootmode=40000,user_id=0,group_id=0,allow_other\0", device.as_raw_fd());
        let options = std::ffi::CStr::from_bytes_with_nul(options.as_bytes()).unwrap();
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        if let Err(error) = mount("talea", &folder, "fuse", flags, options) {
            return missing(&format!("no file system can be mounted: {error}"));
        }
        let (stopped, ended) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let flags = (Arc::clone(&stopped), Arc::clone(&ended));
        let server = std::thread::spawn(move || serve(&device, &bytes, &flags.0, &flags.1));
        Some(Self { folder, stopped, ended, server: Some(server) })
    }

    fn file(&self) -> PathBuf {
        self.folder.join(FILE)
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        // What was asked before is answered.
        std::thread::sleep(Duration::from_millis(100));
    }

    fn go_on(&self) {
        self.stopped.store(false, Ordering::SeqCst);
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        // Nobody waits once the device is closed.
        self.ended.store(true, Ordering::SeqCst);
        let _ = self.server.take().unwrap().join();
        let _ = unmount(&self.folder, UnmountFlags::DETACH);
    }
}

/// Answers until the end; nothing is taken from the kernel while it is stopped, as by a process that has SIGSTOP.
fn serve(device: &File, bytes: &[u8], stopped: &AtomicBool, ended: &AtomicBool) {
    let mut request = vec![0; 1 << 18];
    while !ended.load(Ordering::SeqCst) {
        let mut ready = [PollFd::new(device, PollFlags::IN)];
        let soon = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        let is_ready = !stopped.load(Ordering::SeqCst) && poll(&mut ready, Some(&soon)) == Ok(1);
        if !is_ready {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        }
        let Ok(length) = (&*device).read(&mut request) else { return };
        if let Some(answer) = answer(&request[..length], bytes) {
            // One that was interrupted has nobody who waits.
            let _ = (&*device).write_all(&answer);
        }
    }
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// What is answered to a request; nothing to what wants no answer.
fn answer(request: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
    const NO_SUCH: i32 = -2;
    const NOT_DONE: i32 = -38;
    let word = |at: usize| u32::from_ne_bytes(request[at..at + 4].try_into().unwrap());
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
        1 if request[body..].strip_suffix(&[0]) == Some(FILE.as_bytes()) => {
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

/// Waits until a program runs in its loop: what it needs of its file is in memory then.
fn has_run(process: u32) {
    let begin = Instant::now();
    loop {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
        let (_, fields) = stat.rsplit_once(')').unwrap();
        let ticks: u64 = fields.split_whitespace().nth(11).unwrap().parse().unwrap();
        if ticks > 30 {
            return;
        }
        assert!(begin.elapsed() < Duration::from_mins(1), "{stat}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_file_system_that_hangs_stops_neither_the_agent_nor_questions() {
    let (Some(bench), Some(other)) = (Bench::new(), plain("shares")) else { return };
    let Some(system) = Hanging::mounted(&bench, fs::read("/bin/dash").unwrap()) else { return };
    let mut program = Command::new(system.file());
    let program = program.args(["-c", "while :; do :; done"]).spawn().unwrap();
    let number = program.id();
    let _program = Running::of(program);
    has_run(number);
    system.stop();
    let path = system.file().display().to_string();

    // It meets the file for the first time, and for as long as it runs.
    let store = "sqlite:t.db";
    let Some(agent) = Running::agent(&bench, store, &["--sampler", "bpf"], 0) else { return };
    assert!(Command::new(&other).arg("3").output().unwrap().status.success());
    let end = Instant::now();
    let said = agent.stopped();
    assert!(end.elapsed() < Duration::from_secs(20), "it ended {:?} later", end.elapsed());
    assert!(said.contains("batches; the agent took"), "{said}");
    let answer = bench.json(&["usage", "--store", store, "--by", "executable", "--json"]);
    let seen = of(&answer, "executable", &path);
    let name = other.canonicalize().unwrap().display().to_string();
    let of_other = of(&answer, "executable", &name);
    assert!(seen > 200.0 && of_other > 200.0, "{seen} {of_other} of {}", samples(&answer));
    let gaps = answer["gaps"].as_array().unwrap();
    let told = |gap: &&serde_json::Value| gap["detail"].as_str().unwrap().contains("file system");
    assert!(gaps.iter().any(|gap| told(&gap)), "{gaps:?}");

    // Who asks for functions waits once, and others do not.
    let names = FunctionNames::new(Bounds::default(), Readers::ThisProcess);
    let hung = |build_id: &str| {
        let module = Module { path: path.clone(), build_id: build_id.to_owned() };
        names.name(&module, 0)
    };
    let begin = Instant::now();
    for build_id in ["aa", "ab", "ac", "ad", "ae", "af"] {
        assert_eq!(hung(build_id), Err(NoNames::Hangs));
    }
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    let own = Module { path: name, build_id: "00".to_owned() };
    assert_eq!(names.name(&own, 0), Err(NoNames::OtherBuild));
    system.go_on();
    let begin = Instant::now();
    while hung(&format!("{:x}", begin.elapsed().as_millis())) == Err(NoNames::Hangs) {
        assert!(begin.elapsed() < Duration::from_secs(20), "it does not come back");
        std::thread::sleep(Duration::from_millis(50));
    }
}
