//! The `.row`: names of CPUs, nodes, tasks and threads.
//!
//! Owns `LEVEL <name> SIZE <n>` and the n lines after it. Levels that are cut, too long, or of
//! another size than the header's are gaps.

use talea_model::trace::{Level, Locations};
use talea_model::{Gap, GapKind, Gaps};

use super::careful::unsigned;
use super::labels::text;

/// Reads a `.row` of a trace with these locations.
pub fn read_rows(bytes: &[u8], locations: &Locations, gaps: &mut Gaps) -> Vec<Level> {
    let mut levels: Vec<Level> = Vec::new();
    let mut missing = 0_u64;
    let mut lost = 0_u64;
    let mut note = |kind, count, detail: String| {
        gaps.note(Gap { kind, rank: None, detail, count });
    };
    let whole = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    for (line, number) in whole.split(|&byte| byte == b'\n').zip(1_u64..) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some((name, size)) = title(line) {
            lack(levels.last(), missing, &mut note);
            levels.push(Level { name, rows: Vec::new() });
            missing = size;
        } else if missing > 0 && !whole.is_empty() {
            missing -= 1;
            if let Some(level) = levels.last_mut() {
                level.rows.push(text(line));
            }
        } else if !line.trim_ascii().is_empty() {
            if lost == 0 {
                let shown: String = text(line).chars().take(40).collect();
                let detail = format!(
                    "names of rows: line {number}: expected `LEVEL <name> SIZE <n>`, found `{shown}`; such lines are left out"
                );
                note(GapKind::Damaged, 0, detail);
            }
            lost += 1;
        }
    }
    lack(levels.last(), missing, &mut note);
    let expected = |name: &str| match name {
        "CPU" => locations.nodes.iter().map(|&cpus| u64::from(cpus)).sum(),
        "NODE" => locations.nodes.len() as u64,
        "THREAD" => locations.len() as u64,
        _ => 0,
    };
    for level in &levels {
        let (expected, found) = (expected(&level.name), level.rows.len() as u64);
        if expected != 0 && expected != found {
            let name = &level.name;
            let detail = format!("{found} names of level {name}, the trace has {expected}");
            note(GapKind::Damaged, expected.abs_diff(found), detail);
        }
    }
    levels
}

/// `LEVEL <name> SIZE <n>`
fn title(line: &[u8]) -> Option<(String, u64)> {
    let rest = line.trim_ascii().strip_prefix(b"LEVEL ")?;
    let size_at = rest.len() - rest.iter().rev().position(u8::is_ascii_whitespace)?;
    let size = unsigned(&rest[size_at..])?;
    let name = rest[..size_at].trim_ascii().strip_suffix(b"SIZE")?.trim_ascii();
    Some((text(name), size))
}

fn lack(level: Option<&Level>, missing: u64, note: &mut impl FnMut(GapKind, u64, String)) {
    if let Some(level) = level.filter(|_| missing > 0) {
        let expected = level.rows.len() as u64 + missing;
        let (name, found) = (&level.name, level.rows.len());
        let detail = format!("names of level {name}: expected {expected} lines, found {found}");
        note(GapKind::Missing, missing, detail);
    }
}
