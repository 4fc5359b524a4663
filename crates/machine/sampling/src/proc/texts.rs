//! The texts of `/proc` and `/sys` that hold counters.
//!
//! Owns their shapes and refuses their meaning: a text comes in, whole numbers come out, or none.
//! Follows proc(5), `Documentation/ABI/stable/sysfs-devices-node` and
//! `Documentation/block/stat.rst`.

/// Highest number of a PU that is believed, as in [`talea_topology::cpuset::MOST`].
const MOST_PUS: usize = talea_topology::cpuset::MOST;
/// Times of a PU in `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal.
pub(crate) const TIMES: usize = 8;

/// Where a number stands in its text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Spot {
    /// Sum of some times of a PU, as bits of their places.
    Times(usize, u8),
    /// The sum of a PU's column.
    Column(usize),
    /// The number after this word.
    After(String),
    /// The first minus the second, which cannot be negative.
    Less(String, String),
    /// The sum of all numbers that stand right behind this.
    Sum(String),
    /// The n-th word.
    Word(usize),
}

/// A text with one pass over it done beforehand, where many numbers are looked up.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    times: Vec<Option<[u64; TIMES]>>,
    columns: Vec<Option<u64>>,
}

impl Tables {
    /// Goes through `/proc/stat`.
    pub(crate) fn stat(&mut self, text: &str) {
        self.times.clear();
        for line in text.lines() {
            // Lines of PUs are the first; what follows can be long.
            let Some(rest) = line.strip_prefix("cpu") else { break };
            let mut words = rest.split_ascii_whitespace();
            let first = if rest.starts_with(' ') { None } else { words.next() };
            let Some(pu) = first.and_then(|n| n.parse::<usize>().ok()).filter(|&n| n < MOST_PUS)
            else {
                continue;
            };
            let mut times = [0; TIMES];
            // Old kernels have fewer times; those are zero as nothing of the kind exists.
            for (time, word) in times.iter_mut().zip(words) {
                *time = word.parse().unwrap_or(0);
            }
            if self.times.len() <= pu {
                self.times.resize(pu + 1, None);
            }
            self.times[pu] = Some(times);
        }
    }

    /// Goes through `/proc/interrupts` or `/proc/softirqs`.
    pub(crate) fn columns(&mut self, text: &str) {
        self.columns.clear();
        let mut lines = text.lines();
        let header = lines.next().unwrap_or_default().split_ascii_whitespace();
        let pus: Vec<usize> = header
            .filter_map(|word| word.strip_prefix("CPU")?.parse().ok())
            .filter(|&pu| pu < MOST_PUS)
            .collect();
        let mut sums = vec![0_u64; pus.len()];
        for line in lines {
            let words = line.split_ascii_whitespace().skip(1);
            let numbers = words.take(pus.len()).map_while(|word| word.parse::<u64>().ok());
            let numbers: Vec<u64> = numbers.collect();
            // Rows such as `ERR:` have one number for the whole machine.
            if numbers.len() == pus.len() {
                sums.iter_mut().zip(numbers).for_each(|(sum, n)| *sum = sum.saturating_add(n));
            }
        }
        self.columns.resize(pus.iter().max().map_or(0, |most| most + 1), None);
        pus.iter().zip(sums).for_each(|(&pu, sum)| self.columns[pu] = Some(sum));
    }

    /// The number at a spot of a text.
    pub(crate) fn find(&self, spot: &Spot, text: &str) -> Option<u64> {
        match spot {
            Spot::Times(pu, fields) => {
                let times = self.times.get(*pu)?.as_ref()?;
                let wanted = times.iter().enumerate().filter(|(i, _)| fields >> i & 1 == 1);
                Some(wanted.fold(0, |sum: u64, (_, &time)| sum.saturating_add(time)))
            }
            Spot::Column(pu) => *self.columns.get(*pu)?,
            Spot::After(word) => after(text, word),
            Spot::Less(all, part) => Some(after(text, all)?.saturating_sub(after(text, part)?)),
            Spot::Sum(key) => {
                let words = text.split_ascii_whitespace();
                let numbers = words.filter_map(|word| word.strip_prefix(key)?.parse::<u64>().ok());
                numbers.reduce(u64::saturating_add)
            }
            Spot::Word(n) => text.split_ascii_whitespace().nth(*n)?.parse().ok(),
        }
    }
}

/// The number after a word: `MemFree:  12 kB`, `Node 0 MemFree:  12 kB`, `usage_usec 12`,
/// `rbytes=12`.
fn after(text: &str, wanted: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let key = words.find(|word| word.trim_end_matches(':') == wanted);
        key.and_then(|_| words.next()?.parse().ok())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STAT: &str = "cpu  30 0 9 70 1 0 0 0 0 0\ncpu0 10 1 4 30 1 2 3 4 5 6\ncpu2 20 0 5 40\n\
                        intr 99 1 2\nctxt 1234\nprocs_running 3\n";

    #[test]
    fn times_of_pus() {
        let mut tables = Tables::default();
        tables.stat(STAT);
        let find = |spot| tables.find(&spot, STAT);
        assert_eq!(find(Spot::Times(0, 1)), Some(10));
        assert_eq!(find(Spot::Times(0, 0b1110_0111)), Some(10 + 1 + 4 + 2 + 3 + 4));
        assert_eq!(find(Spot::Times(1, 1)), None, "offline");
        assert_eq!(find(Spot::Times(2, 0b1001)), Some(60));
        assert_eq!(find(Spot::After("ctxt".to_owned())), Some(1234));
        assert_eq!(find(Spot::Word(1)), Some(30));
    }

    #[test]
    fn interrupts_of_pus() {
        let text =
            "           CPU0       CPU2\n  1:   5   7   IO-APIC\nNMI:  1 2 Non-maskable\nERR:  9\n";
        let mut tables = Tables::default();
        tables.columns(text);
        assert_eq!(tables.find(&Spot::Column(0), text), Some(6));
        assert_eq!(tables.find(&Spot::Column(2), text), Some(9));
        assert_eq!(tables.find(&Spot::Column(1), text), None);
    }

    #[test]
    fn numbers_after_words() {
        let text = "Node 0 MemTotal:  100 kB\nNode 0 MemFree: 30 kB\nusage_usec 5\nMemFreeX: 1\n";
        let find = |spot| Tables::default().find(&spot, text);
        assert_eq!(find(Spot::After("MemFree".to_owned())), Some(30));
        assert_eq!(find(Spot::Less("MemTotal".to_owned(), "MemFree".to_owned())), Some(70));
        assert_eq!(find(Spot::After("usage_usec".to_owned())), Some(5));
        assert_eq!(find(Spot::After("none".to_owned())), None);
    }

    proptest! {
        #[test]
        fn any_text_has_numbers_or_none(text in "(cpu|CPU|[0-9 a-z:\n]){0,60}", junk in "\\PC{0,40}") {
            let mut tables = Tables::default();
            for text in [&text, &junk] {
                tables.stat(text);
                tables.columns(text);
                for spot in [Spot::Times(0, 255), Spot::Column(3), Spot::Word(2)] {
                    let _ = tables.find(&spot, text);
                }
                let _ = tables.find(&Spot::Less("cpu".to_owned(), "a".to_owned()), text);
            }
        }
    }
}
