//! The few structures of the kernel that the program looks into, taken out of the description of
//! all.
//!
//! Owns reading `/sys/kernel/btf/vmlinux` (BTF: the kernel's `Documentation/bpf/btf.rst`), a piece
//! at a time as it has megabytes, and making a small description of the same form with the fields
//! that are used, at their places. The program's accesses are moved to these places, without the
//! tables that would be made of a whole description for it. Any bytes give a description or none.

use std::cell::RefCell;
use std::collections::HashMap;

/// Structures with the fields that `bpf/system.bpf.c` uses.
const WANTED: [(&str, &[&str]); 10] = [
    ("qstr", &["name"]),
    ("dentry", &["d_name"]),
    ("path", &["dentry"]),
    ("super_block", &["s_dev"]),
    ("inode", &["i_sb", "i_ino"]),
    ("file", &["f_inode", "f_path"]),
    ("mm_struct", &["exe_file"]),
    ("vm_area_struct", &["vm_start", "vm_end", "vm_pgoff", "vm_file"]),
    ("thread_struct", &["fsbase"]),
    ("task_struct", &["mm", "group_leader", "comm", "thread"]),
];

const MAGIC: u16 = 0xeb9f;
const HEAD: u32 = 24;
const INT: u32 = 1;
const PTR: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
/// Typedef, volatile, const, restrict, type tag: another type by name or manner.
const OTHERS: [u32; 5] = [8, 9, 10, 11, 18];
/// Hops from such a type to what it is, and depth of structures without a name, at most.
const DEEPEST: usize = 16;
/// Members of structures without a name that are looked at for one field, at most.
const MOST_MEMBERS: usize = 10_000;

/// Bytes from which pieces overlap, and the longest text that is looked at: what begins in a piece
/// ends in it.
const STEP: usize = 16 << 10;
const LONGEST: usize = 4 << 10;
/// Pieces that are kept.
const PIECES: usize = 8;

/// Reads bytes from a place on; gives how many there were.
type ReadAt<'a> = &'a dyn Fn(usize, &mut [u8]) -> usize;

/// Bytes that are read when they are needed.
struct Pieces<'a> {
    read: ReadAt<'a>,
    /// Number and bytes, those that were read last at the end.
    kept: RefCell<Vec<(usize, Vec<u8>)>>,
}

impl Pieces<'_> {
    /// Result of `use_it` on the bytes from a place on: [`LONGEST`] of them unless the end is
    /// nearer.
    fn with<T>(&self, at: usize, use_it: impl FnOnce(&[u8]) -> T) -> T {
        let number = at / STEP;
        let mut kept = self.kept.borrow_mut();
        let known = kept.iter().position(|(of, _)| *of == number).unwrap_or_else(|| {
            let (_, mut bytes) = if kept.len() < PIECES { (0, Vec::new()) } else { kept.remove(0) };
            bytes.resize(STEP + LONGEST, 0);
            let length = (self.read)(number * STEP, &mut bytes);
            bytes.truncate(length);
            kept.push((number, bytes));
            kept.len() - 1
        });
        use_it(kept[known].1.get(at % STEP..).unwrap_or_default())
    }

    fn array<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.with(at, |bytes| bytes.first_chunk().copied())
    }

    fn half(&self, at: usize) -> Option<u32> {
        self.array(at).map(u32::from_ne_bytes)
    }
}

/// A description of all types.
struct Types<'a> {
    pieces: Pieces<'a>,
    /// Where types and texts begin and end.
    all: std::ops::Range<usize>,
    texts: std::ops::Range<usize>,
    /// Where each type begins; the first is number 1.
    begins: Vec<u32>,
}

/// A type: what it begins with.
#[derive(Clone, Copy)]
struct Type {
    at: usize,
    name: u32,
    info: u32,
    /// Its size, or the type that it speaks of.
    size: u32,
}

impl Type {
    fn kind(self) -> u32 {
        self.info >> 24 & 0x1f
    }

    fn members(self) -> usize {
        (self.info & 0xffff) as usize
    }
}

impl<'a> Types<'a> {
    fn of(read: ReadAt<'a>) -> Option<Self> {
        let pieces = Pieces { read, kept: RefCell::new(Vec::new()) };
        if pieces.array(0)? != MAGIC.to_ne_bytes() {
            return None;
        }
        let part = |offset: usize, length: usize| {
            let number = |at| pieces.half(at).map(|number| number as usize);
            let begin = number(4)?.checked_add(number(offset)?)?;
            Some(begin..begin.checked_add(number(length)?)?)
        };
        let (all, texts) = (part(8, 12)?, part(16, 20)?);
        let mut found = Self { pieces, all, texts, begins: vec![0] };
        let mut at = 0;
        while let Some(kind) = found.at(at) {
            found.begins.push(at as u32);
            at += 12 + behind(kind)?;
        }
        (at == found.all.len()).then_some(found)
    }

    /// A number of the list of types.
    fn half(&self, at: usize) -> Option<u32> {
        (at.checked_add(4)? <= self.all.len()).then(|| self.pieces.half(self.all.start + at))?
    }

    fn at(&self, at: usize) -> Option<Type> {
        (at.checked_add(12)? <= self.all.len()).then_some(())?;
        let numbers: [u8; 12] = self.pieces.array(self.all.start + at)?;
        let number =
            |offset: usize| numbers[offset..].first_chunk().copied().map(u32::from_ne_bytes);
        Some(Type { at, name: number(0)?, info: number(4)?, size: number(8)? })
    }

    fn get(&self, number: u32) -> Option<Type> {
        self.at(*self.begins.get(number as usize).filter(|_| number > 0)? as usize)
    }

    /// Result of `use_it` on a text; `None` for one that is too long.
    fn text<T>(&self, at: u32, use_it: impl FnOnce(&[u8]) -> T) -> T {
        let left = self.texts.len().saturating_sub(at as usize);
        self.pieces.with(self.texts.start.saturating_add(at as usize), |bytes| {
            let bytes = &bytes[..bytes.len().min(left).min(LONGEST)];
            use_it(bytes.split(|&byte| byte == 0).next().unwrap_or_default())
        })
    }

    /// The type behind typedefs and qualifiers.
    fn plain(&self, number: u32) -> Option<Type> {
        let mut found = self.get(number)?;
        for _ in 0..DEEPEST {
            if !OTHERS.contains(&found.kind()) {
                return Some(found);
            }
            found = self.get(found.size)?;
        }
        None
    }

    /// Bits before a field of a structure, also inside those without a name, and its type.
    fn field(&self, of: Type, name: &str) -> Option<(u32, u32)> {
        let mut waiting = vec![(of, 0_u32, 0_usize)];
        let mut looked = 0;
        while let Some((of, before, depth)) = waiting.pop() {
            // Offsets of structures with bit fields have the field's bits above 24 others.
            let mask = if of.info >> 31 == 1 { 0xff_ffff } else { u32::MAX };
            for member in 0..of.members() {
                looked += 1;
                if looked > MOST_MEMBERS {
                    return None;
                }
                let at = of.at + 12 + member * 12;
                let number = |offset| self.half(at + offset);
                let (text, kind, bits) = (number(0)?, number(4)?, number(8)?);
                let bits = before.checked_add(bits & mask)?;
                if self.text(text, |text| text == name.as_bytes()) {
                    return Some((bits, kind));
                }
                let inner = self.plain(kind).filter(|_| text == 0 && depth < DEEPEST);
                if let Some(inner) = inner.filter(|inner| matches!(inner.kind(), STRUCT | UNION)) {
                    waiting.push((inner, bits, depth + 1));
                }
            }
        }
        None
    }
}

/// Bytes of a type behind its first twelve.
fn behind(found: Type) -> Option<usize> {
    Some(match found.kind() {
        INT | 14 | 17 => 4,
        PTR | 7..=12 | 16 | 18 => 0,
        ARRAY => 12,
        STRUCT | UNION | 15 | 19 => 12 * found.members(),
        6 | 13 => 8 * found.members(),
        _ => return None,
    })
}

/// The small description, as it is written.
#[derive(Default)]
struct Small {
    types: Vec<u8>,
    texts: Vec<u8>,
    count: u32,
}

impl Small {
    fn text(&mut self, text: &[u8]) -> u32 {
        let at = self.texts.len() as u32;
        self.texts.extend(text);
        self.texts.push(0);
        at
    }

    fn add(&mut self, numbers: &[u32]) -> u32 {
        self.types.extend(numbers.iter().flat_map(|number| number.to_ne_bytes()));
        self.count += 1;
        self.count
    }

    fn int(&mut self, types: &Types<'_>, found: Type) -> Option<u32> {
        let name = types.text(found.name, |text| self.text(text));
        Some(self.add(&[name, found.info, found.size, types.half(found.at + 12)?]))
    }

    fn bytes(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(MAGIC.to_ne_bytes());
        // Version, flags.
        bytes.extend([1, 0]);
        let (types, texts) = (self.types.len() as u32, self.texts.len() as u32);
        for number in [HEAD, 0, types, types, texts] {
            bytes.extend(number.to_ne_bytes());
        }
        bytes.extend(self.types);
        bytes.extend(self.texts);
        bytes
    }
}

/// The structure of this name, if the program uses it.
fn wanted(name: &[u8]) -> Option<&'static str> {
    WANTED.iter().map(|wanted| wanted.0).find(|wanted| wanted.as_bytes() == name)
}

/// The description of what the program uses, of bytes that `read` gives.
///
/// # Errors
/// One sentence: what is not as it was expected.
pub(super) fn reduce(read: ReadAt<'_>) -> Result<Vec<u8>, String> {
    let types = Types::of(read).ok_or(
        "/sys/kernel/btf/vmlinux is not what was expected, a list of types of kinds 1 to 19",
    )?;
    let mut structures: HashMap<&str, Type> = HashMap::new();
    for &begin in &types.begins[1..] {
        let Some(found) = types.at(begin as usize).filter(|found| found.kind() == STRUCT) else {
            continue;
        };
        // The first of a name is the kernel's own; there may be others in drivers.
        if let Some(name) = types.text(found.name, wanted) {
            structures.entry(name).or_insert(found);
        }
    }
    let mut small = Small::default();
    small.text(b"");
    let mut made: HashMap<&str, u32> = HashMap::new();
    let pointer = small.add(&[0, PTR << 24, 0]);
    for (name, fields) in WANTED {
        let expected =
            |field: &str| format!("expected a field `{field}` in the kernel's `struct {name}`");
        let of = *structures.get(name).ok_or_else(|| expected(fields[0]))?;
        let mut members = Vec::new();
        for field in fields {
            let member = types.field(of, field).and_then(|(bits, kind)| {
                let kind = types.plain(kind)?;
                let kind = match kind.kind() {
                    PTR => pointer,
                    INT => small.int(&types, kind)?,
                    ARRAY => {
                        let [of, by, length] = [12, 16, 20].map(|at| types.half(kind.at + at));
                        let of =
                            small.int(&types, types.plain(of?).filter(|of| of.kind() == INT)?)?;
                        let by =
                            small.int(&types, types.plain(by?).filter(|by| by.kind() == INT)?)?;
                        small.add(&[0, ARRAY << 24, 0, of, by, length?])
                    }
                    // Structures inside others come before them in the list.
                    STRUCT => *made.get(types.text(kind.name, wanted)?)?,
                    _ => return None,
                };
                Some([small.text(field.as_bytes()), kind, bits])
            });
            members.push(member.ok_or_else(|| expected(field))?);
        }
        let text = small.text(name.as_bytes());
        let mut numbers = vec![text, STRUCT << 24 | members.len() as u32, of.size];
        numbers.extend(members.iter().flatten());
        made.insert(name, small.add(&numbers));
    }
    Ok(small.bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The description of bytes that are there.
    fn reduced(bytes: &[u8]) -> Result<Vec<u8>, String> {
        reduce(&|at, to| read(bytes, at, to))
    }

    fn read(bytes: &[u8], at: usize, to: &mut [u8]) -> usize {
        let rest = bytes.get(at..).unwrap_or_default();
        let length = rest.len().min(to.len());
        to[..length].copy_from_slice(&rest[..length]);
        length
    }

    #[test]
    fn the_kernels_own_description() {
        let Ok(bytes) = std::fs::read("/sys/kernel/btf/vmlinux") else {
            talea_testing::skip("the kernel has no /sys/kernel/btf/vmlinux");
            return;
        };
        let small = reduced(&bytes).unwrap();
        assert!(small.len() < 2000, "{}", small.len());
        // Small as it is, it is a description too, and the same fields lie at the same places.
        assert_eq!(reduced(&small).unwrap(), small);
        let from = |at: usize, to: &mut [u8]| read(&small, at, to);
        let types = Types::of(&from).unwrap();
        let offset = |name: &str, field: &str| {
            let mut all = types.begins[1..].iter().filter_map(|&at| types.at(at as usize));
            let found =
                all.find(|found| types.text(found.name, |text| text == name.as_bytes())).unwrap();
            types.field(found, field).unwrap().0
        };
        assert!(offset("task_struct", "group_leader") > offset("task_struct", "mm"));
        assert_eq!(offset("task_struct", "comm") % 8, 0);
    }

    #[test]
    fn what_is_missing_is_named() {
        let mut small = Small::default();
        small.text(b"");
        assert_eq!(
            reduced(&small.bytes()).unwrap_err(),
            "expected a field `name` in the kernel's `struct qstr`"
        );
        assert!(reduced(b"").unwrap_err().contains("list of types"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_description_or_none(
            at in 0_usize..1500,
            new: [u8; 4],
            cut in 0_usize..2000
        ) {
            let _ = reduced(&new);
            if let Ok(bytes) = std::fs::read("/sys/kernel/btf/vmlinux") {
                // Damage to the small one, so that this takes no minutes.
                static SMALL: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
                let mut small = SMALL.get_or_init(|| reduced(&bytes).unwrap()).clone();
                let end = (at + 4).min(small.len());
                small.splice(at.min(end)..end, new);
                let _ = reduced(&small);
                small.truncate(cut);
                let _ = reduced(&small);
            }
        }
    }
}
