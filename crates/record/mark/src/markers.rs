//! Phases that sites of markers mean: registered at first use, never forgotten.
//!
//! Owns the begin of marking in a process, whether it is on at all, and which phases are. Refuses
//! to know threads. `registry` has the data, `site` what lies in the program.

use std::sync::atomic::Ordering;

use crate::layout::header;
use crate::lock::Held;
use crate::marker::Marker;
use crate::meter::{BRIDGED_PAIR_NS, Budget, PAIR_NS, RECORDED_PAIR_NS};
use crate::registry::{BUDGET, Entry, MODE, OFF, ON, REGISTRY, Registry, TABLE, table};
use crate::site::Site;
use crate::table::Table;
use crate::{context, layout, process, recorder};

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
