//! The strips of a box: memory over its contents, devices below it.
//!
//! Owns their heights and the number of marks in a row, from the given width of the box.

use super::levels::Level;
use super::shape::{Shape, Tree};

/// Height of a NUMA node or a memory-side cache with all its contents.
pub(super) fn memory_height(shape: &Shape, tree: &Tree, level: &Level) -> f64 {
    // Shapes come after their contents, but memory in memory is rarely deeper than one: a walk is
    // enough.
    let mut height = 0.0;
    let mut stack = vec![shape];
    while let Some(one) = stack.pop() {
        height += level.memory.1;
        for &kid in &one.memory {
            height += 2.0 * MEMORY_INSET;
            stack.push(&tree.shapes[kid]);
        }
        // Shapes share their contents, so that a walk of a hostile file could take very long.
        if height > 1e6 {
            break;
        }
    }
    height
}

/// Between a memory-side cache and the memory behind it.
pub(super) const MEMORY_INSET: f64 = 2.0;

/// Heights of the strips over and below the children.
pub(super) struct Parts {
    pub memory: f64,
    pub items: f64,
    /// Memory in a row.
    pub memory_columns: usize,
    /// Devices in a row.
    pub item_columns: usize,
}

impl Parts {
    pub(super) fn measure(shape: &Shape, tree: &Tree, level: &Level, width: f64) -> Self {
        let fitting = |count: usize, one: f64| {
            let most = ((width + level.gap) / (one + level.gap) + 1e-9) as usize;
            let most = most.clamp(1, count.max(1));
            count.max(1).div_ceil(count.max(1).div_ceil(most))
        };
        let memory_columns = fitting(shape.memory.len(), level.memory.0);
        let item_columns = fitting(shape.items.len(), level.device.0);
        let memory = shape.memory.chunks(memory_columns).map(|row| {
            let heights = row.iter().map(|&one| memory_height(&tree.shapes[one], tree, level));
            heights.fold(0.0, f64::max)
        });
        let items = shape.items.chunks(item_columns);
        let items = items.map(|row| item_height(row.iter().copied().max().unwrap_or(0), level));
        let thin = level.gap.min(4.0);
        let sum = |heights: &mut dyn Iterator<Item = f64>| {
            heights.fold(-thin, |sum, height| sum + height + thin).max(0.0)
        };
        let (memory, items) = (sum(&mut memory.into_iter()), sum(&mut items.into_iter()));
        Self { memory, items, memory_columns, item_columns }
    }
}

/// Height of a device with this many of the operating system's devices on it: one stands on it,
/// more stand below its head.
pub(super) fn item_height(inner: usize, level: &Level) -> f64 {
    match inner {
        0 | 1 => level.device.1,
        _ => (inner + 1) as f64 * level.device.1 + 2.0,
    }
}
