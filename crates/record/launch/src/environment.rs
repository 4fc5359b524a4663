//! Settings of the recording library inside the ranks.
//!
//! Owns the variables of the library. The options of `talea run` explain their values; the library
//! itself takes defaults where a variable is missing.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use talea_run::counters;
use talea_run::directory::shared_host_name;
use talea_run::observers::folder_id;

use crate::{Calls, Collect, Merge, Options, Times, library};

/// Variables to set for the program.
#[derive(Debug)]
pub(crate) struct Variables(Vec<(&'static str, OsString)>);

impl Variables {
    /// Their names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.0.iter().map(|(name, _)| *name)
    }

    /// Names and values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &OsStr)> + '_ {
        self.0.iter().map(|(name, value)| (*name, value.as_os_str()))
    }
}

/// The library's name for a way to keep times.
pub(crate) fn times(times: Times) -> &'static str {
    match times {
        Times::Bounded => "bounded",
        Times::Exact => "exact",
        Times::Statistics => "statistics",
    }
}

/// The library's name for the choice of kept times.
pub(crate) fn collect(collect: Collect) -> &'static str {
    match collect {
        Collect::Full => "full",
        Collect::Smart => "smart",
        Collect::Statistics => "statistics",
    }
}

/// All variables for a recording that lies in `live` while it grows, and in the run directory `out`
/// when it is complete. Times are in nanoseconds, sizes in bytes, parts in millionths.
pub(crate) fn variables(options: &Options, recorder: &Path, live: &Path, out: &Path) -> Variables {
    let number = |value: u64| OsString::from(value.to_string());
    let calls = if options.calls == Calls::All { "all" } else { "mpi" };
    // Marked phases are recorded with samples; their library makes the program's markers do
    // something.
    let mark = options.sampling.as_ref().and_then(|_| library::marks(recorder));
    let others = std::env::var_os("LD_PRELOAD");
    let preloaded = preload(recorder, mark.as_deref(), others.as_deref());
    let mut variables = vec![
        ("LD_PRELOAD", preloaded),
        ("TALEA_LIVE", live.into()),
        ("TALEA_OUT", out.into()),
        ("TALEA_COLLECT", collect(options.collect).into()),
        ("TALEA_TIMES", times(options.kept_times()).into()),
        ("TALEA_BOUND_RELATIVE", number(options.bound.relative_ppm.into())),
        ("TALEA_BOUND_ABSOLUTE", number(options.bound.absolute.0)),
        ("TALEA_BOUND_DRIFT", number(options.bound.drift.0)),
        ("TALEA_CALLS", calls.into()),
        ("TALEA_CALLERS", number(options.callers.into())),
        ("TALEA_MEMORY", number(options.memory.0)),
        ("TALEA_MERGE", if options.merge == Merge::Ranks { "ranks" } else { "auto" }.into()),
    ];
    // On other hosts a process of the program starts an observer.
    let own = std::env::current_exe().map(OsString::from).unwrap_or_default();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let host = shared_host_name(&host).unwrap_or_default();
    let folder = folder_id(live).unwrap_or_default();
    variables.extend([
        ("TALEA_OBSERVER", own),
        ("TALEA_OBSERVED_HOST", host.into()),
        ("TALEA_OBSERVED_FOLDER", folder.into()),
    ]);
    if let Some(sampling) = &options.sampling {
        variables.extend(sampling.variables(out));
    }
    if let Some(interval) = options.fabric {
        let folder = if options.live_dir.is_some() { live.into() } else { counters::folder(out) };
        variables.extend([
            ("TALEA_FABRIC", number(interval.0)),
            ("TALEA_FABRIC_DIR", folder.into_os_string()),
        ]);
    }
    Variables(variables)
}

/// The libraries before what is preloaded already.
fn preload(library: &Path, mark: Option<&Path>, others: Option<&OsStr>) -> OsString {
    let mut list = library.as_os_str().to_owned();
    let others = others.filter(|others| !others.is_empty());
    for more in mark.map(Path::as_os_str).into_iter().chain(others) {
        list.push(":");
        list.push(more);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_preloads_stay() {
        let check = |mark: Option<&str>, others: Option<&str>, expected: &str| {
            let list = preload(Path::new("/a/t.so"), mark.map(Path::new), others.map(OsStr::new));
            assert_eq!(list, OsStr::new(expected));
        };
        check(None, None, "/a/t.so");
        check(None, Some(""), "/a/t.so");
        check(None, Some("/b.so:/c.so"), "/a/t.so:/b.so:/c.so");
        check(Some("/a/m.so"), None, "/a/t.so:/a/m.so");
        check(Some("/a/m.so"), Some("/b.so"), "/a/t.so:/a/m.so:/b.so");
    }
}
