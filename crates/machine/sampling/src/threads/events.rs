//! The events of one thread: a group for each set of counters, all with one buffer.
//!
//! Owns descriptors and mappings. Members of a group need no descriptor once their page is mapped,
//! which keeps the program's table of descriptors free; leaders' numbers are high, where programs
//! do not look for theirs.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use rustix::io::Errno;

use super::record::{Sample, Words};
use super::select::Selected;
use super::{ABSENT, record};
use crate::perf::refusals::{Refusal, refusal};
use crate::sys::buffer::Buffer;
use crate::sys::page::EventPage;
use crate::sys::perf::{self, HEAD};
use crate::sys::sampled;

/// Data pages of a buffer, most first: users may lock only so much memory.
const PAGES: [usize; 4] = [128, 32, 16, 8];
/// Descriptors below this are the program's.
const HIGH: i32 = 400;
const PERF_RECORD_LOST: u32 = 2;
const PERF_RECORD_SAMPLE: u32 = 9;

/// Why a thread is not sampled.
#[derive(Debug, thiserror::Error)]
pub enum OpenThreadError {
    /// It has ended.
    #[error("the thread has ended")]
    Gone,
    /// Anything else; what it means is said by [`select`](super::select) beforehand.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// One set's group.
#[derive(Debug)]
struct Group {
    leader: File,
    /// Number of the leader in its samples.
    id: u64,
    /// One for each member, in the order of the set; or its descriptor where pages cannot be
    /// mapped.
    members: Vec<Member>,
    /// For each counter of the set its place in what a read gives.
    width: usize,
}

#[derive(Debug)]
enum Member {
    Page(Arc<EventPage>),
    Open(#[expect(dead_code, reason = "it counts as long as it is open")] File),
}

/// A thread that is sampled.
#[derive(Debug)]
pub struct Sampled {
    groups: Vec<Group>,
    active: usize,
    buffer: Buffer,
    copied: bool,
    bytes: Vec<u8>,
}

/// A descriptor above those that programs use.
fn high(file: File) -> File {
    match rustix::io::fcntl_dupfd_cloexec(&file, HIGH) {
        Ok(moved) => File::from(moved),
        Err(_) => file,
    }
}

impl Sampled {
    /// Opens all sets on a thread of this process, and lets one of them count.
    pub fn open(selected: &Selected, tid: u32, first: usize) -> Result<Self, OpenThreadError> {
        let explain = |error: io::Error| match refusal(&error) {
            Refusal::Gone => OpenThreadError::Gone,
            _ => OpenThreadError::Io(error),
        };
        let mut groups: Vec<Group> = Vec::new();
        let mut buffer = None;
        for set in &selected.sets {
            let trigger = selected.counters[0].attributes;
            let leader = high(sampled::open(&trigger, selected.sampling(), tid).map_err(explain)?);
            match groups.first() {
                Some(first) => sampled::redirect(&leader, &first.leader)?,
                None => buffer = Some(map(&leader)?),
            }
            let member = |&counter: &usize| {
                let attributes = &selected.counters[counter].attributes;
                let member = sampled::member(attributes, tid, &leader).map_err(explain)?;
                Ok(match EventPage::map(&member) {
                    Ok(page) => Member::Page(Arc::new(page)),
                    Err(_) => Member::Open(high(member)),
                })
            };
            let members =
                set[1..].iter().map(member).collect::<Result<Vec<_>, OpenThreadError>>()?;
            let id = sampled::id(&leader)?;
            groups.push(Group { id, members, width: set.len(), leader });
        }
        let none = || OpenThreadError::Io(Errno::INVAL.into());
        let mut opened = Self {
            buffer: buffer.ok_or_else(none)?,
            groups,
            active: first,
            copied: selected.stack.is_some(),
            bytes: Vec::new(),
        };
        opened.active = first % opened.groups.len().max(1);
        perf::start(&opened.groups[opened.active].leader)?;
        Ok(opened)
    }

    /// The set that counts.
    pub fn active(&self) -> usize {
        self.active
    }

    /// Lets another set count.
    pub fn switch(&mut self, set: usize) -> io::Result<()> {
        let next = self.groups.get(set).ok_or(Errno::INVAL)?;
        sampled::stop(&self.groups[self.active].leader)?;
        perf::start(&next.leader)?;
        self.active = set;
        Ok(())
    }

    /// Changes the growth of the trigger from one sample to the next. The next one is counted from
    /// here.
    pub fn set_period(&self, period: u64) -> io::Result<()> {
        sampled::set_period(&self.groups[self.active].leader, period.max(1))
    }

    /// The trigger's count by now, in the set that counts.
    pub fn progress(&self) -> Option<u64> {
        let mut row = [ABSENT];
        let Group { leader, id, width, .. } = &self.groups[self.active];
        read(leader, *id, *width, &mut row).then_some(row[0])
    }

    /// Gives all samples since the last call, in order of time within a set; and says how many the
    /// kernel had no room for, and what part of the buffer was in use.
    pub fn drain(&mut self, mut each: impl FnMut(Sample<'_>)) -> Drained {
        let mut lost = 0;
        let (groups, copied) = (&self.groups, self.copied);
        let set_of = |id| groups.iter().position(|group| group.id == id);
        let used = self.buffer.drain(&mut self.bytes, |head, body| match head.kind {
            PERF_RECORD_SAMPLE => {
                if let Some(sample) = record::Sample::parse(body, copied, set_of) {
                    each(sample);
                }
            }
            PERF_RECORD_LOST => {
                let words = &mut Words(body);
                lost += words.next().and_then(|_| words.next()).unwrap_or(0);
            }
            _ => {}
        });
        Drained { lost, full: used as f64 / self.buffer.size() as f64 }
    }

    /// For each set what reads its counts from the thread itself.
    pub fn readers(&self) -> Vec<Reader> {
        self.groups.iter().filter_map(Group::reader).collect()
    }
}

/// Result of [`Sampled::drain`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Drained {
    /// Samples that found no room.
    pub lost: u64,
    /// Part of the buffer that was in use, 0 to 1.
    pub full: f64,
}

fn map(leader: &File) -> io::Result<Buffer> {
    let mut last = None;
    for pages in PAGES {
        match Buffer::map(leader, pages) {
            Ok(buffer) => return Ok(buffer),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| Errno::NOMEM.into()))
}

impl Group {
    fn reader(&self) -> Option<Reader> {
        let file = self.leader.try_clone().ok().map(high)?;
        let page = |member: &Member| match member {
            Member::Page(page) if page.is_readable() => Some(page.clone()),
            _ => None,
        };
        let pages: Vec<_> = self.members.iter().map(page).collect();
        let fast = pages.iter().any(Option::is_some);
        Some(Reader {
            file,
            id: self.id,
            width: self.width,
            pages: if fast { pages } else { Vec::new() },
        })
    }
}

/// Reads the counts of a set.
#[derive(Debug)]
pub struct Reader {
    file: File,
    /// The event's number.
    id: u64,
    width: usize,
    /// Of each member, if it can be read without a system call; empty where none can.
    pages: Vec<Option<Arc<EventPage>>>,
}

/// Most counters of a set that a reader reads.
const WIDEST: usize = 64;

impl Reader {
    /// Number of counts.
    pub fn width(&self) -> usize {
        self.width
    }

    /// True if some counters can be read without a system call.
    pub fn is_fast(&self) -> bool {
        !self.pages.is_empty()
    }

    /// Puts those counts into `row` that take no system call, [`ABSENT`] for the others. The
    /// calling thread is the one that is sampled.
    pub fn read_fast(&self, row: &mut [u64]) {
        row.fill(ABSENT);
        // The trigger comes first, which no instruction reads.
        for (count, page) in row.iter_mut().skip(1).zip(&self.pages) {
            *count = page.as_ref().and_then(|page| page.read()).unwrap_or(ABSENT);
        }
    }

    /// Puts the counts into `row` by a system call, as far as it goes; false if they cannot be
    /// read.
    pub fn read_into(&self, row: &mut [u64]) -> bool {
        read(&self.file, self.id, self.width, row)
    }
}

/// Reads a group.
///
/// In a program that closes descriptors of others this one may have become another file's. Nothing
/// of such a file must be read: so its number is queried first.
fn read(mut leader: &File, id: u64, width: usize, row: &mut [u64]) -> bool {
    let mut bytes = [0_u8; (HEAD + WIDEST) * 8];
    let expected = (HEAD + width.min(WIDEST)) * 8;
    if sampled::id(leader).ok() != Some(id) {
        return false;
    }
    let Ok(length) = leader.read(&mut bytes) else { return false };
    let words = &mut Words(&bytes[..length]);
    if length != expected || words.next() != Some(width as u64) {
        return false;
    }
    let (_enabled, _running) = (words.next(), words.next());
    for count in row.iter_mut() {
        *count = words.next().unwrap_or(ABSENT);
    }
    true
}

impl Sample<'_> {
    /// The counts as numbers.
    pub fn counts(&self) -> impl Iterator<Item = u64> + '_ {
        self.counts
            .chunks_exact(8)
            .map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()))
    }
}
