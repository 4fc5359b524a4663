//! From a sample's registers and stack to a node in the tree of call stacks.
//!
//! Owns the modules that are mapped now, the unwinder with their tables, and the nodes in the file.
//! Frames of this library are left out: an MPI call continues where the intercepted function
//! begins.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use talea_model::{Frame, Module};
use talea_run::modules;
use talea_run::samples::{MOST_FRAMES, Node, Stacks};
use talea_sampling::threads::Stack;
use talea_sampling::unwind::{Unwinder, Walked};

/// Maximum number of nodes, some 60 bytes each.
const MOST_NODES: usize = 1 << 20;
const PAGE: usize = 4096;

/// A module that is mapped now.
#[derive(Debug)]
struct Mapped {
    range: Range<u64>,
    bias: u64,
    /// Its number in the file.
    module: u32,
    own: bool,
    /// True if it has unwind tables.
    walked: bool,
}

/// Call stacks of this process.
#[derive(Debug, Default)]
pub(super) struct Interned {
    unwinder: Unwinder,
    /// Modules by address.
    mapped: Vec<Mapped>,
    generation: Option<u64>,
    /// Modules in the order of the file.
    pub(super) modules: Vec<Module>,
    known: HashMap<Node, u32>,
    /// New ones, until they are written.
    pub(super) new: Vec<Node>,
    count: u32,
    addresses: Vec<u64>,
    /// Number of samples whose stack found no room.
    pub(super) without_room: u64,
    /// Modules whose unwind tables cannot be read, with the reason.
    pub(super) without_tables: Vec<String>,
}

impl Interned {
    /// Number of the first new node.
    pub(super) fn first_new(&self) -> u32 {
        self.count - self.new.len() as u32
    }

    /// Checks for loaded and unloaded modules.
    pub(super) fn follow_modules(&mut self) {
        let generation = modules::generation();
        if self.generation == Some(generation) {
            return;
        }
        self.generation = Some(generation);
        let own = Self::follow_modules as fn(&mut Self) as usize as u64;
        // Programs load dozens of libraries one by one when they begin: unchanged ones are not read
        // again.
        let mut before = std::mem::take(&mut self.mapped);
        for loaded in modules::loaded() {
            let (Some(first), Some(last)) = (loaded.ranges.first(), loaded.ranges.last()) else {
                continue;
            };
            let range = first.start..last.end;
            let place = self.modules.iter().position(|module| *module == loaded.module);
            let module = place.unwrap_or_else(|| {
                self.modules.push(loaded.module.clone());
                self.modules.len() - 1
            });
            let stays = before.iter().position(|known| {
                (known.module as usize, known.bias, &known.range) == (module, loaded.bias, &range)
            });
            if let Some(place) = stays {
                self.mapped.push(before.swap_remove(place));
                continue;
            }
            // Another module may have been there.
            if let Some(gone) = before.iter().position(|known| known.range.start == range.start) {
                let gone = before.swap_remove(gone);
                if gone.walked {
                    self.unwinder.remove(gone.range.start);
                }
            }
            let path = Path::new(&loaded.module.path);
            let added = if path.is_absolute() {
                self.unwinder.add_file(path, loaded.bias, range.clone())
            } else {
                // The kernel's own library has no file.
                self.unwinder.add_image(&image(&range), loaded.bias, range.clone())
            };
            if let Err(error) = &added {
                let reason = format!("{error}: `{}`", loaded.module.path);
                if !self.without_tables.contains(&reason) {
                    self.without_tables.push(reason);
                }
            }
            self.mapped.push(Mapped {
                own: range.contains(&own),
                range,
                bias: loaded.bias,
                module: module as u32,
                walked: added.is_ok(),
            });
        }
        for gone in before.iter().filter(|gone| gone.walked) {
            self.unwinder.remove(gone.range.start);
        }
        self.mapped.sort_by_key(|mapped| mapped.range.start);
    }

    fn find(&self, address: u64) -> Option<&Mapped> {
        let after = self.mapped.partition_point(|mapped| mapped.range.start <= address);
        self.mapped[..after].last().filter(|mapped| mapped.range.contains(&address))
    }

    /// The node of a sample's stack; [`Stacks::UNKNOWN`] if there is none.
    pub(super) fn stack(&mut self, stack: &Stack<'_>) -> u32 {
        let mut addresses = std::mem::take(&mut self.addresses);
        let whole = match stack {
            Stack::Unknown => {
                addresses.clear();
                Walked::Cut
            }
            Stack::Copy { registers, bytes } => {
                self.unwinder.walk(registers, bytes, MOST_FRAMES, &mut addresses)
            }
            Stack::Chain(chain) => {
                addresses.clear();
                let words = chain.chunks_exact(8).take(MOST_FRAMES);
                let word = |word: &[u8]| u64::from_ne_bytes(word.try_into().unwrap_or_default());
                addresses.extend(words.map(word));
                Walked::Cut
            }
        };
        let mut parent = if whole == Walked::Whole { Stacks::OUTERMOST } else { Stacks::CUT };
        let mut node = Stacks::UNKNOWN;
        for (at, &address) in addresses.iter().enumerate().rev() {
            // A return address may be that of the next function.
            let lookup = if at == 0 { address } else { address.saturating_sub(1) };
            let frame = match self.find(lookup) {
                Some(mapped) if mapped.own => continue,
                Some(mapped) => Frame {
                    module: mapped.module,
                    // See `Node::frame`.
                    offset: lookup.wrapping_sub(mapped.bias).wrapping_add(1),
                },
                None => Frame { module: u32::MAX, offset: lookup.wrapping_add(1) },
            };
            node = self.node(Node { parent, frame });
            if node == Stacks::UNKNOWN {
                break;
            }
            parent = node;
        }
        self.addresses = addresses;
        node
    }

    fn node(&mut self, node: Node) -> u32 {
        if let Some(&known) = self.known.get(&node) {
            return known;
        }
        if self.known.len() >= MOST_NODES {
            self.without_room += 1;
            return Stacks::UNKNOWN;
        }
        let number = self.count;
        self.count += 1;
        self.known.insert(node, number);
        self.new.push(node);
        number
    }
}

/// A copy of a module that has no file, which exists as long as the process.
fn image(range: &Range<u64>) -> Vec<u8> {
    // SAFETY: the call has no precondition.
    let vdso = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) };
    if vdso == 0 || !range.contains(&vdso) {
        return Vec::new();
    }
    let length = ((range.end - vdso) as usize).next_multiple_of(PAGE);
    // SAFETY: the kernel maps whole pages, from this address to the end of the module.
    unsafe { std::slice::from_raw_parts(vdso as *const u8, length) }.to_vec()
}
