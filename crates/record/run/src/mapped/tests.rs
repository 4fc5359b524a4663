//! Guarantees of the region, against the kernel: full disks, killed processes, closed descriptors.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::*;

const MIB: usize = 1 << 20;

fn store(region: &MappedRegion, at: usize, bytes: &[u8]) {
    assert!(at + bytes.len() <= region.reserved());
    // SAFETY: inside the reserved part, and the test is its only user.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), region.as_ptr().add(at), bytes.len()) };
}

/// Bytes of the only record in a file.
fn bytes_in(path: &Path) -> Vec<u8> {
    let records = live_records(path).unwrap();
    assert_eq!(records.len(), 1);
    read_live(&records[0]).unwrap()
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
    let read = bytes_in(region.path().unwrap());
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
    assert!(!host::is_name(Path::new("n017.cluster-4194304-1795827031949026380.live")));
    assert!(host::is_name(Path::new("n-17-0123abcd.live")));
    assert!(host::is_name(Path::new("n-17-0123abcd-2.live")));
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
    assert_eq!(&bytes_in(region.path().unwrap())[8000..8004], b"kept");
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
    let read = bytes_in(region.path().unwrap());
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
    assert_eq!(&bytes_in(region.path().unwrap())[MIB - 4..MIB], b"tail");
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
    for own in ["yes", "no"] {
        killed(NAME, own);
    }
}

fn killed(test: &str, own: &str) {
    let dir = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env("TALEA_TEST_LIVE_DIR", dir.path())
        .env("TALEA_TEST_OWN_FILE", own)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("written 100000")));
    child.kill().unwrap();
    child.wait().unwrap();
    let files = crate::directory::entries(dir.path()).unwrap();
    assert_eq!(files.len(), 1);
    let read = bytes_in(&files[0]);
    let values: Vec<u64> =
        read.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect();
    let last = values.iter().position(|&v| v == 0).unwrap_or(values.len());
    assert!(last >= 100_000);
    assert!(values[..last].iter().zip(1..).all(|(&value, expected)| value == expected));
}

/// Counts into the file until killed; prints when it has come far enough.
fn write_for_ever(dir: &Path) -> ! {
    let region = match std::env::var("TALEA_TEST_OWN_FILE").as_deref() {
        Ok("yes") => MappedRegion::create(dir, "child.live", 64 * MIB).unwrap(),
        _ => MappedRegion::claim(dir, "host", 64 * MIB).unwrap(),
    };
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

#[test]
fn processes_of_a_host_share_a_file_that_the_last_one_removes() {
    let dir = tempfile::tempdir().unwrap();
    let files = || crate::directory::entries(dir.path()).unwrap();
    let mut regions: Vec<MappedRegion> =
        (0..5).map(|_| MappedRegion::claim(dir.path(), "n1", 3 * MIB - 1).unwrap()).collect();
    for (number, region) in regions.iter_mut().enumerate() {
        assert_eq!(region.len(), 3 * MIB);
        region.reserve(MIB).unwrap();
        store(region, MIB - 8, &[number as u8 + 1; 8]);
        if number != 3 {
            region.publish("unused").unwrap();
        }
    }
    assert_eq!(files().len(), 1, "{:?}", files());
    let records = live_records(&files()[0]).unwrap();
    let with_head: Vec<bool> = records.iter().map(|record| record.has_head).collect();
    assert_eq!(with_head, [true, true, true, false, true]);
    for (record, expected) in records.iter().zip(1..) {
        let bytes = read_live(record).unwrap();
        assert!(bytes[..MIB - 8].iter().all(|&byte| byte == 0));
        assert_eq!(bytes[MIB - 8..MIB], [expected; 8], "{record}");
    }
    assert!(records[1].to_string().starts_with("slot 1 of `"), "{}", records[1]);

    // Another size, and another host, have files of their own.
    let other = MappedRegion::claim(dir.path(), "n1", MIB).unwrap();
    let another = MappedRegion::claim(dir.path(), "n2", MIB).unwrap();
    assert_eq!(files().len(), 3);
    other.remove();
    another.remove();
    assert_eq!(files().len(), 1);

    regions[1].remove();
    assert_eq!(live_records(&files()[0]).unwrap().len(), 4);
    // A slot is not used again.
    let late = MappedRegion::claim(dir.path(), "n1", 3 * MIB).unwrap();
    assert_eq!(late.path(), regions[0].path());
    assert_eq!(live_records(&files()[0]).unwrap().len(), 5);
    for region in regions.iter().enumerate().filter(|(n, _)| *n != 1).map(|(_, region)| region) {
        region.remove();
        assert_eq!(files().len(), 1);
    }
    late.remove();
    assert!(files().is_empty());
}

/// A claim never gets into a file that is being removed.
#[test]
fn no_record_is_lost_while_others_come_and_go() {
    let dir = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8_u8 {
            let dir = dir.path();
            scope.spawn(move || {
                for _ in 0..100 {
                    let mut region = MappedRegion::claim(dir, "host", 64 << 10).unwrap();
                    store(&region, 0, &[thread; 100]);
                    region.publish("unused").unwrap();
                    let records = live_records(region.path().unwrap()).unwrap();
                    let own =
                        |record| read_live(record).is_ok_and(|b| b.starts_with(&[thread; 100]));
                    assert!(records.iter().any(own), "thread {thread}: {records:?}");
                    region.remove();
                }
            });
        }
    });
    assert!(crate::directory::entries(dir.path()).unwrap().is_empty());
}

#[test]
fn a_full_host_file_is_followed_by_another() {
    let dir = tempfile::tempdir().unwrap();
    let first = MappedRegion::claim(dir.path(), "host", 1).unwrap();
    for _ in 1..host::MOST {
        // Its process is gone: the record stays.
        drop(MappedRegion::claim(dir.path(), "host", 1).unwrap());
    }
    assert_eq!(live_records(first.path().unwrap()).unwrap().len(), host::MOST);
    let next = MappedRegion::claim(dir.path(), "host", 1).unwrap();
    assert_ne!(next.path(), first.path());
    assert_eq!(crate::directory::entries(dir.path()).unwrap().len(), 2);
}

#[test]
fn a_damaged_head_is_an_error_or_other_records() {
    let dir = tempfile::tempdir().unwrap();
    let mut region = MappedRegion::claim(dir.path(), "host", MIB).unwrap();
    store(&region, 0, b"record");
    region.publish("unused").unwrap();
    let whole = std::fs::read(region.path().unwrap()).unwrap();
    let path = dir.path().join("copy.live");
    let read = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let records = live_records(&path)?;
        assert!(records.len() <= host::MOST);
        records.iter().try_for_each(|record| read_live(record).map(drop))
    };
    read(&whole).unwrap();
    for at in 0..40 {
        for value in [0, 1, 0x7f, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            let _ = read(&bytes);
        }
    }
    for length in (0..host::HEAD).step_by(97) {
        let _ = read(&whole[..length]);
    }
    std::fs::write(&path, []).unwrap();
    assert!(!live_records(&path).unwrap()[0].has_head);
    let of_host = dir.path().join("n1-00c0ffee.live");
    std::fs::write(&of_host, []).unwrap();
    assert_eq!(live_records(&of_host).unwrap(), []);
    let error = read(&whole[..100]).unwrap_err().to_string();
    assert!(error.contains("the head of the host's file cannot be read, it is cut"), "{error}");
    let mut newer = whole;
    newer[8] = 2;
    let error = read(&newer).unwrap_err().to_string();
    assert!(error.contains("newer talea"), "{error}");
}

#[test]
fn a_copy_has_what_is_in_use() {
    let dir = tempfile::tempdir().unwrap();
    let regions: Vec<MappedRegion> = (0..3_u8)
        .map(|number| {
            let mut region = MappedRegion::claim(dir.path(), "host", MIB).unwrap();
            region.reserve(MIB / 2).unwrap();
            store(&region, 0, &[number + 1; 1000]);
            region.publish("unused").unwrap();
            region
        })
        .collect();
    regions[1].remove();
    let copy = dir.path().join("copy.live");
    copy_live(regions[0].path().unwrap(), &copy, |_| 500).unwrap();
    let records = live_records(&copy).unwrap();
    let first: Vec<u8> = records.iter().map(|record| read_live(record).unwrap()[499]).collect();
    assert_eq!(first, [1, 3]);
    let last = read_live(&records[1]).unwrap();
    assert_eq!(last.len(), 500);
}

#[test]
fn a_disk_that_is_full_has_no_slot() {
    let Some(disk) = SmallDisk::mount() else {
        return;
    };
    std::fs::write(disk.0.path().join("ballast"), vec![0; 2 * MIB]).unwrap_err();
    assert!(MappedRegion::claim(disk.0.path(), "host", MIB).is_err());
    // Room for the head, and for one record.
    let ballast = File::options().write(true).open(disk.0.path().join("ballast")).unwrap();
    ballast.set_len(MIB as u64 - 4 * page() as u64).unwrap();
    let first = MappedRegion::claim(disk.0.path(), "host", MIB).unwrap();
    let fits = std::iter::from_fn(|| MappedRegion::claim(disk.0.path(), "host", MIB).ok());
    let fits: Vec<MappedRegion> = fits.collect();
    assert!(fits.len() < 4, "{}", fits.len());
    // Those that got nothing gave their slots back.
    let records = live_records(first.path().unwrap()).unwrap();
    assert_eq!(records.len(), 1 + fits.len());
}
