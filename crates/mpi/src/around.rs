//! What is looked at before and after a call beside its scalar arguments: requests, statuses, lists, new handles.
//!
//! Owns filling the words of [`crate::plan::Found`] and keeping the tables of requests and handles up to date. A status
//! that the program ignores is asked for where only it tells the source or tag of a receive.

use talea_model::args::special;

use crate::abi::{self, FortranHandle, abi};
use crate::entry::Call;
use crate::plan::{Found, Out, Plan};
use crate::process::Process;
use crate::requests::Request;
use crate::table::{Class, Kind, Length, PROCEDURES};

/// Ages that stand for no request of this thread.
pub mod age {
    /// `MPI_REQUEST_NULL`.
    pub const NULL: i64 = -1;
    /// A request that was made where nobody looked.
    pub const UNKNOWN: i64 = -2;
    /// Of another thread: this minus (number times 256 plus thread).
    pub const FOREIGN: i64 = -3;
}

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

/// Written into a status before the call; still there afterwards when nobody filled it.
const UNTOUCHED: i32 = i32::MIN + 77;

impl Around {
    unsafe fn int(plan: &Plan, call: Call, arg: u8) -> i64 {
        // SAFETY: the table says that this argument is an integer; Fortran passes its address.
        unsafe {
            let word = call.arg(usize::from(arg));
            i64::from(if plan.fortran { *(word as *const i32) } else { word as i32 })
        }
    }

    /// Reads a handle at an address.
    unsafe fn handle_at(plan: &Plan, address: usize, kind: FortranHandle) -> usize {
        // SAFETY: the table says that a handle stands there.
        unsafe {
            if plan.fortran {
                abi::from_fortran(kind, *(address as *const i32))
            } else if abi().handle_bytes == 8 {
                *(address as *const usize)
            } else {
                *(address as *const u32) as usize
            }
        }
    }

    fn handle_size(plan: &Plan) -> usize {
        if plan.fortran { 4 } else { abi().handle_bytes }
    }

    fn fortran_kind(kind: Kind) -> FortranHandle {
        match kind {
            Kind::Datatype | Kind::DatatypeIo | Kind::DatatypeOut | Kind::Datatypes => {
                FortranHandle::Datatype
            }
            Kind::Op | Kind::OpIo | Kind::OpOut => FortranHandle::Op,
            Kind::Win | Kind::WinIo | Kind::WinOut => FortranHandle::Win,
            Kind::File | Kind::FileIo | Kind::FileOut => FortranHandle::File,
            Kind::Request | Kind::RequestIo | Kind::RequestOut | Kind::Requests => {
                FortranHandle::Request
            }
            _ => FortranHandle::Comm,
        }
    }

    /// The communicator argument as a C handle.
    unsafe fn comm(plan: &Plan, call: Call) -> Option<usize> {
        let arg = plan.comm?;
        // SAFETY: the table says that this argument is a communicator.
        unsafe {
            let word = call.arg(usize::from(arg));
            Some(if plan.fortran {
                abi::from_fortran(FortranHandle::Comm, *(word as *const i32))
            } else {
                (word as u64 & abi::handle_mask()) as usize
            })
        }
    }

    #[inline(always)]
    fn known(process: &Process, handle: usize, address: usize) -> Option<Request> {
        if handle == abi().request_null {
            return None;
        }
        process.requests.with(|r| r.get(handle, address))
    }

    fn age(thread: u32, made: u64, handle: usize, request: Option<Request>) -> i64 {
        match request {
            _ if handle == abi().request_null => age::NULL,
            Some(r) if r.thread == thread => made as i64 - r.number as i64 - 1,
            Some(r) => age::FOREIGN - ((r.number as i64) << 8 | i64::from(r.thread)),
            None => age::UNKNOWN,
        }
    }

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
                            Self::handle_at(plan, address, FortranHandle::Request)
                        } else {
                            (address as u64 & abi::handle_mask()) as usize
                        };
                        let request = Self::known(process, handle, address);
                        self.requests.push((handle, address, request));
                        Self::age(thread, made, handle, request) as u64
                    }
                    Found::Requests { arg, length } => {
                        let count = Self::int(plan, call, length).max(0) as usize;
                        let array = call.arg(usize::from(arg));
                        let size = Self::handle_size(plan);
                        self.list.clear();
                        for i in 0..count {
                            let address = array + i * size;
                            let handle = Self::handle_at(plan, address, FortranHandle::Request);
                            let request = Self::known(process, handle, address);
                            self.requests.push((handle, address, request));
                            self.list.push(Self::age(thread, made, handle, request));
                        }
                        process.handles.with(|h| h.list(process.memory, &self.list)) as u64
                    }
                    Found::HandleIo { arg, kind } => {
                        let handle = Self::handle_at(
                            plan,
                            call.arg(usize::from(arg)),
                            Self::fortran_kind(kind),
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
                    Found::Requests { arg, length } => {
                        (call.arg(usize::from(arg)), Self::int(plan, call, length).max(0) as usize)
                    }
                    Found::Request { .. } => return false,
                    _ => continue,
                };
                for i in 0..count {
                    let address = address + i * Self::handle_size(plan);
                    let handle = Self::handle_at(plan, address, FortranHandle::Request);
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

    /// Makes sure that the status which tells a wild card's answer will be written somewhere.
    unsafe fn prepare_status(&mut self, plan: &Plan, lanes: &[u64], call: Call) {
        let statuses = plan.statuses;
        let Some(arg) = plan.status.or(statuses) else { return };
        let abi = abi();
        let own_wild = plan.makes.is_none() && is_wild(plan, lanes);
        let wild = own_wild || self.requests.iter().any(|(_, _, r)| r.is_some_and(|r| r.wild));
        if !wild {
            return;
        }
        // SAFETY: the table says that this argument points to one status, or to one for each request.
        unsafe {
            let count = if statuses.is_some() { self.requests.len() } else { 1 };
            let mut address = call.arg(usize::from(arg));
            let ignored = address <= 1
                || address == abi.status_ignore
                || (plan.fortran && abi.fortran_ignore.contains(&address));
            if ignored {
                self.statuses.clear();
                // Alignment of a status is that of its integers, which the allocator gives.
                self.statuses.resize(count * abi.status_bytes + 8, 0);
                address = self.statuses.as_mut_ptr() as usize;
                call.set_arg(usize::from(arg), address);
            }
            self.saved.clear();
            for i in 0..count {
                let source = (address + i * abi.status_bytes + abi.status_source) as *mut i32;
                self.saved.push(source.read());
                source.write(UNTOUCHED);
            }
            self.status = address;
        }
    }

    /// Gives statuses that the call left alone back as they were.
    ///
    /// # Safety
    /// [`Self::before`] was called for the call that has just returned.
    pub unsafe fn settle(&mut self) {
        if self.status == 0 {
            return;
        }
        let abi = abi();
        for (i, &saved) in self.saved.iter().enumerate() {
            let source = (self.status + i * abi.status_bytes + abi.status_source) as *mut i32;
            // SAFETY: `prepare_status` found room for this many statuses here.
            unsafe {
                if *source == UNTOUCHED {
                    *source = saved;
                }
            }
        }
        self.status = 0;
    }

    /// Source and tag of a status that was prepared.
    unsafe fn status(&self, number: usize) -> Option<(i64, i64)> {
        if self.status == 0 {
            return None;
        }
        let abi = abi();
        let at = self.status + number * abi.status_bytes;
        // SAFETY: `prepare_status` found room for this many statuses here.
        let (source, tag) = unsafe {
            (*((at + abi.status_source) as *const i32), *((at + abi.status_tag) as *const i32))
        };
        (source != UNTOUCHED).then(|| (abi.peer(source), abi.tag(tag)))
    }

    unsafe fn list(
        &mut self,
        process: &Process,
        plan: &Plan,
        call: Call,
        arg: u8,
        length: Length,
        kind: Kind,
    ) -> i64 {
        let name = PROCEDURES[usize::from(plan.procedure)].name;
        // SAFETY: the table says that the procedure has this argument.
        let address = unsafe { call.arg(usize::from(arg)) };
        // SAFETY: lists are read only where the standard says that they are significant.
        unsafe {
            let count = match length {
                Length::None => return special::ABSENT,
                Length::Param(param) => Self::int(plan, call, param),
                Length::Members => {
                    let Some(comm) = Self::comm(plan, call) else { return special::ABSENT };
                    if !Self::significant(plan, call, comm, name, arg) {
                        return special::ABSENT;
                    }
                    let (mut inter, mut size) = (0_i32, 0_i32);
                    abi::comm_test_inter(comm, (&raw mut inter) as usize);
                    if inter != 0 {
                        abi::comm_remote_size(comm, (&raw mut size) as usize);
                    } else {
                        abi::comm_size(comm, (&raw mut size) as usize);
                    }
                    i64::from(size)
                }
            };
            if address <= 1 || count <= 0 {
                return special::ABSENT;
            }
            self.list.clear();
            for i in 0..count as usize {
                self.list.push(match kind {
                    Kind::Wides => *(address as *const i64).add(i),
                    Kind::Datatypes => {
                        let at = address + i * Self::handle_size(plan);
                        let handle = Self::handle_at(plan, at, FortranHandle::Datatype);
                        process.handles.with(|h| h.datatype(process.memory, handle))
                    }
                    Kind::Peers => abi().peer(*(address as *const i32).add(i)),
                    _ => i64::from(*(address as *const i32).add(i)),
                });
            }
            process.handles.with(|h| h.list(process.memory, &self.list))
        }
    }

    /// Whether a list with one entry a member means anything in this process.
    unsafe fn significant(plan: &Plan, call: Call, comm: usize, name: &str, arg: u8) -> bool {
        let params = PROCEDURES[usize::from(plan.procedure)].params;
        // SAFETY: arguments are what the table says.
        unsafe {
            if let Some(root) = params.iter().position(|p| p.kind == Kind::Root) {
                let (mut rank, mut inter) = (0_i32, 0_i32);
                let root = Self::int(plan, call, root as u8) as i32;
                abi::comm_test_inter(comm, (&raw mut inter) as usize);
                if inter != 0 {
                    return root == abi().root;
                }
                abi::comm_rank(comm, (&raw mut rank) as usize);
                return rank == root;
            }
            // With MPI_IN_PLACE what is said of the send buffer counts for nothing.
            let of_sender = params[usize::from(arg)].name.starts_with("send");
            let buffer = call.arg(0);
            !(of_sender
                && name.contains("lltoall")
                && (buffer == 1 || buffer == usize::MAX || abi().fortran_ignore.contains(&buffer)))
        }
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
                        let handle = Self::handle_at(
                            plan,
                            call.arg(usize::from(arg)),
                            Self::fortran_kind(kind),
                        );
                        let parent = Self::comm(plan, call);
                        process.handles.with(|h| match kind {
                            Kind::CommOut => {
                                h.new_comm(process.memory, handle, plan.procedure, parent)
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

    unsafe fn made(scene: Scene<'_>, made: &mut u64, lanes: &[u64], address: usize) {
        let Scene { process, thread, plan, .. } = scene;
        // SAFETY: the call left a handle here.
        let handle = unsafe { Self::handle_at(plan, address, FortranHandle::Request) };
        let abi = abi();
        let wild = is_wild(plan, lanes);
        let persistent = plan.class == Class::Persistent;
        let request = Request { thread, number: *made, persistent, wild };
        *made += 1;
        if handle != abi.request_null {
            process.requests.with(|r| r.add(handle, address, request));
        }
    }

    /// Which requests are complete now.
    unsafe fn complete(&mut self, process: &Process, plan: &Plan, call: Call, words: &mut [u64]) {
        let finish = |&(handle, address, request): &(usize, usize, Option<Request>)| {
            if request.is_some_and(|r| !r.persistent) {
                process.requests.with(|r| r.remove(handle, address));
            }
        };
        // The words of a flag, an index or a number of completed requests, found by their place in the plan.
        let int_out = |nth: usize| {
            let mut places = plan
                .found
                .iter()
                .zip(words.iter())
                .filter(|(f, _)| matches!(f, Found::IntOut { .. }));
            places.nth(nth).map_or(0, |(_, &word)| word as i64)
        };
        if self.requests.is_empty() {
            return;
        }
        let mut statuses: Vec<i64> = Vec::new();
        let mut list_statuses = |around: &Self, position: usize, number: usize| {
            if around.requests.get(position).is_some_and(|(_, _, r)| r.is_some_and(|r| r.wild)) {
                // SAFETY: there is a status for each completed request.
                if let Some((source, tag)) = unsafe { around.status(number) } {
                    statuses.extend([position as i64, source, tag]);
                }
            }
        };
        match plan.class {
            Class::Wait | Class::RequestFree => self.requests.iter().for_each(finish),
            Class::Test if int_out(0) != 0 => self.requests.iter().for_each(finish),
            Class::Waitall => {
                (0..self.requests.len()).for_each(|i| list_statuses(self, i, i));
                self.requests.iter().for_each(finish);
            }
            Class::Testall if int_out(0) != 0 => {
                (0..self.requests.len()).for_each(|i| list_statuses(self, i, i));
                self.requests.iter().for_each(finish);
            }
            Class::Waitany | Class::Testany => {
                if let Some(request) =
                    usize::try_from(int_out(0)).ok().and_then(|i| self.requests.get(i))
                    && (plan.class == Class::Waitany || int_out(1) != 0)
                {
                    finish(request);
                }
            }
            Class::Waitsome | Class::Testsome => {
                let count = int_out(0);
                let indices = plan.found.iter().position(|f| matches!(f, Found::Indices { .. }));
                if let (Some(place), true) = (indices, count >= 0) {
                    let Found::Indices { arg, .. } = plan.found[place] else { return };
                    // SAFETY: the call filled this many positions.
                    let array = unsafe { call.arg(usize::from(arg)) } as *const i32;
                    let positions: Vec<i64> = (0..count as usize)
                        .map(|i| {
                            // SAFETY: as above.
                            let position = unsafe { *array.add(i) };
                            i64::from(position - plan.first)
                        })
                        .collect();
                    for (number, &position) in positions.iter().enumerate() {
                        list_statuses(self, position as usize, number);
                        if let Some(request) = self.requests.get(position as usize) {
                            finish(request);
                        }
                    }
                    words[place] =
                        process.handles.with(|h| h.list(process.memory, &positions)) as u64;
                }
            }
            _ => {}
        }
        if !statuses.is_empty()
            && let Some(place) = plan.found.iter().position(|f| matches!(f, Found::Statuses { .. }))
        {
            words[place] = process.handles.with(|h| h.list(process.memory, &statuses)) as u64;
        }
    }
}

/// Whether the lanes of a receive or probe have a wild card.
#[inline(always)]
fn is_wild(plan: &Plan, lanes: &[u64]) -> bool {
    let abi = abi();
    plan.wild.is_some_and(|(source, tag)| {
        lanes[usize::from(source)] as i32 == abi.any_source
            || lanes[usize::from(tag)] as i32 == abi.any_tag
    })
}
