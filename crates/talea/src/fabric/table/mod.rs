//! `talea fabric table`: the traffic of each link, from a recording of tiles or output of `perfquery`; for a run that of its ports.
//!
//! Owns the choice of routers and of the form: the table of the slides to the digit, shares for people, or JSON. Tiles are summed by
//! [`recording`], the job's own traffic is [`own`]'s. Follows Pedretti et al., "Using the Cray Gemini Performance Counters", 2013,
//! "Gathering Job Wide Information".

mod cables;
pub(crate) mod own;
mod print;
mod recording;

use std::io::{self, Write as _};
use std::path::PathBuf;

use serde_json::json;
use talea_fabric::gemini::Machine;
use talea_fabric::{Coordinate, RouterId};
use talea_model::{Gap, GapKind, Gaps};
use talea_report::network::{Picture, Source, View};

use super::network::{self, Given, Network};
use super::pictured::{self, Files, Said};
use super::{FabricError, of_run, print_json, say_gaps};
use crate::terminal::say;
use own::Own;
use recording::{Frame, Recording, recording};

/// Form of the printed table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Sums of counters, in the form of the slides.
    JobWide,
    /// Shares of capacity and time.
    Shares,
}

/// Options of `talea fabric table`.
#[derive(Debug)]
pub(crate) struct Options {
    /// A recording, or the folder of a run.
    pub(crate) of: PathBuf,
    pub(crate) network: Option<network::Options>,
    /// Earlier output of `perfquery`, of an InfiniBand network.
    pub(crate) since: Option<PathBuf>,
    pub(crate) form: Form,
    /// Every interval instead of the whole.
    pub(crate) each: bool,
    /// Routers by coordinate, in this order.
    pub(crate) routers: Vec<Coordinate>,
    /// The job's nodes.
    pub(crate) hosts: Vec<String>,
    /// The job's own messages.
    pub(crate) own: Option<own::Options>,
    pub(crate) pictures: Files,
    pub(crate) json: bool,
}

impl Options {
    /// True if an option is set that only recordings of tiles support.
    fn asks_tiles(&self) -> bool {
        let chosen = !self.routers.is_empty() || !self.hosts.is_empty();
        let shown = self.each || self.form == Form::Shares || self.pictures.wanted();
        self.own.is_some() || chosen || shown
    }
}

/// Prints the table.
pub(crate) fn table(options: &Options) -> Result<(), FabricError> {
    if options.of.is_dir() {
        if options.network.is_some() || options.asks_tiles() {
            return Err(FabricError::OfTiles { path: options.of.clone() });
        }
        return of_run::table(&options.of, options.json);
    }
    if let Some(network::Options { given: Given::InfiniBand(path), .. }) = &options.network {
        if options.asks_tiles() {
            return Err(FabricError::OfTiles { path: options.of.clone() });
        }
        return cables::table(&options.of, options.since.as_deref(), path, options.json);
    }
    // Gaps found before a failure explain it, and are printed with it.
    let mut gaps = Gaps::default();
    of_tiles(options, &mut gaps).inspect_err(|_| say_gaps(&gaps))
}

fn of_tiles(options: &Options, gaps: &mut Gaps) -> Result<(), FabricError> {
    let given = options.network.as_ref().ok_or(FabricError::NoNetwork)?;
    let network = Network::new(given, &[])?;
    gaps.merge(network.gaps.clone());
    let machine = machine(&network)?;
    let chosen = chosen(options, &network)?;
    let each = options.each || options.pictures.html.is_some();
    let mut recording = recording(&options.of, &machine, chosen.as_deref(), each, gaps)?;
    drop(machine);
    let own =
        options.own.as_ref().map(|own| Own::new(own, &network, &options.hosts)).transpose()?;
    if let Some(own) = &own {
        gaps.merge(own.gaps.clone());
    }
    recording.gaps.clone_from(gaps);
    let total = std::slice::from_ref(&recording.total);
    let shown = if options.each { &recording.frames[..] } else { total };
    let findings = print::findings(&network, &recording, (own.as_ref(), chosen.is_none()));
    if options.pictures.wanted() {
        draw(options, &network, &recording, own.as_ref(), &findings)?;
    }
    if options.json {
        let frame = |frame| print::json(&network, &recording, frame, own.as_ref());
        return print_json(&json!({
            "source": recording.source,
            "routing": own.as_ref().map(|own| own.ways),
            "frames": shown.iter().map(frame).collect::<Vec<_>>(),
            "findings": findings,
            "gaps": recording.gaps,
        }));
    }
    let mut out = io::stdout().lock();
    for frame in shown {
        print::frame(&mut out, &network, &recording, frame, (options.form, options.each))?;
    }
    if let Some(own) = &own {
        print::beside(&mut out, &network, &recording.total, own)?;
    }
    out.flush()?;
    drop(out);
    for finding in &findings {
        say(finding);
    }
    // Gaps have no place in the table of the slides.
    say_gaps(&recording.gaps);
    Ok(())
}

/// Maximum number of intervals on a page.
const MOST_VIEWS: usize = 64;

/// Pictures of the whole, and a page of each interval.
fn draw(
    options: &Options,
    network: &Network,
    recording: &Recording,
    own: Option<&Own>,
    findings: &[String],
) -> Result<(), FabricError> {
    let simulated = recording.source.contains("simulated");
    let source = if simulated { Source::Simulated } else { Source::Recorded };
    let view = |name: String, frame: &Frame, own: Option<&Own>| {
        let deviation = |row: &talea_fabric::gemini::Row| own?.beside(network, row).deviation;
        let links = pictured::counted(network, &frame.table, deviation);
        let most = links.iter().filter_map(|link| link.used).max_by(f64::total_cmp);
        let most = most.map(|used| ("most used".to_owned(), format!("{:.1} %", used * 100.0)));
        View { name, source, unit: "B", links, figures: most.into_iter().collect() }
    };
    let mut views = vec![view("whole".to_owned(), &recording.total, own)];
    let mut gaps = recording.gaps.clone();
    if recording.frames.len() > 1 {
        let since = |at| print::since(recording, at);
        let name =
            |frame: &Frame| format!("{:.3} s to {:.3} s", since(frame.begin), since(frame.end));
        let frames = recording.frames.iter().take(MOST_VIEWS);
        views.extend(frames.map(|frame| view(name(frame), frame, None)));
    }
    let left = recording.frames.len().saturating_sub(MOST_VIEWS) as u64;
    if left > 0 && options.pictures.html.is_some() {
        let detail =
            format!("intervals that are in the sums alone: a page shows the first {MOST_VIEWS}");
        gaps.note(Gap { kind: GapKind::MemoryBound, rank: None, detail, count: left });
    }
    let (routing, _) = network.routing()?;
    let seconds = recording.total.table.interval.seconds();
    let said = Said {
        title: "links of a network".to_owned(),
        facts: vec![recording.source.clone(), format!("{seconds:.3} s"), pictured::facts(network)],
        findings: findings.to_vec(),
        gaps: &gaps,
    };
    let drawn = pictured::drawn(network, Some(&*routing), said, views);
    options.pictures.write(&drawn, &Picture::default())
}

/// The network as a machine with tiles.
fn machine(network: &Network) -> Result<Machine, FabricError> {
    let (chip, tiles) = network.tiles.clone().ok_or(FabricError::Tiles)?;
    Ok(Machine {
        chip,
        fabric: network.fabric.clone(),
        torus: network.torus().cloned(),
        tiles,
        gaps: Gaps::default(),
    })
}

/// The requested routers, by coordinate or by the job's nodes; `None` for all.
fn chosen(options: &Options, network: &Network) -> Result<Option<Vec<RouterId>>, FabricError> {
    let mut routers = Vec::new();
    for &at in &options.routers {
        let router = network.fabric.router_at(at).ok_or_else(|| {
            let name = at.to_string();
            talea_fabric::FabricError::Unknown { what: "router", name }
        })?;
        if routers.contains(&router) {
            let (what, name) = ("router", at.to_string());
            return Err(talea_fabric::FabricError::Twice { what, name }.into());
        }
        routers.push(router);
    }
    if routers.is_empty() && !options.hosts.is_empty() {
        for host in network.hosts_named(&options.hosts)? {
            let router = network.fabric.hosts()[host.at()].router;
            if !routers.contains(&router) {
                routers.push(router);
            }
        }
    }
    Ok(Some(routers).filter(|routers| !routers.is_empty()))
}
