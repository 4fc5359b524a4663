//! Call sites: first an offset in a module, later a function, a file and a line.
//!
//! Owns the two forms. Reading debug information is for the crate that may open files.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An executable or shared library that calls came from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Module {
    /// Path of the file when it was mapped.
    pub path: String,
    /// GNU build id in hexadecimal. Where a file has none, it is empty, or says which file it was
    /// ([`FileIdentity`]).
    pub build_id: String,
}

/// Which file of a host it was, at which state of it. The text `file-DEVICE-INODE-SIZE-CHANGED`,
/// numbers in hexadecimal, stands in place of a build id: no build id looks so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    /// Number of the file system's device, as stat(2) has it.
    pub device: u64,
    /// Number of the file in it.
    pub inode: u64,
    /// Bytes of the file.
    pub size: u64,
    /// When its content was changed last, in nanoseconds since 1970.
    pub changed: i64,
}

impl FileIdentity {
    /// Meaning of a text; `None` where it is a build id.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.strip_prefix("file-")?.split('-');
        let mut next = || u64::from_str_radix(numbers.next()?, 16).ok();
        let (device, inode, size, changed) = (next()?, next()?, next()?, next()?);
        let changed = changed.cast_signed();
        numbers.next().is_none().then_some(Self { device, inode, size, changed })
    }
}

impl fmt::Display for FileIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { device, inode, size, changed } = self;
        write!(f, "file-{device:x}-{inode:x}-{size:x}-{changed:x}")
    }
}

/// One return address, as an offset in the file that was mapped there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// Index into the recording's modules; `u32::MAX` for code outside every module.
    pub module: u32,
    /// Virtual address inside the module, as its ELF program headers count (return address, so the
    /// call is just before it).
    pub offset: u64,
}

/// The place where a frame's call stands in the source, as far as debug information tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ResolvedFrame {
    /// Demangled function name, if the module has symbols.
    pub function: Option<String>,
    /// Source file, if the module has line tables.
    pub file: Option<String>,
    /// Line in `file`, from 1.
    pub line: Option<u32>,
    /// Bytes from the begin of `function` to the return address, where no line says more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// The form that is always known: `module+0xoffset`.
    pub address: String,
}

/// A call path: the direct caller first, then as many of its callers as the recording keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Site {
    /// One entry a frame, innermost first; never empty in a recording.
    pub frames: Vec<ResolvedFrame>,
}

impl ResolvedFrame {
    /// `file:line` with the file's last part, else `function+0xoffset`, else `module+0xoffset`: two
    /// calls of one function have two texts.
    pub fn short(&self) -> String {
        match (&self.file, self.line, &self.function, self.offset) {
            (Some(file), Some(line), ..) => {
                format!("{}:{line}", file.rsplit('/').next().unwrap_or(file))
            }
            (.., Some(function), Some(offset)) => {
                format!("{}+{offset:#x}", without_parameters(function))
            }
            (.., Some(function), None) => without_parameters(function).to_owned(),
            _ => self.address.clone(),
        }
    }

    /// The function with the place in it: `step halo.c:120`, `Input::file+0x1c4`.
    pub fn long(&self) -> String {
        match (&self.function, self.line) {
            (Some(function), Some(_)) => format!("{function} {}", self.short()),
            _ => self.short(),
        }
    }
}

impl Site {
    /// The innermost frame's short form.
    pub fn short(&self) -> String {
        self.frames.first().map_or_else(|| "?".to_owned(), ResolvedFrame::short)
    }
}

/// A text in at most `width` characters, without its middle where it is too long: the end of a
/// place tells calls of one function apart.
pub fn both_ends(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let begin: String = text.chars().take(kept / 2).collect();
    let end: String = text.chars().skip(length - (kept - kept / 2)).collect();
    format!("{begin}…{end}")
}

/// A function of C++ without its parameters and its return type, which tell overloads apart but
/// nobody can read.
pub fn without_parameters(function: &str) -> &str {
    const UNNAMED: &str = "(anonymous namespace)";
    let (mut depth, mut begin) = (0_i32, 0);
    for (at, c) in function.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            ' ' if depth == 0 && !function[..at].ends_with("operator") => begin = at + 1,
            '(' if depth == 0 && at > begin && !function[at..].starts_with(UNNAMED) => {
                return &function[begin..at];
            }
            // The blank inside is none between words.
            '(' if depth == 0 => depth += 1,
            ')' if depth > 0 => depth -= 1,
            _ => {}
        }
    }
    function
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_without_lines_are_told_apart() {
        let frame = |function: Option<&str>, offset| ResolvedFrame {
            function: function.map(str::to_owned),
            offset,
            address: "lmp+0x1c4".to_owned(),
            ..ResolvedFrame::default()
        };
        let check = |frame: ResolvedFrame, short: &str, long: &str| {
            assert_eq!((frame.short().as_str(), frame.long().as_str()), (short, long));
        };
        let file = "ns::Input::file(char const*)";
        check(frame(Some(file), Some(0x1c4)), "ns::Input::file+0x1c4", "ns::Input::file+0x1c4");
        check(frame(Some(file), None), "ns::Input::file", "ns::Input::file");
        check(frame(None, None), "lmp+0x1c4", "lmp+0x1c4");
        let known = ResolvedFrame {
            file: Some("/src/input.cpp".to_owned()),
            line: Some(12),
            ..frame(Some("file"), None)
        };
        check(known, "input.cpp:12", "file input.cpp:12");
    }

    #[test]
    fn long_texts_keep_both_ends() {
        let check = |width, expected| assert_eq!(both_ends("Input::file+0x1c4", width), expected);
        check(17, "Input::file+0x1c4");
        check(16, "Input::…le+0x1c4");
        check(9, "Inpu…x1c4");
        check(1, "…");
    }

    #[test]
    fn functions_without_what_nobody_reads() {
        let check = |name, expected| assert_eq!(without_parameters(name), expected);
        check("main", "main");
        check("halo.c:12", "halo.c:12");
        check("lmp+0x11cd", "lmp+0x11cd");
        check("LAMMPS_NS::Group::count(int)", "LAMMPS_NS::Group::count");
        check(
            "void ddSendrecv<gmx::BasicVector<float> >(gmx_domdec_t const*, int)",
            "ddSendrecv<gmx::BasicVector<float> >",
        );
        check("(anonymous namespace)::work(std::vector<int>)", "(anonymous namespace)::work");
        check(
            "std::unique_ptr<A> a::(anonymous namespace)::make(int)",
            "a::(anonymous namespace)::make",
        );
        check("A::operator()(int) const", "A::operator");
        check("", "");
    }
}
