//! Symbolic ids of communicators, datatypes, operations and other handles.
//!
//! Owns the map from handle to id, and the meaning of each id: a communicator is named by its
//! origin, which is the same on all its members, and [`datatypes`] by name or size. Ids of freed
//! handles are reused for equal objects, so that a loop which creates and frees a datatype repeats
//! itself. Whenever a known handle gets another meaning, [`epoch`] grows and remembered tuples are
//! checked again.

mod datatypes;
mod facts;
pub mod lists;
mod members;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

use datatypes::Datatype;
use lists::Lists;
pub use members::ask_members;
use members::leader;

use talea_run::live::record::{CommSymbol, Members, Symbol};

use crate::abi::abi;
use crate::abi::pmpi;
use crate::abi::table::{Kind, PROCEDURES};
use crate::record::memory::Memory;

/// All handles of the process.
#[derive(Debug, Default)]
pub struct Handles {
    comms: HashMap<usize, u32>,
    comm_symbols: Vec<Comm>,
    datatypes: HashMap<usize, u32>,
    datatype_symbols: Vec<Datatype>,
    facts: facts::Known,
    ops: HashMap<usize, u32>,
    op_names: Vec<String>,
    others: HashMap<(u8, usize), i64>,
    /// Lists of entries.
    pub lists: Lists,
    /// Group of the world; absent where there are only sessions.
    world_group: Option<usize>,
    /// This process's rank in the world.
    pub rank: u32,
}

#[derive(Debug)]
struct Comm {
    symbol: CommSymbol,
    /// Flags of the live communicators created from it so far, by number.
    children: Vec<bool>,
    /// Place among its parent's children.
    place: Option<(u32, usize)>,
    live: bool,
    /// True if created in a session: its group must not be compared with the world's (MPI 4.0,
    /// 11.3).
    of_session: bool,
}

static EPOCH: AtomicU32 = AtomicU32::new(0);

/// Grows whenever a handle may have another meaning than before.
#[inline(always)]
pub fn epoch() -> u32 {
    EPOCH.load(Ordering::Relaxed)
}

fn bump() {
    EPOCH.fetch_add(1, Ordering::Relaxed);
}

/// Writes a symbol to the file. Without room its reader knows the number only.
fn write(memory: &Memory, symbol: &Symbol) {
    let mut bytes = Vec::new();
    symbol.put(&mut bytes);
    // SAFETY: streams of the header are only written under the lock that guards `Handles`.
    let _ = unsafe { memory.append(&raw mut (*memory.header()).symbols, &bytes) };
}

impl Handles {
    /// Registers the two communicators that every program has; MPI is initialised.
    pub fn start(&mut self, memory: &Memory) {
        let abi = abi();
        let (mut rank, mut size, mut group) = (0_i32, 0_i32, 0_usize);
        // SAFETY: MPI is initialised and the pointers are valid.
        unsafe {
            pmpi::comm_rank(abi.comm_world, (&raw mut rank) as usize);
            pmpi::comm_size(abi.comm_world, (&raw mut size) as usize);
            pmpi::comm_group(abi.comm_world, (&raw mut group) as usize);
        }
        self.world_group = Some(group);
        self.rank = rank as u32;
        let members = Members::Range { first: 0, stride: 1, count: size as u64 };
        let world = CommSymbol { name: "world".into(), leader: 0, members, inter: false };
        let members = Members::Range { first: i64::from(rank), stride: 1, count: 1 };
        let own = CommSymbol { name: "self".into(), leader: rank as u32, members, inter: false };
        for (handle, symbol) in [(abi.comm_world, world), (abi.comm_self, own)] {
            self.add_comm(memory, handle, symbol, None);
        }
    }

    fn add_comm(
        &mut self,
        memory: &Memory,
        handle: usize,
        symbol: CommSymbol,
        place: Option<(u32, usize)>,
    ) -> u32 {
        self.facts.remove(&handle);
        let known = self.comm_symbols.iter().position(|c| !c.live && c.symbol == symbol);
        let id = known.unwrap_or_else(|| {
            write(memory, &Symbol::Comm(symbol.clone()));
            let children = Vec::new();
            self.comm_symbols.push(Comm { symbol, children, place, live: true, of_session: false });
            self.comm_symbols.len() - 1
        });
        self.comm_symbols[id].live = true;
        self.comm_symbols[id].place = place;
        if self.comms.insert(handle, id as u32).is_some_and(|old| old != id as u32) {
            bump();
        }
        id as u32
    }

    /// The id of a communicator; one of unknown origin is named after its members.
    pub fn comm(&mut self, memory: &Memory, handle: usize) -> i64 {
        if handle == abi().comm_null {
            return -1;
        }
        if let Some(&id) = self.comms.get(&handle) {
            return i64::from(id);
        }
        let (members, inter) = self.members(handle);
        let symbol = CommSymbol { name: "other".into(), leader: leader(&members), members, inter };
        i64::from(self.add_comm(memory, handle, symbol, None))
    }

    /// True if the object that `procedure` creates from `parent` belongs to a session.
    pub fn of_session(&self, procedure: u16, parent: Option<usize>) -> bool {
        match parent.and_then(|parent| self.comms.get(&parent)) {
            Some(&id) => self.comm_symbols[id as usize].of_session,
            None => PROCEDURES[usize::from(procedure)].name.contains("create_from_group"),
        }
    }

    /// Registers a communicator that `procedure` created from `parent`; `asked` has the result of
    /// [`ask_members`].
    pub fn new_comm(
        &mut self,
        memory: &Memory,
        handle: usize,
        procedure: u16,
        parent: Option<usize>,
        asked: Option<(Members, bool)>,
    ) -> i64 {
        if handle == abi().comm_null {
            if let Some(parent) = parent {
                // The number is taken on all members alike, also on those that get no communicator.
                self.child(parent);
            }
            return -1;
        }
        let name = PROCEDURES[usize::from(procedure)].name;
        let call = name.trim_start_matches("MPI_").trim_start_matches("Comm_").to_lowercase();
        let place = parent.and_then(|parent| self.child(parent));
        let parent_name = place.map(|(id, _)| self.comm_symbols[id as usize].symbol.name.clone());
        let of_session = self.of_session(procedure, parent);
        let (members, inter) = match (asked, parent, place) {
            (Some(asked), ..) => asked,
            // The group of a duplicate that is still being created must not be queried; it has its
            // parent's.
            (None, Some(_), Some((id, _))) if of_session => {
                let symbol = &self.comm_symbols[id as usize].symbol;
                (symbol.members.clone(), symbol.inter)
            }
            (None, Some(parent), _) if call.starts_with("idup") => self.members(parent),
            _ => self.members(handle),
        };
        let name = match (parent_name, place) {
            (Some(parent), Some((_, number))) => format!("{parent}.{call}{number}"),
            _ => call,
        };
        let symbol = CommSymbol { name, leader: leader(&members), members, inter };
        let id = self.add_comm(memory, handle, symbol, place);
        self.comm_symbols[id as usize].of_session = of_session;
        i64::from(id)
    }

    /// Takes the lowest free number among the children of a communicator.
    fn child(&mut self, parent: usize) -> Option<(u32, usize)> {
        let id = *self.comms.get(&parent)?;
        let children = &mut self.comm_symbols[id as usize].children;
        let number = children.iter().position(|taken| !taken).unwrap_or(children.len());
        if number == children.len() {
            children.push(true);
        } else {
            children[number] = true;
        }
        Some((id, number))
    }

    /// The communicator is about to be freed.
    pub fn free_comm(&mut self, handle: usize) {
        self.facts.remove(&handle);
        let Some(&id) = self.comms.get(&handle) else { return };
        let comm = &mut self.comm_symbols[id as usize];
        comm.live = false;
        if let Some((parent, number)) = comm.place {
            self.comm_symbols[parent as usize].children[number] = false;
        }
    }

    /// The id of an operation.
    pub fn op(&mut self, memory: &Memory, handle: usize) -> i64 {
        if let Some(&id) = self.ops.get(&handle) {
            return i64::from(id);
        }
        let name = abi().ops.iter().find(|(h, _)| *h == handle).map_or("", |(_, name)| name);
        write(memory, &Symbol::Op { name: name.to_owned() });
        self.op_names.push(name.to_owned());
        let id = self.op_names.len() as u32 - 1;
        self.ops.insert(handle, id);
        i64::from(id)
    }

    /// The number of any other handle of its kind, in the order of first use.
    pub fn other(&mut self, kind: Kind, handle: usize) -> i64 {
        let kind = match kind {
            Kind::Win | Kind::WinIo | Kind::WinOut => 0,
            Kind::File | Kind::FileIo | Kind::FileOut => 1,
            _ => 2,
        };
        let next = self.others.keys().filter(|(k, _)| *k == kind).count() as i64;
        *self.others.entry((kind, handle)).or_insert(next)
    }

    /// The id of a list; negative where there was no room for it.
    pub fn list(&mut self, memory: &Memory, list: &[i64]) -> i64 {
        self.lists.list(memory, list).map_or(-1, |known| i64::from(known.id))
    }
}
