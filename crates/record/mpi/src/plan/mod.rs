//! Extraction of a procedure's arguments from a call.
//!
//! Owns the translation of the table's parameters into three lists: words that are read directly
//! from the call and identify the tuple, words that are found around the call (requests, statuses,
//! lists, new handles), and the columns that are recorded. Made once for each entry that is called.

pub(crate) mod arguments;
mod short;
mod sources;

use std::sync::OnceLock;

use talea_model::{ArgKind, ArgSpec, ProcedureSpec};

use crate::abi::entry::{Binding, ENTRIES, Entry};
use crate::abi::table::{Class, Kind, Length, PROCEDURES, Param, Procedure};
pub use short::OneRequest;
pub use sources::{Found, Out, Significance, Source};

/// Maximum number of words taken directly from a call.
pub const MAX_LANES: usize = 12;

/// The plan of one entry.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is asked by itself on the event path")]
pub struct Plan {
    /// Number in the table.
    pub procedure: u16,
    /// Action of the interception beside recording.
    pub class: Class,
    /// True if arguments are pointers, as in Fortran.
    pub fortran: bool,
    /// Number to subtract from a position in a list to count from 0.
    pub first: i32,
    /// True for a call that may find nothing.
    pub poll: bool,
    /// True if nothing has to be read around the call.
    pub plain: bool,
    /// Number of lanes in use.
    pub lanes: u8,
    /// For each lane the index in [`crate::abi::entry::Call`].
    pub place: [u8; MAX_LANES],
    /// For each lane the mask of its significant bits.
    pub mask: [u64; MAX_LANES],
    /// Words found around the call.
    pub found: Vec<Found>,
    /// Recorded columns, in the order of the standard's parameters.
    pub columns: Vec<Source>,
    /// Names and kinds of the columns.
    pub spec: ProcedureSpec,
    /// Argument of the communicator, if any.
    pub comm: Option<u8>,
    /// Argument of the status of a call that is a receive itself.
    pub status: Option<u8>,
    /// Lanes of source and tag of a receive or probe.
    pub wild: Option<(u8, u8)>,
    /// Argument of a request that the call makes.
    pub makes: Option<u8>,
    /// Argument of a list of statuses.
    pub statuses: Option<u8>,
    /// For calls about one request.
    pub single: Option<OneRequest>,
    /// True for a probe that returns at once: its words are its lanes, a flag, and source and tag
    /// of the message.
    pub probe: bool,
    /// For polls, the argument that shows success: a flag, or a number that is not 0.
    pub success: Option<u8>,
}

impl Plan {
    /// Number of identifying words.
    pub fn words(&self) -> usize {
        usize::from(self.lanes) + self.found.len()
    }

    /// The plan of an entry.
    pub fn new(entry: &Entry) -> Self {
        let procedure = &PROCEDURES[usize::from(entry.procedure)];
        let fortran = entry.binding == Binding::Fortran;
        let mut plan = Self {
            procedure: entry.procedure,
            class: procedure.class,
            fortran,
            first: 0,
            poll: procedure.class.is_poll(),
            plain: false,
            lanes: 0,
            place: [0; MAX_LANES],
            mask: [0; MAX_LANES],
            found: Vec::new(),
            columns: Vec::new(),
            spec: ProcedureSpec { name: procedure.name.to_owned(), args: Vec::new() },
            comm: None,
            status: None,
            wild: None,
            makes: None,
            statuses: None,
            single: None,
            probe: false,
            success: None,
        };
        if fortran && procedure.params.iter().any(|p| p.kind == Kind::IntOut) {
            plan.first = if entry.is_f08() { crate::abi::fortran::f08_first() } else { 1 };
        }
        if plan.poll {
            let place = |kind| procedure.params.iter().position(|p| p.kind == kind);
            plan.success = place(Kind::FlagOut).or(place(Kind::IntOut)).map(|p| p as u8);
        }
        let (mut source, mut tag) = (None, None);
        for (number, param) in procedure.params.iter().enumerate() {
            let arg = number as u8;
            match param.kind {
                Kind::Peer if param.name == "source" => source = Some(plan.lanes),
                Kind::Tag if param.name != "sendtag" => tag = Some(plan.lanes),
                _ => {}
            }
            plan.param(arg, param, procedure);
        }
        if let (Some(source), Some(tag), Some(_)) = (source, tag, plan.status) {
            plan.wild = Some((source, tag));
        }
        if matches!(procedure.class, Class::Request | Class::Persistent)
            && let (Some(source), Some(tag)) = (source, tag)
        {
            plan.wild = Some((source, tag));
        }
        let reports = plan.wild.is_some() && plan.makes.is_none()
            || matches!(
                procedure.class,
                Class::Wait | Class::Waitany | Class::Test | Class::Testany
            );
        if let (true, Some(arg)) = (reports, plan.status) {
            plan.found(Found::Status { arg }, "status.source", ArgKind::Peer);
            plan.found(Found::Second, "status.tag", ArgKind::Tag);
        }
        plan.single = short::one_request(plan.class, &plan.found);
        plan.probe = short::is_probe(plan.class, &plan.found);
        plan.plain = plan.found.is_empty()
            && plan.makes.is_none()
            && matches!(procedure.class, Class::Plain);
        plan
    }

    fn lane(&mut self, arg: u8, kind: Kind, mask: u64, name: &str, column: ArgKind) {
        let lane = self.lanes as usize;
        self.place[lane] = crate::abi::entry::place(usize::from(arg)) as u8;
        self.mask[lane] = mask;
        self.columns.push(Source::Lane(self.lanes, kind));
        self.spec.args.push(ArgSpec { name: name.to_owned(), kind: column });
        self.lanes += 1;
    }

    fn found(&mut self, found: Found, name: &str, column: ArgKind) {
        self.columns.push(Source::Found(self.found.len() as u8));
        self.spec.args.push(ArgSpec { name: name.to_owned(), kind: column });
        self.found.push(found);
    }

    fn param(&mut self, arg: u8, param: &Param, procedure: &Procedure) {
        const INT: u64 = 0xffff_ffff;
        let (name, kind) = (param.name, param.kind);
        // Handles are pointers in some implementations and integers in others; as integers their
        // upper half is undefined in the register.
        let handle = if self.fortran { INT } else { crate::abi::handle_mask() };
        let length = || match param.length {
            Length::Param(p) => p,
            _ => procedure.params.iter().position(|p| p.kind == Kind::Int).unwrap_or(0) as u8,
        };
        match kind {
            Kind::Int => self.lane(arg, kind, INT, name, ArgKind::Int),
            Kind::Wide => self.lane(arg, kind, u64::MAX, name, ArgKind::Int),
            Kind::Count => self.lane(arg, kind, INT, name, ArgKind::Count),
            Kind::WideCount => self.lane(arg, kind, u64::MAX, name, ArgKind::Count),
            Kind::Peer => self.lane(arg, kind, INT, name, ArgKind::Peer),
            Kind::Root => self.lane(arg, kind, INT, name, ArgKind::Root),
            Kind::Tag => self.lane(arg, kind, INT, name, ArgKind::Tag),
            Kind::Comm => {
                self.comm.get_or_insert(arg);
                self.lane(arg, kind, handle, name, ArgKind::Comm);
            }
            Kind::Datatype => self.lane(arg, kind, handle, name, ArgKind::Datatype),
            Kind::Op => self.lane(arg, kind, handle, name, ArgKind::Op),
            Kind::Win | Kind::File => self.lane(arg, kind, handle, name, ArgKind::Handle),
            // The subject of a call is in its other arguments; numbers of these would differ
            // between ranks.
            Kind::Skip
            | Kind::Group
            | Kind::Info
            | Kind::Session
            | Kind::Message
            | Kind::MessageIo
            | Kind::MessageOut => {}
            Kind::CommIo => self.found(Found::HandleIo { arg, kind }, name, ArgKind::Comm),
            Kind::DatatypeIo => self.found(Found::HandleIo { arg, kind }, name, ArgKind::Datatype),
            Kind::OpIo => self.found(Found::HandleIo { arg, kind }, name, ArgKind::Op),
            Kind::WinIo | Kind::FileIo => {
                self.found(Found::HandleIo { arg, kind }, name, ArgKind::Handle);
            }
            Kind::CommOut => self.found(Found::HandleOut { arg, kind }, name, ArgKind::Comm),
            Kind::DatatypeOut => {
                self.found(Found::HandleOut { arg, kind }, name, ArgKind::Datatype);
            }
            Kind::OpOut => self.found(Found::HandleOut { arg, kind }, name, ArgKind::Op),
            Kind::WinOut | Kind::FileOut => {
                self.found(Found::HandleOut { arg, kind }, name, ArgKind::Handle);
            }
            Kind::Request => {
                self.found(Found::Request { arg, pointer: self.fortran }, name, ArgKind::Request);
            }
            Kind::RequestIo => {
                self.found(Found::Request { arg, pointer: true }, name, ArgKind::Request);
            }
            Kind::RequestOut => self.makes = Some(arg),
            Kind::Requests => {
                self.found(Found::Requests { arg, length: length() }, name, ArgKind::Requests);
            }
            Kind::Status => self.status = Some(arg),
            Kind::Statuses => {
                self.statuses = Some(arg);
                self.found(Found::Statuses { arg }, "statuses", ArgKind::List);
            }
            Kind::FlagOut => {
                self.found(Found::IntOut { arg, kind: Out::Flag }, name, ArgKind::Flag);
            }
            Kind::IntOut => {
                let out = if name == "index" { Out::Index } else { Out::Number };
                self.found(Found::IntOut { arg, kind: out }, name, ArgKind::Int);
                if name == "outcount" {
                    // The positions follow their number.
                    self.found(
                        Found::Indices { arg: arg + 1, length: arg },
                        "array_of_indices",
                        ArgKind::List,
                    );
                }
            }
            Kind::Ints | Kind::Wides | Kind::Datatypes | Kind::Peers => {
                let significance = Significance::new(procedure, param);
                let list = Found::List { arg, length: param.length, kind, significance };
                let column = match kind {
                    Kind::Datatypes => ArgKind::Datatypes,
                    Kind::Peers => ArgKind::Peers,
                    _ => ArgKind::List,
                };
                self.found(list, name, column);
            }
        }
    }
}

/// The plan of an entry, made when it is first called.
pub(crate) fn plan_of(entry: &'static Entry) -> &'static Plan {
    static PLANS: [OnceLock<Plan>; ENTRIES.len()] = [const { OnceLock::new() }; ENTRIES.len()];
    let start = ENTRIES.as_ptr() as usize;
    let index = (std::ptr::from_ref(entry) as usize - start) / size_of::<Entry>();
    PLANS[index].get_or_init(|| Plan::new(entry))
}
