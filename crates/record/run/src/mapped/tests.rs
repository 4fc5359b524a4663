//! Guarantees of the region, against the kernel: full disks, killed processes, closed descriptors.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::*;

const MIB: usize = 1 << 20;

fn store(region: &MappedRegion, at: usize, bytes: &[u8]) {
    assert!(at + bytes.len() <= region.reserved());
    // SAFETY: inside the reserved part, and the test is its only user.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), region.as_ptr().add(at), bytes.len()) };
}

#[test]
fn bytes_written_are_in_the_file_without_any_call() {
    let dir = tempfile::tempdir().unwrap();
    let region = MappedRegion::create(dir.path(), "a.live", 64 * MIB).unwrap();
    assert_eq!(region.len(), 64 * MIB);
    region.reserve(10).unwrap();
    store(&region, 0, b"0123456789");
    region.reserve(3 * MIB).unwrap();
    store(&region, 3 * MIB - 3, b"end");
    let read = read_live(region.path().unwrap()).unwrap();
    assert!(read.len() <= 4 * MIB, "holes at the end are not read, got {}", read.len());
    assert_eq!(&read[..12], b"0123456789\0\0");
    assert_eq!(&read[3 * MIB - 3..3 * MIB], b"end");
}

#[test]
fn a_name_is_taken_once_and_a_missing_folder_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let _first = MappedRegion::create(dir.path(), "a.live", MIB).unwrap();
    let error = MappedRegion::create(dir.path(), "a.live", MIB).unwrap_err();
    assert!(matches!(
        &error,
        MapError::Create { source, .. } if source.kind() == io::ErrorKind::AlreadyExists
    ));
    let error = MappedRegion::create(&dir.path().join("none"), "a.live", MIB).unwrap_err();
    assert!(error.to_string().ends_with("none/a.live`"), "{error}");
}

#[test]
fn a_live_name_is_one_plain_file_name() {
    assert_eq!(live_name("n017.cluster", 42, Nanos(7)), "n017.cluster-42-7.live");
    assert_eq!(live_name("../ü", 42, Nanos(7)), "..__-42-7.live");
}

#[test]
fn more_than_the_region_is_refused() {
    let region = MappedRegion::anonymous(MIB).unwrap();
    region.reserve(MIB).unwrap();
    store(&region, MIB - 1, b"x");
    assert!(region.path().is_none());
    let error = region.reserve(MIB + 1).unwrap_err();
    assert_eq!(error.to_string(), "1048577 bytes are more than the region's 1048576");
}

#[test]
fn zeros_written_in_place_of_fallocate_keep_what_is_stored() {
    let dir = tempfile::tempdir().unwrap();
    let region = MappedRegion::create(dir.path(), "a.live", 2 * MIB).unwrap();
    let backing = region.backing.as_ref().unwrap();
    backing.write_zeros(&region.reserved, 5000, 8192).unwrap();
    store(&region, 8000, b"kept");
    backing.write_zeros(&region.reserved, 8192 + 1, MIB).unwrap();
    assert_eq!(region.reserved(), MIB);
    assert_eq!(&read_live(region.path().unwrap()).unwrap()[8000..8004], b"kept");
}

#[test]
fn threads_reserve_together() {
    let dir = tempfile::tempdir().unwrap();
    let region = MappedRegion::create(dir.path(), "a.live", 8 * MIB).unwrap();
    // The harder of the two methods: zeros, where a second writer would destroy the data of a first
    // one.
    let zeros = |upto: usize| {
        let backing = region.backing.as_ref().unwrap();
        while let Err(error) = backing.write_zeros(&region.reserved, upto, pages(upto)) {
            assert!(matches!(error, ReserveError::Busy), "{error}");
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..4_usize {
            let (region, zeros) = (&region, &zeros);
            scope.spawn(move || {
                for slot in 0..1000 {
                    let at = (slot * 4 + thread) * 1000;
                    zeros(at + 1000);
                    store(region, at, &[thread as u8 + 1; 1000]);
                }
            });
        }
    });
    let read = read_live(region.path().unwrap()).unwrap();
    for (slot, bytes) in read[..4_000_000].chunks(1000).enumerate() {
        assert!(bytes.iter().all(|&b| usize::from(b) == slot % 4 + 1), "slot {slot}");
    }
}

#[test]
fn a_closed_descriptor_is_replaced_and_a_stranger_s_file_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let region = MappedRegion::create(dir.path(), "a.live", 2 * MIB).unwrap();
    region.reserve(1).unwrap();
    let number = region.backing.as_ref().unwrap().descriptor();
    assert!(number >= 200);
    let stranger = std::fs::File::create(dir.path().join("stranger")).unwrap();
    // SAFETY: as in a careless program: our number now refers to its file.
    unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&stranger), number) };
    region.reserve(MIB).unwrap();
    store(&region, MIB - 4, b"tail");
    assert_eq!(stranger.metadata().unwrap().len(), 0);
    assert_eq!(&read_live(region.path().unwrap()).unwrap()[MIB - 4..MIB], b"tail");
    // SAFETY: closes the test's own duplicate, which the region rightly does not close.
    unsafe { libc::close(number) };
    std::fs::remove_file(region.path().unwrap()).unwrap();
    let reopened = region.backing.as_ref().unwrap().descriptor();
    // SAFETY: again the careless program.
    unsafe { libc::close(reopened) };
    assert!(matches!(region.reserve(2 * MIB), Err(ReserveError::Lost)));
}

/// A file system of one mebibyte, unmounted when dropped.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
            .arg(dir.path())
            .output()
            .is_ok_and(|output| output.status.success());
        if !mounted {
            eprintln!("skipped: mounting a tmpfs needs root and CAP_SYS_ADMIN");
        }
        mounted.then_some(Self(dir))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_is_an_error_and_never_sigbus() {
    let Some(disk) = SmallDisk::mount() else {
        return;
    };
    for zeros in [false, true] {
        let region = MappedRegion::create(disk.0.path(), "a.live", 64 * MIB).unwrap();
        region.backing.as_ref().unwrap().has_fallocate.store(!zeros, Ordering::Relaxed);
        let mut upto = 0;
        let error = loop {
            upto += 10_000;
            match region.reserve(upto) {
                Ok(()) => store(&region, upto - 10_000, &[7; 10_000]),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, ReserveError::NoSpace { .. }), "{error}");
        // Nearly all of the disk could be used, and the guarantee holds.
        assert!(region.reserved() > 900_000 && region.reserved() <= MIB, "{}", region.reserved());
        let rest = region.reserved() - (upto - 10_000);
        store(&region, upto - 10_000, &vec![8; rest]);
        assert!(matches!(region.reserve(64 * MIB), Err(ReserveError::NoSpace { .. })));
        std::fs::remove_file(region.path().unwrap()).unwrap();
    }
}

#[test]
fn a_killed_process_leaves_what_it_wrote() {
    const NAME: &str = "mapped::tests::a_killed_process_leaves_what_it_wrote";
    if let Some(dir) = std::env::var_os("TALEA_TEST_LIVE_DIR") {
        write_for_ever(Path::new(&dir));
    }
    let dir = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", NAME, "--nocapture"])
        .env("TALEA_TEST_LIVE_DIR", dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("written 100000")));
    child.kill().unwrap();
    child.wait().unwrap();
    let read = read_live(&dir.path().join("child.live")).unwrap();
    let values: Vec<u64> =
        read.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect();
    let last = values.iter().position(|&v| v == 0).unwrap_or(values.len());
    assert!(last >= 100_000);
    assert!(values[..last].iter().zip(1..).all(|(&value, expected)| value == expected));
}

/// Counts into the file until killed; prints when it has come far enough.
fn write_for_ever(dir: &Path) -> ! {
    let region = MappedRegion::create(dir, "child.live", 64 * MIB).unwrap();
    for count in 1_u64.. {
        let at = (count as usize - 1) * 8;
        if region.reserve(at + 8).is_err() {
            std::thread::park();
        }
        store(&region, at, &count.to_le_bytes());
        if count == 100_000 {
            println!("\nwritten 100000");
        }
    }
    unreachable!("the parent kills this process first")
}
