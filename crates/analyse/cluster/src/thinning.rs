//! Choice of bursts of a thread as they stream by, where all are more than memory should hold.
//!
//! Owns two choices beside each other. Windows, evenly spread over the thread, keep all of their
//! bursts, so that sequences of ranks can be compared in them. Of the bursts between windows the
//! first ones of each cell of site and duration are kept, so that rare ones stay: thinning by
//! density. The choice depends on the thread alone.

/// Maximum number of windows of a thread.
const WINDOWS: u64 = 64;
/// Bursts that a window has at least where there are several.
const OF_WINDOW: u64 = 100;
/// Bursts of a cell that are kept beside windows: the most that the core of a cluster needs.
const OF_CELL: u8 = 10;
/// Cells of durations: eighths of a power of two.
const CELLS: usize = 8 * 64;

/// Whether a burst is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// With all of its window.
    Window,
    /// As one of few of its cell.
    Rare,
    /// Not at all.
    No,
}

/// The choice on one thread.
#[derive(Clone, Debug)]
pub struct Thinning {
    /// Bursts that have passed.
    passed: u64,
    /// Bursts from the begin of a window to that of the next.
    every: u64,
    /// Bursts of a window, which is in the middle of them.
    length: u64,
    /// Bursts seen of each cell, by site.
    cells: Vec<Option<Box<[u8; CELLS]>>>,
    /// Bursts that may still be kept beside windows.
    left: u64,
}

impl Thinning {
    /// For a thread of at most `bursts`. Windows keep about `in_windows` of them, and at most
    /// `rare` further ones are kept. With `in_windows` of at least `bursts` all are kept.
    pub fn new(bursts: u64, in_windows: u64, rare: u64) -> Self {
        let windows = (in_windows / OF_WINDOW).clamp(1, WINDOWS);
        let every = bursts.div_ceil(windows).max(1);
        let length = if in_windows >= bursts { every } else { in_windows / windows };
        Self { passed: 0, every, length, cells: Vec::new(), left: rare }
    }

    /// The choice for the thread's next burst, which ends at a site with this number.
    pub fn next(&mut self, site: u32, nanos: u64) -> Kept {
        let place = self.passed % self.every;
        self.passed += 1;
        let begin = (self.every - self.length) / 2;
        if (begin..begin + self.length).contains(&place) {
            return Kept::Window;
        }
        if self.left == 0 {
            return Kept::No;
        }
        let site = site as usize;
        if site >= self.cells.len() {
            self.cells.resize(site + 1, None);
        }
        let cells = self.cells[site].get_or_insert_with(|| Box::new([0; CELLS]));
        let seen = &mut cells[cell(nanos)];
        if *seen >= OF_CELL {
            return Kept::No;
        }
        *seen += 1;
        self.left -= 1;
        Kept::Rare
    }
}

/// The power of two of a duration, and the three digits after the first.
fn cell(nanos: u64) -> usize {
    let power = nanos.checked_ilog2().unwrap_or(0);
    let digits = if power < 3 { nanos << (3 - power) } else { nanos >> (power - 3) };
    power as usize * 8 + (digits & 7) as usize
}

/// Time of all bursts by their duration: those that are kept would overrate rare ones. Durations
/// differ by less than two percent inside a class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Durations {
    /// Nanoseconds, by class.
    times: Vec<u64>,
}

/// Classes of each power of two.
pub const CLASSES: u32 = 64;

impl Durations {
    /// Adds a burst.
    pub fn add(&mut self, nanos: u64) {
        self.add_to(class(nanos), nanos);
    }

    /// Adds bursts of a class by the sum of their durations.
    pub(crate) fn add_to(&mut self, class: usize, nanos: u64) {
        if class >= self.times.len() {
            self.times.resize(class + 1, 0);
        }
        self.times[class] = self.times[class].saturating_add(nanos);
    }

    /// Adds the bursts of another thread.
    pub fn merge(&mut self, other: &Self) {
        if other.times.len() > self.times.len() {
            self.times.resize(other.times.len(), 0);
        }
        for (own, more) in self.times.iter_mut().zip(&other.times) {
            *own = own.saturating_add(*more);
        }
    }

    /// The duration below which bursts are left out, in nanoseconds: those hold at most `share` of
    /// the time. The smallest one of its class; 0 without bursts. See [`crate::auto::shortest`].
    pub fn shortest(&self, share: f64) -> f64 {
        let all: f64 = self.times.iter().map(|&time| time as f64).sum();
        let mut held = 0.0;
        let class = self.times.iter().position(|&time| {
            held += time as f64;
            held > share * all
        });
        class.map_or(0.0, smallest)
    }
}

/// The class of a duration.
pub(crate) fn class(nanos: u64) -> usize {
    let Some(power) = nanos.checked_ilog2() else { return 0 };
    // As a fraction of the power of two, of 64 bits.
    let digits = (nanos << (63 - power)) << 1;
    (power * CLASSES) as usize + (digits >> 58) as usize
}

/// The smallest duration of a class, in nanoseconds.
fn smallest(class: usize) -> f64 {
    let (power, digits) = (class / CLASSES as usize, class % CLASSES as usize);
    2_f64.powi(power as i32) * (1.0 + digits as f64 / f64::from(CLASSES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_duration_is_that_of_all_bursts() {
        let mut random = 1_u64;
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            1 + (random >> (20 + random % 40))
        };
        let all: Vec<u64> = (0..20_000).map(|_| next()).collect();
        let (mut first, mut second) = (Durations::default(), Durations::default());
        for (at, &nanos) in all.iter().enumerate() {
            let half = if at % 3 == 0 { &mut first } else { &mut second };
            half.add(nanos);
        }
        first.merge(&second);
        let exact: Vec<f64> = all.iter().map(|&nanos| nanos as f64).collect();
        for share in [0.0, 0.001, 0.01, 0.1, 0.5, 0.9] {
            let (found, expected) = (first.shortest(share), crate::auto::shortest(&exact, share));
            assert!(found <= expected && expected < found * 1.02, "{share}: {found} {expected}");
        }
        let is = |found: f64, expected: f64| {
            assert!((found - expected).abs() < 1e-9 * expected.max(1.0));
        };
        is(Durations::default().shortest(0.01), 0.0);
        let mut ends = Durations::default();
        for nanos in [0, 1, u64::MAX, u64::MAX] {
            ends.add(nanos);
        }
        is(ends.shortest(0.0), 1.0);
        is(ends.shortest(0.5), smallest(64 * 64 - 1));
    }

    fn kept(thinning: &mut Thinning, bursts: impl Iterator<Item = (u32, u64)>) -> Vec<Kept> {
        bursts.map(|(site, nanos)| thinning.next(site, nanos)).collect()
    }

    #[test]
    fn windows_are_whole_and_evenly_spread() {
        let mut thinning = Thinning::new(64_000, 6_400, 0);
        let found = kept(&mut thinning, (0..64_000).map(|i| (0, i)));
        let windows = found.iter().filter(|&&one| one == Kept::Window).count();
        assert_eq!(windows, 6_400);
        let is_whole = |part: &[Kept]| part[450..550].iter().all(|&one| one == Kept::Window);
        assert!(found.chunks(1_000).all(is_whole));
        assert!(!found.contains(&Kept::Rare));
    }

    #[test]
    fn rare_bursts_stay_and_the_number_is_bounded() {
        // One in ten thousand is a hundred times longer, one has a site of its own.
        let burst = |i: u64| match i {
            77_777 => (9, 1_000),
            _ if i % 10_000 == 5_000 => (3, 100_000 + i % 7),
            _ => (3, 1_000 + i % 7),
        };
        let mut thinning = Thinning::new(100_000, 64, 1_000);
        let found = kept(&mut thinning, (0..100_000).map(burst));
        let rare = found.iter().filter(|&&one| one == Kept::Rare).count();
        assert_eq!(rare, 10 + 10 + 1);
        assert!(found[77_777] == Kept::Rare && found[95_000] == Kept::Rare);
        // Bursts that are all different.
        let mut thinning = Thinning::new(100_000, 64, 1_000);
        let found = kept(&mut thinning, (0..100_000).map(|i| (i as u32, i)));
        assert_eq!(found.iter().filter(|&&one| one == Kept::Rare).count(), 1_000);
    }

    #[test]
    fn many_threads_with_little_room_have_one_window() {
        let found = kept(&mut Thinning::new(1_000, 15, 0), (0..1_000).map(|i| (0, i)));
        let first = found.iter().position(|&one| one == Kept::Window).unwrap();
        assert!(found[first..first + 15].iter().all(|&one| one == Kept::Window));
        assert_eq!((first, found.iter().filter(|&&one| one == Kept::No).count()), (492, 985));
    }

    #[test]
    fn few_bursts_are_all_kept() {
        for bursts in [0, 1, 63, 64, 65, 1_000] {
            let mut thinning = Thinning::new(bursts, bursts, 0);
            let found = kept(&mut thinning, (0..bursts).map(|i| (0, i)));
            assert!(found.iter().all(|&one| one == Kept::Window), "{bursts}");
        }
        let mut any = Thinning::new(1_000, 0, 1);
        assert_eq!(kept(&mut any, [(0, 0), (0, u64::MAX)].into_iter()), [Kept::Rare, Kept::No]);
    }

    #[test]
    fn cells_are_eighths_of_a_power_of_two() {
        let cells: Vec<usize> = (1..32).map(cell).collect();
        assert!(cells.is_sorted());
        assert_eq!([16, 17, 18, 31, 32].map(cell), [32, 32, 33, 39, 40]);
        assert_eq!((cell(0), cell(1), cell(u64::MAX)), (0, 0, CELLS - 1));
    }
}
