//! Every name that a program can call, with the function that it intercepts.
//!
//! Owns the table of these names, the place of each argument of a call on the stack, and passing
//! the call on to the intercepted function. The exported functions are `trampoline`'s.

use std::ffi::CStr;
use std::sync::atomic::AtomicUsize;

use crate::abi::table::{Class, PROCEDURES};

include!(concat!(env!("OUT_DIR"), "/entries.rs"));

/// Calling convention of the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// By value, handles as the implementation's C type.
    C,
    /// By reference, handles as integers.
    Fortran,
}

/// One exported name.
#[derive(Debug)]
pub struct Entry {
    /// Address of the function that was intercepted; 0 until it is first called.
    pub real: AtomicUsize,
    /// Index into [`PROCEDURES`].
    pub procedure: u16,
    /// Its calling convention.
    pub binding: Binding,
    /// True for procedures that are only counted, and for `MPI_Pcontrol`.
    pub local: bool,
    /// True where arguments go on the stack.
    pub long: bool,
    /// The name.
    pub name: &'static CStr,
}

impl Entry {
    const fn new(name: &'static CStr, procedure: u16, binding: Binding) -> Self {
        let described = &PROCEDURES[procedure as usize];
        // Fortran has `ierror` after the parameters, and lengths of texts after that.
        let long = match binding {
            Binding::C => described.params.len() > 6,
            Binding::Fortran => described.params.len() > 3,
        };
        let local = matches!(described.class, Class::Local | Class::Pcontrol);
        Self { real: AtomicUsize::new(0), procedure, binding, local, long, name }
    }

    /// True for a name of the `mpi_f08` module.
    pub fn is_f08(&self) -> bool {
        self.name.to_bytes().windows(4).any(|w| w == b"_f08")
    }
}

/// A call on the stack: six register arguments, a gap, the return address, then stack arguments.
#[derive(Clone, Copy, Debug)]
pub struct Call(pub *mut usize);

/// Place of the return address in a [`Call`].
pub const RETURN: usize = 7;

impl Call {
    /// Word of the argument with this number.
    ///
    /// # Safety
    /// The procedure has at least `number + 1` arguments.
    #[inline(always)]
    pub unsafe fn arg(self, number: usize) -> usize {
        // SAFETY: arguments from the seventh on follow the return address, as in the x86-64 psABI.
        unsafe { *self.0.add(place(number)) }
    }

    /// Replaces an argument before the call continues.
    ///
    /// # Safety
    /// As for [`Self::arg`]; stack arguments belong to the called function, so that writing them is
    /// allowed.
    #[inline(always)]
    pub unsafe fn set_arg(self, number: usize, word: usize) {
        // SAFETY: as above.
        unsafe { *self.0.add(place(number)) = word }
    }

    /// The return address: the call site.
    ///
    /// # Safety
    /// `self` was made by `enter`.
    #[inline(always)]
    pub unsafe fn site(self) -> usize {
        // SAFETY: `enter` leaves the return address here.
        unsafe { *self.0.add(RETURN) }
    }
}

/// Index in a [`Call`] of the argument with this number.
#[inline(always)]
pub const fn place(number: usize) -> usize {
    if number < 6 { number } else { number + 2 }
}

/// Calls the intercepted function with the arguments of `call`.
///
/// # Safety
/// `real` is the address of the function of `entry`.
#[inline(always)]
pub unsafe fn forward(real: usize, entry: &Entry, call: Call) -> usize {
    type Short = unsafe extern "C-unwind" fn(usize, usize, usize, usize, usize, usize) -> usize;
    let a = call.0;
    if !entry.long {
        // SAFETY: a C function may receive more register arguments than it takes.
        unsafe {
            let real: Short = std::mem::transmute(real);
            return real(*a, *a.add(1), *a.add(2), *a.add(3), *a.add(4), *a.add(5));
        }
    }
    // SAFETY: as above, and words above the stack arguments belong to callers' frames, which exist.
    unsafe { forward_long(real, a) }
}

/// As [`forward`], with the first twelve words of the stack passed on too.
#[inline(never)]
unsafe fn forward_long(real: usize, a: *mut usize) -> usize {
    type Long = unsafe extern "C-unwind" fn(
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
    ) -> usize;
    // SAFETY: see `forward`.
    unsafe {
        let real: Long = std::mem::transmute(real);
        real(
            *a,
            *a.add(1),
            *a.add(2),
            *a.add(3),
            *a.add(4),
            *a.add(5),
            *a.add(8),
            *a.add(9),
            *a.add(10),
            *a.add(11),
            *a.add(12),
            *a.add(13),
            *a.add(14),
            *a.add(15),
            *a.add(16),
            *a.add(17),
            *a.add(18),
            *a.add(19),
        )
    }
}

/// Calls an intercepted function that returns a double; returns its bits.
///
/// # Safety
/// As for [`forward`]; the function takes no arguments.
pub unsafe fn forward_double(real: usize) -> usize {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let real: unsafe extern "C-unwind" fn() -> f64 = std::mem::transmute(real);
        real().to_bits() as usize
    }
}
