//! The threads of processes, of their children, and what the kernel says of each.
//!
//! Owns the texts `/proc/PID/stat`, `.../task/TID/stat` and `.../children`, and the members of a
//! family: the given processes, and (if wanted) those that they start, also after their parent has
//! ended. Follows `proc_pid_stat(5)`.

use std::collections::{BTreeMap, BTreeSet};

use crate::root::Root;

/// Most threads that are followed.
const MOST: usize = 1 << 16;

/// A line of `/proc/PID/stat`; times in ticks of the kernel's `USER_HZ`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Name of the thread or program, at most 15 bytes.
    pub name: String,
    /// `R` running or waiting for a PU, `S` asleep, `D` waiting for a device, `Z` ended ...
    pub state: char,
    /// Its parent.
    pub parent: u32,
    /// Faults without and with a disk.
    pub faults: [u64; 2],
    /// Time in user mode and in the kernel.
    pub times: [u64; 2],
    /// When it began, since the machine did.
    pub start: u64,
    /// The PU on which it ran last.
    pub pu: u32,
}

impl Stat {
    /// Reads the line. Names may hold blanks and parentheses.
    pub fn parse(text: &str) -> Option<Self> {
        let (open, close) = (text.find('(')?, text.rfind(')')?);
        let name = text.get(open + 1..close)?;
        // The state is field 3.
        let fields: Vec<&str> = text.get(close + 1..)?.split_ascii_whitespace().take(40).collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Self {
            name: name.chars().take(64).collect(),
            state: fields.first()?.chars().next()?,
            parent: u32::try_from(number(4)?).ok()?,
            faults: [number(10)?, number(12)?],
            times: [number(14)?, number(15)?],
            start: number(22)?,
            pu: u32::try_from(number(39)?).ok()?,
        })
    }

    /// A thread's.
    pub fn of_thread(root: &Root, pid: u32, tid: u32) -> Option<Self> {
        Self::parse(&root.read(&format!("proc/{pid}/task/{tid}/stat"))?)
    }

    /// A process's, with the sums over its threads.
    pub fn of_process(root: &Root, pid: u32) -> Option<Self> {
        Self::parse(&root.read(&format!("proc/{pid}/stat"))?)
    }
}

/// Processes that are followed.
#[derive(Clone, Debug)]
pub struct Family {
    /// With the time of their start once they were seen: a number can be given to another process
    /// later.
    members: BTreeMap<u32, Option<u64>>,
    children: bool,
}

impl Family {
    /// These processes; with `children`, all that they start too.
    pub fn new(pids: &[u32], children: bool) -> Self {
        Self { members: pids.iter().map(|&pid| (pid, None)).collect(), children }
    }

    /// Processes that are there now.
    pub fn processes(&mut self, root: &Root) -> Vec<u32> {
        self.members.retain(|&pid, seen| match Stat::of_process(root, pid) {
            Some(stat) if stat.state != 'Z' => *seen.get_or_insert(stat.start) == stat.start,
            _ => false,
        });
        if self.children {
            self.find_children(root);
        }
        self.members.keys().copied().collect()
    }

    /// Process and thread of each thread that is there now, in order.
    pub fn threads(&mut self, root: &Root) -> Vec<(u32, u32)> {
        let mut threads = Vec::new();
        for pid in self.processes(root) {
            threads.extend(tasks(root, pid).into_iter().map(|tid| (pid, tid)));
        }
        threads.truncate(MOST);
        threads.sort_unstable();
        threads
    }

    fn find_children(&mut self, root: &Root) {
        let mut new: Vec<u32> = self.members.keys().copied().collect();
        let by_parent = match new.first() {
            // Kernels without this file leave only the question to every process of the machine.
            Some(pid) if !root.exists(&format!("proc/{pid}/task/{pid}/children")) => {
                Some(parents(root))
            }
            _ => None,
        };
        while let Some(pid) = new.pop() {
            let children = match &by_parent {
                Some(parents) => parents.get(&pid).cloned().unwrap_or_default(),
                None => children(root, pid),
            };
            for child in children {
                if self.members.len() >= MOST || self.members.contains_key(&child) {
                    continue;
                }
                if let Some(stat) = Stat::of_process(root, child).filter(|stat| stat.state != 'Z') {
                    self.members.insert(child, Some(stat.start));
                    new.push(child);
                }
            }
        }
    }
}

fn tasks(root: &Root, pid: u32) -> Vec<u32> {
    let names = root.names(&format!("proc/{pid}/task"));
    names.iter().filter_map(|name| name.parse().ok()).collect()
}

fn children(root: &Root, pid: u32) -> BTreeSet<u32> {
    let of = |tid| root.read(&format!("proc/{pid}/task/{tid}/children")).unwrap_or_default();
    let texts: Vec<String> = tasks(root, pid).into_iter().map(of).collect();
    texts.iter().flat_map(|text| text.split_ascii_whitespace()).flat_map(str::parse).collect()
}

fn parents(root: &Root) -> BTreeMap<u32, BTreeSet<u32>> {
    let mut by_parent: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    let pids = root.names("proc").into_iter().filter_map(|name| name.parse().ok());
    for pid in pids {
        if let Some(stat) = Stat::of_process(root, pid) {
            by_parent.entry(stat.parent).or_default().insert(pid);
        }
    }
    by_parent
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A line of `stat`.
    pub(crate) fn line(pid: u32, name: &str, parent: u32, times: [u64; 2], pu: u32) -> String {
        format!(
            "{pid} ({name}) R {parent} 1 1 0 -1 4194304 7 0 3 0 {} {} 0 0 20 0 1 0 {} 3133440 418 \
             18446744073709551615 1 2 3 0 0 0 0 0 0 0 0 0 17 {pu} 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
            times[0],
            times[1],
            1000 + pid
        )
    }

    /// Writes a process with one line for each thread, and the list of children if there is one.
    pub(crate) fn process(root: &Root, parent: u32, threads: &[u32], children: Option<&str>) {
        let pid = threads[0];
        for &tid in threads {
            let folder = root.path(&format!("proc/{pid}/task/{tid}"));
            std::fs::create_dir_all(&folder).unwrap();
            let name = format!("app ({tid}) x");
            std::fs::write(folder.join("stat"), line(tid, &name, parent, [5, 2], tid % 4)).unwrap();
            if let Some(children) = children {
                std::fs::write(folder.join("children"), children).unwrap();
            }
        }
        let stat = line(pid, "app", parent, [9, 9], 0);
        std::fs::write(root.path(&format!("proc/{pid}/stat")), stat).unwrap();
    }

    #[test]
    fn lines_with_strange_names() {
        let stat = Stat::parse(&line(7, "a) R (b", 3, [11, 12], 5)).unwrap();
        assert_eq!((stat.name.as_str(), stat.state, stat.parent), ("a) R (b", 'R', 3));
        assert_eq!((stat.faults, stat.times, stat.start, stat.pu), ([7, 3], [11, 12], 1007, 5));
        assert_eq!(Stat::parse("7 (x"), None);
        assert_eq!(Stat::parse(")("), None);
    }

    #[test]
    fn children_are_followed_with_and_without_their_list() {
        for list in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            let root = Root::at(folder.path());
            let some = |text| list.then_some(text);
            process(&root, 1, &[10, 11], some("20 "));
            process(&root, 10, &[20], some("30"));
            process(&root, 20, &[30, 31], some(""));
            process(&root, 1, &[40], some(""));
            let mut family = Family::new(&[10], true);
            let expected = [(10, 10), (10, 11), (20, 20), (30, 30), (30, 31)];
            assert_eq!(family.threads(&root), expected);
            assert_eq!(Family::new(&[10], false).threads(&root), expected[..2]);
            // Who started 30 ends; 30 stays in the family.
            std::fs::remove_dir_all(root.path("proc/20")).unwrap();
            process(&root, 1, &[30, 31], some(""));
            assert_eq!(family.processes(&root), [10, 30]);
            // Another process gets the number 30.
            let again = line(30, "other", 1, [0, 0], 0).replace(" 1030 ", " 9999 ");
            std::fs::write(root.path("proc/30/stat"), again).unwrap();
            assert_eq!(family.processes(&root), [10]);
        }
    }

    proptest! {
        #[test]
        fn any_line_is_a_stat_or_not(text in "\\PC{0,80}", cut in 0..200_usize) {
            let _ = Stat::parse(&text);
            let line = line(7, &text, 3, [1, 1], 2);
            let cut = (0..=cut.min(line.len())).rev().find(|&c| line.is_char_boundary(c)).unwrap();
            let _ = Stat::parse(&line[..cut]);
        }
    }

    #[test]
    fn this_process_is_there() {
        let own = std::process::id();
        let threads = Family::new(&[own], false).threads(&Root::machine());
        assert!(threads.contains(&(own, own)), "{threads:?}");
    }
}
