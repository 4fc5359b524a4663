//! The operating system's numbers of a level: lists, and loops that interleave.
//!
//! Owns `indexes=3,5`, `indexes=2*2:1*2` (step times count) and `indexes=pack:core` (the loops that
//! visit packages first). A missing loop is added as the innermost, as in hwloc. The numbers are
//! checked: none twice where they name PUs or nodes.

use std::collections::BTreeSet;

use crate::objects::ObjectKind;

use super::SyntheticError;
use super::text::{Attributes, Level};

/// The numbers of a level of `total` objects; `None` where the text has none. `above` are the
/// levels that loops may name.
pub(super) fn numbers(
    attributes: &Attributes,
    total: u64,
    above: &[Level],
    must_differ: bool,
) -> Result<Option<Vec<u32>>, SyntheticError> {
    let Some((at, text)) = &attributes.indexes else { return Ok(None) };
    let wrong =
        |expected: String| SyntheticError { at: at.clone(), expected, found: format!("`{text}`") };
    let is_list =
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b',');
    let numbers = if is_list {
        let read: Result<Vec<u32>, _> = text.split(',').map(str::parse).collect();
        read.map_err(|_| wrong("numbers with commas between".to_owned()))?
    } else {
        interleave(&loops(text, total, above).map_err(wrong)?, total)
    };
    if numbers.len() as u64 != total {
        return Err(wrong(format!("{total} numbers")));
    }
    let mut seen = BTreeSet::new();
    let limit = crate::cpuset::MOST as u32;
    if must_differ && !numbers.iter().all(|&number| number < limit && seen.insert(number)) {
        return Err(wrong(format!("{total} different numbers below {limit}")));
    }
    Ok(Some(numbers))
}

/// One loop: the one of `count` steps for an object.
#[derive(Clone, Copy)]
struct Loop {
    step: u64,
    count: u64,
}

fn loops(text: &str, total: u64, above: &[Level]) -> Result<Vec<Loop>, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let mut loops: Vec<Loop> = if text.starts_with(|c: char| c.is_ascii_digit()) {
        let read = |part: &&str| -> Option<Loop> {
            let (step, count) = part.split_once('*')?;
            let (step, count) = (step.parse().ok()?, count.parse().ok()?);
            (step > 0 && count > 0).then_some(Loop { step, count })
        };
        let all: Option<Vec<Loop>> = parts.iter().map(read).collect();
        all.ok_or_else(|| "loops such as `2*4:1*2` (step and count)".to_owned())?
    } else {
        named_loops(&parts, total, above)?
    };
    let product = loops.iter().try_fold(1_u64, |product, one| product.checked_mul(one.count));
    let smallest = loops.iter().map(|one| one.step).min().unwrap_or(1);
    match product {
        Some(product) if product == total => {}
        Some(product)
            if product > 0 && total.is_multiple_of(product) && smallest == total / product =>
        {
            loops.push(Loop { step: 1, count: total / product });
        }
        _ => return Err(format!("loops over {total} objects")),
    }
    Ok(loops)
}

/// Loops by the kinds of levels: each counts the objects of its level within the level of the loop
/// next above it.
fn named_loops(parts: &[&str], total: u64, above: &[Level]) -> Result<Vec<Loop>, String> {
    let mut levels = Vec::new();
    for part in parts {
        let kind = ObjectKind::from_name(part);
        let at = kind.and_then(|kind| above.iter().position(|level| level.kind == kind));
        let Some(at) = at.filter(|at| !levels.contains(at)) else {
            return Err(
                "numbers, loops such as `2*4:1*2`, or kinds of levels above, each once".to_owned()
            );
        };
        levels.push(at);
    }
    let one = |&at: &usize| {
        let outer =
            levels.iter().filter(|&&other| other < at).max().map_or(1, |&outer| above[outer].width);
        Loop { step: (total / above[at].width).max(1), count: (above[at].width / outer).max(1) }
    };
    Ok(levels.iter().map(one).collect())
}

fn interleave(loops: &[Loop], total: u64) -> Vec<u32> {
    let number = |at: u64| {
        let mut scale = 1;
        let mut number = 0;
        for one in loops {
            number += at / one.step % one.count * scale;
            scale *= one.count;
        }
        number as u32
    };
    (0..total).map(number).collect()
}
