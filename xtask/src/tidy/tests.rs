//! Each check against a small checkout in a temporary folder that breaks its rule once.

use std::path::Path;

use super::source::Checkout;
use super::{Finding, Kind, findings, table};

/// A checkout of three crates that keeps all rules; `files` replace its own.
fn checkout(files: &[(&str, &str)]) -> (tempfile::TempDir, Checkout) {
    const PAGE: &str = "## Crates\n\n| `model` | a |\n| `show/talea` | b |\n| `testing` | c |\n\n\
        Layers, lowest first: model · talea. More.\n\n## Invariants\n\n\
        1. `model` never reads.\n8. Unsafe code only in `model::sys`; always.\n";
    const NO_EXAMPLES: &str = "[lib]\ndoctest = false";
    const PLAIN: &[(&str, &str)] = &[
        (
            "Cargo.toml",
            "[workspace]\nmembers = ['crates/model', 'crates/show/*', 'crates/testing']",
        ),
        ("ARCHITECTURE.md", PAGE),
        ("docs/a.md", "A page.\n"),
        ("crates/model/Cargo.toml", NO_EXAMPLES),
        ("crates/model/src/lib.rs", "//! A model.\n"),
        ("crates/show/talea/Cargo.toml", NO_EXAMPLES),
        ("crates/show/talea/src/lib.rs", ""),
        ("crates/testing/Cargo.toml", NO_EXAMPLES),
        ("crates/testing/src/lib.rs", "//! For tests.\n"),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in PLAIN.iter().chain(files) {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let lib = folder.path().join("crates/show/talea/src/lib.rs");
    if std::fs::read(&lib).unwrap().is_empty() {
        std::fs::write(lib, "//! Without a line of its own, but this one.\n").unwrap();
    }
    let checkout = Checkout::read(folder.path()).unwrap();
    (folder, checkout)
}

/// Findings of a kind, as `path:line: what`, without its repair.
fn found(kind: Kind, files: &[(&str, &str)]) -> Vec<String> {
    let (_folder, checkout) = checkout(files);
    let all = findings(&checkout).unwrap();
    let of_kind = all.iter().filter(|finding| finding.kind == kind);
    of_kind.map(|Finding { path, line, wrong, .. }| format!("{path}:{line}: {wrong}")).collect()
}

/// Modules of `model`, by name, below a root that declares them.
fn model(kind: Kind, modules: &[(&str, &str)]) -> Vec<String> {
    let declared: String = modules
        .iter()
        .map(|(name, _)| name)
        .filter(|name| !name.contains('/'))
        .fold("//! A model.\n".to_owned(), |text, name| text + "mod " + name + ";\n");
    let paths: Vec<String> =
        modules.iter().map(|(name, _)| format!("crates/model/src/{name}.rs")).collect();
    let mut files: Vec<(&str, &str)> = vec![("crates/model/src/lib.rs", &declared)];
    files.extend(paths.iter().zip(modules).map(|(path, (_, text))| (path.as_str(), *text)));
    found(kind, &files)
}

fn check(found: &[String], expected: &[&str]) {
    assert_eq!(found, expected);
}

#[test]
fn a_checkout_that_keeps_the_rules_has_only_its_command_to_show() {
    let (_folder, checkout) = checkout(&[]);
    let kinds: Vec<Kind> = findings(&checkout).unwrap().iter().map(|found| found.kind).collect();
    // One line of three is more than 7 %.
    assert_eq!(kinds, [Kind::Share]);
}

#[test]
fn doc_tests_run_where_examples_are() {
    let example = ("crates/model/src/lib.rs", "//! A model.\n//!\n//! ```\n//! 1 + 1;\n//! ```\n");
    let on = ("crates/model/Cargo.toml", "");
    check(&found(Kind::Examples, &[on, example]), &[]);
    let never = "crates/model/src/lib.rs:3: an example that is never run, by `doctest = false` of \
        crates/model/Cargo.toml";
    check(&found(Kind::Examples, &[example]), &[never]);
    let none = "crates/model/Cargo.toml:1: doc tests are on, and no file has an example";
    check(&found(Kind::Examples, &[on]), &[none]);
}

#[test]
fn dependencies_point_to_lower_layers() {
    let upward = ("crates/model/Cargo.toml", "[dependencies]\ntalea-talea.workspace = true");
    let wrong =
        "crates/model/Cargo.toml:1: depends on `talea-talea`, which is not in a lower layer";
    check(&found(Kind::Layers, &[upward]), &[wrong]);
    let of_target = "[target.'cfg(unix)'.dependencies]\ntalea-talea.workspace = true";
    check(&found(Kind::Layers, &[("crates/model/Cargo.toml", of_target)]), &[wrong]);
    let of_tests = "[dev-dependencies]\ntalea-talea.workspace = true\ntalea-testing.path = ''";
    check(&found(Kind::Layers, &[("crates/model/Cargo.toml", of_tests)]), &[]);
    let downward = "[dependencies]\ntalea-model.workspace = true";
    check(&found(Kind::Layers, &[("crates/show/talea/Cargo.toml", downward)]), &[]);
}

#[test]
fn products_do_not_depend_on_helpers_of_tests() {
    let manifest = ("crates/model/Cargo.toml", "[dependencies]\ntalea-testing.workspace = true");
    check(
        &found(Kind::Layers, &[manifest]),
        &["crates/model/Cargo.toml:1: depends on `talea-testing`, which is for tests"],
    );
}

#[test]
fn table_and_layers_have_the_crates_that_exist() {
    let more = [("crates/show/new/Cargo.toml", ""), ("crates/show/new/src/lib.rs", "//! New.\n")];
    check(
        &found(Kind::Layers, &more),
        &[
            "ARCHITECTURE.md:7: `new` is in no layer",
            "ARCHITECTURE.md:1: `crates/show/new` is not in the table of crates",
        ],
    );
    let page = "## Crates\n| `model` |\n| `gone` |\n| `show/talea` |\n| `testing` |\n\
        Layers, lowest first: model old · talea.\n## Invariants\n1. `a` never.\n8. Only in `b`; c.\n";
    check(
        &found(Kind::Layers, &[("ARCHITECTURE.md", page)]),
        &[
            "ARCHITECTURE.md:6: layer with `old`, which is no crate",
            "ARCHITECTURE.md:3: row of `crates/gone`, which is no crate",
        ],
    );
}

#[test]
fn files_that_import_one_another_are_a_circle() {
    let one = ("one", "//! One.\nuse crate::two::B;\npub struct A(B);\n");
    let two = ("two", "//! Two.\npub struct B(Vec<super::one::A>);\n");
    check(
        &model(Kind::Circles, &[one, two]),
        &[
            "crates/model/src/one.rs:2: in a circle of 2 files of model",
            "crates/model/src/two.rs:2: in a circle of 2 files of model",
        ],
    );
    check(&model(Kind::Circles, &[one, ("two", "//! Two.\npub struct B;\n")]), &[]);
}

#[test]
fn paths_in_macros_and_through_imported_modules_count() {
    let one = ("one", "//! One.\nuse crate::two;\npub fn a() { assert!(two::b() == 1); }\n");
    let two = ("two", "//! Two.\npub fn b() -> u8 { use super::one; one::a(); 1 }\n");
    assert_eq!(model(Kind::Circles, &[one, two]).len(), 2);
    // To import a module alone depends on nothing in it.
    let idle = ("one", "//! One.\nuse crate::two as _;\npub fn a() {}\n");
    check(&model(Kind::Circles, &[idle, two]), &[]);
}

#[test]
fn reexports_lead_to_the_file_of_the_definition() {
    let facade = "//! Facade.\nmod deep;\npub use deep::*;\npub use self::deep::B as Renamed;\n";
    let deep = ("two/deep", "//! Deep.\npub struct B;\npub struct C(crate::one::A);\n");
    let files = [("two", facade), deep];
    let by_glob = ("one", "//! One.\npub struct A(crate::two::B);\n");
    let circle = [
        "crates/model/src/one.rs:2: in a circle of 2 files of model",
        "crates/model/src/two/deep.rs:3: in a circle of 2 files of model",
    ];
    check(&model(Kind::Circles, &[by_glob, files[0], files[1]]), &circle);
    let by_name = ("one", "//! One.\npub struct A(crate::two::Renamed);\n");
    check(&model(Kind::Circles, &[by_name, files[0], files[1]]), &circle);
}

#[test]
fn parents_and_tests_close_no_circle() {
    let parent = ("one", "//! One.\nmod below;\npub struct A(below::B);\n");
    let below = ("one/below", "//! Below.\npub struct B;\nimpl super::A {}\n");
    check(&model(Kind::Circles, &[parent, below]), &[]);
    let one = ("one", "//! One.\npub struct A(crate::two::B);\n");
    let two = "//! Two.\npub struct B;\n#[cfg(test)]\nmod tests {\n    use crate::one::A;\n}\n";
    check(&model(Kind::Circles, &[one, ("two", two)]), &[]);
}

#[test]
#[allow(clippy::many_single_char_names)]
fn small_circles_come_first() {
    let a = ("a", "//! A.\npub struct A(crate::b::B);\n");
    let b = ("b", "//! B.\npub struct B(crate::c::C);\n");
    let c = ("c", "//! C.\npub struct C(crate::a::A);\n");
    let y = ("y", "//! Y.\npub struct Y(crate::z::Z);\n");
    let z = ("z", "//! Z.\npub struct Z(crate::y::Y);\n");
    let found = model(Kind::Circles, &[a, b, c, y, z]);
    let sizes: Vec<bool> = found.iter().map(|text| text.contains("circle of 2 files")).collect();
    assert_eq!(sizes, [true, true, false, false, false]);
}

#[test]
fn lines_end_at_column_100() {
    let long = format!("//! A.\n// {}\n", "ä".repeat(98));
    check(&model(Kind::Columns, &[("a", &long)]), &["crates/model/src/a.rs:2: 101 columns"]);
    let fits = format!("//! A.\n// {}\n", "ä".repeat(97));
    check(&model(Kind::Columns, &[("a", &fits)]), &[]);
    // Literals are not broken, but what stands behind them is.
    let literal = format!("//! A.\nconst A: &str = \"{}\";\n", "a".repeat(98));
    check(&model(Kind::Columns, &[("a", &literal)]), &[]);
    let behind = format!("//! A.\nconst A: &str = \"\"; // {}\n", "a".repeat(98));
    assert_eq!(model(Kind::Columns, &[("a", &behind)]).len(), 1);
}

#[test]
fn files_have_400_lines_of_product_code() {
    let code = |lines: usize| format!("//! A.\n{}", "\n".repeat(lines - 1));
    check(
        &model(Kind::Lengths, &[("a", &code(401))]),
        &["crates/model/src/a.rs:1: 401 lines of product code"],
    );
    check(&model(Kind::Lengths, &[("a", &code(400))]), &[]);
    let tests = code(390) + "#[cfg(test)]\nmod tests {" + &"\n".repeat(50) + "}\n";
    check(&model(Kind::Lengths, &[("a", &tests)]), &[]);
}

#[test]
fn files_open_with_their_purpose() {
    let found = model(Kind::Openings, &[("a", "// A.\n")]);
    check(&found, &["crates/model/src/a.rs:1: does not open with `//!`"]);
}

#[test]
fn every_file_of_the_source_is_declared() {
    let path = "crates/model/src/forgotten.rs";
    check(
        &found(Kind::Orphans, &[(path, "//! A.\n")]),
        &[&format!("{path}:1: no module declares this file")],
    );
    let root = "//! A.\n#[cfg(test)]\nmod forgotten;\n#[cfg(test)]\n#[path = \"x/y.rs\"]\nmod y;\n";
    let files = [
        ("crates/model/src/lib.rs", root),
        (path, "//! A.\nmod more;\n"),
        ("crates/model/src/forgotten/more.rs", "//! B.\n"),
        ("crates/model/src/x/y.rs", "//! C.\n"),
    ];
    check(&found(Kind::Orphans, &files), &[]);
}

#[test]
fn words_in_comments_literals_and_documents() {
    let text = "//! What it does.\n\n/// Says what it is told.\n/// Who asks.\nconst A: &str = \"Whoever asks\";\n\
        /// What now?\nconst FORETOLD: u8 = b'\"';\n// a toldo\n#[cfg(test)]\nmod tests { /* told */ }\n";
    check(
        &model(Kind::Words, &[("a", text)]),
        &[
            "crates/model/src/a.rs:1: begins with `What`",
            "crates/model/src/a.rs:3: `told`",
            "crates/model/src/a.rs:5: `whoever`",
            "crates/model/src/a.rs:5: begins with `Whoever`",
        ],
    );
    let page = "Who reads this.\nWhat follows goes on.\n\n```\nwhom\n```\n\nA caller, whom nobody knows.\n";
    check(
        &found(Kind::Words, &[("docs/a.md", page)]),
        &["docs/a.md:1: begins with `Who`", "docs/a.md:8: `whom`"],
    );
}

#[test]
fn names_say_something() {
    let text = "//! A.\npub(super) const unsafe fn of() {}\nfn told() {}\npub fn off() {}\n\
        #[cfg(test)]\npub fn shown() {}\nconst A: &str = \"\npub fn of()\";\n";
    check(
        &model(Kind::Names, &[("asked", "//! A.\n"), ("a", text)]),
        &[
            "crates/model/src/a.rs:2: a public function named `of`",
            "crates/model/src/asked.rs:1: a file or folder named `asked`",
        ],
    );
}

#[test]
fn crates_without_io_have_none() {
    let text = "//! A.\nuse std::time::Instant;\nfn a() { Instant::now(); }\nfn b() { println!(); }\n\
        use std::{fs::File, fmt};\n#[cfg(test)]\nuse std::fs;\nfn c() { fmt::format; }\n";
    check(
        &model(Kind::Invariants, &[("a", text)]),
        &[
            "crates/model/src/a.rs:3: `std::time::Instant::now` in a crate of invariant 1",
            "crates/model/src/a.rs:4: `println!` in a crate of invariant 1",
            "crates/model/src/a.rs:5: `std::fs::File` in a crate of invariant 1",
        ],
    );
    check(&found(Kind::Invariants, &[("crates/show/talea/src/lib.rs", text)]), &[]);
}

#[test]
fn unsafe_code_has_its_places() {
    let text = "//! Not unsafe.\nconst A: &str = \"unsafe\";\nunsafe fn a() {}\n";
    let wrong = "crates/model/src/a.rs:3: unsafe code outside the places of invariant 8";
    check(&model(Kind::Invariants, &[("a", text), ("sys", text), ("sys/deep", "")]), &[wrong]);
}

#[test]
fn the_command_is_a_small_part() {
    let many = format!("//! A model.\n{}", "\n".repeat(100));
    check(&found(Kind::Share, &[("crates/model/src/lib.rs", &many)]), &[]);
    let command = format!("//! A command.\n{}", "\n".repeat(7));
    check(
        &found(
            Kind::Share,
            &[("crates/model/src/lib.rs", &many), ("crates/show/talea/src/lib.rs", &command)],
        ),
        &["crates/show/talea:1: 8 of 110 lines, 7 % or more"],
    );
}

#[test]
fn bounds_hold_exactly() {
    let finding = || Finding::new(Kind::Words, "a.rs", 1, "wrong", "todo");
    let holds = |found: &[Finding], bounds: &[(Kind, usize)]| table(found, bounds).1;
    assert!(holds(&[], &[]));
    assert!(holds(&[finding()], &[(Kind::Words, 1)]));
    assert!(!holds(&[finding()], &[]));
    assert!(!holds(&[finding(), finding()], &[(Kind::Words, 1)]));
    let (text, held) = table(&[finding()], &[(Kind::Words, 2)]);
    assert!(!held && text.contains("lower the bound to 1"), "{text}");
    let (text, held) = table(&[], &[(Kind::Words, 2)]);
    assert!(!held && text.contains("remove the bound"), "{text}");
}

#[test]
fn damaged_checkouts_are_errors_with_a_place() {
    let folder = tempfile::tempdir().unwrap();
    let error = |path: &Path| Checkout::read(path).err().unwrap();
    assert!(error(folder.path()).contains("Cargo.toml"));
    std::fs::write(folder.path().join("Cargo.toml"), "[workspace]\nmembers = ['a']").unwrap();
    std::fs::create_dir_all(folder.path().join("a/src")).unwrap();
    std::fs::write(folder.path().join("a/Cargo.toml"), "").unwrap();
    std::fs::write(folder.path().join("a/src/lib.rs"), "//! A.\nfn {").unwrap();
    assert!(error(folder.path()).starts_with("a/src/lib.rs:2: "), "{}", error(folder.path()));
    std::fs::write(folder.path().join("a/src/lib.rs"), "mod lost;").unwrap();
    assert_eq!(error(folder.path()), "module without a file: `lost`");
}
