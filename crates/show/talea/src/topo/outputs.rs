//! Files and standard output: pictures, pages, JSON, XML, text.

use std::io::Write as _;
use std::path::Path;

use serde::Serialize;
use talea_report::topo_page::{PageRecording, page};
use talea_run::directory::known_as;
use talea_topo::recording::to_paje;
use talea_topo::result;
use talea_topo::summary::{self, about, findings, gap_sentences};
use talea_topo::{Machine, Recording};
use talea_topology::layout::Options as Room;
use talea_topology::svg::{Shown, picture};
use talea_topology::xml;

use super::{Options, TopoError, png, say_gaps, text};
use crate::terminal::say;

fn write(path: &Path, content: &str) -> Result<(), TopoError> {
    let failed = |source| TopoError::Write { source, path: path.to_owned() };
    if path == Path::new("-") {
        return Ok(std::io::stdout().lock().write_all(content.as_bytes())?);
    }
    std::fs::write(path, content).map_err(failed)?;
    say(&format!("wrote `{}`", path.display()));
    Ok(())
}

fn room(options: &Options) -> Room {
    Room { width: options.out.size.0, height: options.out.size.1, ..Room::default() }
}

/// The objects alone.
pub(super) fn objects(machine: &Machine, options: &Options) -> Result<(), TopoError> {
    let topology = &machine.topology;
    let shown = Shown {
        title: "topology".to_owned(),
        subtitle: vec![machine.how.clone()],
        gaps: gap_sentences(&machine.gaps),
        ..Shown::default()
    };
    let out = &options.out;
    if out.svg.is_some() || out.png.is_some() {
        pictures(&picture(topology, &shown, &room(options)), options)?;
    }
    if let Some(path) = &out.html {
        let facts = vec![machine.how.clone()];
        let empty = PageRecording {
            name: "topology".to_owned(),
            facts,
            gaps: shown.gaps,
            ..PageRecording::default()
        };
        write(path, &page(topology, &[], &empty, None))?;
    }
    if let Some(path) = &out.xml {
        write(path, &xml::write(topology, out.xml_version))?;
    }
    if out.json {
        return print_json(&result::machine(machine));
    }
    say_gaps(&machine.gaps);
    if out.is_any() { Ok(()) } else { text::objects(topology) }
}

/// All requested output of a recording.
pub(super) fn recording(
    recording: &Recording,
    other: Option<&Recording>,
    options: &Options,
) -> Result<(), TopoError> {
    let out = &options.out;
    if out.svg.is_some() || out.png.is_some() {
        let shown = summary::picture_data(recording, other, options.at)?;
        pictures(&picture(&recording.topology, &shown, &room(options)), options)?;
    }
    if let Some(path) = &out.html {
        write(path, &html(recording, other))?;
    }
    if let Some(path) = &out.xml {
        write(path, &xml::write(&recording.topology, out.xml_version))?;
    }
    if let Some(path) = &out.paje {
        write(path, &talea_formats::paje::write(&to_paje(recording)))?;
    }
    if out.json {
        return print_json(&result::map(recording, options.at)?);
    }
    if out.is_any() {
        say_gaps(&recording.gaps);
        return Ok(());
    }
    text::recording(recording, other, options)
}

fn pictures(svg: &str, options: &Options) -> Result<(), TopoError> {
    if let Some(path) = &options.out.svg {
        write(path, svg)?;
    }
    if let Some(path) = &options.out.png {
        png::write(svg, path)?;
        say(&format!("wrote `{}`", path.display()));
    }
    Ok(())
}

fn html(recording: &Recording, other: Option<&Recording>) -> String {
    let monitors = summary::monitor_infos(recording);
    let hints = findings(recording);
    let of = |recording: &Recording| (about(recording), gap_sentences(&recording.gaps));
    let name = |recording: &Recording| match recording.about.command.as_str() {
        "" => known_as(&recording.path),
        command => command.to_owned(),
    };
    let ((first_facts, first_gaps), second) = (of(recording), other.map(of));
    let first = PageRecording {
        name: name(recording),
        facts: first_facts,
        frames: &recording.frames,
        placement: &recording.placement,
        hints: &hints,
        gaps: first_gaps,
        phases: recording.phases.clone(),
        run: recording.run.as_ref(),
    };
    let second = other.zip(second).map(|(other, (facts, gaps))| PageRecording {
        name: name(other),
        facts,
        frames: &other.frames,
        placement: &other.placement,
        hints: &[],
        gaps,
        phases: other.phases.clone(),
        run: None,
    });
    page(&recording.topology, &monitors, &first, second.as_ref())
}

fn print_json(value: &impl Serialize) -> Result<(), TopoError> {
    let mut text = serde_json::to_string_pretty(value).map_err(std::io::Error::from)?;
    text.push('\n');
    Ok(std::io::stdout().lock().write_all(text.as_bytes())?)
}
