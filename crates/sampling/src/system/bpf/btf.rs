//! The few structures of the kernel that the program looks into, taken out of the description of all.
//!
//! Owns reading `/sys/kernel/btf/vmlinux` (BTF: the kernel's `Documentation/bpf/btf.rst`) and making a small description of the same form with the fields that are
//! used, at their places. The loader moves the program's accesses to these places, without the tables that it makes of a whole description when it
//! moves them; that it reads the whole one when it is made cannot be told it. Any bytes give a description or none.

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

/// A description of all types.
struct Types<'a> {
    all: &'a [u8],
    texts: &'a [u8],
    /// Where each type begins; the first is number 1.
    begins: Vec<u32>,
}

fn half(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
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
    fn of(bytes: &'a [u8]) -> Option<Self> {
        if *bytes.first_chunk()? != MAGIC.to_ne_bytes() {
            return None;
        }
        let part = |offset: usize, length: usize| {
            let begin = (half(bytes, 4)? as usize).checked_add(half(bytes, offset)? as usize)?;
            bytes.get(begin..begin.checked_add(half(bytes, length)? as usize)?)
        };
        let mut found = Self { all: part(8, 12)?, texts: part(16, 20)?, begins: vec![0] };
        let mut at = 0;
        while let Some(kind) = found.at(at) {
            found.begins.push(at as u32);
            at += 12 + behind(kind)?;
        }
        (at == found.all.len()).then_some(found)
    }

    fn at(&self, at: usize) -> Option<Type> {
        let number = |offset| half(self.all, at + offset);
        Some(Type { at, name: number(0)?, info: number(4)?, size: number(8)? })
    }

    fn get(&self, number: u32) -> Option<Type> {
        self.at(*self.begins.get(number as usize).filter(|_| number > 0)? as usize)
    }

    fn text(&self, at: u32) -> &'a [u8] {
        let rest = self.texts.get(at as usize..).unwrap_or_default();
        rest.split(|&byte| byte == 0).next().unwrap_or_default()
    }

    /// What a type is behind its names.
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
                let number = |offset| half(self.all, at + offset);
                let (text, kind, bits) = (number(0)?, number(4)?, number(8)?);
                let bits = before.checked_add(bits & mask)?;
                if self.text(text) == name.as_bytes() {
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
        let name = self.text(types.text(found.name));
        Some(self.add(&[name, found.info, found.size, half(types.all, found.at + 12)?]))
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

/// The description of what the program uses.
///
/// # Errors
/// One sentence: what is not as it was expected.
pub(super) fn reduce(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let types = Types::of(bytes).ok_or(
        "/sys/kernel/btf/vmlinux is not what was expected, a list of types of kinds 1 to 19",
    )?;
    let mut structures: HashMap<&[u8], Type> = HashMap::new();
    for &begin in &types.begins[1..] {
        let Some(found) = types.at(begin as usize).filter(|found| found.kind() == STRUCT) else {
            continue;
        };
        let name = types.text(found.name);
        // The first of a name is the kernel's own; there may be others in drivers.
        if WANTED.iter().any(|wanted| wanted.0.as_bytes() == name) {
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
        let of = *structures.get(name.as_bytes()).ok_or_else(|| expected(fields[0]))?;
        let mut members = Vec::new();
        for field in fields {
            let member = types.field(of, field).and_then(|(bits, kind)| {
                let kind = types.plain(kind)?;
                let kind = match kind.kind() {
                    PTR => pointer,
                    INT => small.int(&types, kind)?,
                    ARRAY => {
                        let [of, by, length] = [12, 16, 20].map(|at| half(types.all, kind.at + at));
                        let of =
                            small.int(&types, types.plain(of?).filter(|of| of.kind() == INT)?)?;
                        let by =
                            small.int(&types, types.plain(by?).filter(|by| by.kind() == INT)?)?;
                        small.add(&[0, ARRAY << 24, 0, of, by, length?])
                    }
                    // Structures inside others come before them in the list.
                    STRUCT => *made.get(std::str::from_utf8(types.text(kind.name)).ok()?)?,
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

    #[test]
    fn the_kernels_own_description() {
        let Ok(bytes) = std::fs::read("/sys/kernel/btf/vmlinux") else {
            assert!(std::env::var_os("CI").is_none(), "no BTF");
            return println!("skipped: the kernel has no /sys/kernel/btf/vmlinux");
        };
        let small = reduce(&bytes).unwrap();
        assert!(small.len() < 2000, "{}", small.len());
        // Small as it is, it is a description too, and the same fields lie at the same places.
        assert_eq!(reduce(&small).unwrap(), small);
        let types = Types::of(&small).unwrap();
        let offset = |name: &str, field: &str| {
            let mut all = types.begins[1..].iter().filter_map(|&at| types.at(at as usize));
            let found = all.find(|found| types.text(found.name) == name.as_bytes()).unwrap();
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
            reduce(&small.bytes()).unwrap_err(),
            "expected a field `name` in the kernel's `struct qstr`"
        );
        assert!(reduce(b"").unwrap_err().contains("list of types"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_description_or_none(at in 0_usize..1500, new: [u8; 4], cut in 0_usize..2000) {
            let _ = reduce(&new);
            if let Ok(bytes) = std::fs::read("/sys/kernel/btf/vmlinux") {
                // Damage to the small one, so that this takes no minutes.
                static SMALL: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
                let mut small = SMALL.get_or_init(|| reduce(&bytes).unwrap()).clone();
                let end = (at + 4).min(small.len());
                small.splice(at.min(end)..end, new);
                let _ = reduce(&small);
                small.truncate(cut);
                let _ = reduce(&small);
            }
        }
    }
}
