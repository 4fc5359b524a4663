//! Files of users that are replaced after they ran, and files that show what users did.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object as _, ObjectSymbol as _};
use talea_model::{Module, Nanos};
use talea_run::foreign::identity;
use talea_store::Store as _;
use talea_store::sqlite::{Options, Sqlite};

use super::{Attack, Extent, Outcome, SECOND, batch};
use crate::bench::output;
use crate::site::{Role, Running, SOON, Site, until};

pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "program replaced after its run by a link to a file of root with the same build id",
        before: "symbols of root's file are shown",
        limit: "none of its symbols in `talea usage` and the server's answers",
        extent: Extent::Fast,
        make: replaced,
    },
    Attack {
        name: "store, write-ahead log and spool under umask 022",
        before: "files 644, spool 755",
        limit: "files 600, spool 700",
        extent: Extent::Fast,
        make: modes,
    },
];

/// A file that ran, known by its identity.
pub(super) fn module(path: &Path) -> Result<Module, String> {
    let found = fs::metadata(path).map_err(|error| format!("{error}: `{}`", path.display()))?;
    Ok(Module { path: path.display().to_string(), build_id: identity(&found).to_string() })
}

/// The address of a function of a file.
pub(super) fn address(path: &Path, name: &str) -> Result<u64, String> {
    let bytes = fs::read(path).map_err(|error| format!("{error}: `{}`", path.display()))?;
    let elf = object::File::parse(&*bytes).map_err(|error| error.to_string())?;
    let mut symbols = elf.symbols().chain(elf.dynamic_symbols());
    let found = symbols.find(|one| one.name() == Ok(name) && !one.is_undefined());
    found.map(|one| one.address()).ok_or_else(|| format!("no `{name}` in `{}`", path.display()))
}

const PUBLIC: &str = "everybody_may_know";
const SECRET: &str = "only_root_may_know";

fn replaced(site: &Site, _: Extent) -> Result<Outcome, String> {
    const BUILD: &str = "00112233445566778899aabbccddeeff";
    let compiled = |name: &str, function: &str| -> Result<Option<PathBuf>, String> {
        let (source, program) = (site.path("p.c"), site.path(name));
        let text = format!(
            "int {function}(int x) {{ return x; }}\nint main(void) {{ return {function}(0); }}\n"
        );
        fs::write(&source, text).map_err(|error| error.to_string())?;
        let mut command = Command::new("cc");
        command.arg(format!("-Wl,--build-id=0x{BUILD}")).arg("-o").arg(&program).arg(&source);
        let Ok(done) = command.output() else { return Ok(None) };
        if !done.status.success() {
            return Err(String::from_utf8_lossy(&done.stderr).into_owned());
        }
        Ok(Some(program))
    };
    let closed = site.path("closed");
    fs::create_dir(&closed).map_err(|error| error.to_string())?;
    let (Some(program), Some(secret)) =
        (compiled("program", PUBLIC)?, compiled("closed/secret", SECRET)?)
    else {
        return Ok(Outcome::Skipped("cc is not installed".to_owned()));
    };
    for (path, mode) in [(&closed, 0o700), (&secret, 0o700), (&program, 0o755)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
            .map_err(|error| error.to_string())?;
    }
    let start = Nanos::now() - Nanos(100 * SECOND);
    let mut ran = batch("n1", 0, start);
    let path = program.display().to_string();
    ran.modules = vec![Module { path, build_id: BUILD.to_owned() }; 2];
    ran.shares[0].address = Some(address(&program, PUBLIC)?);
    ran.shares[1].address = Some(address(&secret, SECRET)?);
    let mut store = Sqlite::open(&site.path("t.db"), &Options::default());
    let put = store.as_mut().map_err(|error| error.to_string());
    put?.put_all(&[ran]).map_err(|error| error.to_string())?;
    let root = site.user("root", 0, Role::Operator)?;
    let shown = || -> Result<String, String> {
        // A server of its own each time: nothing is remembered.
        let server = site.server("t.db", &[])?;
        let address = format!("sqlite:{}", site.path("t.db").display());
        let words = ["usage", "--store", &address, "--by", "executable,function", "--json"];
        let usage = output(&mut site.talea(words))?;
        Ok(usage + &server.get(&root, "/api/v1/usage?by=executable,function")?.text)
    };
    let names = |text: &str, name: &str| text.matches(name).count();
    let honest = shown()?;
    fs::remove_file(&program).map_err(|error| error.to_string())?;
    symlink(&secret, &program).map_err(|error| error.to_string())?;
    let after = shown()?;
    let figures = format!(
        "{} symbols of root's file shown (before it is replaced, {} of the program's own)",
        names(&after, SECRET),
        names(&honest, PUBLIC),
    );
    let own_names = names(&honest, PUBLIC) >= 2;
    Ok(Outcome::of(own_names && names(&after, SECRET) == 0, figures))
}

fn modes(site: &Site, _: Extent) -> Result<Outcome, String> {
    let store = format!("sqlite:{}", site.path("a.db").display());
    let words = ["agent", "--store", &store, "--spool", "spool", "--rate", "100Hz"];
    let mut agent =
        Running::start(&mut site.talea(words.into_iter().chain(["--interval", "300ms"])))?;
    let ready = || site.path("a.db-wal").exists() && site.path("spool").exists();
    until(SOON, || ready() || !agent.runs());
    if !agent.runs() {
        return Ok(Outcome::Skipped(format!("no agent here: {}", agent.lines().join(" "))));
    }
    site.user("root", 0, Role::Operator)?;
    let _server = site.server("s.db", &[])?;
    let mode = |path: &Path| {
        let found = fs::metadata(path).map_err(|error| format!("{error}: `{}`", path.display()))?;
        Ok::<u32, String>(found.mode() & 0o777)
    };
    let stores = ["a.db", "a.db-wal", "a.db-shm", "s.db", "s.db-wal", "s.db-shm"];
    let mut files: Vec<PathBuf> = stores.iter().map(|name| site.path(name)).collect();
    let spool = fs::read_dir(site.path("spool")).map_err(|error| error.to_string())?;
    files.extend(spool.flatten().map(|entry| entry.path()));
    let mut open = Vec::new();
    for file in &files {
        // A batch that is delivered goes from the spool.
        let Ok(found) = mode(file) else { continue };
        if found != 0o600 {
            open.push(format!("`{}` {found:o}", file.display()));
        }
    }
    let folder = mode(&site.path("spool"))?;
    let all: Result<Vec<u32>, String> = stores.iter().map(|name| mode(&site.path(name))).collect();
    all?;
    let figures = if open.is_empty() {
        format!("{} files 600, spool {folder:o}", files.len())
    } else {
        format!("{}; spool {folder:o}", open.join(", "))
    };
    Ok(Outcome::of(open.is_empty() && folder == 0o700, figures))
}
