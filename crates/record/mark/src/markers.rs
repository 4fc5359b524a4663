//! Phases that sites of markers mean: registered at first use, never forgotten.
//!
//! Owns what all threads share: the registry, the budget, whether marking is on at all, and which
//! phases are. Refuses to know threads, but for keeping their states. `site` has what lies in the
//! program.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};

use crate::layout::{self, header};
use crate::lock::{Held, Lock};
use crate::meter::{BRIDGED_PAIR_NS, Budget, PAIR_NS, RECORDED_PAIR_NS};
use crate::site::Site;
use crate::table::Table;
use crate::thread::Thread;
use crate::{context, process, recorder};

/// A phase at one place.
pub(crate) struct Marker {
    /// For the thread context.
    pub(crate) record: *const u8,
    /// From 1; 0 is no phase.
    pub(crate) id: u32,
    /// Number of the first phase of this name.
    pub(crate) group: u32,
    /// Its number where phases are recorded; 0 where they are not.
    pub(crate) recorded: u32,
    /// Nanoseconds that an entry with its leave is charged with.
    pub(crate) charge: u64,
    /// It is within its budget.
    pub(crate) on: AtomicBool,
    /// The first of this name; none if this is it.
    leader: Option<&'static Marker>,
    /// It is one of those that `open` of its first counts, or was.
    counted: AtomicBool,
    /// In the first of a name: places of this name that are on.
    open: AtomicU32,
    /// In the first of a name: ends that had nothing to end since all its places are off.
    pub(crate) idle: AtomicU32,
    /// In the first of a name: all places are off, and no thread is inside.
    pub(crate) closed: AtomicBool,
}

// SAFETY: the record never changes and is never freed; the rest is atomic or never changes.
unsafe impl Sync for Marker {}
// SAFETY: nothing in it belongs to a thread.
unsafe impl Send for Marker {}

impl Marker {
    const fn new(
        record: *const u8,
        id: u32,
        recorded: u32,
        leader: Option<&'static Marker>,
        charge: u64,
    ) -> Marker {
        Marker {
            record,
            recorded,
            id,
            charge,
            group: match leader {
                Some(leader) => leader.group,
                None => id,
            },
            on: AtomicBool::new(true),
            leader,
            counted: AtomicBool::new(false),
            open: AtomicU32::new(0),
            idle: AtomicU32::new(0),
            closed: AtomicBool::new(false),
        }
    }

    /// Which tells whether the whole name is off.
    pub(crate) fn leader(&self) -> &Marker {
        self.leader.unwrap_or(self)
    }

    /// All places of this name are off.
    pub(crate) fn drained(&self) -> bool {
        self.leader().open.load(Ordering::Relaxed) == 0
    }
}

/// No phase.
pub(crate) static NONE: Marker = Marker::new(ptr::null(), 0, 0, None, PAIR_NS);

/// What one phase was registered with.
pub(crate) struct Entry {
    pub(crate) marker: &'static Marker,
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) line: u32,
}

/// What is rarely needed, under the lock.
pub(crate) struct Registry {
    pub(crate) entries: Vec<Entry>,
    /// States of threads by the index of their slot; they are used again, never freed.
    pub(crate) threads: Vec<*mut Thread>,
    /// Indices that no thread has.
    pub(crate) free: Vec<u32>,
    /// Threads leave their phases in the thread context.
    pub(crate) published: bool,
}

// SAFETY: the states that it points to are shared by atomics.
unsafe impl Send for Registry {}

pub(crate) static REGISTRY: Lock<Registry> = Lock::new(Registry {
    entries: Vec::new(),
    threads: Vec::new(),
    free: Vec::new(),
    published: false,
});

/// Not yet asked, on, off.
static MODE: AtomicU8 = AtomicU8::new(0);
const ON: u8 = 1;
const OFF: u8 = 2;

/// The table of this process; null without one.
static TABLE: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());

/// Where everything is counted; None before the first marker, and where marking is off.
pub(crate) fn table() -> Option<Table> {
    // SAFETY: only bases of tables are stored.
    unsafe { Table::from_base(TABLE.load(Ordering::Acquire)) }
}

/// Millionths of a thread's time, `u64::MAX` for no limit.
static BUDGET: AtomicU64 = AtomicU64::new(10_000);

pub(crate) fn budget() -> Budget {
    let millionths = BUDGET.load(Ordering::Relaxed);
    Budget { millionths: (millionths != u64::MAX).then_some(millionths) }
}

/// Nothing is marked any more, in this process and from now on.
pub(crate) fn give_up() {
    TABLE.store(ptr::null_mut(), Ordering::Release);
    MODE.store(OFF, Ordering::Release);
}

/// The registry; looks for a recorder the first time, before: that takes the loader's lock, which a
/// thread has whose library is just loaded and marks, so that it must not be waited for with the
/// registry in hand.
fn hold() -> Held<'static, Registry> {
    if MODE.load(Ordering::Acquire) == 0 {
        recorder::look();
    }
    REGISTRY.hold()
}

/// Whether there is anything to mark into; looks at the environment the first time.
fn begin(registry: &mut Registry) -> bool {
    match MODE.load(Ordering::Acquire) {
        ON => return true,
        OFF => return false,
        _ => {}
    }
    let wish = std::env::var("TALEA_MARK").unwrap_or_default();
    let new = if wish == "off" { None } else { Table::new() };
    let Some(table) = new.filter(|_| process::watch(wish == "report")) else {
        MODE.store(OFF, Ordering::Release);
        return false;
    };
    let budget = std::env::var("TALEA_MARK_BUDGET").ok().and_then(|text| Budget::parse(&text));
    let millionths = budget.unwrap_or_default().millionths.unwrap_or(u64::MAX);
    BUDGET.store(millionths, Ordering::Relaxed);
    TABLE.store(table.base(), Ordering::Release);
    registry.threads.reserve_exact(layout::SLOTS);
    registry.free.reserve_exact(layout::SLOTS);
    registry.published = cfg!(target_arch = "x86_64") && !context::taken() && context::publish();
    table.word(header::CONTEXT).store(u32::from(registry.published), Ordering::Relaxed);
    MODE.store(ON, Ordering::Release);
    true
}

/// Whether anything is marked in this process.
pub(crate) fn is_on() -> bool {
    begin(&mut hold())
}

/// Registers a site: its flag from now on, 1 for on, -1 for off.
pub(crate) fn register(site: &Site) -> i8 {
    if !site.is_known() {
        // Made by a header of another time: its fields may be others.
        return -1;
    }
    let mut registry = hold();
    let marker = match site.marker() {
        Some(marker) => Some(marker),
        None if begin(&mut registry) => find(&mut registry, site),
        None => None,
    };
    let on = marker.is_some_and(|marker| {
        if site.ends() {
            !marker.leader().closed.load(Ordering::Relaxed)
        } else {
            marker.on.load(Ordering::Relaxed)
        }
    });
    site.set_marker(marker);
    if on {
        site.switch_on();
        1
    } else {
        site.switch_off();
        -1
    }
}

fn find(registry: &mut Registry, site: &Site) -> Option<&'static Marker> {
    let mut name = site.name();
    if name.is_empty() {
        "(unnamed)".clone_into(&mut name);
    }
    let file = site.file();
    let same_name = registry.entries.iter().find(|entry| entry.name == name);
    if site.ends()
        && let Some(first) = same_name
    {
        return Some(first.marker);
    }
    let leader = same_name.map(|entry| entry.marker);
    // Inline functions have a site in each file that they are compiled into.
    let same =
        |entry: &&Entry| entry.name == name && entry.line == site.line() && entry.file == file;
    let known = registry.entries.iter().find(same).map(|entry| entry.marker);
    let used = registry.entries.len();
    let charge = if site.is_bridged() { BRIDGED_PAIR_NS } else { PAIR_NS };
    let marker = match (known, leader) {
        (Some(marker), _) => marker,
        // The last place is for all that find none.
        (None, Some(leader)) if used + 1 >= layout::PHASES => leader,
        (None, None) if used >= layout::PHASES => registry.entries.last()?.marker,
        (None, None) if used + 1 >= layout::PHASES => {
            add(registry, None, "(other)", ("", 0), PAIR_NS)?
        }
        (None, leader) => add(registry, leader, &name, (&file, site.line()), charge)?,
    };
    // Once, however many sites it has.
    if !site.ends() && !marker.counted.swap(true, Ordering::Relaxed) {
        open(marker);
    }
    Some(marker)
}

/// Counts a place that begins phases, or leaves it off where the ends of its name are off already.
fn open(marker: &Marker) {
    let leader = marker.leader();
    if leader.closed.load(Ordering::Relaxed) {
        marker.on.store(false, Ordering::Relaxed);
    } else if marker.on.load(Ordering::Relaxed) {
        leader.open.fetch_add(1, Ordering::Relaxed);
    }
}

fn add(
    registry: &mut Registry,
    leader: Option<&'static Marker>,
    name: &str,
    (file, line): (&str, u32),
    charge: u64,
) -> Option<&'static Marker> {
    let id = registry.entries.len() as u32 + 1;
    let record: &'static [u8] = aligned(&context::record(name));
    let recorded = match leader {
        Some(leader) => leader.recorded,
        None => recorder::current().map_or(0, |recorder| recorder.number(name)),
    };
    // Recording looks at the clock, whatever else an entry costs.
    let charge = if recorded == 0 { charge } else { charge + RECORDED_PAIR_NS - PAIR_NS };
    let marker = Marker::new(record.as_ptr(), id, recorded, leader, charge);
    let marker: &'static Marker = Box::leak(Box::new(marker));
    table()?.add_phase(id, marker.group, line, name, file);
    let entry = Entry { marker, name: name.to_owned(), file: file.to_owned(), line };
    registry.entries.push(entry);
    Some(marker)
}

/// Leaks a record at an address that is a multiple of eight; readers expect two.
fn aligned(bytes: &[u8]) -> &'static [u8] {
    let mut words = vec![0_u64; bytes.len().div_ceil(8)];
    for (word, chunk) in words.iter_mut().zip(bytes.chunks(8)) {
        let mut full = [0; 8];
        full[..chunk.len()].copy_from_slice(chunk);
        *word = u64::from_ne_bytes(full);
    }
    let words: &'static [u64] = Vec::leak(words);
    // SAFETY: these are the bytes of the words, which are never freed.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len() * 8) }
}

/// A phase took too much of a thread's time, at `rate` entries a second.
pub(crate) fn too_costly(marker: &Marker, rate: u64) {
    if marker.on.swap(false, Ordering::Relaxed) {
        // Never below zero: it was counted when it was registered.
        marker.leader().open.fetch_sub(1, Ordering::Relaxed);
        if let Some(table) = table() {
            table.switched_off(marker.id, rate);
        }
    }
}
