//! Counters of users' own: a command that writes numbers to its standard output.
//!
//! Owns the process and its pipe. Reading never waits; a plug-in that ends or talks nonsense is a
//! gap, and it is ended (with whatever it started) when the source is dropped. Should Talea itself
//! be killed, its standard input closes and its next write fails.
//!
//! # Protocol, version 1
//! Lines of at most 4096 bytes of UTF-8; empty ones and those that begin with `#` mean nothing.
//! First a hello and what there is:
//!
//! ```text
//! talea-plugin 1
//! counter watts gauge W package:0-1
//! counter gpu_ops growing - device:gpu0 device:gpu1
//! end
//! ```
//!
//! `gauge`: its values are what is now; `growing`: they are totals since the plug-in began. The
//! unit is `-` for plain counts. Places are `pu:LIST`, `numa:LIST`, `package:LIST` with the
//! operating system's numbers (`0-3,8`), `device:NAME`, or `machine`, all of one sort for a
//! counter. Then, as often as the plug-in likes and at least once a reading, a set of values and
//! `end`:
//!
//! ```text
//! watts package:0 51.5
//! gpu_ops device:gpu0 120034
//! end
//! ```
//!
//! A reading takes the last whole set. A total without a new set has no growth; a gauge keeps its
//! value until the next set.

mod protocol;

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process_group};
use talea_model::{GapKind, Gaps, Nanos};
use talea_topology::Place;

use crate::source::{CounterSource, Offer, OpenError, Opened, Target, gap};
use crate::sources::now;
use protocol::{HELLO, Stage, Talk};

/// Most bytes that one reading takes from the pipe, so that a plug-in that never stops does not
/// stop us.
const MOST: usize = 1 << 20;

/// Why a plug-in is not used.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// It could not be started.
    #[error("plug-in `{name}` cannot be started: {source}")]
    Start {
        /// First word of the command.
        name: String,
        /// Of the system.
        source: std::io::Error,
    },
    /// No command at all.
    #[error("expected the command of a plug-in, found nothing")]
    Empty,
    /// It did not say what counters it has.
    #[error("plug-in `{name}`: expected `{HELLO}`, counters and `end`{within}, found {found}")]
    Hello {
        /// First word of the command.
        name: String,
        /// How long it had.
        within: String,
        /// Its answer instead.
        found: String,
    },
}

/// A running plug-in.
#[derive(Debug)]
pub struct Plugin {
    name: String,
    child: Child,
    talk: Talk,
    ended: bool,
    /// Whole sets when the last reading was made.
    sets: u64,
    wanted: Vec<Wanted>,
}

#[derive(Debug)]
struct Wanted {
    name: String,
    places: Vec<Place>,
    growing: bool,
    last: Vec<f64>,
}

impl Plugin {
    /// Starts a command (program and arguments) and waits for what counters it has, at most for
    /// `patience`.
    pub fn start(command: &[String], patience: Nanos) -> Result<Self, PluginError> {
        let (program, arguments) = command.split_first().ok_or(PluginError::Empty)?;
        let failed = |source| PluginError::Start { name: program.clone(), source };
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // A group of its own, which is ended as one.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let mut plugin = Self {
            name: format!("plug-in {program}"),
            child,
            talk: Talk::default(),
            ended: false,
            sets: 0,
            wanted: Vec::new(),
        };
        if let Some(out) = &plugin.child.stdout {
            let flags = fcntl_getfl(out).map_err(|error| failed(error.into()))?;
            fcntl_setfl(out, flags | OFlags::NONBLOCK).map_err(|error| failed(error.into()))?;
        }
        plugin.await_declarations(patience)?;
        Ok(plugin)
    }

    fn await_declarations(&mut self, patience: Nanos) -> Result<(), PluginError> {
        let until = now() + patience;
        while matches!(self.talk.stage, Stage::Hello | Stage::Declaring) {
            let left = until - now();
            if left == Nanos(0) || self.ended {
                break;
            }
            if let Some(out) = &self.child.stdout {
                let wait = Timespec {
                    tv_sec: (left.0 / 1_000_000_000) as i64,
                    tv_nsec: (left.0 % 1_000_000_000) as i64,
                };
                // Interrupted or not: what is there is taken, and the time that is left is looked
                // at.
                let _ = poll(&mut [PollFd::new(out, PollFlags::IN)], Some(&wait));
            }
            self.listen();
        }
        if self.talk.stage == Stage::Giving {
            return Ok(());
        }
        let found = match &self.talk.first_bad {
            Some(line) => format!("`{line}`"),
            None if self.ended => "its end".to_owned(),
            None => "no end of them".to_owned(),
        };
        let name = self.name.trim_start_matches("plug-in ").to_owned();
        Err(PluginError::Hello { name, within: format!(" within {patience}"), found })
    }

    /// Takes what is in the pipe.
    fn listen(&mut self) {
        let Some(out) = &mut self.child.stdout else { return };
        let mut bytes = [0; 16 << 10];
        let mut taken = 0;
        while taken < MOST {
            match out.read(&mut bytes) {
                Ok(0) => self.ended = true,
                Ok(count) => {
                    self.talk.hear(&bytes[..count]);
                    taken += count;
                    continue;
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => self.ended |= error.kind() != std::io::ErrorKind::WouldBlock,
            }
            break;
        }
    }

    fn note(&self, gaps: &mut Gaps) {
        if self.ended {
            gaps.note(gap(GapKind::EndedEarly, format!("{} ended", self.name)));
        }
        if let Some(line) = &self.talk.first_bad {
            let detail = format!("{} wrote lines of no sense, the first: `{line}`", self.name);
            gaps.note(gap(GapKind::Damaged, detail));
        }
    }

    /// How many lines were no lines of the protocol.
    pub fn bad_lines(&self) -> u64 {
        self.talk.bad
    }
}

impl CounterSource for Plugin {
    fn name(&self) -> &str {
        &self.name
    }

    fn offers(&self, counter: &str) -> Offer {
        let name = counter.strip_prefix("plugin:").unwrap_or(counter);
        match self.talk.declared.get(name) {
            Some(declared) => Offer::Yes(declared.offered.clone()),
            None => Offer::No,
        }
    }

    fn known(&self) -> Vec<String> {
        self.talk.declared.keys().map(|name| format!("plugin:{name}")).collect()
    }

    fn open(
        &mut self,
        counters: &[String],
        target: &Target,
        gaps: &mut Gaps,
    ) -> Result<Vec<Opened>, OpenError> {
        if matches!(target, Target::Processes { .. }) && !counters.is_empty() {
            let detail = format!("{} knows no processes: it counts what it counts", self.name);
            gaps.note(gap(GapKind::Estimated, detail));
        }
        let wanted = |counter: &String| {
            let name = counter.strip_prefix("plugin:").unwrap_or(counter).to_owned();
            let declared = self.talk.declared.get(&name);
            let places = declared.map(|d| d.places.clone()).unwrap_or_default();
            let growing = declared.is_some_and(|d| d.offered.growing);
            Wanted { name, last: vec![f64::NAN; places.len()], places, growing }
        };
        self.wanted = counters.iter().map(wanted).collect();
        let opened = self.wanted.iter().map(|w| Opened { places: w.places.clone() }).collect();
        // Growth begins after the data that the pipe holds now.
        self.listen();
        self.sets = self.talk.sets.saturating_sub(1);
        let mut numbers: Vec<Vec<f64>> =
            self.wanted.iter().map(|wanted| vec![f64::NAN; wanted.places.len()]).collect();
        self.take(&mut numbers);
        Ok(opened)
    }

    fn read(&mut self, _: Nanos, numbers: &mut [Vec<f64>], gaps: &mut Gaps) {
        self.listen();
        self.take(numbers);
        self.note(gaps);
    }
}

impl Plugin {
    fn take(&mut self, numbers: &mut [Vec<f64>]) {
        let new = self.talk.sets > self.sets;
        self.sets = self.talk.sets;
        for (wanted, numbers) in self.wanted.iter_mut().zip(numbers) {
            let places = wanted.places.iter().zip(&mut wanted.last).zip(numbers);
            for ((place, last), number) in places {
                // The plug-in ended: its last words are not what is now.
                let told = (!self.ended || new)
                    .then(|| self.talk.set.get(&(wanted.name.clone(), place.clone())))
                    .flatten();
                let value = told.copied().unwrap_or(f64::NAN);
                *number = match wanted.growing {
                    false => value,
                    true if !new => f64::NAN,
                    true => {
                        let before = std::mem::replace(last, value);
                        // A total that fell is no growth.
                        Some(value - before).filter(|grown| *grown >= 0.0).unwrap_or(f64::NAN)
                    }
                };
            }
        }
    }
}

impl Drop for Plugin {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        if let Some(group) = Pid::from_raw(self.child.id() as i32) {
            // Not waited for yet, so that its number is still its own.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Vec<String> {
        ["sh", "-c", script].map(str::to_owned).to_vec()
    }

    const PATIENCE: Nanos = Nanos(20_000_000_000);
    const DECLARE: &str = "echo talea-plugin 1; echo counter n growing - pu:0-1; echo counter g gauge W machine; echo end;";

    /// Reads until the plug-in has written as many sets as wanted, or ended.
    fn read_until(plugin: &mut Plugin, sets: u64, gaps: &mut Gaps) -> Vec<Vec<f64>> {
        loop {
            if let Some(out) = &plugin.child.stdout {
                let _ = poll(&mut [PollFd::new(out, PollFlags::IN)], None);
            }
            plugin.listen();
            if plugin.talk.sets >= sets || plugin.ended {
                let mut numbers = vec![vec![0.0; 2], vec![0.0]];
                plugin.read(Nanos(0), &mut numbers, gaps);
                return numbers;
            }
        }
    }

    #[test]
    fn a_plugin_counts_until_it_ends() {
        // It gives a set each time that we let it.
        let script = format!(
            "{DECLARE} read x; echo n pu:0 5; echo n pu:1 6; echo g machine 1.5; echo end; read x; echo n pu:0 9; \
             echo what; echo g machine 2; echo end; read x"
        );
        let mut plugin = Plugin::start(&shell(&script), PATIENCE).unwrap();
        let mut gaps = Gaps::default();
        assert_eq!(plugin.known(), ["plugin:g", "plugin:n"]);
        let counters = ["plugin:n", "g"].map(str::to_owned);
        let opened = plugin.open(&counters, &Target::Machine, &mut gaps).unwrap();
        assert_eq!(opened[0].places, [Place::Pu(0), Place::Pu(1)]);
        let go = |plugin: &mut Plugin| {
            use std::io::Write;
            plugin.child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
        };
        go(&mut plugin);
        let first = read_until(&mut plugin, 1, &mut gaps);
        assert!(first[0][0].is_nan() && first[1] == [1.5], "{first:?}");
        assert!(gaps.is_empty());
        go(&mut plugin);
        let second = read_until(&mut plugin, 2, &mut gaps);
        assert_eq!((second[0][0], second[0][1].is_nan(), second[1][0]), (4.0, true, 2.0));
        assert_eq!(plugin.bad_lines(), 1);
        go(&mut plugin);
        let last = read_until(&mut plugin, 3, &mut gaps);
        assert!(last.iter().flatten().all(|number| number.is_nan()), "{last:?}");
        let details: Vec<&str> = gaps.iter().map(|gap| gap.detail.as_str()).collect();
        let expected =
            ["plug-in sh ended", "plug-in sh wrote lines of no sense, the first: `what`"];
        assert_eq!(details, expected);
    }

    #[test]
    fn strangers_are_refused() {
        let error = |script| Plugin::start(&shell(script), PATIENCE).unwrap_err().to_string();
        let expected = "plug-in `sh`: expected `talea-plugin 1`, counters and `end` within 20.0 s, found `hello`";
        assert_eq!(error("echo hello; read x"), expected);
        assert!(error("echo talea-plugin 1").ends_with("found its end"));
        assert!(matches!(Plugin::start(&[], PATIENCE), Err(PluginError::Empty)));
        let none = Plugin::start(&["/nowhere/at/all".to_owned()], PATIENCE);
        assert!(matches!(none, Err(PluginError::Start { .. })));
    }

    #[test]
    fn it_ends_with_us() {
        let plugin = Plugin::start(&shell(&format!("{DECLARE} cat >/dev/null & wait")), PATIENCE);
        let plugin = plugin.unwrap();
        let pid = Pid::from_raw(plugin.child.id() as i32).unwrap();
        drop(plugin);
        assert!(rustix::process::test_kill_process(pid).is_err());
    }
}
