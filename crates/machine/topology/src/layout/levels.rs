//! Levels of detail: sizes of marks, from a laptop's to those of a thousand PUs on one screen.
//!
//! Owns the sizes. Each level is smaller than the one before in every part, so that the first one
//! that fits is the best one.

use crate::objects::ObjectKind;

/// Sizes of marks in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    /// Size of a PU.
    pub cell: (f64, f64),
    /// Heads of machines, packages, groups.
    pub head: f64,
    /// Caches that several cores share.
    pub shared: f64,
    /// Caches of one core.
    pub private: f64,
    /// Heads of cores.
    pub core: f64,
    /// Memory: minimum width, height.
    pub memory: (f64, f64),
    /// Devices: width, height.
    pub device: (f64, f64),
    /// Between a frame and its contents.
    pub pad: f64,
    /// Between neighbours that are not PUs.
    pub gap: f64,
}

/// Maximum size of a cell, however much room there is: two cores fill a page's width.
pub(super) const LARGEST_CELL: (f64, f64) = (560.0, 46.0);

/// Between PUs of one core.
pub(super) const CELL_GAP: f64 = 1.0;

/// Sizes of one level: cell, head, shared, private, core, memory, device, pad, gap.
type Sizes = ((f64, f64), f64, f64, f64, f64, (f64, f64), (f64, f64), f64, f64);

/// The first leaves room for names and values everywhere; then the caches of a core become stripes,
/// then names of cores and values of PUs are dropped, at last every text except the heads of
/// packages and memory.
const SIZES: [Sizes; 13] = [
    ((104.0, 38.0), 24.0, 20.0, 18.0, 18.0, (170.0, 24.0), (124.0, 20.0), 8.0, 8.0),
    ((84.0, 32.0), 22.0, 18.0, 16.0, 16.0, (160.0, 22.0), (124.0, 20.0), 7.0, 7.0),
    ((72.0, 28.0), 20.0, 17.0, 15.0, 15.0, (150.0, 20.0), (116.0, 18.0), 6.0, 6.0),
    ((58.0, 26.0), 20.0, 16.0, 4.0, 15.0, (140.0, 20.0), (110.0, 18.0), 6.0, 6.0),
    ((52.0, 25.0), 18.0, 16.0, 4.0, 14.0, (120.0, 18.0), (104.0, 17.0), 5.0, 5.0),
    ((46.0, 24.0), 18.0, 15.0, 4.0, 4.0, (110.0, 17.0), (96.0, 16.0), 4.0, 4.0),
    ((43.0, 23.0), 16.0, 14.0, 2.5, 2.5, (100.0, 16.0), (92.0, 15.0), 3.0, 3.0),
    ((32.0, 15.0), 16.0, 14.0, 2.5, 2.5, (100.0, 16.0), (92.0, 15.0), 3.0, 3.0),
    ((24.0, 13.0), 16.0, 14.0, 2.5, 2.5, (90.0, 15.0), (92.0, 15.0), 3.0, 3.0),
    ((15.0, 10.0), 16.0, 6.0, 2.0, 2.0, (60.0, 14.0), (90.0, 15.0), 3.0, 2.0),
    ((10.0, 8.0), 15.0, 4.0, 1.5, 1.5, (40.0, 10.0), (88.0, 14.0), 2.0, 2.0),
    ((7.0, 6.0), 15.0, 3.0, 1.0, 1.0, (24.0, 6.0), (88.0, 14.0), 2.0, 1.0),
    ((5.0, 4.0), 4.0, 2.0, 0.5, 0.5, (10.0, 4.0), (12.0, 6.0), 1.0, 1.0),
];

/// All levels, largest first.
pub(super) fn all() -> impl Iterator<Item = Level> {
    SIZES.iter().map(|&(cell, head, shared, private, core, memory, device, pad, gap)| Level {
        cell,
        head,
        shared,
        private,
        core,
        memory,
        device,
        pad,
        gap,
    })
}

impl Level {
    /// Height of the bar that bears an object's name and value; `several` is true if more than one
    /// core is in it.
    pub(super) fn bar(&self, kind: ObjectKind, several: bool) -> f64 {
        match kind {
            ObjectKind::Pu => self.cell.1,
            ObjectKind::Core => self.core,
            ObjectKind::NumaNode | ObjectKind::MemCache => self.memory.1,
            _ if kind.is_io() || kind == ObjectKind::Misc => self.device.1,
            _ if !kind.is_cache() => self.head,
            _ if several => self.shared,
            _ => self.private,
        }
    }

    /// Room between an object's frame and its contents. Caches and cores have none where they
    /// contain one object: they are bars above it.
    pub(super) fn inset(&self, kind: ObjectKind, several: bool) -> f64 {
        match kind {
            ObjectKind::Core => 0.0,
            _ if kind.is_cache() && !several => 0.0,
            _ if kind.is_cache() => (self.pad - 2.0).max(1.0),
            _ => self.pad,
        }
    }
}
