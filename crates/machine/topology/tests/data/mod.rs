//! Files for tests: generated ones of known objects, those that other people's hwloc wrote, and
//! Debian's `lstopo`.
//!
//! Where a file of other people or `lstopo` is missing the test says so and passes, except in
//! continuous integration.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests say why they fail or skip")]

use std::process::Command;

use talea_testing::hwloc::{MACHINES, Machine};
use talea_testing::missing;

/// Files with their names, which begin with `v1`, `v2` or `v3`.
pub type Files = Vec<(String, Vec<u8>)>;

/// Generated files of some versions.
pub fn generated(versions: &[&str]) -> Files {
    described(versions).into_iter().map(|(name, bytes, _)| (name, bytes)).collect()
}

/// Generated files of some versions, with the machines that they describe.
pub fn described(versions: &[&str]) -> Vec<(String, Vec<u8>, Machine)> {
    let number = |version: &str| version[1..].parse().unwrap();
    let of = |version: &&str| {
        let (name, number) = ((*version).to_owned(), number(version));
        MACHINES.map(|one| (format!("{name}/{}", one.name), one.xml(number).into_bytes(), one))
    };
    versions.iter().flat_map(of).collect()
}

/// All files of other people of some versions.
pub fn files(versions: &[&str]) -> Files {
    let mut files = Files::new();
    let Some(folder) = talea_testing::data("hwloc") else { return files };
    for version in versions {
        for entry in std::fs::read_dir(folder.join(version)).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{version}/{}", path.file_name().unwrap().to_string_lossy());
            files.push((name, std::fs::read(path).unwrap()));
        }
    }
    files.sort();
    files
}

/// One file.
pub fn file(name: &str) -> Option<Vec<u8>> {
    talea_testing::bytes(&format!("hwloc/{name}"))
}

/// What `lstopo` (Debian's package hwloc-nox) makes of a file or a synthetic description, as XML
/// with all objects.
pub fn run_lstopo(input: &str) -> Option<Result<String, String>> {
    run(input, &[])
}

/// What `lstopo` says of a file that it does not like, in its loud mode.
pub fn complaints(bytes: &[u8]) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("objects.xml");
    std::fs::write(&path, bytes).unwrap();
    let mut command = Command::new("lstopo-no-graphics");
    command.arg("-i").arg(&path).args(["--of", "console"]).env("HWLOC_XML_VERBOSE", "1");
    match command.output() {
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => missing(&format!("lstopo-no-graphics does not run: {error}")),
    }
}

fn run(input: &str, options: &[&str]) -> Option<Result<String, String>> {
    let mut command = Command::new("lstopo-no-graphics");
    command.args(["-i", input, "--filter", "all:all", "--of", "xml"]).args(options);
    match command.output() {
        Ok(output) if output.status.success() => {
            Some(Ok(String::from_utf8(output.stdout).unwrap()))
        }
        Ok(output) => Some(Err(String::from_utf8_lossy(&output.stderr).into_owned())),
        Err(error) => missing(&format!("lstopo-no-graphics does not run: {error}")),
    }
}

/// The same for bytes of a file.
pub fn lstopo(bytes: &[u8]) -> Option<String> {
    lstopo_with(bytes, &[])
}

/// The same for some PUs of a machine, without the nodes that lose their PUs.
pub fn restricted(bytes: &[u8], mask: &str) -> Option<String> {
    lstopo_with(bytes, &["--restrict", mask, "--restrict-flags", "REMOVE_CPULESS"])
}

fn lstopo_with(bytes: &[u8], options: &[&str]) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("objects.xml");
    std::fs::write(&path, bytes).unwrap();
    run(path.to_str().unwrap(), options).map(|result| result.unwrap())
}
