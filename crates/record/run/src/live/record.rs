//! Small records inside a live file: symbols, modules and procedures.
//!
//! Owns the bytes of each record, for writer and reader alike, so that `decode(encode(x)) == x` can
//! be tested in one place; [`super::numbers`] has their elements.

use talea_model::{ArgKind, ArgSpec, Module, ProcedureSpec};

use super::numbers::{Cursor, get_list, put_list, put_number, put_signed, put_text};

/// Meaning of a symbolic handle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Symbol {
    /// A communicator.
    Comm(CommSymbol),
    /// A datatype: its size, and its name where MPI or the program gave it one.
    Datatype {
        /// Bytes of one element.
        size: u64,
        /// `MPI_DOUBLE`, or empty for a derived type without a name.
        name: String,
    },
    /// A reduction operation: `MPI_SUM`, or empty for a user's.
    Op {
        /// Name of a predefined operation.
        name: String,
    },
}

/// Origin of a communicator, which is the same on all its members.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommSymbol {
    /// `world`, `self`, or the name of the parent followed by the call and its number on that
    /// parent.
    pub name: String,
    /// World rank of its first member, which distinguishes the parts of a split.
    pub leader: u32,
    /// World ranks of the processes to which peers in its calls refer (for an inter-communicator
    /// the remote group); -1 for processes of another world.
    pub members: Members,
    /// True for an inter-communicator.
    pub inter: bool,
}

/// A group of processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Members {
    /// World ranks `first`, `first + stride` and so on.
    Range {
        /// World rank of member 0.
        first: i64,
        /// Distance from one member to the next.
        stride: i64,
        /// Number of members.
        count: u64,
    },
    /// Any other: one world rank per member.
    List(Vec<i64>),
}

impl Members {
    /// The shortest form of a list of world ranks.
    pub fn from_ranks(ranks: &[i64]) -> Self {
        let first = ranks.first().copied().unwrap_or(0);
        let stride = if ranks.len() > 1 { ranks[1].wrapping_sub(first) } else { 1 };
        let regular =
            |(i, &rank): (usize, &i64)| rank == first.wrapping_add(stride.wrapping_mul(i as i64));
        if ranks.iter().enumerate().all(regular) {
            return Self::Range { first, stride, count: ranks.len() as u64 };
        }
        Self::List(ranks.to_vec())
    }

    /// World rank of a member; `None` outside the group and for processes of another world.
    pub fn world_rank(&self, member: i64) -> Option<i64> {
        let rank = match self {
            Self::Range { first, stride, count } => {
                if member < 0 || member as u64 >= *count {
                    return None;
                }
                first.checked_add(stride.checked_mul(member)?)?
            }
            Self::List(ranks) => *ranks.get(usize::try_from(member).ok()?)?,
        };
        (rank >= 0).then_some(rank)
    }

    /// Number of members.
    pub fn len(&self) -> u64 {
        match self {
            Self::Range { count, .. } => *count,
            Self::List(ranks) => ranks.len() as u64,
        }
    }

    /// True without members.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Symbol {
    /// Appends the record.
    pub fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Comm(comm) => {
                out.push(0);
                put_text(out, &comm.name);
                put_number(out, u64::from(comm.leader));
                out.push(u8::from(comm.inter));
                match &comm.members {
                    Members::Range { first, stride, count } => {
                        out.push(0);
                        put_signed(out, *first);
                        put_signed(out, *stride);
                        put_number(out, *count);
                    }
                    Members::List(ranks) => {
                        out.push(1);
                        put_list(out, ranks);
                    }
                }
            }
            Self::Datatype { size, name } => {
                out.push(1);
                put_number(out, *size);
                put_text(out, name);
            }
            Self::Op { name } => {
                out.push(2);
                put_text(out, name);
            }
        }
    }

    /// Reads a record.
    pub fn get(from: &mut Cursor<'_>) -> Option<Self> {
        Some(match from.byte()? {
            0 => {
                let name = from.text()?;
                let leader = u32::try_from(from.number()?).ok()?;
                let inter = from.byte()? != 0;
                let members = match from.byte()? {
                    0 => Members::Range {
                        first: from.signed()?,
                        stride: from.signed()?,
                        count: from.number()?,
                    },
                    1 => Members::List(get_list(from)?),
                    _ => return None,
                };
                Self::Comm(CommSymbol { name, leader, members, inter })
            }
            1 => Self::Datatype { size: from.number()?, name: from.text()? },
            2 => Self::Op { name: from.text()? },
            _ => return None,
        })
    }
}

/// A module as it was mapped into the process.
pub fn put_module(out: &mut Vec<u8>, module: &Module) {
    put_text(out, &module.path);
    put_text(out, &module.build_id);
}

/// Reads a module.
pub fn get_module(from: &mut Cursor<'_>) -> Option<Module> {
    Some(Module { path: from.text()?, build_id: from.text()? })
}

/// Kinds in the order of their numbers in a record; only ever appended to.
const KINDS: [ArgKind; 15] = [
    ArgKind::Int,
    ArgKind::Count,
    ArgKind::Peer,
    ArgKind::Root,
    ArgKind::Tag,
    ArgKind::Comm,
    ArgKind::Datatype,
    ArgKind::Op,
    ArgKind::Handle,
    ArgKind::Request,
    ArgKind::Requests,
    ArgKind::List,
    ArgKind::Peers,
    ArgKind::Flag,
    ArgKind::Datatypes,
];

/// Appends a procedure with its number in the recorder's table.
pub fn put_procedure(out: &mut Vec<u8>, number: u16, procedure: &ProcedureSpec) {
    put_number(out, u64::from(number));
    put_text(out, &procedure.name);
    put_number(out, procedure.args.len() as u64);
    for arg in &procedure.args {
        let kind = KINDS.iter().position(|&k| k == arg.kind).unwrap_or(0);
        out.push(kind as u8);
        put_text(out, &arg.name);
    }
}

/// Reads a procedure and its number.
pub fn get_procedure(from: &mut Cursor<'_>) -> Option<(u16, ProcedureSpec)> {
    let number = u16::try_from(from.number()?).ok()?;
    let name = from.text()?;
    let count = from.number()?;
    if count > 64 {
        return None;
    }
    let args = (0..count)
        .map(|_| {
            let kind = *KINDS.get(usize::from(from.byte()?))?;
            Some(ArgSpec { name: from.text()?, kind })
        })
        .collect::<Option<Vec<_>>>()?;
    Some((number, ProcedureSpec { name, args }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn members_come_back(list: Vec<i64>) {
            let symbol = Symbol::Comm(CommSymbol {
                name: "world.split0".into(),
                leader: 3,
                members: Members::from_ranks(&list),
                inter: false,
            });
            let mut out = Vec::new();
            symbol.put(&mut out);
            prop_assert_eq!(Symbol::get(&mut Cursor::new(&out)), Some(symbol));
        }

        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            let _ = Symbol::get(&mut Cursor::new(&bytes));
            let _ = get_procedure(&mut Cursor::new(&bytes));
            let _ = get_module(&mut Cursor::new(&bytes));
        }
    }

    #[test]
    fn regular_groups_are_ranges() {
        let even = Members::from_ranks(&[0, 2, 4]);
        assert_eq!(even, Members::Range { first: 0, stride: 2, count: 3 });
        assert_eq!(even.world_rank(2), Some(4));
        assert_eq!(even.world_rank(3), None);
        assert_eq!(Members::from_ranks(&[3, 1, 2]).world_rank(0), Some(3));
    }
}
