//! Arrays of requests through any program: the list in the file for each call must equal the lookup
//! of every handle.

use proptest::prelude::*;
use talea_run::MappedRegion;
use talea_run::live::LiveProcess;
use talea_run::live::layout::{self, state};

use super::*;
use crate::process::handles::lists::Lists;
use crate::process::requests::{Request, age_of};
use crate::process::shared::Shared;
use crate::record::memory::Memory;

/// Maximum length of an array.
const MOST: usize = 40;

/// Operations of a program between two calls.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Creates a request at a position of the array, if there is none.
    Make { at: usize, wild: bool, persistent: bool, thread: u32, shared: bool },
    /// Creates one in a variable, and copies it.
    Copy { at: usize, shared: bool },
    /// Completes the request at a position, through its place in the array.
    Wait { at: usize },
    /// Completes it through a copy somewhere else; the handle stays in the array.
    WaitElsewhere { at: usize },
    /// Swaps two entries.
    Swap { at: usize, with: usize },
    /// The next calls are about fewer or more entries.
    Count { count: usize },
    /// An unknown handle.
    Unknown { at: usize },
    /// A call that processes the array, and completes some of it.
    Call { complete: u64, some: bool },
}

struct Program {
    memory: &'static Memory,
    requests: Shared<Requests>,
    lists: Lists,
    handles: Vec<usize>,
    /// Handles that may be reused, the newest last.
    free: Vec<usize>,
    next: usize,
    made: u64,
    count: usize,
    shadow: Shadow,
    expected: Vec<(u32, Vec<i64>)>,
}

/// A handle that several requests may have at a time.
const SHARED: usize = 77;
/// Address of the program's single variable.
const VARIABLE: usize = 1 << 60;

impl Program {
    fn new() -> Self {
        let region = MappedRegion::anonymous(16 << 20).unwrap();
        let memory: &'static Memory = Box::leak(Box::new(Memory::new(region).unwrap()));
        // SAFETY: the memory is fresh and used by this thread only.
        let header = unsafe { &mut *memory.header() };
        (header.magic, header.version) = (layout::MAGIC, layout::VERSION);
        header.state = state::FINALIZED;
        let requests = Shared::<Requests>::default();
        let handles = vec![abi().request_null; MOST];
        let array = Array { address: handles.as_ptr() as usize, size: 8, fortran: false };
        let shadow = requests.with(|r| Shadow::new(array, r));
        let (free, expected) = (Vec::new(), Vec::new());
        let lists = Lists::default();
        Self {
            memory,
            requests,
            lists,
            handles,
            free,
            next: 1000,
            made: 0,
            count: MOST / 2,
            shadow,
            expected,
        }
    }

    fn address(&self, at: usize) -> usize {
        self.shadow.array.address + 8 * at
    }

    fn add(&mut self, address: usize, shared: bool, thread: u32, flags: (bool, bool)) -> usize {
        // A request that is overwritten before it is complete is lost, which a remembered array
        // does not notice.
        let address = if shared { VARIABLE + 16 * (1 + self.next) } else { address };
        self.next += 1;
        let handle = if shared {
            SHARED
        } else {
            self.free.pop().unwrap_or_else(|| {
                self.next += 1;
                self.next
            })
        };
        let (wild, persistent) = flags;
        let number = if thread == 0 { self.made } else { 5 };
        self.made += u64::from(thread == 0);
        let request = Request { thread, number, persistent, wild };
        self.requests.with(|r| r.add(handle, address, request));
        handle
    }

    /// A request is complete; its handle may be reused, if no other request has it.
    fn give_back(&mut self, handle: usize) {
        if handle != SHARED && !self.free.contains(&handle) {
            self.free.push(handle);
        }
    }

    fn known(&self, at: usize) -> Option<Request> {
        crate::process::requests::known(&self.requests, self.handles[at], self.address(at))
    }

    fn step(&mut self, step: Step) {
        let null = abi().request_null;
        match step {
            Step::Make { at, wild, persistent, thread, shared } => {
                if self.handles[at] == null {
                    let address = self.address(at);
                    self.handles[at] = self.add(address, shared, thread, (wild, persistent));
                }
            }
            Step::Copy { at, shared } => {
                if self.handles[at] == null {
                    self.handles[at] = self.add(VARIABLE, shared, 0, (false, false));
                }
            }
            Step::Wait { at } | Step::WaitElsewhere { at } => {
                let handle = self.handles[at];
                if self.known(at).is_none_or(|request| request.persistent) {
                    return;
                }
                let own = matches!(step, Step::Wait { .. });
                let address = if own { self.address(at) } else { VARIABLE + 8 };
                self.requests.with(|r| r.remove(handle, address));
                self.give_back(handle);
                if own || handle == SHARED {
                    self.handles[at] = null;
                }
            }
            Step::Swap { at, with } => self.handles.swap(at, with),
            Step::Count { count } => self.count = count,
            Step::Unknown { at } => {
                if self.handles[at] == null {
                    self.next += 1;
                    self.handles[at] = self.next;
                }
            }
            Step::Call { complete, some } => self.call(complete, some),
        }
    }

    fn call(&mut self, complete: u64, some: bool) {
        let Self { memory, count, made, .. } = *self;
        // No request may occur twice in an array of a call.
        for at in 1..self.handles.len().min(MOST) {
            let (before, handle) = (&self.handles[..at], self.handles[at]);
            if handle != SHARED && before.contains(&handle) {
                self.handles[at] = abi().request_null;
            }
        }
        let shadow = &mut self.shadow;
        // SAFETY: the array lives as long as the program and has more entries.
        self.requests.with(|r| unsafe { shadow.refresh(count, 0, r) });
        let list = shadow.list(made, memory, &mut self.lists).unwrap();
        let known: Vec<Option<Request>> = (0..count).map(|at| self.known(at)).collect();
        let ages = known.iter().zip(&self.handles);
        let ages: Vec<i64> = ages.map(|(&known, &handle)| age_of(0, made, handle, known)).collect();
        self.expected.push((list.id, ages));
        let wild = known.iter().filter(|known| known.is_some_and(|known| known.wild)).count();
        assert_eq!(self.shadow.wild, wild);
        // A complete request becomes null, unless it is persistent.
        let done: Vec<i64> = (0..count)
            .filter(|&at| complete >> (at % 64) & 1 != 0 && known[at].is_some())
            .filter(|&at| self.handles[..at].iter().all(|&other| other != self.handles[at]))
            .map(|at| at as i64)
            .collect();
        for &at in &done {
            if known[at as usize].is_some_and(|known| !known.persistent) {
                let handle = std::mem::replace(&mut self.handles[at as usize], abi().request_null);
                self.give_back(handle);
            }
        }
        let list = self.lists.list(memory, &done);
        let shadow = &mut self.shadow;
        self.requests.with(|r| {
            for &at in if some { &[][..] } else { &done } {
                // SAFETY: as above.
                unsafe { shadow.complete(at as usize, false, 0, r) };
            }
            if some {
                // SAFETY: as above.
                unsafe { shadow.complete_some(&done, list, 0, r) };
            }
        });
    }
}

fn step() -> impl Strategy<Value = Step> {
    let at = || 0..MOST;
    prop_oneof![
        6 => (at(), any::<[bool; 2]>(), 0..12_u32).prop_map(|(at, [wild, persistent], chance)| {
            let thread = u32::from(chance == 0);
            let (persistent, shared) = (persistent && chance == 1, chance == 2);
            Step::Make { at, wild, persistent, thread, shared }
        }),
        3 => (at(), 0..8).prop_map(|(at, chance)| Step::Copy { at, shared: chance == 0 }),
        2 => at().prop_map(|at| Step::Wait { at }),
        1 => at().prop_map(|at| Step::WaitElsewhere { at }),
        1 => (at(), at()).prop_map(|(at, with)| Step::Swap { at, with }),
        1 => (0..=MOST).prop_map(|count| Step::Count { count }),
        1 => at().prop_map(|at| Step::Unknown { at }),
        5 => (any::<[u64; 2]>(), any::<bool>())
            .prop_map(|([a, b], some)| Step::Call { complete: a & b, some }),
    ]
}

/// The file has the expected list of each call.
fn check(program: &Program) {
    // SAFETY: no thread writes any more.
    let live = LiveProcess::read(unsafe { program.memory.bytes() }).unwrap();
    assert!(live.damage.is_empty(), "{:?}", live.damage);
    let mut cursor = live.lists.cursor();
    for (number, (id, ages)) in program.expected.iter().enumerate() {
        let list: Vec<i64> = cursor.get(i64::from(*id)).unwrap().iter().collect();
        assert_eq!(&list, ages, "call {number}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn lists_in_the_file_are_those_of_the_calls(
        pieces in prop::collection::vec((prop::collection::vec(step(), 1..30), 1..4_usize), 1..12),
    ) {
        let mut program = Program::new();
        for (steps, times) in pieces {
            let last = Step::Call { complete: 0, some: false };
            for &step in steps.repeat(times).iter().chain([&last]) {
                program.step(step);
            }
        }
        check(&program);
    }
}

#[test]
fn what_repeats_takes_no_bytes() {
    let mut program = Program::new();
    let turn = |program: &mut Program| {
        for at in 0..12 {
            let (wild, persistent, thread, shared) = (false, false, 0, false);
            program.step(Step::Make { at, wild, persistent, thread, shared });
        }
        for at in 0..12 {
            program.step(Step::Call { complete: 1 << at, some: at % 2 == 0 });
        }
    };
    turn(&mut program);
    turn(&mut program);
    // SAFETY: the header lives as long as the memory.
    let written = unsafe { (*program.memory.header()).lists.tail_len };
    for _ in 0..100 {
        turn(&mut program);
    }
    // SAFETY: as above.
    assert_eq!(unsafe { (*program.memory.header()).lists.tail_len }, written);
    check(&program);
}

#[test]
fn a_completed_request_takes_two_bytes() {
    let mut program = Program::new();
    program.handles = vec![abi().request_null; 5000];
    program.count = 5000;
    let address = program.handles.as_ptr() as usize;
    program.shadow.array.address = address;
    for at in 0..5000 {
        let handle = program.add(address + 8 * at, false, 0, (false, false));
        program.handles[at] = handle;
    }
    let calls = 1500;
    for number in 0..calls {
        let at = number * 3_571 % 5000;
        program.call(0, false);
        program.handles[at] = abi().request_null;
        let shadow = &mut program.shadow;
        // SAFETY: the array lives as long as the program.
        program.requests.with(|r| unsafe { shadow.complete(at, false, 0, r) });
    }
    // SAFETY: no thread writes any more.
    let live = LiveProcess::read(unsafe { program.memory.bytes() }).unwrap();
    // And the empty list of positions.
    assert_eq!(live.lists.len(), calls + 1);
    // SAFETY: the header lives as long as the memory.
    let used = unsafe { program.memory.bytes().len() } - size_of::<layout::Header>();
    // The full list takes a byte an entry; streams grow in steps.
    assert!(used < 5000 + 3 * calls + (1 << 14), "{used}");
    check(&program);
}
