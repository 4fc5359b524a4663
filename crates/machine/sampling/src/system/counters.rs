//! The counters that stand beside the clock of each core.
//!
//! Owns what their names mean for a core, and opening them: free running, never set back, and not
//! pinned, so that the kernel lets them take turns with those of others. It refuses counters that
//! are of a whole package, as no core could say whose they are.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;

use talea_model::shares::Counter;
use talea_model::{GapKind, Gaps};
use talea_topology::CpuSet;

use super::OpenError;
use super::rates::MOST_COUNTERS;
use crate::perf::devices::DeviceEvent;
use crate::perf::meaning::{self, Threads};
use crate::perf::names;
use crate::root::Root;
use crate::source::gap;
use crate::sys::clock;
use crate::sys::perf::{self, Attributes, Whose};

/// Where a PMU is: how fast, and how much goes to memory. Software events tell of the rest. Rules
/// that are built in need no others.
pub const HARDWARE: [&str; 3] = ["cycles", "instructions", "cache-misses"];
/// Those of the kernel.
pub const SOFTWARE: [&str; 3] = ["page-faults", "context-switches", "cpu-migrations"];

/// Names of the counters that say something on this machine, for
/// [`Options::counters`](super::Options::counters): of the kernel in any case; of hardware if the
/// machine shows any to this process.
pub fn default_counters() -> Vec<String> {
    let root = Root::machine();
    let hardware = HARDWARE.iter().filter(|name| find(&root, name).is_ok());
    hardware.chain(&SOFTWARE).map(|&name| name.to_owned()).collect()
}

/// Mistakes in the names of requested counters, whatever this machine has: misspelt, of a whole
/// package, or too many. A known counter that cannot be counted here is a gap when a sampler is
/// opened.
///
/// # Errors
/// Names the first such counter.
pub fn check_counters(names: &[String]) -> Result<(), OpenError> {
    check_names(&Root::machine(), names)
}

fn check_names(root: &Root, names: &[String]) -> Result<(), OpenError> {
    let different: BTreeSet<&str> = names.iter().map(|asked| named(asked).0).collect();
    if different.len() > MOST_COUNTERS {
        return Err(OpenError::Counters { found: different.len(), most: MOST_COUNTERS });
    }
    for asked in names {
        let name = named(asked).1;
        let refused = |why: &'static str| Err(OpenError::Counter { name: name.to_owned(), why });
        match meaning::event(root, name) {
            // The kernel may keep the list of tracepoints from this process.
            None if names::modifiers(name).0.contains(':') => {}
            None => return refused(UNKNOWN),
            Some(Ok(event)) if !is_of_a_core(&event) => return refused(PACKAGE),
            Some(_) => {}
        }
    }
    Ok(())
}

fn is_of_a_core(event: &DeviceEvent) -> bool {
    !event.shared && (event.scale - 1.0).abs() <= f64::EPSILON
}

const UNKNOWN: &str = "is not known: `talea topo --counters` and `perf list` show names";
const PACKAGE: &str = "is of a whole package or another device, expected one of a core";

/// Which counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kinds {
    /// Any.
    All,
    /// Those that always run.
    Software,
}

/// A counter and what it is on which cores.
#[derive(Clone, Debug)]
struct Wanted {
    counter: Counter,
    instances: Vec<(Attributes, CpuSet)>,
}

/// Events that are counted on each core.
#[derive(Clone, Debug, Default)]
pub(super) struct Counters {
    wanted: Vec<Wanted>,
}

/// Name and event of `NAME=EVENT`, where the kernel may know the event by its number only; else one
/// is the other.
fn named(asked: &str) -> (&str, &str) {
    match asked.split_once('=') {
        Some((name, event)) if !name.is_empty() && !name.contains('/') && !event.is_empty() => {
            (name, event)
        }
        _ => (asked, asked),
    }
}

fn find(root: &Root, asked: &str) -> Result<Wanted, String> {
    let (own, name) = named(asked);
    let refused = |what: &str| Err(format!("counter `{name}` {what}"));
    let Some(event) = meaning::event(root, name) else {
        return refused(UNKNOWN);
    };
    let event = event?;
    if !is_of_a_core(&event) {
        return refused(PACKAGE);
    }
    let tried = meaning::probe(root, name, &event, &Threads::All)?;
    let mut instances = event.instances;
    for (attributes, _) in &mut instances {
        tried.apply(attributes);
    }
    let unit = if event.unit.is_empty() { "1".to_owned() } else { event.unit };
    Ok(Wanted { counter: Counter { name: own.to_owned(), unit }, instances })
}

impl Counters {
    /// Those of these names that can be counted here; what cannot is a gap.
    pub(super) fn find(root: &Root, names: &[String], kinds: Kinds, gaps: &mut Gaps) -> Self {
        let mut wanted: Vec<Wanted> = Vec::new();
        let mut note = |detail: String| gaps.note(gap(GapKind::Unsupported, detail));
        for name in names {
            if wanted.iter().any(|known| known.counter.name == named(name).0) {
                continue;
            }
            if wanted.len() == MOST_COUNTERS {
                note(format!("counter `{name}` is left out: {MOST_COUNTERS} are read at samples"));
                continue;
            }
            match find(root, name) {
                Ok(found) if kinds == Kinds::Software && !found.is_software() => note(format!(
                    "counter `{name}` is read at samples with BPF only: in the group of a core's clock it would stop that when others \
                     use the hardware"
                )),
                Ok(found) => wanted.push(found),
                Err(detail) => note(detail),
            }
        }
        Self { wanted }
    }

    /// How many.
    pub(super) fn len(&self) -> usize {
        self.wanted.len()
    }

    /// Their names.
    pub(super) fn names(&self) -> Vec<Counter> {
        self.wanted.iter().map(|wanted| wanted.counter.clone()).collect()
    }

    /// Opens those that a core has, in their order: in the group of `leader` if there is one, else
    /// each by itself and running.
    pub(super) fn open(&self, core: u32, leader: Option<&File>) -> Vec<io::Result<File>> {
        let whose = Whose { thread: None, pu: Some(core) };
        let open = |wanted: &Wanted| {
            let instance = wanted.instances.iter().find(|(_, pus)| pus.contains(core as usize));
            let Some((attributes, _)) = instance else {
                return Err(io::Error::from(io::ErrorKind::NotFound));
            };
            if let Some(leader) = leader {
                return clock::open_beside(leader, attributes, whose);
            }
            let event = perf::open(attributes, whose, None)?;
            perf::start(&event)?;
            Ok(event)
        };
        self.wanted.iter().map(open).collect()
    }
}

impl Wanted {
    fn is_software(&self) -> bool {
        self.instances.iter().all(|(attributes, _)| names::is_software(attributes.kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_have_names_of_ones_own() {
        assert_eq!(named("flops=r0f03"), ("flops", "r0f03"));
        assert_eq!(
            named("cpu/event=1,umask=2/u"),
            ("cpu/event=1,umask=2/u", "cpu/event=1,umask=2/u")
        );
        assert_eq!((named("=x"), named("x=")), (("=x", "=x"), ("x=", "x=")));
        let mut gaps = Gaps::default();
        let names = ["faults=page-faults", "faults=context-switches"].map(str::to_owned);
        let counters = Counters::find(&Root::machine(), &names, Kinds::All, &mut gaps);
        if counters.len() == 0 {
            println!("skipped: {gaps:?}");
            return;
        }
        assert_eq!(counters.names(), [Counter { name: "faults".to_owned(), unit: "1".to_owned() }]);
    }

    #[test]
    fn names_that_are_none_are_refused_at_once() {
        let check = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            check_names(&Root::machine(), &names).map_err(|error| error.to_string())
        };
        // Hardware and PMUs that are not here are no mistake of who asks.
        let known = ["cycles", "flops=r0f03", "page-faults:u", "no_pmu/event=1/", "sched:nothing"];
        assert_eq!(check(&known), Ok(()));
        assert_eq!(check(&["page-faults"; 20]), Ok(()));
        let refused = check(&["cycles", "cyclse"]).unwrap_err();
        assert!(refused.starts_with("counter `cyclse` is not known: `talea topo"), "{refused}");
        assert!(check(&["mine=nonsense"]).unwrap_err().contains("`nonsense` is not known"));
        let many: Vec<String> = (0..9).map(|n| format!("c{n}=page-faults")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(check(&many).unwrap_err().contains("9 counters, expected at most 8"));
    }

    #[test]
    fn names_that_cannot_be_counted_are_said() {
        let names: Vec<String> =
            ["page-faults", "nonsense", "page-faults", "imc:read_bytes"].map(str::to_owned).into();
        let mut gaps = Gaps::default();
        let counters = Counters::find(&Root::machine(), &names, Kinds::All, &mut gaps);
        let texts: Vec<&str> = gaps.iter().map(|gap| gap.detail.as_str()).collect();
        assert!(texts.iter().any(|text| text.starts_with("counter `nonsense` is not known")));
        if counters.len() == 0 {
            println!("skipped: {texts:?}");
            return;
        }
        assert_eq!(
            counters.names(),
            [Counter { name: "page-faults".to_owned(), unit: "1".to_owned() }]
        );
        assert_eq!(texts.len(), 2, "{texts:?}");
        assert!(default_counters().contains(&"page-faults".to_owned()));
    }
}
