//! Ids of datatypes.
//!
//! Owns querying the MPI library for size and name, the only properties that distinguish datatypes.

use talea_run::live::record::Symbol;

use super::{Handles, bump, write};
use crate::abi::abi;
use crate::abi::pmpi;
use crate::record::memory::Memory;

#[derive(Debug)]
pub(super) struct Datatype {
    size: u64,
    name: String,
    live: bool,
}

impl Handles {
    /// The id of a datatype.
    pub fn datatype(&mut self, memory: &Memory, handle: usize) -> i64 {
        if handle == abi().datatype_null {
            return -1;
        }
        if let Some(&id) = self.datatypes.get(&handle) {
            return i64::from(id);
        }
        self.new_datatype(memory, handle)
    }

    /// Registers a new datatype, or one that is seen for the first time.
    pub fn new_datatype(&mut self, memory: &Memory, handle: usize) -> i64 {
        if handle == abi().datatype_null {
            return -1;
        }
        let (mut small, mut large, mut length) = (0_i32, 0_i64, 0_i32);
        let mut name = [0_u8; 512];
        // SAFETY: the handle is a datatype; MPI_MAX_OBJECT_NAME is at most 128 in all
        // implementations.
        let (size, name) = unsafe {
            if pmpi::type_size_x(handle, (&raw mut large) as usize) != 0 {
                pmpi::type_size(handle, (&raw mut small) as usize);
                large = i64::from(small);
            }
            let named =
                pmpi::type_get_name(handle, name.as_mut_ptr() as usize, (&raw mut length) as usize)
                    == 0;
            let text =
                if named { &name[..(length.max(0) as usize).min(name.len())] } else { &[][..] };
            // Names of derived types are the implementation's own words ("Dup ").
            let text = String::from_utf8_lossy(text);
            let name = if text.starts_with("MPI_") { text.into_owned() } else { String::new() };
            (large.max(0) as u64, name)
        };
        let known =
            self.datatype_symbols.iter().position(|d| !d.live && d.size == size && d.name == name);
        let id = known.unwrap_or_else(|| {
            write(memory, &Symbol::Datatype { size, name: name.clone() });
            self.datatype_symbols.push(Datatype { size, name, live: true });
            self.datatype_symbols.len() - 1
        });
        self.datatype_symbols[id].live = true;
        if self.datatypes.insert(handle, id as u32).is_some_and(|old| old != id as u32) {
            bump();
        }
        id as i64
    }

    /// The datatype is about to be freed.
    pub fn free_datatype(&mut self, handle: usize) {
        if let Some(&id) = self.datatypes.get(&handle) {
            self.datatype_symbols[id as usize].live = false;
        }
    }
}
