//! Names of the nodes of running processes.
//!
//! Owns when they are made: with the first events, and when there are new nodes; then the records
//! are read as a whole, so that this is not done again at once where it took long.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::{Duration, Instant};

use talea_model::{Gaps, NodeId, Signature};
use talea_run::load::Run;
use talea_run::mapped::is_file_of;
use talea_run::{Metadata, Resolver, RunDirectory, SiteTable, trace};

use crate::procedures::is_bracket;
use crate::sites::Places;

/// Identity of a process: its id, and its host.
pub(super) type Key = (u32, String);

/// Pauses between two readings are at least this many times as long as a reading.
const PAUSE: u32 = 10;

/// The name of a node.
#[derive(Debug)]
pub(super) struct NodeName {
    pub(super) signature: Signature,
    /// Procedure and place.
    pub(super) label: String,
    /// Procedure and line, which identify the ends of bursts, as in clusters of finished runs.
    pub(super) line: String,
    /// True if it begins or ends MPI.
    pub(super) is_bracket: bool,
}

/// Names of all nodes that were there at the last reading.
#[derive(Debug)]
pub(super) struct Names {
    directory: RunDirectory,
    /// Hosts whose processes have names; absent: all.
    host: Option<String>,
    resolver: Resolver,
    run: Option<Run>,
    /// For each process the nodes of its threads.
    nodes: HashMap<Key, Vec<Vec<NodeName>>>,
    /// End and length of the last reading.
    read: Option<(Instant, Duration)>,
}

impl Names {
    pub(super) fn new(directory: RunDirectory, host: Option<String>) -> Self {
        let resolver = Resolver::new();
        Self { directory, host, resolver, run: None, nodes: HashMap::new(), read: None }
    }

    /// True if as many nodes of each thread have names.
    pub(super) fn knows(&self, key: &Key, nodes: &[usize]) -> bool {
        let known = self.nodes.get(key).map_or(&[][..], Vec::as_slice);
        nodes.iter().enumerate().all(|(at, &count)| known.get(at).map_or(0, Vec::len) >= count)
    }

    /// Reads the records of these hosts, unless that was done a short while ago.
    pub(super) fn load(&mut self, hosts: &HashSet<&str>, gaps: &mut Gaps) {
        if self.read.is_none_or(|(end, length)| end.elapsed() >= length * PAUSE) {
            self.load_now(hosts, gaps);
        }
    }

    /// Reads the records: there will be no later time to do it.
    pub(super) fn load_now(&mut self, hosts: &HashSet<&str>, gaps: &mut Gaps) {
        let begin = Instant::now();
        let is_wanted = |path: &Path| hosts.iter().any(|host| is_file_of(path, host));
        let recording = match &self.host {
            Some(host) => trace::load_host(&self.directory, host).ok(),
            None => trace::load_of(&self.directory, &is_wanted).ok(),
        };
        let Some(recording) = recording else { return };
        let paths = recording.paths.iter().map(Vec::as_slice);
        let sites = SiteTable::resolve(&recording.modules, paths, &mut self.resolver);
        gaps.merge(sites.gaps.clone());
        let directory = self.directory.clone();
        let run = Run { directory, metadata: Metadata::default(), recording, sites };
        let places = Places::new(&run);
        let name = |signature: Signature| {
            let spec = run.recording.procedures.get(usize::from(signature.procedure.0));
            let is_bracket = spec.is_some_and(|spec| is_bracket(&spec.name));
            let [label, line] = [places.label(signature), places.line(signature)];
            NodeName { signature, label, line, is_bracket }
        };
        self.nodes = run
            .recording
            .processes
            .iter()
            .map(|process| {
                let threads = process.threads.iter();
                let nodes = threads.map(|thread| {
                    thread.log.nodes.iter().map(|node| name(node.signature)).collect()
                });
                ((process.pid, process.host.clone()), nodes.collect())
            })
            .collect();
        self.run = Some(run);
        self.read = Some((Instant::now(), begin.elapsed()));
    }

    /// The name of a node; absent where it is new.
    pub(super) fn node(&self, key: &Key, thread: usize, node: NodeId) -> Option<&NodeName> {
        self.nodes.get(key)?.get(thread)?.get(node.0 as usize)
    }

    /// The names of a thread's nodes.
    pub(super) fn of_thread(&self, key: &Key, thread: usize) -> impl Iterator<Item = &NodeName> {
        let threads = self.nodes.get(key).map_or(&[][..], Vec::as_slice);
        threads.get(thread).into_iter().flatten()
    }

    /// Where calls come together.
    pub(super) fn meeting(&self, signatures: &[Signature]) -> Option<String> {
        let paths: Vec<_> = signatures.iter().map(|one| one.path).collect();
        Places::new(self.run.as_ref()?).meeting(&paths)
    }
}
