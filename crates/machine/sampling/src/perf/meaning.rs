//! Meaning of a counter's name on this machine, and whether the kernel permits the count.
//!
//! Owns the order in which names are tried (generic events, PMUs, tracepoints) and the one event
//! that is opened as a trial, with what is given up so that the kernel takes it. Refuses to open
//! what is then read; see [`super::open`].

use super::devices::{self, DeviceEvent};
use super::groups::Slot;
use super::names;
use super::refusals::{Refusal, refusal, sentence};
use crate::cpus;
use crate::root::Root;
use crate::sys::perf::{self, Attributes, Inherit, Whose};

/// Meaning of a counter's name.
pub(crate) fn event(root: &Root, name: &str) -> Option<Result<DeviceEvent, String>> {
    if let Some((_, events)) = BYTES.iter().find(|(known, _)| *known == name) {
        let found = events.iter().find_map(|event| devices::event(root, event)?.ok());
        let reason = || "no memory controller here has counters that the kernel shows".to_owned();
        return Some(found.ok_or_else(reason).map(in_bytes));
    }
    let everywhere = |attributes, unit: &str| DeviceEvent {
        instances: vec![(attributes, cpus::online(root))],
        shared: false,
        scale: 1.0,
        unit: unit.to_owned(),
    };
    if let Some(event) = names::generic(name) {
        return Some(Ok(everywhere(event.attributes, event.unit)));
    }
    if let Some(event) = devices::event(root, name) {
        return Some(event);
    }
    let (stem, modifiers) = names::modifiers(name);
    let (stem, modifiers) = match devices::tracepoint(root, name) {
        Some(_) => (name, names::Modifiers::default()),
        None => (stem, modifiers),
    };
    let mut attributes = devices::tracepoint(root, stem)?;
    modifiers.apply(&mut attributes);
    Some(Ok(everywhere(attributes, "")))
}

/// Talea's names of the bytes that memory controllers move, and what PMUs call it: servers first,
/// then desktops.
const BYTES: [(&str, [&str; 3]); 2] = [
    (
        "imc:read_bytes",
        [
            "uncore_imc/cas_count_read/",
            "uncore_imc_free_running/data_read/",
            "uncore_imc/data_reads/",
        ],
    ),
    (
        "imc:write_bytes",
        [
            "uncore_imc/cas_count_write/",
            "uncore_imc_free_running/data_write/",
            "uncore_imc/data_writes/",
        ],
    ),
];

/// Those of Talea's names that mean something here.
pub(super) fn known(root: &Root) -> impl Iterator<Item = String> {
    let here = |name: &&str| matches!(event(root, name), Some(Ok(_)));
    BYTES.iter().map(|(name, _)| *name).filter(here).map(str::to_owned)
}

/// The kernel scales these to MiB; without a scale a count is a line of 64 bytes.
fn in_bytes(event: DeviceEvent) -> DeviceEvent {
    let scale = if event.unit == "MiB" { event.scale * 1024.0 * 1024.0 } else { 64.0 };
    DeviceEvent { scale, unit: "B".to_owned(), ..event }
}

/// Threads that are counted.
#[derive(Debug)]
pub(crate) enum Threads {
    /// The caller's: what a probe tries that must do without a target.
    Own,
    /// All that run.
    All,
    /// These, with what they create; with their processes' children.
    These(Vec<u32>, bool),
}

/// Tries to open the event once, and gives the attributes that the kernel takes; or why it takes
/// none.
pub(crate) fn probe(
    root: &Root,
    name: &str,
    event: &DeviceEvent,
    threads: &Threads,
) -> Result<Tried, String> {
    let Some((attributes, pus)) = event.instances.first() else {
        return Err(format!("`{name}` has no PMU"));
    };
    let pu = pus.first().map(|pu| pu as u32);
    let whose = match threads {
        _ if event.shared => Whose { thread: None, pu },
        Threads::All => Whose { thread: None, pu },
        // Thread 0 is the calling thread.
        Threads::Own => Whose { thread: Some(0), pu: None },
        Threads::These(threads, _) => Whose { thread: threads.first().copied(), pu },
    };
    let inherit = match threads {
        Threads::These(_, true) if !event.shared => Inherit::All,
        Threads::These(_, false) if !event.shared => Inherit::Threads,
        _ => Inherit::Nothing,
    };
    let mut tried = Tried { user_only: false, inherit };
    let mut attributes = Attributes { inherit, ..*attributes };
    // At most: as asked, without the kernel, without inheritance.
    for _ in 0..3 {
        let Err(error) = perf::open(&attributes, whose, None) else { return Ok(tried) };
        match refusal(&error) {
            // Users may count what their own programs do in user mode when the kernel is out of
            // bounds.
            Refusal::NotAllowed if !attributes.without.kernel && !event.shared => {
                tried.user_only = true;
            }
            // Kernels before 5.13 cannot tell threads from children.
            Refusal::Invalid if attributes.inherit == Inherit::Threads => {
                tried.inherit = Inherit::Nothing;
            }
            // The thread ended meanwhile: nothing is wrong with the event.
            Refusal::Gone => return Ok(tried),
            _ => return Err(sentence(root, name, &error)),
        }
        tried.apply(&mut attributes);
    }
    Err(format!("the kernel refuses `{name}`"))
}

/// Property that had to be given up so that the kernel accepts an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tried {
    pub(crate) user_only: bool,
    pub(crate) inherit: Inherit,
}

impl Tried {
    pub(crate) fn apply(self, attributes: &mut Attributes) {
        attributes.inherit = self.inherit;
        if self.user_only {
            (attributes.without.kernel, attributes.without.hypervisor) = (true, true);
        }
    }
}

/// On machines with several sorts of cores a generic event must name the PMU of the PU, in the
/// upper half of its number.
pub(super) fn of_this_pu(
    root: &Root,
    pu: u32,
    mut wanted: Vec<(Attributes, Slot)>,
) -> Vec<(Attributes, Slot)> {
    const SORTS: [&str; 3] = ["cpu_core", "cpu_atom", "cpu_lowpower"];
    let of = |pmu: &&str| {
        let folder = format!("sys/bus/event_source/devices/{pmu}");
        let pus = cpus::list(root, &format!("{folder}/cpus"))?;
        if pus.contains(pu as usize) { root.number(&format!("{folder}/type")) } else { None }
    };
    if let Some(kind) = SORTS.iter().find_map(of) {
        for (attributes, _) in &mut wanted {
            if matches!(attributes.kind, 0 | 3) {
                attributes.config[0] |= kind << 32;
            }
        }
    }
    wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_memory_controllers() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        let refused = event(&root, "imc:read_bytes").unwrap();
        assert!(refused.unwrap_err().starts_with("no memory controller"));
        let base = "sys/bus/event_source/devices/uncore_imc_0";
        for (file, text) in [
            ("type", "13"),
            ("cpumask", "0"),
            ("format/event", "config:0-7"),
            ("events/cas_count_read", "event=4"),
            ("events/cas_count_read.scale", "6.103515625e-5"),
            ("events/cas_count_read.unit", "MiB"),
        ] {
            let path = root.path(&format!("{base}/{file}"));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let event = event(&root, "imc:read_bytes").unwrap().unwrap();
        assert!(event.shared && (event.scale - 64.0).abs() < 1e-9 && event.unit == "B");
    }
}
