//! Name of this host.
//!
//! Owns the query of the kernel. Names of files and the measurement of clocks use it.

/// The host's name; at most 63 bytes of it.
pub(crate) fn host_name() -> String {
    let mut name = [0_u8; 64];
    // SAFETY: the buffer has the given length; its last byte stays zero.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let end = name.iter().position(|&b| b == 0).unwrap_or(0);
    String::from_utf8_lossy(&name[..end]).into_owned()
}
