//! Release of memory that holds pages of this program's own file.
//!
//! Owns the search for segments of the file that were never written, and the call that takes their
//! pages out of this process: a page that is needed again comes from the page cache. At its start,
//! a program with many commands reads megabytes of its file: addresses that the loader relocates,
//! and code of the start. Segments with relocated addresses are writable and keep their pages.
//! Follows `madvise(2)`, `dl_iterate_phdr(3)` and `elf(5)`.

use std::ffi::c_void;

/// Entry of a dynamic section (`Elf64_Dyn`), its end, and the two entries that say that the loader
/// writes to read-only segments.
#[repr(C)]
struct Dynamic {
    tag: u64,
    value: u64,
}

const END: u64 = 0;
const TEXT_RELOCATIONS: u64 = 22;
const FLAGS: u64 = 30;
const TEXT_RELOCATIONS_FLAG: u64 = 4;

/// Releases the pages of this program's own file that were not written: for a service that has
/// started. Pages of libraries, which other processes share, stay.
pub fn give_back_code() {
    // SAFETY: `program` uses no data, and the loader calls it only until this call returns.
    unsafe { libc::dl_iterate_phdr(Some(program), std::ptr::null_mut()) };
}

/// Releases pages of the first object, which is the program; a result other than 0 ends the
/// iteration.
unsafe extern "C" fn program(
    info: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    _data: *mut c_void,
) -> libc::c_int {
    let page = rustix::param::page_size();
    // SAFETY: the loader passes a description that is valid for this call, with the number of
    // headers in it.
    let (base, headers) = unsafe {
        let info = &*info;
        if info.dlpi_phdr.is_null() {
            return 1;
        }
        let headers = std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
        (info.dlpi_addr as usize, headers)
    };
    let dynamic = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC);
    let address = |header: &libc::Elf64_Phdr| base.wrapping_add(header.p_vaddr as usize);
    // SAFETY: the header gives the address of the dynamic section, which the loader has read.
    if dynamic.is_some_and(|header| unsafe { is_written(address(header) as *const Dynamic) }) {
        return 1;
    }
    let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    for header in loaded.filter(|header| header.p_flags & libc::PF_W == 0) {
        let begin = address(header);
        let end = begin.wrapping_add(header.p_filesz as usize);
        // Whole pages: a part of the last one may belong to another segment.
        let (begin, end) = (begin.next_multiple_of(page), end / page * page);
        if begin < end {
            // SAFETY: the pages are private ones of a file that were never written, so that the
            // file has the same bytes.
            unsafe { libc::madvise(begin as *mut c_void, end - begin, libc::MADV_DONTNEED) };
        }
    }
    1
}

/// True if the loader has written addresses into read-only segments.
///
/// # Safety
/// `entry` must be the begin of a dynamic section.
unsafe fn is_written(mut entry: *const Dynamic) -> bool {
    loop {
        // SAFETY: the section has entries up to the one that ends it.
        let Dynamic { tag, value } = unsafe { entry.read() };
        match tag {
            END => return false,
            TEXT_RELOCATIONS => return true,
            FLAGS if value & TEXT_RELOCATIONS_FLAG != 0 => return true,
            // SAFETY: this was not the last entry.
            _ => entry = unsafe { entry.add(1) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kilobytes of files in the memory of this process.
    fn of_files() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssFile:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    #[test]
    fn released_pages_are_read_again() {
        let before = of_files();
        give_back_code();
        let after = of_files();
        assert!(after < before, "{before} {after}");
        // Code and constants are the same.
        assert_eq!(format!("{:?}", [1.5, 2.5]), "[1.5, 2.5]");
    }

    #[test]
    fn relocations_of_read_only_segments_are_found() {
        let is_written = |entries: &[(u64, u64)]| {
            let all: Vec<Dynamic> = entries
                .iter()
                .chain(&[(END, 0)])
                .map(|&(tag, value)| Dynamic { tag, value })
                .collect();
            // SAFETY: the entries end as a dynamic section does.
            unsafe { is_written(all.as_ptr()) }
        };
        assert!(!is_written(&[]) && !is_written(&[(5, 1), (FLAGS, 8)]));
        assert!(is_written(&[(5, 1), (TEXT_RELOCATIONS, 0)]) && is_written(&[(FLAGS, 12)]));
    }
}
