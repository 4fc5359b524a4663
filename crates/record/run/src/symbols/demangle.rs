//! Function names as their authors wrote them.
//!
//! Owns the choice of the language from the form of the name: Rust (both schemes), C++ (Itanium
//! ABI), Fortran of gfortran (`__module_MOD_name`), flang (`_QMmoduleFhostPname`) and ifort
//! (`module_mp_name_`). The output is bounded: a C++ name of a few bytes can expand to terabytes.

use std::fmt::{self, Write};

use addr2line::gimli::{self, DwLang};

/// Maximum length of a demangled name; longer ones are left mangled.
const LONGEST: usize = 16 << 10;

/// The readable form of a symbol's name; unchanged where it has none.
pub fn demangled(name: &str) -> String {
    demangled_as(name, None)
}

/// As [`demangled`], for a file with or without Fortran.
pub(super) fn demangled_of(name: &str, fortran: bool) -> String {
    // The main program has no other name in symbols.
    let fortran = fortran && name != "MAIN__";
    demangled_as(name, fortran.then_some(gimli::DW_LANG_Fortran90))
}

/// As [`demangled`], with the language from the debug information.
pub(super) fn demangled_as(name: &str, language: Option<DwLang>) -> String {
    let fortran = language.is_some_and(is_fortran);
    let (base, clone) = without_clone(name);
    let readable = if clone.is_empty() { None } else { Some(base.to_owned()) };
    rust(name)
        .or_else(|| cpp(base))
        .or_else(|| gfortran(base))
        .or_else(|| flang(base))
        .or_else(|| ifort(base))
        // A plain external procedure: gfortran and ifort add one underscore.
        .or_else(|| fortran.then(|| base.strip_suffix('_').unwrap_or(base).to_owned()))
        .or(readable)
        .unwrap_or_else(|| name.to_owned())
}

/// Splits off gcc's suffix of a function's specialised copies: `solve.constprop.0` is `solve`.
fn without_clone(name: &str) -> (&str, &str) {
    const MARKS: [&str; 6] =
        [".constprop.", ".isra.", ".part.", ".cold", ".lto_priv.", ".localalias"];
    let at = MARKS.iter().filter_map(|mark| name.find(mark)).min().unwrap_or(name.len());
    name.split_at(at)
}

fn rust(name: &str) -> Option<String> {
    let readable = rustc_demangle::try_demangle(name).ok()?;
    // The alternate form leaves out the hash.
    bounded(|to| write!(to, "{readable:#}"))
}

fn cpp(name: &str) -> Option<String> {
    if !name.starts_with("_Z") || name.len() > LONGEST {
        return None;
    }
    let symbol = cpp_demangle::Symbol::new(name).ok()?;
    let options = cpp_demangle::DemangleOptions::default();
    bounded(|to| symbol.structured_demangle(to, &options))
}

/// `__heat_MOD_step` is `heat::step`.
fn gfortran(name: &str) -> Option<String> {
    let (module, procedure) = name.strip_prefix("__")?.split_once("_MOD_")?;
    (!module.is_empty() && !procedure.is_empty()).then(|| format!("{module}::{procedure}"))
}

/// `_QMheatFstepPinner` is `heat::step::inner`; `_QQmain` is the main program.
fn flang(name: &str) -> Option<String> {
    let mut rest = name.strip_prefix("_Q")?;
    if rest == "Qmain" {
        return Some("main".to_owned());
    }
    // Modules, submodules, host procedures, then the procedure; names are in lower case.
    let mut parts = Vec::new();
    while let Some(tail) = rest.strip_prefix(['M', 'S', 'F', 'P']) {
        let end = tail.find(|c: char| c.is_ascii_uppercase()).unwrap_or(tail.len());
        parts.push(&tail[..end]);
        rest = &tail[end..];
    }
    let whole = rest.is_empty() && !parts.is_empty() && parts.iter().all(|part| !part.is_empty());
    whole.then(|| parts.join("::"))
}

/// `heat_mp_step_` is `heat::step`.
fn ifort(name: &str) -> Option<String> {
    let (module, procedure) = name.strip_suffix('_')?.split_once("_mp_")?;
    (!module.is_empty() && !procedure.is_empty()).then(|| format!("{module}::{procedure}"))
}

fn is_fortran(language: DwLang) -> bool {
    matches!(
        language,
        gimli::DW_LANG_Fortran77
            | gimli::DW_LANG_Fortran90
            | gimli::DW_LANG_Fortran95
            | gimli::DW_LANG_Fortran03
            | gimli::DW_LANG_Fortran08
            | gimli::DW_LANG_Fortran18
    )
}

/// The output of `produce`, unless it is too long.
fn bounded(produce: impl FnOnce(&mut Bounded) -> fmt::Result) -> Option<String> {
    let mut text = Bounded(String::new());
    produce(&mut text).ok().map(|()| text.0)
}

struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if self.0.len() + part.len() > LONGEST {
            return Err(fmt::Error);
        }
        self.0.push_str(part);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_of_each_language() {
        let check = |name, expected: &str| assert_eq!(demangled(name), expected);
        check("main", "main");
        check("MPI_Send", "MPI_Send");
        check("_ZN2ns1SIiE1fEi", "ns::S<int>::f(int)");
        check("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt");
        check("_RNvCs1234_7mycrate3foo", "mycrate::foo");
        check("__heat_MOD_step", "heat::step");
        check("__heat_MOD_step.constprop.0.isra.1", "heat::step");
        check("_QMheatPstep", "heat::step");
        check("_QMheatFstepPinner", "heat::step::inner");
        check("_QQmain", "main");
        check("heat_mp_step_", "heat::step");
        check("solve.part.3", "solve");
        // Without knowledge of the language this may be a C function of that name.
        check("outer_", "outer_");
        assert_eq!(demangled_as("outer_", Some(gimli::DW_LANG_Fortran08)), "outer");
        // Names that only look mangled.
        check("_Zebra", "_Zebra");
        check("_Queue", "_Queue");
        check("__MOD_", "__MOD_");
    }

    #[test]
    fn a_name_that_stands_for_terabytes_stays_mangled() {
        // Each argument type is a template of the one before, twice: the length doubles with each.
        let name = |steps: usize| {
            let mut name = String::from("_Z1f1AIiiE");
            for last in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ".chars().take(steps) {
                write!(name, "S_IS{last}_S{last}_E").unwrap();
            }
            name
        };
        assert_eq!(demangled(&name(1)), "f(A<int, int>, A<A<int, int>, A<int, int> >)");
        assert_eq!(demangled(&name(30)), name(30));
    }

    proptest! {
        #[test]
        fn any_name_is_taken(name in "(_Z|_R|_Q|__|)[A-Za-z0-9_.$]{0,40}") {
            prop_assert!(!demangled(&name).is_empty() || name.is_empty());
        }
    }
}
