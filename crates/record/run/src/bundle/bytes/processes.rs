//! The processes of a bundle as bytes, columnwise.
//!
//! Owns their format: a packed column for each number that is similar on many processes, then those
//! for their threads, then rare properties.

use super::columns::{Columns, Form};
use crate::bundle::{Place, Process, Thread};
use crate::live::layout::MAX_THREADS;
use crate::live::numbers::{Cursor, get_all, put_all, put_number, put_text};
use crate::places::MOST_THREADS;

/// Numbers of each process that are similar on many: each becomes a packed column.
const COLUMNS: usize = 20;
/// Those of version 1.
const FIRST_COLUMNS: usize = 19;

fn columns_of(process: &Process) -> [i64; COLUMNS] {
    [
        process.world as i64,
        i64::from(process.rank),
        i64::from(process.size),
        i64::from(process.pid),
        i64::from(process.state),
        i64::from(process.abort_code),
        i64::from(process.host),
        i64::from(process.library),
        i64::from(process.comm_map),
        i64::from(process.datatype_map),
        i64::from(process.op_map),
        i64::from(process.list_map),
        i64::from(process.type_list_map),
        process.lost[0] as i64,
        process.lost[1] as i64,
        process.lost[2] as i64,
        process.lost[3] as i64,
        process.threads.len() as i64,
        process.places.len() as i64,
        process.shortened_paths as i64,
    ]
}

pub(super) fn put(out: &mut Vec<u8>, form: Form, processes: &[Process]) {
    put_number(out, processes.len() as u64);
    for column in 0..COLUMNS {
        form.put(out, processes.iter().map(|p| columns_of(p)[column]));
    }
    let threads = || processes.iter().flat_map(|p| &p.threads);
    put_number(out, threads().count() as u64);
    form.put(out, threads().map(|t| i64::from(t.body)));
    form.put(out, threads().map(|t| i64::from(t.peers)));
    form.put(out, threads().map(|t| i64::from(t.counts)));
    let places = || processes.iter().flat_map(|p| p.places.iter().map(move |place| (p, place)));
    put_number(out, places().count() as u64);
    form.put(out, places().map(|(p, place)| i64::from(place.tid) - i64::from(p.pid)));
    form.put(out, places().map(|(_, place)| i64::from(place.name)));
    form.put(out, places().map(|(_, place)| i64::from(place.allowed)));
    form.put(out, places().map(|(_, place)| i64::from(place.last)));
    form.put(out, places().map(|(_, place)| place.busy as i64));
    // Rare properties: the process's place, then the call that had not returned, and damage in
    // words.
    let few: Vec<(usize, &Process)> = processes
        .iter()
        .enumerate()
        .filter(|(_, p)| !p.open.is_empty() || !p.damage.is_empty())
        .collect();
    put_all(out, &few, |out, (place, process)| {
        put_number(out, *place as u64);
        put_all(out, process.open.as_flattened(), |out, &n| put_number(out, n));
        put_all(out, &process.damage, |out, d| put_text(out, d));
    });
}

pub(super) fn get(
    from: &mut Cursor<'_>,
    version: u64,
    most: u64,
    columns: &mut Columns,
) -> Option<Vec<Process>> {
    let count = from.number().filter(|&count| count <= most)?;
    let here = if version == 1 { FIRST_COLUMNS } else { COLUMNS };
    let mut numbers = (0..here).map(|_| columns.get(from, count)).collect::<Option<Vec<_>>>()?;
    numbers.resize(COLUMNS, vec![0; count as usize]);
    let most_threads = count.saturating_mul(MAX_THREADS as u64);
    let thread_count = from.number().filter(|&count| count <= most_threads)?;
    let bodies = columns.get(from, thread_count)?;
    let peers = columns.get(from, thread_count)?;
    let counts = columns.get(from, thread_count)?;
    let mut threads = bodies.iter().zip(&peers).zip(&counts).map(|((&body, &peers), &counts)| {
        Some(Thread {
            body: u32::try_from(body).ok()?,
            peers: u32::try_from(peers).ok()?,
            counts: u32::try_from(counts).ok()?,
        })
    });
    let most_places = count.saturating_mul(MOST_THREADS as u64);
    let place_count = from.number().filter(|&count| count <= most_places)?;
    let places = (0..5).map(|_| columns.get(from, place_count)).collect::<Option<Vec<_>>>()?;
    let mut places = (0..place_count as usize).map(|at| [0, 1, 2, 3, 4].map(|c| places[c][at]));
    let mut processes = (0..count as usize)
        .map(|place| {
            let at = |column: usize| numbers[column][place];
            let small = |column: usize| u32::try_from(at(column)).ok();
            Some(Process {
                world: at(0) as u64,
                rank: i32::try_from(at(1)).ok()?,
                size: small(2)?,
                pid: small(3)?,
                state: small(4)?,
                abort_code: i32::try_from(at(5)).ok()?,
                host: small(6)?,
                library: small(7)?,
                comm_map: small(8)?,
                datatype_map: small(9)?,
                op_map: small(10)?,
                list_map: small(11)?,
                type_list_map: small(12)?,
                lost: [at(13) as u64, at(14) as u64, at(15) as u64, at(16) as u64],
                threads: (0..u64::try_from(at(17)).ok()?)
                    .map(|_| threads.next().flatten())
                    .collect::<Option<Vec<_>>>()?,
                places: (0..u64::try_from(at(18)).ok()?)
                    .map(|_| {
                        let [tid, name, allowed, last, busy] = places.next()?;
                        Some(Place {
                            tid: u32::try_from(tid.checked_add(at(3))?).ok()?,
                            name: u32::try_from(name).ok()?,
                            allowed: u32::try_from(allowed).ok()?,
                            last: u32::try_from(last).ok()?,
                            busy: busy as u64,
                        })
                    })
                    .collect::<Option<Vec<_>>>()?,
                shortened_paths: at(19) as u64,
                open: Vec::new(),
                damage: Vec::new(),
                times: Vec::new(),
                version,
            })
        })
        .collect::<Option<Vec<_>>>()?;
    get_all(from, |from| {
        let place = usize::try_from(from.number()?).ok()?;
        let process = processes.get_mut(place)?;
        process.open = get_all(from, Cursor::number)?.as_chunks().0.to_vec();
        process.damage = get_all(from, Cursor::text)?;
        Some(())
    })?;
    Some(processes)
}
