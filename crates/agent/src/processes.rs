//! What is known of the processes that were hit: user, job, and what they execute.
//!
//! Owns the cache by process number and start time, so that a number which came round again is another process. Only processes that samples hit
//! are ever looked at: thousands that come and go between two samples cost nothing. Follows proc(5).

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use talea_model::shares::Job;
use talea_sampling::system::Tls;

use crate::{jobs, phases};

/// Processes that are remembered.
const MOST: usize = 16_384;

/// What is known of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// When it began, in clock ticks since the host started.
    started: u64,
    /// Its effective user.
    pub user: Option<u32>,
    /// Its job.
    pub job: Option<Job>,
    /// How often it was hit.
    hits: u64,
    /// Where it keeps its phases, if it has any.
    tls: Option<Tls>,
}

/// What samplers have to be told of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct News {
    /// Which process.
    pub process: u32,
    /// Where it keeps its phases; none if it has none any more.
    pub tls: Option<Tls>,
}

/// Processes that were hit lately.
#[derive(Debug, Default)]
pub struct Processes {
    known: HashMap<u32, Process>,
    /// Those that were gone before they were looked at.
    pub gone: u64,
    /// What samplers have not been told yet.
    pub news: Vec<News>,
}

impl Processes {
    /// A process that was hit; `user` is whom the sampler saw. What is known stays as long as it lives.
    pub fn find(&mut self, number: u32, user: Option<u32>) -> Process {
        let folder = format!("/proc/{number}");
        let stat = fs::read(format!("{folder}/stat")).ok();
        let Some(started) = stat.as_deref().and_then(started) else {
            // It ended: what was known of it before is right, if it was that one.
            return self.known.get(&number).cloned().unwrap_or_else(|| {
                self.gone += 1;
                Process { user, ..Process::default() }
            });
        };
        let before = self.known.get_mut(&number).filter(|known| known.started == started);
        if let Some(known) = before {
            known.hits += 1;
            // A program may have its first phase at any time: it is looked for less and less often.
            if known.tls.is_none() && known.hits.is_power_of_two() {
                known.tls = phases::of(number);
                let tls = known.tls;
                self.news.extend(tls.map(|_| News { process: number, tls }));
            }
            return known.clone();
        }
        let owner = fs::metadata(&folder).ok().map(|folder| folder.uid());
        let groups = fs::read(format!("{folder}/cgroup")).unwrap_or_default();
        let user = user.or(owner);
        let job = jobs::of_groups(&String::from_utf8_lossy(&groups))
            .map(|job| Job { user: job.user.or(user), ..job });
        let process = Process { started, user, job, hits: 1, tls: phases::of(number) };
        if self.known.len() >= MOST {
            self.known.clear();
        }
        let before = self.known.insert(number, process.clone());
        let tls = process.tls;
        if tls.is_some() || before.is_some_and(|before| before.tls.is_some()) {
            self.news.push(News { process: number, tls });
        }
        process
    }

    /// Looks which processes with phases have ended.
    pub fn follow_ends(&mut self) {
        let news = &mut self.news;
        self.known.retain(|&process, known| {
            if known.tls.is_none() {
                return true;
            }
            let stat = fs::read(format!("/proc/{process}/stat")).unwrap_or_default();
            let lives = started(&stat) == Some(known.started);
            if !lives {
                news.push(News { process, tls: None });
            }
            lives
        });
    }
}

/// Field 22 of `/proc/PID/stat`. The name in parentheses may hold anything.
pub(crate) fn started(stat: &[u8]) -> Option<u64> {
    let end = stat.iter().rposition(|&byte| byte == b')')?;
    let fields = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    fields.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_hide_no_fields() {
        let fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        let rest = format!(" {}", fields.join(" "));
        for name in ["a", "a) 1 (b", "\u{ff}\n)"] {
            assert_eq!(started(format!("7 ({name}){rest}\n").as_bytes()), Some(22), "{name}");
        }
        for text in ["", "7", "7 (a)", "7 (a) S 1"] {
            assert_eq!(started(text.as_bytes()), None);
        }
    }

    #[test]
    fn the_own_process_has_its_user_and_stays() {
        let mut processes = Processes::default();
        let own = processes.find(std::process::id(), None);
        assert!(own.started > 0 && own.user.is_some());
        let again = processes.find(std::process::id(), Some(7));
        assert_eq!((again.started, again.user, again.job), (own.started, own.user, own.job));
        let gone = processes.find(u32::MAX, Some(5));
        assert_eq!((gone.user, gone.job, processes.gone), (Some(5), None, 1));
    }
}
