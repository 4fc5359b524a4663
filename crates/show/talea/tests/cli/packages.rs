//! Packages of compute nodes and of the server, made of any program: their files.

use std::fs;
use std::process::Command;

use super::bench::{on_path, stderr};
use talea_testing::{checkout, skip};

#[test]
fn packages_have_the_program_its_unit_and_its_options() {
    if !on_path("dpkg-deb") || !on_path("readelf") {
        skip("dpkg-deb or readelf is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (options, program, package, expected) in [
        (
            &[][..],
            "talea-agent",
            "talea-agent",
            &[
                "./etc/talea/agent.conf",
                "./lib/systemd/system/talea-agent.service",
                "./usr/bin/talea-agent",
                "./usr/share/man/man1/talea-agent.1.gz",
                "./usr/share/talea/slurm/prolog.sh",
            ][..],
        ),
        (
            &["--serve"],
            "talea",
            "talea-serve",
            &[
                "./etc/talea/serve.conf",
                "./lib/systemd/system/talea-serve.service",
                "./usr/share/doc/talea-serve/server.md",
            ],
        ),
    ] {
        // Any program will do: only the package is examined.
        let path = folder.path().join(program);
        fs::copy("/bin/true", &path).unwrap();
        let script = checkout().join("scripts/deb.sh");
        let made =
            Command::new(script).args(options).arg(&path).arg(folder.path()).output().unwrap();
        assert!(made.status.success(), "{}", stderr(&made));
        let deb = String::from_utf8(made.stdout).unwrap();
        let name = std::path::Path::new(deb.trim()).file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with(&format!("{package}_")), "{name}");
        let list = Command::new("dpkg-deb").args(["--contents", deb.trim()]).output().unwrap();
        let list = String::from_utf8(list.stdout).unwrap();
        for file in expected {
            assert!(list.lines().any(|line| line.ends_with(file)), "{file}: {list}");
        }
        let has_program = list.lines().any(|line| line.contains(" ./usr/bin/talea"));
        assert_eq!(has_program, program == package, "{list}");
    }
}
