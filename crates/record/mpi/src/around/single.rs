//! Calls about one request: `MPI_Wait` and `MPI_Test`, the most frequent of those that complete
//! requests.
//!
//! Owns the short path through [`crate::around`] for them: no lists, no heap. Receives with wild
//! cards, whose status has their match, take the long path.

use talea_model::args::{age, special};

use crate::abi::abi;
use crate::abi::fortran::FortranHandle;
use crate::around::Scene;
use crate::plan::arguments;
use crate::plan::{Found, Plan};
use crate::process::requests::{self, Request};

/// The request of a call.
#[derive(Clone, Copy, Debug)]
pub struct Single {
    handle: usize,
    address: usize,
    request: Option<Request>,
    /// Its recorded age.
    pub age: i64,
}

impl Single {
    /// The handle of a call's request, and the address of the program's variable for it.
    ///
    /// # Safety
    /// `scene.call` is a call of the plan's procedure, which is about one request
    /// ([`Plan::single`]).
    #[inline(always)]
    pub unsafe fn read(scene: Scene<'_>) -> (usize, usize) {
        let Scene { plan, call, .. } = scene;
        // SAFETY: the first found word is that of a pointer to a request.
        unsafe {
            let address = call.arg(usize::from(Self::arg(plan)));
            (arguments::handle_at(plan, address, FortranHandle::Request), address)
        }
    }

    /// True for the request with that handle in that variable.
    #[inline(always)]
    pub fn is(&self, handle: usize, address: usize) -> bool {
        (self.handle, self.address) == (handle, address)
    }

    /// Looks a request up; `None` if it is a receive with wild cards.
    #[inline(always)]
    pub fn look(scene: Scene<'_>, made: u64, handle: usize, address: usize) -> Option<Self> {
        let Scene { process, thread, .. } = scene;
        if handle == abi().request_null {
            return Some(Self { handle, address, request: None, age: age::NULL });
        }
        let request = requests::known(&process.requests, handle, address);
        let age = requests::age_of(thread, made, handle, request);
        (!request.is_some_and(|r| r.wild)).then_some(Self { handle, address, request, age })
    }

    /// Writes the found words of a call, with their values before it.
    #[inline(always)]
    pub fn put(&self, found: &mut [u64]) {
        for word in found.iter_mut() {
            *word = special::ABSENT as u64;
        }
        if let Some(first) = found.first_mut() {
            *first = self.age as u64;
        }
    }

    #[inline(always)]
    fn arg(plan: &Plan) -> u8 {
        match plan.found[0] {
            Found::Request { arg, .. } => arg,
            _ => 0,
        }
    }

    /// The call has completed the request.
    #[inline(always)]
    pub fn complete(&self, scene: Scene<'_>) {
        if self.request.is_some_and(|r| !r.persistent) {
            scene.process.requests.with(|r| r.remove(self.handle, self.address));
        }
    }
}
