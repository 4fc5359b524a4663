//! Turns `procedures.tsv` into the table of procedures, and into an entry and an exported function
//! for each name that a program can call.
//!
//! Owns the spellings: the C name and, for each Fortran binding, every one that compilers and
//! implementations use. The meaning of the table is `table`'s, that of an entry `entry`'s; the
//! functions are `trampoline`'s.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=procedures.tsv");
    println!("cargo:rerun-if-changed=build.rs");
    // Programs call MPI from static initialisers, before an ordinary library's own have run.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,initfirst");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtalea_mpi.so");
    let table = fs::read_to_string("procedures.tsv").expect("procedures.tsv is part of the crate");
    let rows: Vec<Row<'_>> =
        table.lines().filter(|l| !l.starts_with('#') && !l.is_empty()).map(Row::parse).collect();
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&out).join("procedures.rs"), procedures(&rows))
        .expect("OUT_DIR is writable");
    let names = names(&rows);
    fs::write(Path::new(&out).join("entries.rs"), entries(&names)).expect("OUT_DIR is writable");
    fs::write(Path::new(&out).join("trampolines.rs"), trampolines(&names))
        .expect("OUT_DIR is writable");
}

struct Row<'a> {
    name: &'a str,
    class: &'a str,
    params: Vec<Vec<&'a str>>,
}

impl<'a> Row<'a> {
    fn parse(line: &'a str) -> Self {
        let mut fields = line.split('\t');
        let name = fields.next().unwrap_or_default();
        let class = fields.next().unwrap_or_default();
        let params = fields
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .map(|p| p.split(':').collect())
            .collect();
        Self { name, class, params }
    }
}

/// `wide_count` becomes `WideCount`.
fn camel(word: &str) -> String {
    word.split('_')
        .map(|part| {
            let mut letters = part.chars();
            letters.next().map_or_else(String::new, |c| {
                c.to_uppercase().collect::<String>() + letters.as_str()
            })
        })
        .collect()
}

fn procedures(rows: &[Row<'_>]) -> String {
    let mut out = format!(
        "/// Every procedure, sorted by name.\npub static PROCEDURES: [Procedure; {}] = [\n",
        rows.len()
    );
    for row in rows {
        write!(
            out,
            "Procedure {{ name: {:?}, class: Class::{}, params: &[",
            row.name,
            camel(row.class)
        )
        .expect("a String");
        for param in &row.params {
            let length = match param.get(2) {
                None | Some(&"-") => "Length::None".to_owned(),
                Some(&"members") => "Length::Members".to_owned(),
                Some(name) => {
                    let place = row.params.iter().position(|p| p[0] == *name);
                    place.map_or_else(
                        || "Length::None".to_owned(),
                        |p| format!("Length::Param({p})"),
                    )
                }
            };
            write!(
                out,
                "Param {{ name: {:?}, kind: Kind::{}, length: {length} }}, ",
                param[0],
                camel(param[1])
            )
            .expect("a String");
        }
        out.push_str("] },\n");
    }
    out.push_str("];\n");
    out
}

/// A name that a program can call.
struct Callable {
    name: String,
    /// Number of its row.
    procedure: usize,
    binding: &'static str,
}

fn names(rows: &[Row<'_>]) -> Vec<Callable> {
    let mut names = Vec::new();
    let mut add = |name, procedure, binding| names.push(Callable { name, procedure, binding });
    for (procedure, row) in rows.iter().enumerate() {
        add(row.name.to_owned(), procedure, "C");
        let (short, large) = row.name.strip_suffix("_c").map_or((row.name, false), |s| (s, true));
        let lower = short.to_lowercase();
        if large {
            add(format!("{lower}_f08_large_"), procedure, "Fortran");
            add(format!("{lower}_f08ts_large_"), procedure, "Fortran");
            continue;
        }
        if short.ends_with("_c2f")
            || short.ends_with("_f2c")
            || short.ends_with("_toint")
            || short.ends_with("_fromint")
        {
            continue;
        }
        for name in [
            lower.clone(),
            format!("{lower}_"),
            format!("{lower}__"),
            short.to_uppercase(),
            format!("{lower}_f08_"),
            format!("{lower}_f08ts_"),
        ] {
            add(name, procedure, "Fortran");
        }
        // Where the module has an interface with TYPE(C_PTR) beside the one with an address as
        // integer.
        if row.params.iter().any(|p| p[0] == "baseptr") {
            for name in [
                format!("{lower}_cptr"),
                format!("{lower}_cptr_"),
                format!("{lower}_cptr__"),
                format!("{}_CPTR", short.to_uppercase()),
            ] {
                add(name, procedure, "Fortran");
            }
        }
    }
    names
}

fn entries(names: &[Callable]) -> String {
    let mut out = format!(
        "/// Every name that a program can call.\npub static ENTRIES: [Entry; {}] = [\n",
        names.len()
    );
    for Callable { name, procedure, binding } in names {
        writeln!(out, "Entry::new(c{name:?}, {procedure}, Binding::{binding}),").expect("a String");
    }
    out.push_str("];\n");
    out
}

fn trampolines(names: &[Callable]) -> String {
    let mut out = String::new();
    for (index, Callable { name, .. }) in names.iter().enumerate() {
        writeln!(
            out,
            "#[unsafe(naked)] #[unsafe(export_name = {name:?})] extern \"C-unwind\" fn entry_{index}() {{ \
             core::arch::naked_asm!(\"mov eax, {index}\", \"jmp {{enter}}\", enter = sym enter) }}"
        )
        .expect("a String");
    }
    out
}
