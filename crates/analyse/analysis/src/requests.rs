//! Which request is meant where a recording says how old it is.
//!
//! Owns the numbering (requests of a thread count from 0 in the order in which they are made) and
//! what is known of each that is not complete: the communicator that a status's source is a rank
//! of, what a persistent send sends. Requests of other threads have a number, but what is known of
//! them stays with their thread.

use std::collections::HashMap;

use talea_model::args::age;
use talea_model::{ArgKind, Bytes, ProcedureSpec, Rank};
use talea_run::lists::{Cursor, List};

use crate::procedures::{makes_persistent, makes_request};

/// A request as an argument names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// `MPI_REQUEST_NULL`
    Null,
    /// Made where nobody looked.
    Unknown,
    /// This thread's with this number.
    Own(u64),
    /// Another thread's.
    Foreign {
        /// That thread.
        thread: u32,
        /// Its number there.
        number: u64,
    },
}

/// Data of a request, kept until it is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// Communicator of the call that made it.
    pub comm: Option<i64>,
    /// A persistent send: receiver in the world (if it is in it), and bytes.
    pub sends: Option<(Option<Rank>, Bytes)>,
    persistent: bool,
}

/// The requests of one thread, followed through its calls.
#[derive(Debug, Default)]
pub struct Requests {
    made: u64,
    open: HashMap<u64, Made>,
}

/// Actions of a procedure on requests, found once for each node.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plan {
    makes: bool,
    persistent: bool,
    comm: Option<usize>,
    /// A request, or a list of them.
    request: Option<(usize, ArgKind)>,
    completes: Completes,
}

/// Which of a call's requests are complete after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Completes {
    #[default]
    None,
    All,
    /// All if this argument is true.
    AllIf(usize),
    /// The one at the position that this argument tells.
    At(usize),
    /// Those in this list of positions.
    Those(usize),
}

impl Plan {
    /// The plan of a procedure.
    pub fn for_procedure(spec: &ProcedureSpec) -> Self {
        let place = |name: &str| spec.args.iter().position(|arg| arg.name == name);
        let kind = |kind: ArgKind| spec.args.iter().position(|arg| arg.kind == kind);
        let request =
            spec.args.iter().position(|a| matches!(a.kind, ArgKind::Request | ArgKind::Requests));
        let completes = match spec.name.as_str() {
            "MPI_Wait" | "MPI_Waitall" | "MPI_Request_free" => Completes::All,
            "MPI_Test" | "MPI_Testall" => place("flag").map_or(Completes::None, Completes::AllIf),
            "MPI_Waitany" | "MPI_Testany" => place("index").map_or(Completes::None, Completes::At),
            "MPI_Waitsome" | "MPI_Testsome" => {
                place("array_of_indices").map_or(Completes::None, Completes::Those)
            }
            _ => Completes::None,
        };
        Self {
            makes: makes_request(&spec.name),
            persistent: makes_persistent(&spec.name),
            comm: kind(ArgKind::Comm),
            request: request.map(|place| (place, spec.args[place].kind)),
            completes,
        }
    }

    /// The requests that a call with these arguments names, by age; empty for calls without any.
    pub fn named<'a>(&self, args: &'a [i64], lists: &'a mut Cursor<'_>) -> List<'a> {
        match self.request {
            Some((place, ArgKind::Requests)) => {
                args.get(place).and_then(|&list| lists.get(list)).unwrap_or_default()
            }
            Some((place, _)) => List::from_entries(args.get(place..=place).unwrap_or(&[])),
            None => List::default(),
        }
    }

    /// Positions among [`Self::named`] of the requests that are complete after the call.
    pub fn completed(&self, args: &[i64], lists: &mut Cursor<'_>) -> Vec<usize> {
        let value = |at: usize| args.get(at).copied();
        match self.completes {
            Completes::All => (0..self.named(args, lists).len()).collect(),
            Completes::AllIf(flag) if args.get(flag) == Some(&1) => {
                (0..self.named(args, lists).len()).collect()
            }
            Completes::None | Completes::AllIf(_) => Vec::new(),
            Completes::At(index) => {
                value(index).and_then(|index| usize::try_from(index).ok()).into_iter().collect()
            }
            Completes::Those(indices) => {
                let positions = value(indices).and_then(|list| lists.get(list)).unwrap_or_default();
                positions.iter().filter_map(|position| usize::try_from(position).ok()).collect()
            }
        }
    }

    /// True where each call makes a request.
    pub fn makes(&self) -> bool {
        self.makes
    }

    /// True where the call has nothing to do with requests.
    pub fn is_idle(&self) -> bool {
        !self.makes && self.request.is_none()
    }
}

impl Requests {
    /// The request that a recorded age means now.
    pub fn named(&self, age: i64) -> Request {
        match age {
            age::NULL => Request::Null,
            0.. => match self.made.checked_sub(1 + age.unsigned_abs()) {
                Some(number) => Request::Own(number),
                None => Request::Unknown,
            },
            _ => match age::of_foreign(age) {
                Some((number, thread)) => Request::Foreign { thread, number },
                None => Request::Unknown,
            },
        }
    }

    /// Data of the request with this age.
    pub fn get(&self, age: i64) -> Option<Made> {
        match self.named(age) {
            Request::Own(number) => self.open.get(&number).copied(),
            _ => None,
        }
    }

    /// Follows a call, after its arguments were read. The number of the request that it made, if it
    /// made one.
    pub fn follow(
        &mut self,
        plan: &Plan,
        args: &[i64],
        lists: &mut Cursor<'_>,
        sends: Option<(Option<Rank>, Bytes)>,
    ) -> Option<u64> {
        let completed = plan.completed(args, lists);
        if !completed.is_empty() {
            let named = plan.named(args, lists);
            for age in completed.into_iter().filter_map(|position| named.get(position)) {
                self.complete(age);
            }
        }
        plan.makes.then(|| {
            let comm = plan.comm.and_then(|place| args.get(place).copied());
            self.open.insert(self.made, Made { comm, sends, persistent: plan.persistent });
            self.made += 1;
            self.made - 1
        })
    }

    /// Passes over calls that made so many requests; nothing else is known of these.
    pub fn pass(&mut self, made: u64) {
        self.made = self.made.saturating_add(made);
    }

    fn complete(&mut self, age: i64) {
        if let Request::Own(number) = self.named(age)
            && self.open.get(&number).is_some_and(|made| !made.persistent)
        {
            self.open.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use talea_model::ArgSpec;
    use talea_run::lists::Lists;

    use super::*;

    fn plan(name: &str, args: &[(&str, ArgKind)]) -> Plan {
        let args =
            args.iter().map(|&(name, kind)| ArgSpec { name: name.to_owned(), kind }).collect();
        Plan::for_procedure(&ProcedureSpec { name: name.to_owned(), args })
    }

    #[test]
    fn ages_are_numbers_from_the_first_request() {
        let mut requests = Requests::default();
        let none = Lists::default();
        let lists = &mut none.cursor();
        let irecv = plan("MPI_Irecv", &[("comm", ArgKind::Comm)]);
        for number in 0..3 {
            assert_eq!(requests.follow(&irecv, &[number], lists, None), Some(number as u64));
        }
        assert_eq!(requests.named(0), Request::Own(2));
        assert_eq!(requests.named(2), Request::Own(0));
        assert_eq!(requests.named(3), Request::Unknown);
        assert_eq!(requests.named(age::NULL), Request::Null);
        assert_eq!(requests.named(age::UNKNOWN), Request::Unknown);
        assert_eq!(requests.named(age::foreign(5, 2)), Request::Foreign { thread: 2, number: 5 });
        // Nonsense from a damaged file.
        requests.named(i64::MIN);
        requests.named(i64::MAX);
        assert_eq!(requests.get(1).and_then(|made| made.comm), Some(1));
    }

    #[test]
    fn complete_requests_are_forgotten_and_persistent_ones_kept() {
        let mut requests = Requests::default();
        let isend = plan("MPI_Isend", &[("comm", ArgKind::Comm)]);
        let init = plan("MPI_Send_init", &[("comm", ArgKind::Comm)]);
        let table: Lists = [vec![3, 2, 1, 0], vec![0, 1]].into_iter().collect();
        let lists = &mut table.cursor();
        for made in [&isend, &init, &isend, &isend] {
            requests.follow(made, &[0], lists, None);
        }
        let some = [("array_of_requests", ArgKind::Requests), ("array_of_indices", ArgKind::List)];
        let waitsome = plan("MPI_Waitsome", &some);
        requests.follow(&waitsome, &[0, 1], lists, None);
        assert_eq!(requests.get(3), None);
        assert!(requests.get(2).is_some() && requests.get(1).is_some());
        let any = [("array_of_requests", ArgKind::Requests), ("index", ArgKind::Int)];
        requests.follow(&plan("MPI_Waitany", &any), &[0, 3], lists, None);
        assert_eq!(requests.get(0), None);
        // A list that does not exist and a position outside it are ignored.
        requests.follow(&waitsome, &[7, 1], lists, None);
        requests.follow(&waitsome, &[1, 0], lists, None);
    }
}
