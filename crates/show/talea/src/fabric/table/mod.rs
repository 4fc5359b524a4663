//! `talea fabric table`: the traffic of each link, from a recording of tiles or output of
//! `perfquery`; for a run that of its ports.
//!
//! Owns the form: the table of the slides to the digit, shares for people, or JSON. The traffic of
//! links is `talea-network`'s.

mod cables;
mod print;

use std::io::{self, Write as _};

use talea_model::Gaps;
use talea_network::NetworkError;
use talea_network::links::{self, Drawing};
use talea_network::network::{self, Given};
use talea_report::network::Picture;

use super::pictures::Files;
use super::{FabricError, job, print_json, say_gaps};
use crate::terminal::{Progress, say};

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
    /// A recording, or the folder of a run, and what is shown of it.
    pub(crate) links: links::Options,
    /// Earlier output of `perfquery`, of an InfiniBand network.
    pub(crate) since: Option<std::path::PathBuf>,
    pub(crate) form: Form,
    /// Every interval instead of the whole.
    pub(crate) each: bool,
    pub(crate) pictures: Files,
    pub(crate) json: bool,
}

impl Options {
    /// True if an option is set that only recordings of tiles support.
    fn asks_tiles(&self) -> bool {
        let chosen = !self.links.routers.is_empty() || !self.links.hosts.is_empty();
        let shown = self.each || self.form == Form::Shares || self.pictures.wanted();
        self.links.own.is_some() || chosen || shown
    }
}

/// Prints the table.
pub(crate) fn table(options: &Options) -> Result<(), FabricError> {
    let of = &options.links.recording;
    if of.is_dir() {
        if options.links.network.is_some() || options.asks_tiles() {
            return Err(NetworkError::OfTiles { path: of.clone() }.into());
        }
        return job::table(of, options.json);
    }
    if let Some(network::Options { given: Given::InfiniBand(path), .. }) = &options.links.network {
        if options.asks_tiles() {
            return Err(NetworkError::OfTiles { path: of.clone() }.into());
        }
        return cables::table(of, options.since.as_deref(), path, options.json);
    }
    // Gaps found before a failure explain it, and are printed with it.
    let mut gaps = Gaps::default();
    of_tiles(options, &mut gaps).inspect_err(|_| say_gaps(&gaps))
}

fn of_tiles(options: &Options, gaps: &mut Gaps) -> Result<(), FabricError> {
    let links = links::links(&options.links, gaps, &mut Progress::new().steps())?;
    let recording = &links.recording;
    let total = std::slice::from_ref(&recording.total);
    let shown = if options.each { &recording.frames[..] } else { total };
    if options.pictures.wanted() {
        let (routing, _) = links.network.routing()?;
        let page = options.pictures.html.is_some();
        let drawing = if page { Drawing::Page } else { Drawing::Picture };
        let drawn = links.picture(&*routing, drawing);
        options.pictures.write(&drawn, &Picture::default())?;
    }
    if options.json {
        return print_json(&links.result(shown));
    }
    let mut out = io::stdout().lock();
    for frame in shown {
        print::frame(&mut out, &links, frame, (options.form, options.each))?;
    }
    if let Some(own) = &links.own {
        print::beside(&mut out, &links, own)?;
    }
    out.flush()?;
    drop(out);
    for finding in &links.findings {
        say(finding);
    }
    // Gaps have no place in the table of the slides.
    say_gaps(&recording.gaps);
    Ok(())
}
