//! Attacks on real servers, agents and stores of this machine, as one table: `cargo xtask attack
//! [--fast]`.
//!
//! Owns the table: an attack, its figures before the repairs (constants, of version 0.1.0 of
//! 2026-11-23, where somebody measured or the code of then says it), its figures in this run, and
//! the limit, which decides the exit code. Everything runs on loopback and in one folder. `--fast`
//! leaves out attacks that take longer than some seconds; the tests of the crates make these too.

mod configurations;
mod connections;
mod files;
mod hanging;
#[path = "../../../crates/show/talea/tests/fuse/mod.rs"]
mod hanging_files;
mod implausible;
mod kills;
mod names;
mod queries;
mod store;

use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use talea_model::shares::{Activity, Batch, BatchId, Job, Sampler, Share};
use talea_model::{Module, Nanos};

use crate::bench::{built, heading, scratch};
use crate::site::{self, Site};

const SECOND: u64 = 1_000_000_000;
/// Maximum time of the whole command.
const LONGEST: Duration = Duration::from_mins(15);

/// How much of an attack is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Fast,
    Full,
}

/// The result of an attack.
enum Outcome {
    /// Figures, all within the limit.
    Held(String),
    /// Figures, one of them beyond the limit.
    Broken(String),
    /// The reason why this machine cannot make it.
    Skipped(String),
}

impl Outcome {
    fn of(holds: bool, figures: String) -> Self {
        if holds { Self::Held(figures) } else { Self::Broken(figures) }
    }
}

/// One row of the table.
struct Attack {
    name: &'static str,
    before: &'static str,
    limit: &'static str,
    extent: Extent,
    make: fn(&Site, Extent) -> Result<Outcome, String>,
}

fn all() -> impl Iterator<Item = &'static Attack> {
    let groups: [&[Attack]; 9] = [
        store::ATTACKS,
        kills::ATTACKS,
        implausible::ATTACKS,
        queries::ATTACKS,
        hanging::ATTACKS,
        files::ATTACKS,
        connections::ATTACKS,
        names::ATTACKS,
        configurations::ATTACKS,
    ];
    groups.into_iter().flatten()
}

/// Makes the attacks and prints the table; false if a limit is broken.
pub(crate) fn run(extent: Extent) -> Result<bool, String> {
    let talea = built("talea")?;
    end_by_signals()?;
    // The most common mask, whatever the caller has.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    heading("Attacks on server, agents and stores");
    println!("| attack | before | now | limit |\n|---|---|---|---|");
    let (mut broken, mut skipped) = (Vec::new(), Vec::new());
    for attack in all().filter(|attack| extent == Extent::Full || attack.extent == Extent::Fast) {
        let site = Site::new(&talea, scratch("attack")?)?;
        let outcome = (attack.make)(&site, extent);
        let figures = match outcome {
            Ok(Outcome::Held(figures)) => figures,
            Ok(Outcome::Broken(figures)) => {
                broken.push(attack.name);
                format!("**{figures}**")
            }
            Ok(Outcome::Skipped(why)) => {
                skipped.push(attack.name);
                format!("skipped: {why}")
            }
            Err(why) => {
                broken.push(attack.name);
                format!("**not made: {why}**")
            }
        };
        let figures = figures.replace('\n', " ").replace('|', "\\|");
        println!("| {} | {} | {figures} | {} |", attack.name, attack.before, attack.limit);
    }
    println!("\nBefore: version 0.1.0 of 2026-11-23, before the repairs. Now: this run.");
    for name in &broken {
        eprintln!("beyond its limit: {name}");
    }
    // As the tests: nothing is skipped in CI.
    let is_ci = std::env::var_os("CI").is_some();
    for name in &skipped {
        eprintln!("skipped{}: {name}", if is_ci { " in CI" } else { "" });
    }
    Ok(broken.is_empty() && (skipped.is_empty() || !is_ci))
}

/// Ends all processes at a signal, and when the time is over.
fn end_by_signals() -> Result<(), String> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(|error| error.to_string())?;
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            end(128 + signal);
        }
    });
    std::thread::spawn(move || {
        std::thread::sleep(LONGEST);
        eprintln!("attacks have not ended after {LONGEST:?}");
        end(1);
    });
    Ok(())
}

fn end(code: i32) -> ! {
    site::clean();
    std::process::exit(code)
}

/// A batch of ten seconds of a node of two cores, as number `number` after `start`: one job of user
/// 1000.
fn batch(node: &str, number: u64, start: Nanos) -> Batch {
    let module = |path: &str| Module { path: path.to_owned(), build_id: "ab".to_owned() };
    let share = |core: u32| Share {
        core,
        activity: Activity::User,
        job: Some(0),
        user: Some(1000),
        executable: Some(0),
        library: Some(1),
        address: Some(0x1000),
        phase: None,
        samples: 10,
    };
    let begin = start + Nanos(number * 10 * SECOND);
    Batch {
        begin,
        end: begin + Nanos(10 * SECOND),
        period: Nanos(SECOND),
        cores: 2,
        sampler: Sampler::Bpf,
        jobs: vec![Job { id: "4711".to_owned(), user: Some(1000) }],
        modules: vec![module("/opt/app/bin/app"), module("/opt/app/lib/libapp.so")],
        shares: (0..2).map(share).collect(),
        ..Batch::empty(BatchId { node: node.to_owned(), started: 1, number })
    }
}

/// Samples of [`batch`].
const SAMPLES: u64 = 20;

/// Seconds of figures.
fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}

/// The median and the maximum of times.
fn median(times: &mut [Duration]) -> (Duration, Duration) {
    times.sort();
    let last = times.last().copied().unwrap_or_default();
    (times.get(times.len() / 2).copied().unwrap_or_default(), last)
}
