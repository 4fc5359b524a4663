//! The event path: what happens at every call of an MPI procedure.
//!
//! Owns the order of things: find the node of the call site, look at arguments, read the clock, let the intercepted function
//! work, read the clock, look at results, record. Takes no lock unless the program asked for `MPI_THREAD_MULTIPLE`, makes no
//! system call, and allocates only when something is seen for the first time.

use std::arch::{asm, global_asm};
use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use talea_run::live::layout::{
    MAX_CALLERS, MAX_THREADS, Node, PathFrame, TUPLE_SLOTS, Thread, state,
};

use crate::abi::{self, FortranHandle, real};
use crate::around::{Around, Scene};
use crate::clock;
use crate::entry::{Binding, Call, ENTRIES, Entry, RETURN, forward, forward_double};
use crate::memory::Memory;
use crate::paths::{self, Path};
use crate::plan::{Plan, Source};
use crate::process::{self, Process, STOP, process, stop};
use crate::record::{HotNode, MAX_WORDS, Recorder, Translate};
use crate::table::{Class, Kind, PROCEDURES};

// A variable of the thread in the initial-exec model: two instructions, where the default model calls a function.
global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".type talea_thread, @object",
    ".hidden talea_thread",
    ".balign 8",
    "talea_thread:",
    ".zero 8",
    ".size talea_thread, 8",
    ".text",
);

#[inline(always)]
fn this_thread() -> *mut State {
    let state: *mut State;
    // SAFETY: reads the thread's own variable; zero until `set_this_thread`.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + talea_thread@GOTTPOFF]",
            "mov {0}, qword ptr fs:[{0}]",
            out(reg) state,
            options(nostack, preserves_flags, readonly),
        );
    }
    state
}

fn set_this_thread(state: *mut State) {
    // SAFETY: writes the thread's own variable.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + talea_thread@GOTTPOFF]",
            "mov qword ptr fs:[{0}], {1}",
            out(reg) _,
            in(reg) state,
            options(nostack, preserves_flags),
        );
    }
}

/// A remembered call site.
#[derive(Clone, Debug)]
struct Known {
    entry: u32,
    site: usize,
    path: Path,
    node: *mut HotNode,
}

/// Procedure, and module and offset of each frame of the path.
type Signature = (u16, Vec<(u32, u64)>);

/// What one thread needs at every call.
#[derive(Debug)]
struct State {
    /// Not zero inside an intercepted call, whose own calls are not the program's.
    busy: u32,
    number: u32,
    process: &'static Process,
    recorder: Recorder,
    /// Open addressing by site: index + 1 into `known`.
    table: Vec<u32>,
    known: Vec<Known>,
    nodes: HashMap<Signature, *mut HotNode>,
    around: Around,
    series: Series,
    counts: *mut u64,
    stack_top: usize,
    next_sync: u64,
}

/// Unsuccessful polls in a row at one site.
#[derive(Debug)]
struct Series {
    node: *mut HotNode,
    words: [u64; MAX_WORDS],
    count: u64,
    begin: u64,
    end: u64,
}

/// Ticks between two readings of both clocks.
const SYNC_TICKS: u64 = 1 << 31;

/// Called by every entry with the call on the stack and the entry's number.
///
/// # Safety
/// `words` is what [`crate::entry::enter`] laid on the stack for the entry with this number.
pub unsafe extern "C-unwind" fn dispatch(words: *mut usize, index: u32) -> usize {
    let call = Call(words);
    // SAFETY: entries pass their own numbers, and a thread's state is its own.
    unsafe {
        let entry = ENTRIES.get_unchecked(index as usize);
        let state = this_thread();
        if state.is_null() || (*state).busy != 0 || STOP.load(Ordering::Relaxed) != 0 {
            return aside(entry, index, call);
        }
        record(&mut *state, entry, index, call)
    }
}

#[inline(always)]
unsafe fn pass(entry: &Entry, call: Call) -> usize {
    // SAFETY: `real` gives the function that this entry intercepted.
    unsafe {
        let name = PROCEDURES[usize::from(entry.procedure)].name;
        if entry.local && matches!(name, "MPI_Wtime" | "MPI_Wtick") {
            return forward_double(real(entry));
        }
        forward(real(entry), entry, call)
    }
}

/// Calls that are not recorded, and the first ones of a process or thread.
#[cold]
unsafe fn aside(entry: &'static Entry, index: u32, call: Call) -> usize {
    let class = PROCEDURES[usize::from(entry.procedure)].class;
    // SAFETY: as in `dispatch`.
    unsafe {
        let state = this_thread();
        if !state.is_null() && (*state).busy != 0 {
            return pass(entry, call);
        }
        if class == Class::Init {
            process::start();
        }
        let stopped = STOP.load(Ordering::Acquire);
        let Some(process) = process() else {
            if class == Class::Finalize {
                process::gather_without();
            }
            return pass(entry, call);
        };
        if class == Class::Pcontrol {
            return control(entry, call);
        }
        if stopped != 0 {
            if stopped == stop::PAUSED && class != Class::Local {
                process.paused();
                if class == Class::Finalize {
                    process.end(state::FINALIZED);
                    STOP.fetch_or(stop::ENDED, Ordering::SeqCst);
                    process.gather();
                }
            }
            return pass(entry, call);
        }
        if state.is_null() {
            let Some(new) = State::new(process) else {
                process.lost_thread();
                return pass(entry, call);
            };
            set_this_thread(Box::into_raw(Box::new(new)));
        }
        record(&mut *this_thread(), entry, index, call)
    }
}

/// `MPI_Pcontrol`: 0 pauses, everything else goes on.
unsafe fn control(entry: &Entry, call: Call) -> usize {
    // SAFETY: the first argument is an integer.
    unsafe {
        let word = call.arg(0);
        let level =
            if entry.binding == Binding::Fortran { *(word as *const i32) } else { word as i32 };
        if level == 0 {
            STOP.fetch_or(stop::PAUSED, Ordering::SeqCst);
        } else {
            STOP.fetch_and(!stop::PAUSED, Ordering::SeqCst);
        }
        pass(entry, call)
    }
}

#[inline(always)]
unsafe fn record(state: &mut State, entry: &'static Entry, index: u32, call: Call) -> usize {
    // SAFETY: see `dispatch`; pointers to nodes are valid for the life of the process.
    unsafe {
        if entry.local {
            if PROCEDURES[usize::from(entry.procedure)].class == Class::Pcontrol {
                return control(entry, call);
            }
            if !state.process.calls_all {
                return state.count(entry, call);
            }
        }
        let node = state.find(entry, index, call);
        if node.is_null() {
            return pass(entry, call);
        }
        let hot = &*node;
        let plan = hot.plan;
        let mut words = [0_u64; MAX_WORDS];
        let lanes = usize::from(plan.lanes);
        if plan.fortran {
            for (lane, word) in words.iter_mut().enumerate().take(lanes) {
                let address = *call.0.add(usize::from(plan.place[lane]));
                *word = if plan.mask[lane] == u64::MAX {
                    *(address as *const u64)
                } else {
                    u64::from(*(address as *const u32))
                };
            }
        } else {
            for (lane, word) in words.iter_mut().enumerate().take(lanes) {
                *word = *call.0.add(usize::from(plan.place[lane])) as u64 & plan.mask[lane];
            }
        }
        let used = plan.words();
        state.busy = 1;
        let thread = state.recorder.thread;
        if plan.plain {
            (*thread).open_node = hot.index + 1;
            let begin = clock::ticks();
            (*thread).open_begin = begin;
            let result = forward(real(entry), entry, call);
            let end = clock::ticks();
            state.commit(node, begin, end, &words[..used], 1);
            state.busy = 0;
            return result;
        }
        let result = around(state, entry, node, call, &mut words);
        state.busy = 0;
        result
    }
}

/// A call around which more has to be looked at.
unsafe fn around(
    state: &mut State,
    entry: &Entry,
    node: *mut HotNode,
    call: Call,
    words: &mut [u64; MAX_WORDS],
) -> usize {
    // SAFETY: see `record`.
    unsafe {
        let hot = &*node;
        let plan = hot.plan;
        let used = plan.words();
        let lanes = usize::from(plan.lanes);
        let thread = state.recorder.thread;
        let process = state.process;
        match plan.class {
            Class::Finalize => return finalize(state, entry, node, call, words),
            Class::Abort => {
                let now = clock::ticks();
                state.commit(node, now, now, &words[..used], 1);
                process.aborted(words.get(lanes.wrapping_sub(1)).map_or(0, |&w| w as i32));
                STOP.fetch_or(stop::ENDED, Ordering::SeqCst);
                return forward(real(entry), entry, call);
            }
            _ => {}
        }
        let scene = Scene { process, thread: state.number, plan, call };
        let (head, tail) = words.split_at_mut(lanes);
        let found = &mut tail[..used - lanes];
        // Polls of a series mostly ask for the same requests again, about which everything is known.
        let in_series = plan.poll && state.series.node == node && !process.calls_all;
        if !in_series || !state.around.again(scene, head, found) {
            state.around.before(scene, (*thread).requests, head, found);
        }
        (*thread).open_node = hot.index + 1;
        let begin = clock::ticks();
        (*thread).open_begin = begin;
        let result =
            if entry.local { pass(entry, call) } else { forward(real(entry), entry, call) };
        let end = clock::ticks();
        if plan.class == Class::Init {
            process.initialised();
        }
        if plan.poll && !process.calls_all && !found_something(plan, call) {
            if in_series {
                state.around.settle();
                state.series.count += 1;
                state.series.end = end;
            } else {
                state.close_series();
                state.around.after(scene, &mut (*thread).requests, head, found);
                state.series.node = node;
                state.series.words = *words;
                state.series.count = 1;
                state.series.begin = begin;
                state.series.end = end;
                (*thread).poll_begin = begin;
            }
            (*thread).poll_end = end;
            (*thread).poll_count = state.series.count;
            (*thread).poll_node = hot.index + 1;
            (*thread).open_node = 0;
            return result;
        }
        state.around.after(scene, &mut (*thread).requests, head, found);
        state.commit(node, begin, end, &words[..used], 1);
        result
    }
}

/// Whether a poll was successful.
#[inline(always)]
unsafe fn found_something(plan: &Plan, call: Call) -> bool {
    // SAFETY: the flag, or the number of completed requests, is valid after the call.
    plan.success.is_none_or(|arg| unsafe { *(call.arg(usize::from(arg)) as *const i32) } != 0)
}

/// The last call of the recording. Its own duration is not known when the record is completed.
unsafe fn finalize(
    state: &mut State,
    entry: &Entry,
    node: *mut HotNode,
    call: Call,
    words: &mut [u64; MAX_WORDS],
) -> usize {
    // SAFETY: see `record`.
    unsafe {
        let used = (*node).plan.words();
        let now = clock::ticks();
        state.commit(node, now, now, &words[..used], 1);
        if PROCEDURES[usize::from(entry.procedure)].name == "MPI_Finalize" {
            state.process.end(state::FINALIZED);
            STOP.fetch_or(stop::ENDED, Ordering::SeqCst);
            state.process.gather();
        }
        forward(real(entry), entry, call)
    }
}

/// Reads the words of a tuple as what they stand for.
struct Reader<'a> {
    process: &'a Process,
}

impl Translate for Reader<'_> {
    fn translate(&mut self, plan: &Plan, words: &[u64], values: &mut [i64]) {
        let abi = abi::abi();
        for (value, source) in values.iter_mut().zip(&plan.columns) {
            *value = match *source {
                Source::Found(found) => words[usize::from(plan.lanes) + usize::from(found)] as i64,
                Source::Lane(lane, kind) => {
                    let word = words[usize::from(lane)];
                    let handle = |fortran: FortranHandle| {
                        if plan.fortran {
                            abi::from_fortran(fortran, word as i32)
                        } else {
                            word as usize
                        }
                    };
                    let memory = self.process.memory;
                    match kind {
                        Kind::Wide | Kind::WideCount => word as i64,
                        Kind::Peer | Kind::Root => abi.peer(word as i32),
                        Kind::Tag => abi.tag(word as i32),
                        Kind::Comm => self
                            .process
                            .handles
                            .with(|h| h.comm(memory, handle(FortranHandle::Comm))),
                        Kind::Datatype => self
                            .process
                            .handles
                            .with(|h| h.datatype(memory, handle(FortranHandle::Datatype))),
                        Kind::Op => {
                            self.process.handles.with(|h| h.op(memory, handle(FortranHandle::Op)))
                        }
                        Kind::Win => {
                            self.process.handles.with(|h| h.other(kind, handle(FortranHandle::Win)))
                        }
                        Kind::File => self
                            .process
                            .handles
                            .with(|h| h.other(kind, handle(FortranHandle::File))),
                        _ => i64::from(word as i32),
                    }
                }
            };
        }
    }

    #[inline(always)]
    fn epoch(&self) -> u32 {
        crate::handles::epoch()
    }
}

impl State {
    fn new(process: &'static Process) -> Option<Self> {
        let memory: &'static Memory = process.memory;
        let size = size_of::<Thread>() as u64;
        let counts_size = 8 * PROCEDURES.len() as u64;
        let offset = memory.allocate(size).ok()?;
        let counts = memory.allocate(counts_size).ok()?;
        let thread = memory.at::<Thread>(offset);
        // SAFETY: both pieces are fresh; the list of threads in the header is appended to atomically.
        unsafe {
            (*thread).counts = counts;
            (*thread).tid = libc::gettid() as u32;
            let count = (*memory.header()).thread_count;
            if count as usize >= MAX_THREADS {
                return None;
            }
            let count =
                std::sync::atomic::AtomicU32::from_ptr(&raw mut (*memory.header()).thread_count);
            let number = count.fetch_add(1, Ordering::AcqRel);
            if number as usize >= MAX_THREADS {
                count.fetch_sub(1, Ordering::AcqRel);
                return None;
            }
            (*memory.header()).threads[number as usize] = offset;
            Some(Self {
                busy: 0,
                number,
                process,
                recorder: Recorder::new(memory, thread, process.quantiser.clone(), process.mode),
                table: vec![0; 256],
                known: Vec::new(),
                nodes: HashMap::new(),
                around: Around::default(),
                series: Series {
                    node: std::ptr::null_mut(),
                    words: [0; MAX_WORDS],
                    count: 0,
                    begin: 0,
                    end: 0,
                },
                counts: memory.at(counts),
                stack_top: paths::stack_top(),
                next_sync: process.start,
            })
        }
    }

    /// A call that is counted only.
    #[inline(always)]
    unsafe fn count(&mut self, entry: &'static Entry, call: Call) -> usize {
        // SAFETY: there is a counter for each procedure.
        unsafe {
            let counter = self.counts.add(usize::from(entry.procedure));
            if *counter == 0 {
                self.process.procedure(plan_of(entry));
            }
            *counter += 1;
            pass(entry, call)
        }
    }

    /// Records an event, and the series of polls that it ends.
    #[inline(always)]
    unsafe fn commit(
        &mut self,
        node: *mut HotNode,
        begin: u64,
        end: u64,
        words: &[u64],
        polls: u64,
    ) {
        // SAFETY: see `record`.
        unsafe {
            if !self.series.node.is_null() {
                self.close_series();
            }
            self.write(node, begin, end, words, polls);
            (*self.recorder.thread).open_node = 0;
            (*self.recorder.thread).end_ticks = end;
            if end > self.next_sync {
                self.sync(end);
            }
        }
    }

    #[inline(always)]
    unsafe fn write(
        &mut self,
        node: *mut HotNode,
        begin: u64,
        end: u64,
        words: &[u64],
        polls: u64,
    ) {
        let (start, mult) = (self.process.start, self.process.mult);
        let begin = clock::nanos(begin.saturating_sub(start), mult);
        let end = clock::nanos(end.saturating_sub(start), mult);
        // SAFETY: the node belongs to this thread.
        unsafe {
            self.recorder.event(
                node,
                begin,
                end,
                words,
                polls,
                &mut Reader { process: self.process },
            );
        };
    }

    #[cold]
    fn sync(&mut self, now: u64) {
        self.next_sync = now + SYNC_TICKS;
        if self.number == 0 {
            self.process.sync();
        }
    }

    #[cold]
    unsafe fn close_series(&mut self) {
        let node = std::mem::replace(&mut self.series.node, std::ptr::null_mut());
        if node.is_null() {
            return;
        }
        let (begin, end, count) = (self.series.begin, self.series.end, self.series.count);
        let words = self.series.words;
        // SAFETY: see `record`.
        unsafe {
            (*self.recorder.thread).poll_node = 0;
            let used = (*node).plan.words();
            self.write(node, begin, end, &words[..used], count);
        }
    }

    #[inline(always)]
    fn place(&self, site: usize, entry: u32) -> usize {
        let hash = (site as u64 ^ u64::from(entry) << 48).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> 32) as usize & (self.table.len() - 1)
    }

    /// The node of a call.
    #[inline(always)]
    unsafe fn find(&mut self, entry: &'static Entry, index: u32, call: Call) -> *mut HotNode {
        // SAFETY: the return address stands in the call.
        unsafe {
            let site = call.site();
            let mut at = self.place(site, index);
            loop {
                let known = *self.table.get_unchecked(at);
                if known == 0 {
                    return self.learn(entry, index, call);
                }
                let known = self.known.get_unchecked(known as usize - 1);
                if known.site == site
                    && known.entry == index
                    && (known.path.len == 1
                        || paths::is_here(&known.path, call.0.add(RETURN), self.stack_top))
                {
                    return known.node;
                }
                at = (at + 1) & (self.table.len() - 1);
            }
        }
    }

    /// A call site, or a path to it, that was not seen before.
    #[cold]
    unsafe fn learn(&mut self, entry: &'static Entry, index: u32, call: Call) -> *mut HotNode {
        // SAFETY: as in `find`.
        let (site, path) =
            unsafe { (call.site(), paths::unwind(call.0.add(RETURN), self.process.callers)) };
        self.busy = 1;
        let frames = self.process.frames(&path);
        let key =
            (entry.procedure, frames.iter().map(|f| (f.module, f.offset)).collect::<Vec<_>>());
        let fortran = entry.binding == Binding::Fortran;
        let known = self.nodes.get(&key).copied();
        // SAFETY: nodes live as long as the process.
        let node = known.filter(|&node| unsafe { (*node).plan.fortran } == fortran);
        let Some(node) = node.or_else(|| self.new_node(entry, &frames)) else {
            self.busy = 0;
            return std::ptr::null_mut();
        };
        self.nodes.insert(key, node);
        self.known.push(Known { entry: index, site, path, node });
        if self.known.len() * 2 > self.table.len() {
            self.table = vec![0; self.table.len() * 2];
            for number in 0..self.known.len() {
                self.enter(number);
            }
        } else {
            self.enter(self.known.len() - 1);
        }
        self.busy = 0;
        node
    }

    fn enter(&mut self, number: usize) {
        let mut at = self.place(self.known[number].site, self.known[number].entry);
        while self.table[at] != 0 {
            at = (at + 1) & (self.table.len() - 1);
        }
        self.table[at] = number as u32 + 1;
    }

    fn new_node(&mut self, entry: &'static Entry, frames: &[PathFrame]) -> Option<*mut HotNode> {
        let plan = plan_of(entry);
        debug_assert!(plan.words() <= MAX_WORDS && TUPLE_SLOTS > 1);
        self.process.procedure(plan);
        let memory = self.process.memory;
        let offset = match memory.allocate(size_of::<Node>() as u64) {
            Ok(offset) => offset,
            Err(full) => {
                self.recorder.full = Some(full);
                return None;
            }
        };
        let node = memory.at::<Node>(offset);
        // SAFETY: the piece is fresh, and the thread's list of nodes is its own.
        unsafe {
            let thread = &mut *self.recorder.thread;
            (*node).index = thread.node_count;
            (*node).procedure = plan.procedure;
            (*node).columns = plan.columns.len() as u32;
            (*node).duration_min = u64::MAX;
            (*node).path_len = frames.len().min(MAX_CALLERS) as u16;
            (&mut (*node).path)[..frames.len()].copy_from_slice(frames);
            let index = thread.node_count;
            if thread.last_node == 0 {
                thread.first_node = offset;
            } else {
                (*memory.at::<Node>(thread.last_node)).next = offset;
            }
            thread.last_node = offset;
            thread.node_count += 1;
            Some(Box::into_raw(Box::new(HotNode::new(node, plan, index))))
        }
    }
}

/// The plan of an entry, made when it is first called.
fn plan_of(entry: &'static Entry) -> &'static Plan {
    static PLANS: [OnceLock<Plan>; ENTRIES.len()] = [const { OnceLock::new() }; ENTRIES.len()];
    let start = ENTRIES.as_ptr() as usize;
    let index = (std::ptr::from_ref(entry) as usize - start) / size_of::<Entry>();
    PLANS[index].get_or_init(|| Plan::of(entry))
}
