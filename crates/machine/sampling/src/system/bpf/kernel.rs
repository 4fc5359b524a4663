//! The running kernel: its release, its types for the program's field accesses, and the meaning of
//! its errors.
//!
//! Refuses loading: see [`super::load`].

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use aya::Endianness;
use aya_obj::btf::Btf;
use rustix::io::Errno;

use super::load::LoadError;
use super::{WHAT, btf};
use crate::root::Root;
use crate::system::OpenError;

const BTF: &str = "sys/kernel/btf/vmlinux";

/// The kernel's release, for error texts.
pub(super) fn release(root: &Root) -> String {
    root.line("proc/sys/kernel/osrelease").unwrap_or_else(|| "unknown".to_owned())
}

/// Where this kernel has the fields that the program looks into.
pub(super) fn types(root: &Root) -> Result<Btf, OpenError> {
    let wrong = |reason| OpenError::Program { release: release(root), reason };
    let file = File::open(root.path(BTF)).map_err(|_| OpenError::NoBtf)?;
    let small = btf::reduce(&|at, bytes| read_at(&file, at, bytes)).map_err(wrong)?;
    Btf::parse(&small, Endianness::default()).map_err(|error| wrong(error.to_string()))
}

/// Reads as much as there is, up to all of `bytes`; what cannot be read is not there.
fn read_at(file: &File, at: usize, bytes: &mut [u8]) -> usize {
    let mut length = 0;
    while length < bytes.len() {
        match file.read_at(&mut bytes[length..], (at + length) as u64) {
            Ok(read @ 1..) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => break,
        }
    }
    length
}

/// Meaning of the loader's error.
pub(super) fn explain(root: &Root, error: &LoadError) -> OpenError {
    if let Some((error, is_verifier)) = error.refusal() {
        // The verifier says EACCES for programs that it finds unsafe, so that only EPERM is about
        // permission there.
        match Errno::from_io_error(error) {
            Some(Errno::PERM) => return OpenError::Namespace { what: WHAT },
            Some(Errno::ACCESS) if !is_verifier => return OpenError::Namespace { what: WHAT },
            _ => {}
        }
    }
    OpenError::Program { release: release(root), reason: error.to_string() }
}
