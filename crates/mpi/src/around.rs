//! What is looked at before and after a call beside its scalar arguments: requests, statuses, lists, new handles.
//!
//! Owns filling the words of [`crate::plan::Found`] and keeping the tables of requests and handles up to date.

mod completion;
mod lists;
mod statuses;

use statuses::is_wild;
use talea_model::args::special;
use talea_run::live::record::Members;

use crate::abi::{self, abi};
use crate::entry::Call;
use crate::fortran::FortranHandle;
use crate::plan::{Found, Out, Plan};
use crate::process::Process;
use crate::requests::{self, Request};
use crate::table::{Class, Kind};
use crate::{arguments, handles};

/// State that lives from before a call until after it.
#[derive(Debug, Default)]
pub struct Around {
    /// Requests that the call may complete: handle, address of the variable, what is known.
    requests: Vec<(usize, usize, Option<Request>)>,
    /// Own statuses where the program wants none.
    statuses: Vec<u8>,
    /// Where the status or statuses will stand; 0 without.
    status: usize,
    /// What stood there as the source of each before the call.
    saved: Vec<i32>,
    /// Found words as they were before the call.
    words: Vec<u64>,
    list: Vec<i64>,
}

/// A call that is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The recording.
    pub process: &'a Process,
    /// Number of the calling thread.
    pub thread: u32,
    /// How its arguments are taken.
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
        self.requests.clear();
        self.status = 0;
        // SAFETY: arguments are what the table says; see the helpers.
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
                        self.requests.push((handle, address, request));
                        requests::age_of(thread, made, handle, request) as u64
                    }
                    Found::Requests { arg, length } => {
                        let count = arguments::int(plan, call, length).max(0) as usize;
                        let array = call.arg(usize::from(arg));
                        let size = arguments::handle_size(plan);
                        self.list.clear();
                        for i in 0..count {
                            let address = array + i * size;
                            let handle =
                                arguments::handle_at(plan, address, FortranHandle::Request);
                            let request = requests::known(&process.requests, handle, address);
                            self.requests.push((handle, address, request));
                            self.list.push(requests::age_of(thread, made, handle, request));
                        }
                        process.handles.with(|h| h.list(process.memory, &self.list)) as u64
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
                    Found::List { arg, length, kind } => {
                        self.list(process, plan, call, arg, length, kind) as u64
                    }
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

    /// Before a poll that repeats the one before: if it asks for the same requests, what was found out about them then holds
    /// again. Otherwise nothing is done, and [`Self::before`] has to look.
    ///
    /// # Safety
    /// As for [`Self::before`]; no request was made or completed since it was called last.
    pub unsafe fn again(&mut self, scene: Scene<'_>, lanes: &[u64], words: &mut [u64]) -> bool {
        let Scene { plan, call, .. } = scene;
        let mut known = self.requests.iter();
        // SAFETY: arguments are what the table says.
        unsafe {
            for found in &plan.found {
                let (address, count) = match *found {
                    Found::Request { arg, pointer: true } => (call.arg(usize::from(arg)), 1),
                    Found::Requests { arg, length } => (
                        call.arg(usize::from(arg)),
                        arguments::int(plan, call, length).max(0) as usize,
                    ),
                    Found::Request { .. } => return false,
                    _ => continue,
                };
                for i in 0..count {
                    let address = address + i * arguments::handle_size(plan);
                    let handle = arguments::handle_at(plan, address, FortranHandle::Request);
                    if known.next().is_none_or(|&(h, a, _)| h != handle || a != address) {
                        return false;
                    }
                }
            }
            if known.next().is_some() || self.words.len() != words.len() {
                return false;
            }
            words.copy_from_slice(&self.words);
            self.status = 0;
            self.prepare_status(plan, lanes, call);
        }
        true
    }

    /// After the call: fills in what only it could tell, and keeps the tables.
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
            self.complete(process, plan, call, words);
            self.settle();
        }
    }

    /// What members of a communicator that was made in a session say; with no lock held, as they may take their time.
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
