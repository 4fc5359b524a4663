//! Samples counted in the kernel, by a BPF program on an event of each core's clock.
//!
//! Owns loading the program (`bpf/system.bpf.c`, committed as an object) and its maps. Two maps of
//! counts take turns: the program counts in the one that an array of maps holds. When that is
//! changed, the kernel says so only after every program that may have seen the old one has ended
//! (Linux 4.20, `maybe_wait_bpf_programs`). Then the old one is emptied with nobody beside: no
//! sample is lost or counted twice, which looking up and deleting in a map that is counted in
//! cannot promise.

mod btf;
mod counting;
mod kernel;
mod layout;
mod load;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use aya::maps::{ArrayOfMaps, HashMap, Map, MapData, MapError, PerCpuArray};
use rustix::io::Errno;
use talea_model::shares::{Counter, Sampler};
use talea_model::{GapKind, Gaps};
use talea_topology::CpuSet;

use super::clocks::{self, Clocks};
use super::counters::{Counters, Kinds};
use super::error::{missing_for_bpf, of_events};
use super::hit::{self, FileId, Hit};
use super::rates::{self, MOST_COUNTERS, MOST_PERIODS, Rated};
use super::{OpenError, Options, SystemSampler, Tls, note_count};
use crate::root::Root;
use crate::sys::{bpf, clock, perf};
use counting::Counting;
use layout::{FILE_ID, KEY, NAME, SUMS, TEXT, TLS};
use load::{Loaded, Wanted};

/// The program. Alignment is what the parser of ELF wants.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../../../bpf/system.bpf.o");
const WHAT: &str = "counting samples by a BPF program";
const EVENTS: [&str; MOST_COUNTERS] = [
    "events_0", "events_1", "events_2", "events_3", "events_4", "events_5", "events_6", "events_7",
];
/// Cores at most where the machine does not say.
const MOST_CORES: usize = 4095;
/// For how long counts must find room when each sample hits something else, in nanoseconds.
const ROOM: u64 = 30_000_000_000;
/// Entries of a map of counts, least and most. One takes about 150 bytes of the kernel's memory.
const ENTRIES: (u64, u64) = (1024, 65_536);
/// Those of a map of rates; addresses add none.
const RATES: (u64, u64) = (512, 16_384);

/// Bytes of a map: plain numbers and texts, taken apart by [`layout`].
type Hash<const K: usize, const V: usize> = HashMap<MapData, [u8; K], [u8; V]>;

/// The sampler.
pub(super) struct Counted {
    clocks: Clocks<Event>,
    program: OwnedFd,
    current: ArrayOfMaps<MapData, MapData>,
    counts: [MapData; 2],
    current_rates: ArrayOfMaps<MapData, MapData>,
    rates: [MapData; 2],
    /// Which of them are counted in.
    active: usize,
    /// Taken out with the last samples.
    rated: Vec<Rated>,
    counting: Counting,
    names: Hash<FILE_ID, NAME>,
    phases: Hash<8, TEXT>,
    threads: Hash<4, TLS>,
    losses: PerCpuArray<MapData, u64>,
    /// Losses of all cores that were reported.
    told: [u64; 8],
}

/// An open event that the program is attached to.
#[derive(Debug)]
struct Event {
    clock: File,
    /// Counters of the core that could not be opened.
    refused: Vec<String>,
}

impl AsRef<File> for Event {
    fn as_ref(&self) -> &File {
        &self.clock
    }
}

fn open_event(
    program: BorrowedFd<'_>,
    counting: &Counting,
    core: u32,
    period: u64,
) -> Result<Event, OpenError> {
    let explain = |error| of_events(&Root::machine(), WHAT, 0, error);
    let event = clock::open_silent(core, period).map_err(explain)?;
    clock::attach(&event, program).map_err(explain)?;
    let refused = counting.put(core);
    perf::start(&event).map_err(explain)?;
    Ok(Event { clock: event, refused })
}

impl Counted {
    pub(super) fn open(options: &Options) -> Result<Self, OpenError> {
        let entries = samples_kept(options).next_power_of_two().clamp(ENTRIES.0, ENTRIES.1);
        Self::with_entries(options, entries as u32)
    }

    /// One that has room for so many different hits between two collections.
    pub(super) fn with_entries(options: &Options, entries: u32) -> Result<Self, OpenError> {
        let root = Root::machine();
        if let Some(missing) = missing_for_bpf(&root) {
            return Err(OpenError::Capability { what: WHAT, missing });
        }
        let mut untold = Gaps::default();
        let counters = Counters::find(&root, &options.counters, Kinds::All, &mut untold);
        let count = counters.len() as u32;
        let longest = options.period.0.saturating_mul(MOST_PERIODS);
        let rates = (samples_kept(options) / 4).next_power_of_two().clamp(RATES.0, RATES.1) as u32;
        let rates = if count == 0 { 1 } else { rates };
        let possible = crate::cpus::list(&root, "sys/devices/system/cpu/possible");
        let cores = possible.as_ref().and_then(|all| all.iter().last()).unwrap_or(MOST_CORES) + 1;
        let mut sizes = vec![
            ("counts_0", entries),
            ("counts_1", entries),
            ("rates_0", rates),
            ("rates_1", rates),
        ];
        sizes.extend(EVENTS.map(|name| (name, cores as u32)));
        let constants: [(&str, &[u8]); 2] =
            [("counters", &count.to_ne_bytes()), ("longest", &longest.to_ne_bytes())];
        let kernel = kernel::types(&root)?;
        let wanted = Wanted { kernel: &kernel, entries: &sizes, constants: &constants };
        let Loaded { program, mut maps } =
            load::load(OBJECT, &wanted).map_err(|error| kernel::explain(&root, &error))?;
        let wrong = |error: MapError| OpenError::Program {
            release: kernel::release(&root),
            reason: error.to_string(),
        };
        let mut map = |name: &str| {
            maps.remove(name).ok_or_else(|| wrong(MapError::InvalidName { name: name.to_owned() }))
        };
        let counts = [map("counts_0")?, map("counts_1")?];
        let mut current =
            ArrayOfMaps::try_from(Map::ArrayOfMaps(map("current")?)).map_err(wrong)?;
        let rates = [map("rates_0")?, map("rates_1")?];
        let mut current_rates =
            ArrayOfMaps::try_from(Map::ArrayOfMaps(map("current_rates")?)).map_err(wrong)?;
        let mut events = Vec::with_capacity(EVENTS.len());
        for name in EVENTS {
            events.push(map(name)?);
        }
        let names = HashMap::try_from(Map::LruHashMap(map("names")?)).map_err(wrong)?;
        let phases = HashMap::try_from(Map::LruHashMap(map("phases")?)).map_err(wrong)?;
        let threads = HashMap::try_from(Map::HashMap(map("threads")?)).map_err(wrong)?;
        let losses = PerCpuArray::try_from(Map::PerCpuArray(map("losses")?)).map_err(wrong)?;
        current.set(0, &counts[0], 0).map_err(wrong)?;
        current_rates.set(0, &rates[0], 0).map_err(wrong)?;
        let counting =
            Counting { names: counters.names(), counters, events, released: false, untold };
        let clocks = Clocks::open(&root, options, |core, period| {
            open_event(program.as_fd(), &counting, core, period)
        })?;
        Ok(Self {
            clocks,
            program,
            current,
            counts,
            current_rates,
            rates,
            active: 0,
            rated: Vec::new(),
            counting,
            names,
            phases,
            threads,
            losses,
            told: [0; 8],
        })
    }

    /// One core's counts of one kind.
    fn of_cores(&self, what: u32) -> io::Result<Vec<u64>> {
        let values = self.losses.get(&what, 0).map_err(plain)?;
        Ok(values.iter().copied().collect())
    }

    /// How many were lost in one way since the last time.
    fn lost(&mut self, what: u32) -> io::Result<u64> {
        let sum = self.of_cores(what)?.iter().sum::<u64>();
        let told = &mut self.told[what as usize];
        let new = sum.saturating_sub(*told);
        *told = sum;
        Ok(new)
    }

    /// Takes the rates out of the map that is not counted in any more.
    fn take_rates(&mut self, old: usize, gaps: &mut Gaps) -> io::Result<()> {
        let counters = self.counting.names.len();
        if counters == 0 {
            return Ok(());
        }
        let mut phases = Phases::new();
        let (rated, known) = (&mut self.rated, &self.phases);
        bpf::take_all::<KEY, SUMS>(self.rates[old].fd().as_fd(), |key, sums| {
            if let Some(sums) = layout::sums(sums, counters) {
                rated.push(Rated { hit: hit_of(key, 0, known, &mut phases), sums });
            }
        })?;
        let beyond = rates::bring_together(rated);
        let (reset, uncounted) = (self.lost(layout::RESET)?, self.lost(layout::UNCOUNTED)?);
        rates::note(gaps, reset, uncounted, self.lost(layout::NO_RATE)?);
        rates::note_beyond(gaps, beyond.saturating_add(self.lost(layout::BEYOND)?));
        Ok(())
    }

    /// Says what was lost since the last time.
    fn tell(&mut self, gaps: &mut Gaps) -> io::Result<()> {
        for what in [layout::FULL, layout::NO_MAPPING, layout::NO_PHASE] {
            let new = self.lost(what)?;
            let (kind, sentence) = match what {
                layout::FULL => (
                    GapKind::MemoryBound,
                    "samples were not counted: the kernel's table of hits was full, as it was not emptied often enough",
                ),
                layout::NO_MAPPING => (
                    GapKind::Missing,
                    "samples have no file: their address is mapped nowhere, or the mappings of the process were changing",
                ),
                _ => (
                    GapKind::Missing,
                    "samples have no phase: the thread's record of it could not be read",
                ),
            };
            note_count(gaps, kind, new, || sentence.to_owned());
        }
        Ok(())
    }
}

impl SystemSampler for Counted {
    fn name(&self) -> Sampler {
        Sampler::Bpf
    }

    fn cores(&self) -> CpuSet {
        self.clocks.cores()
    }

    fn collect(&mut self, hits: &mut Vec<Hit>, gaps: &mut Gaps) -> io::Result<()> {
        let old = self.active;
        if !self.counting.names.is_empty() {
            // The kernel waits at each of the two until no program runs that may have the old map.
            // Rates first, so that what is rated was counted in this collection or before.
            self.current_rates.set(0, &self.rates[1 - old], 0).map_err(plain)?;
        }
        self.current.set(0, &self.counts[1 - old], 0).map_err(plain)?;
        self.active = 1 - old;
        let first = hits.len();
        let mut phases = Phases::new();
        let known = &self.phases;
        bpf::take_all::<KEY, 8>(self.counts[old].fd().as_fd(), |key, count| {
            hits.push(hit_of(key, u64::from_ne_bytes(*count), known, &mut phases));
        })?;
        hit::bring_together(hits, first);
        self.take_rates(old, gaps)?;
        gaps.merge(std::mem::take(&mut self.counting.untold));
        self.tell(gaps)?;
        let now = clocks::now();
        let taken = self.of_cores(layout::SAMPLES)?;
        let taken = |core: u32| taken.get(core as usize).copied().unwrap_or(0);
        let (program, counting) = (self.program.as_fd(), &self.counting);
        self.clocks.follow(gaps, taken, |core, period| open_event(program, counting, core, period));
        for clock in &mut self.clocks.all {
            Counting::note(gaps, std::mem::take(&mut clock.event.refused));
        }
        self.clocks.all.iter_mut().for_each(|clock| clock.steer(now));
        self.clocks.account(now, taken, (hits, first), gaps);
        Ok(())
    }

    fn lost_samples(&self) -> u64 {
        self.told[layout::FULL as usize]
    }

    fn counters(&self) -> &[Counter] {
        &self.counting.names
    }

    fn rated(&mut self, rated: &mut Vec<Rated>) -> io::Result<()> {
        rated.append(&mut self.rated);
        Ok(())
    }

    fn release_counters(&mut self) {
        self.counting.released = true;
        for clock in &self.clocks.all {
            self.counting.clear(clock.core);
        }
    }

    fn resume_counters(&mut self) {
        self.counting.released = false;
        for clock in &self.clocks.all {
            let refused = self.counting.put(clock.core);
            Counting::note(&mut self.counting.untold, refused);
        }
    }

    fn set_tls(&mut self, process: u32, tls: Option<Tls>) -> io::Result<bool> {
        let key = process.to_ne_bytes();
        match tls {
            Some(tls) => self.threads.insert(key, layout::tls(tls), 0).map_err(plain)?,
            None => match self.threads.remove(&key) {
                Ok(()) | Err(MapError::KeyNotFound) => {}
                Err(error) => {
                    let error = plain(error);
                    if Errno::from_io_error(&error) != Some(Errno::NOENT) {
                        return Err(error);
                    }
                }
            },
        }
        Ok(true)
    }

    fn path(&self, file: FileId) -> Option<PathBuf> {
        let name = self.names.get(&layout::file_id(file), 0).ok()?;
        let name = layout::name(&name);
        (!name.is_empty()).then(|| std::ffi::OsStr::from_bytes(name).into())
    }
}

/// Samples for which there is to be room.
fn samples_kept(options: &Options) -> u64 {
    let online = crate::cpus::online(&Root::machine()).len().max(1) as u64;
    (ROOM / options.period.0.max(1)).saturating_mul(online)
}

/// Phases of one drain, each asked for once.
type Phases = std::collections::HashMap<u64, Option<Arc<[u8]>>>;

fn hit_of(key: &[u8; KEY], count: u64, known: &Hash<8, TEXT>, phases: &mut Phases) -> Hit {
    let (mut hit, phase) = layout::hit(key, count);
    if phase != 0 {
        let look_up = || known.get(&phase.to_ne_bytes(), 0).ok().and_then(|b| layout::text(&b));
        hit.phase.clone_from(phases.entry(phase).or_insert_with(look_up));
    }
    hit
}

/// The kernel's error in a map's.
fn plain(error: MapError) -> io::Error {
    match error {
        MapError::SyscallError(error) => error.io_error,
        other => io::Error::other(other),
    }
}
