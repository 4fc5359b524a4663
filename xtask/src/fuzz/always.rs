//! Damage to what is always on: batches and the files that they wait in, tables of phases, and what
//! the agent reads of processes.
//!
//! Owns the samples, which are made here, and what is done with whatever can still be read of them.
//! Checksums and packing are made anew behind most of the damage, as they would stop it at the
//! door.

use std::path::Path;

use talea_mark::{layout, reader};
use talea_model::shares::{Activity, Batch, BatchId, Job, Sampler, Share};
use talea_model::{Bytes, Module, Nanos};
use talea_run::container::Tag;
use talea_run::journal::{Journal, Writer};
use talea_store::spool::{LEAST, Spool};
use talea_store::wire;

use super::mutate::{Random, mutate};

/// The kind of a spool's files.
const SPOOL: Tag = Tag(*b"SPOL");
/// The most that a batch unfolds to here.
const MOST: usize = 1 << 24;

fn batch(number: u64) -> Batch {
    let share = |core, activity| Share {
        core,
        activity,
        job: Some(0),
        user: Some(1000),
        executable: Some(0),
        library: None,
        address: Some(0x1000),
        phase: Some(0),
        samples: 5,
    };
    Batch {
        begin: Nanos(number * 10_000_000_000),
        end: Nanos((number + 1) * 10_000_000_000),
        period: Nanos(1_000_000_000),
        cores: 2,
        sampler: Sampler::Rings,
        jobs: vec![Job { id: "4711".to_owned(), user: Some(1000) }],
        modules: vec![Module { path: "/bin/lmp".to_owned(), build_id: "ab".to_owned() }],
        phases: vec!["solve".to_owned()],
        shares: vec![share(0, Activity::User), share(1, Activity::Kernel)],
        ..Batch::empty(BatchId { node: "n1".to_owned(), started: 1, number })
    }
}

/// Batches as they travel.
pub(super) fn batches() -> Result<Vec<Vec<u8>>, String> {
    (0..2).map(|number| wire::encode(&batch(number)).map_err(|e| e.to_string())).collect()
}

/// Files of a spool, made in a folder.
pub(super) fn spools(folder: &Path) -> Result<Vec<Vec<u8>>, String> {
    let folder = folder.join("made");
    let mut spool = Spool::open(&folder, LEAST).map_err(|e| e.to_string())?;
    for number in 0..20 {
        spool.append(&batch(number)).map_err(|e| e.to_string())?;
    }
    for number in [0, 3] {
        spool.acknowledge(&batch(number).id).map_err(|e| e.to_string())?;
    }
    drop(spool);
    let mut files = Vec::new();
    super::files(&folder, &mut files).map_err(|e| e.to_string())?;
    files.retain(|path| path.extension().is_some_and(|end| end == "spool"));
    files.sort();
    files.iter().map(|path| std::fs::read(path).map_err(|e| e.to_string())).collect()
}

/// A table with a thread in the second of three phases, and the two contexts of OpenTelemetry.
pub(super) fn tables() -> Vec<Vec<u8>> {
    use layout::{header, phase, slot};
    let slots = 4_usize;
    let first = layout::HEADER_BYTES + slots * layout::SLOT_BYTES;
    let mut bytes = vec![0; first + 3 * layout::PHASE_BYTES];
    let mut put = |at: usize, number: usize| {
        bytes[at..at + 4].copy_from_slice(&(number as u32).to_ne_bytes());
    };
    for (at, number) in [
        (header::VERSION, layout::VERSION as usize),
        (header::BYTES, layout::HEADER_BYTES),
        (header::PROCESS, 77),
        (header::SLOT_BYTES, layout::SLOT_BYTES),
        (header::SLOTS, slots),
        (header::SLOT_BEGIN, layout::HEADER_BYTES),
        (header::PHASE_BYTES, layout::PHASE_BYTES),
        (header::PHASES, 3),
        (header::PHASE_BEGIN, first),
        (header::USED, 3),
        (layout::HEADER_BYTES + slot::THREAD, 78),
        (layout::HEADER_BYTES + slot::GENERATION, 1),
        (layout::HEADER_BYTES + slot::PHASE, 2),
    ] {
        put(at, number);
    }
    for (at, name) in ["set-up", "solve", "\u{20ac}"].iter().enumerate() {
        let at = first + at * layout::PHASE_BYTES;
        bytes[at + phase::NAME..][..name.len()].copy_from_slice(name.as_bytes());
        bytes[at + phase::NAME_LENGTH] = name.len() as u8;
    }
    bytes[..8].copy_from_slice(&layout::MAGIC);
    let mut record = vec![0; reader::RECORD_HEADER];
    record[24] = 1;
    record[26] = 7;
    record.extend(b"\x00\x05solve");
    let keys = b"\x12\x2f\x0a\x1f".iter().chain(b"threadlocal.attribute_key_map");
    let keys = keys.chain(b"\x12\x0d\x2a\x0b\x0a\x09\x0a\x07a.phase");
    vec![bytes, record, keys.copied().collect()]
}

/// Texts of `/proc/PID`.
pub(super) fn texts() -> Vec<Vec<u8>> {
    let number = "0123456789abcdef".repeat(4);
    let groups = format!(
        "12:memory:/slurm/uid_1000/job_4711/step_0/task_2\n3:cpuset:/pbs.service/jobid/1.n\n\
         5:cpu:/docker/{number}\n0::/user.slice/user-1000.slice/session-3.scope\n"
    );
    let maps = "55d0c0000000-55d0c0001000 r--p 00000000 fe:01 12 /bin/a b\n\
        55d0c0001000-55d0c0003000 r-xp 00001000 fe:01 12 /bin/a b (deleted)\n\
        7f0000000000-7f0000001000 rwxp 00000000 00:00 0 [stack]\n\
        7f0000002000-7f0000004000 rw-s 00000000 00:01 9  /memfd:talea_mark (deleted)\n\
        7f0000005000-7f0000006000 rw-p 00000000 00:00 0  [anon:OTEL_CTX]\n";
    let stat: Vec<String> = (3..=52).map(|field: u32| field.to_string()).collect();
    let stat = format!("7 (a) b) {}\n", stat.join(" "));
    [groups, maps.to_owned(), stat].map(String::into_bytes).to_vec()
}

/// A ring with one record of each kind.
pub(super) fn records() -> Vec<Vec<u8>> {
    let mut ring = Vec::new();
    for (kind, misc, body) in [
        (9_u32, 2_u16, &[16_u32, 0, 9, 10, 77, 0, 3, 0, 5, 0][..]),
        (10, 2, &[5, 5, 4096, 0, 8192, 0, 7, 0, 8, 1, 42, 0, 0, 0, 5, 2, 0x0061_612f, 0]),
        (3, 1 << 13, &[5, 5, 0x656d_616e, 0]),
        (7, 0, &[9, 5, 9, 5, 98, 0]),
        (4, 0, &[9, 5, 9, 5, 98, 0]),
        (2, 0, &[1, 0, 5, 0]),
        (5, 0, &[1, 0, 2, 0, 3, 0]),
    ] {
        let behind: &[u32] = if kind == 9 { &[] } else { &[5, 6, 99, 0, 1, 0] };
        let length = 8 + 4 * (body.len() + behind.len()) as u16;
        ring.extend(kind.to_ne_bytes());
        ring.extend(misc.to_ne_bytes());
        ring.extend(length.to_ne_bytes());
        ring.extend(body.iter().chain(behind).flat_map(|number| number.to_ne_bytes()));
    }
    vec![ring.repeat(3)]
}

/// Small files of ELF: objects with thread-local variables that this machine's programs have.
pub(super) fn modules() -> Result<Vec<Vec<u8>>, String> {
    let found: Vec<Vec<u8>> = ["/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6"]
        .iter()
        .filter_map(|path| std::fs::read(path).ok())
        .collect();
    if found.is_empty() { Err("no library to damage".to_owned()) } else { Ok(found) }
}

/// One case.
pub(super) fn one(
    target: &str,
    random: &mut Random,
    mut bytes: Vec<u8>,
    other: &[u8],
    folder: &Path,
) -> Result<(), String> {
    match target {
        "batches" => travelling(random, bytes, other),
        "spool" => waiting(random, bytes, other, folder),
        "phases" => {
            mutate(random, &mut bytes, other);
            table(random, &mut bytes);
            Ok(())
        }
        "processes" => {
            mutate(random, &mut bytes, other);
            talea_agent::damaged::texts(&bytes);
            let addresses: Vec<u64> = (0..8).map(|_| random.number() >> random.below(64)).collect();
            talea_sampling::system::damaged::maps(&bytes, &addresses);
            Ok(())
        }
        "records" => {
            mutate(random, &mut bytes, other);
            talea_sampling::system::damaged::records(&bytes);
            Ok(())
        }
        _ => {
            headers(random, &mut bytes, other);
            talea_agent::damaged::file(&bytes);
            Ok(())
        }
    }
}

/// A batch that is read must be written and read again as the same.
fn travelling(random: &mut Random, mut bytes: Vec<u8>, other: &[u8]) -> Result<(), String> {
    if random.below(4) == 0 {
        mutate(random, &mut bytes, other);
    } else {
        let unfold = |bytes| zstd::bulk::decompress(bytes, MOST).map_err(|e| e.to_string());
        let (mut json, other) = (unfold(&bytes[..])?, unfold(other)?);
        mutate(random, &mut json, &other);
        bytes = zstd::bulk::compress(&json, 1).map_err(|e| e.to_string())?;
    }
    let Ok(read) = wire::decode(&bytes) else { return Ok(()) };
    let _ = talea_store::check(&read);
    let again = wire::encode(&read).and_then(|bytes| wire::decode(&bytes));
    if again.map_err(|e| e.to_string())? == read { Ok(()) } else { Err("another batch".to_owned()) }
}

/// A spool with a damaged file must go on: what comes afterwards is kept in order, and can be
/// acknowledged.
fn waiting(
    random: &mut Random,
    mut bytes: Vec<u8>,
    other: &[u8],
    folder: &Path,
) -> Result<(), String> {
    if random.below(4) == 0 {
        mutate(random, &mut bytes, other);
    } else {
        let journal =
            Journal::read(&bytes, SPOOL, Path::new("spool")).map_err(|e| e.to_string())?;
        let mut blocks: Vec<(Tag, Vec<u8>)> =
            journal.blocks.iter().map(|block| (block.tag, block.bytes.to_vec())).collect();
        for _ in 0..=random.below(3) {
            let (at, to) = (random.below(blocks.len()), random.below(blocks.len()));
            match random.below(6) {
                0 => blocks.swap(at, to),
                1 => blocks.insert(to, blocks[at].clone()),
                _ => mutate(random, &mut blocks[at].1, other),
            }
        }
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, SPOOL).map_err(|e| e.to_string())?;
        for (tag, payload) in blocks {
            writer.append(tag, &payload).map_err(|e| e.to_string())?;
        }
        bytes = out;
    }
    let folder = folder.join("spool");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let name = format!("{:012}.spool", random.below(3));
    std::fs::write(folder.join(name), &bytes).map_err(|e| e.to_string())?;
    let mut spool = Spool::open(&folder, Bytes(LEAST.0)).map_err(|e| e.to_string())?;
    for number in 100..104 {
        spool.append(&batch(number)).map_err(|e| e.to_string())?;
    }
    let mut seen = Vec::new();
    while let Some(oldest) = spool.oldest().map_err(|e| e.to_string())? {
        if !spool.acknowledge(&oldest.id).map_err(|e| e.to_string())? {
            // The head of its block names another: it would be sent for ever.
            return Err(format!("{:?} waits, but cannot be acknowledged", oldest.id));
        }
        seen.push(oldest.id.number);
    }
    if seen.ends_with(&[100, 101, 102, 103]) { Ok(()) } else { Err(format!("left: {seen:?}")) }
}

/// Tables keep their bounds; the checksum is made anew.
fn table(random: &mut Random, bytes: &mut [u8]) {
    use layout::header;
    if random.below(4) > 0 && bytes.len() > header::END {
        bytes[..8].copy_from_slice(&layout::MAGIC);
        bytes[header::VERSION..][..4].copy_from_slice(&layout::VERSION.to_ne_bytes());
        if random.below(4) == 0 {
            let at = 4 * random.below(header::END / 4);
            let number = random.number() >> random.below(64);
            bytes[at..at + 4].copy_from_slice(&(number as u32).to_ne_bytes());
        }
        let sum = layout::checksum(&bytes[..header::CHECKSUM]);
        bytes[header::CHECKSUM..][..4].copy_from_slice(&sum.to_ne_bytes());
    }
    if let Ok(table) = reader::Table::from_bytes(bytes) {
        for thread in &table.threads {
            let _ = table.phase_of(thread.id);
        }
    }
    let _ = reader::context(bytes);
    let _ = reader::context_header(bytes);
    let _ = reader::process_context(bytes);
}

/// Damage where it counts: in the headers of a file, its segments and sections.
fn headers(random: &mut Random, bytes: &mut Vec<u8>, other: &[u8]) {
    let word = |bytes: &[u8], at: usize| -> usize {
        let number = bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
        usize::try_from(u64::from_le_bytes(number.unwrap_or_default())).unwrap_or(0)
    };
    let sections = word(bytes, 40).min(bytes.len());
    let (begin, length) = match random.below(4) {
        0 => (16, 48),
        1 => (64, 1024),
        2 => (sections, bytes.len() - sections),
        _ => (random.below(bytes.len()), 256),
    };
    let end = (begin + length).min(bytes.len());
    let mut part = bytes[begin..end].to_vec();
    mutate(random, &mut part, other);
    part.resize(end - begin, 0);
    bytes[begin..end].copy_from_slice(&part);
    if random.below(8) == 0 {
        bytes.truncate(random.below(bytes.len()));
    }
}
