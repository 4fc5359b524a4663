//! Calls about one request: `MPI_Wait` and `MPI_Test`, the most frequent of those that complete requests.
//!
//! Owns the short way through [`crate::around`] for them: no lists, nothing on the heap. Receives with wild cards, whose
//! status tells what they met, go the long way.

use talea_model::args::age;

use crate::abi::abi;
use crate::arguments;
use crate::around::Scene;
use crate::fortran::FortranHandle;
use crate::plan::{Found, Out, Plan};
use crate::requests::{self, Request};
use crate::table::Class;

/// The request of a call.
#[derive(Clone, Copy, Debug)]
pub struct Single {
    handle: usize,
    address: usize,
    request: Option<Request>,
    /// As it is recorded.
    pub age: i64,
}

/// Place among the found words of the flag that tells whether the request is complete; none for calls that wait.
///
/// The outer option is none for calls which are not about one request.
pub fn flag_of(class: Class, found: &[Found]) -> Option<Option<u8>> {
    let (Some(Found::Request { pointer: true, .. }), Class::Wait | Class::Test) =
        (found.first(), class)
    else {
        return None;
    };
    let mut flag = None;
    for (found, place) in found.iter().zip(0..).skip(1) {
        match found {
            Found::IntOut { kind: Out::Flag, .. } => flag = Some(place),
            Found::Status { .. } | Found::Second => {}
            _ => return None,
        }
    }
    Some(flag)
}

impl Single {
    /// Looks at the request of a call; none if it is a receive with wild cards.
    ///
    /// # Safety
    /// `scene.call` is a call of the plan's procedure, of which [`flag_of`] gave a place.
    #[inline(always)]
    pub unsafe fn look(scene: Scene<'_>, made: u64, before: Option<&Self>) -> Option<Self> {
        let Scene { process, thread, plan, call } = scene;
        // SAFETY: the first found word is that of a pointer to a request.
        let (address, handle) = unsafe {
            let address = call.arg(usize::from(Self::arg(plan)));
            (address, arguments::handle_at(plan, address, FortranHandle::Request))
        };
        if let Some(&before) = before
            && (before.handle, before.address) == (handle, address)
        {
            return Some(before);
        }
        if handle == abi().request_null {
            return Some(Self { handle, address, request: None, age: age::NULL });
        }
        let request = requests::known(&process.requests, handle, address);
        let age = requests::age_of(thread, made, handle, request);
        (!request.is_some_and(|r| r.wild)).then_some(Self { handle, address, request, age })
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
