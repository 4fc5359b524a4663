//! Data of a call that are read before and after it, beside its scalar arguments: requests,
//! statuses, lists, new handles.
//!
//! Owns filling the words of [`crate::plan::Found`] and updating the tables of requests and
//! handles.

mod completion;
mod lists;
pub(crate) mod probe;
mod shadow;
mod shadows;
pub mod single;
mod statuses;

use shadow::{Array, Shadow};
use shadows::Shadows;
use statuses::is_wild;
use talea_model::args::special;
use talea_run::live::record::Members;

use crate::abi::entry::Call;
use crate::abi::fortran::FortranHandle;
use crate::abi::table::{Class, Kind};
use crate::abi::{self, abi};
use crate::plan::arguments;
use crate::plan::{Found, Out, Plan};
use crate::process::Process;
use crate::process::handles;
use crate::process::requests::{self, Request};

/// State that lives from before a call until after it.
#[derive(Debug, Default)]
pub struct Around {
    /// The one request that the call may complete: handle, address of the variable, its table
    /// entry.
    request: Option<(usize, usize, Option<Request>)>,
    /// True if the call is about an array of requests: the one of `shadows` that was named last.
    is_array: bool,
    shadows: Shadows,
    /// Own statuses where the program passes none.
    statuses: Vec<u8>,
    /// Address of the status or statuses; 0 without.
    status: usize,
    /// Source field of each status before the call.
    saved: Vec<i32>,
    /// Found words before the call.
    words: Vec<u64>,
    list: Vec<i64>,
}

/// A call and its context.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The recording.
    pub process: &'a Process,
    /// Number of the calling thread.
    pub thread: u32,
    /// Plan of its arguments.
    pub plan: &'a Plan,
    /// The arguments.
    pub call: Call,
}

impl Around {
    /// Before the call. `words` has one place for each of the plan's found words.
    ///
    /// # Safety
    /// `call` is a call of the plan's procedure.
    pub unsafe fn before(&mut self, scene: Scene<'_>, made: u64, lanes: &[u64], words: &mut [u64]) {
        let Scene { process, thread, plan, call } = scene;
        self.request = None;
        self.is_array = false;
        self.status = 0;
        // SAFETY: arguments are as in the table; see the helpers.
        unsafe {
            for (found, word) in plan.found.iter().zip(words.iter_mut()) {
                *word = match *found {
                    Found::Request { arg, pointer } => {
                        let address = call.arg(usize::from(arg));
                        let handle = if pointer {
                            arguments::handle_at(plan, address, FortranHandle::Request)
                        } else {
                            (address as u64 & abi::handle_mask()) as usize
                        };
                        let request = requests::known(&process.requests, handle, address);
                        self.request = Some((handle, address, request));
                        requests::age_of(thread, made, handle, request) as u64
                    }
                    Found::Requests { arg, length } => {
                        let count = arguments::int(plan, call, length).max(0) as usize;
                        self.is_array = true;
                        let shadow =
                            self.shadows.find_or_add(Self::array(plan, call, arg), count, process);
                        process.requests.with(|r| shadow.refresh(count, thread, r));
                        let list = process
                            .handles
                            .with(|h| shadow.list(made, process.memory, &mut h.lists));
                        list.map_or(-1, |list| i64::from(list.id)) as u64
                    }
                    Found::HandleIo { arg, kind } => {
                        let handle = arguments::handle_at(
                            plan,
                            call.arg(usize::from(arg)),
                            arguments::fortran_kind(kind),
                        );
                        process.handles.with(|h| {
                            let id = match kind {
                                Kind::CommIo => h.comm(process.memory, handle),
                                Kind::DatatypeIo => h.datatype(process.memory, handle),
                                Kind::OpIo => h.op(process.memory, handle),
                                _ => h.other(kind, handle),
                            };
                            match plan.class {
                                Class::CommFree => h.free_comm(handle),
                                Class::TypeFree => h.free_datatype(handle),
                                _ => {}
                            }
                            id
                        }) as u64
                    }
                    Found::List { .. } => self.list(process, plan, call, *found) as u64,
                    Found::Second
                    | Found::Status { .. }
                    | Found::Statuses { .. }
                    | Found::Indices { .. } => special::ABSENT as u64,
                    Found::IntOut { .. } | Found::HandleOut { .. } => 0,
                };
            }
            self.words.clear();
            self.words.extend_from_slice(words);
            self.prepare_status(plan, lanes, call);
        }
    }

    /// Before a poll that repeats the one before: if it requests the same requests, the earlier
    /// results about them still hold. Otherwise nothing is done, and [`Self::before`] has to be
    /// called.
    ///
    /// # Safety
    /// As for [`Self::before`]; no request was created or completed since it was called last.
    pub unsafe fn again(&mut self, scene: Scene<'_>, lanes: &[u64], words: &mut [u64]) -> bool {
        let Scene { process, plan, call, .. } = scene;
        // SAFETY: arguments are as in the table.
        unsafe {
            for found in &plan.found {
                let is_known = match *found {
                    Found::Request { arg, pointer: true } => {
                        let address = call.arg(usize::from(arg));
                        let handle = arguments::handle_at(plan, address, FortranHandle::Request);
                        self.request.is_some_and(|(h, a, _)| (h, a) == (handle, address))
                    }
                    Found::Requests { arg, length } => {
                        let count = arguments::int(plan, call, length).max(0) as usize;
                        let array = Self::array(plan, call, arg);
                        let shadow = if self.is_array { self.shadows.last() } else { None };
                        shadow.is_some_and(|shadow| {
                            shadow.array == array
                                && process.requests.with(|r| shadow.is_current(count, r))
                        })
                    }
                    Found::Request { .. } => false,
                    _ => continue,
                };
                if !is_known {
                    return false;
                }
            }
            if self.words.len() != words.len() {
                return false;
            }
            words.copy_from_slice(&self.words);
            self.status = 0;
            self.prepare_status(plan, lanes, call);
        }
        true
    }

    /// The handles of the last call, into `handles`. True if the status of one must be read.
    pub(crate) fn handles_of_last_call(&mut self, handles: &mut Vec<usize>) -> bool {
        handles.clear();
        if let Some(shadow) = self.shadows.last().filter(|_| self.is_array) {
            handles.extend(shadow.handles());
            return shadow.has_wild();
        }
        handles.extend(self.request.map(|(handle, _, _)| handle));
        self.request.is_some_and(|(_, _, request)| request.is_some_and(|r| r.wild))
    }

    /// The found words of a call with the same requests as the last one, with their values before
    /// it.
    pub(crate) fn recall(&mut self, words: &mut [u64]) {
        self.status = 0;
        words.copy_from_slice(&self.words);
    }

    /// After the call: fills in its results, and updates the tables.
    ///
    /// # Safety
    /// As for [`Self::before`], which was called for the same call.
    pub unsafe fn after(
        &mut self,
        scene: Scene<'_>,
        made: &mut u64,
        lanes: &[u64],
        words: &mut [u64],
    ) {
        let Scene { process, plan, call, .. } = scene;
        // SAFETY: out parameters are valid after the call.
        unsafe {
            if let Some(arg) = plan.makes {
                Self::made(scene, made, lanes, call.arg(usize::from(arg)));
            }
            let mut status = None;
            for (found, place) in plan.found.iter().zip(words.iter_mut()) {
                let word = match *found {
                    Found::IntOut { arg, kind } => {
                        let value = *(call.arg(usize::from(arg)) as *const i32);
                        match kind {
                            Out::Flag => i64::from(value != 0),
                            _ if value == abi().undefined => special::UNDEFINED,
                            Out::Number => i64::from(value),
                            Out::Index => i64::from(value - plan.first),
                        }
                    }
                    Found::HandleOut { arg, kind } => {
                        let handle = arguments::handle_at(
                            plan,
                            call.arg(usize::from(arg)),
                            arguments::fortran_kind(kind),
                        );
                        let parent = arguments::comm(plan, call);
                        let asked = Self::ask_members(process, plan, kind, handle, parent);
                        process.handles.with(|h| match kind {
                            Kind::CommOut => {
                                h.new_comm(process.memory, handle, plan.procedure, parent, asked)
                            }
                            Kind::DatatypeOut => h.new_datatype(process.memory, handle),
                            Kind::OpOut => h.op(process.memory, handle),
                            _ => h.other(kind, handle),
                        })
                    }
                    Found::Status { .. } => {
                        status = self.status(0);
                        status.map_or(special::ABSENT, |(source, _)| source)
                    }
                    Found::Second => status.map_or(special::ABSENT, |(_, tag)| tag),
                    _ => continue,
                };
                *place = word as u64;
            }
            self.complete(scene, words);
            self.settle();
        }
    }

    /// The array of requests that an argument names.
    unsafe fn array(plan: &Plan, call: Call, arg: u8) -> Array {
        // SAFETY: by the table the procedure has this argument.
        let address = unsafe { call.arg(usize::from(arg)) };
        Array { address, size: arguments::handle_size(plan), fortran: plan.fortran }
    }

    /// The array of requests of the call.
    fn shadow(&mut self) -> Option<&mut Shadow> {
        if self.is_array { self.shadows.last() } else { None }
    }

    /// Exchange of the members of a communicator that was created in a session; with no lock held,
    /// as they may take their time.
    fn ask_members(
        process: &Process,
        plan: &Plan,
        kind: Kind,
        handle: usize,
        parent: Option<usize>,
    ) -> Option<(Members, bool)> {
        if kind != Kind::CommOut || handle == abi().comm_null || plan.makes.is_some() {
            return None;
        }
        let rank = process.handles.with(|h| h.of_session(plan.procedure, parent).then_some(h.rank));
        rank.map(|rank| handles::ask_members(handle, rank))
    }

    unsafe fn made(scene: Scene<'_>, made: &mut u64, lanes: &[u64], address: usize) {
        let Scene { process, thread, plan, .. } = scene;
        // SAFETY: the call left a handle here.
        let handle = unsafe { arguments::handle_at(plan, address, FortranHandle::Request) };
        let abi = abi();
        let wild = is_wild(plan, lanes);
        let persistent = plan.class == Class::Persistent;
        let request = Request { thread, number: *made, persistent, wild };
        *made += 1;
        if handle != abi.request_null {
            process.requests.with(|r| r.add(handle, address, request));
        }
    }
}
