//! Damage to what the view of a node reads: recordings in both forms, and texts of monitors.
//!
//! Owns the samples, which are made here from a simulated machine, and what is done with whatever
//! can still be read of them. Checksums and packing would stop nearly every damage at the door, so
//! that most of it is done behind them.

use std::path::Path;

use talea_model::{Gap, GapKind, Gaps, Nanos};
use talea_report::topo_page::{PageRecording, page};
use talea_run::container::Tag;
use talea_run::journal::{Journal, Writer};
use talea_sampling::{Sources, Target};
use talea_simulated::node::{Scenario, Simulated};
use talea_topo::recording::{self, KIND, Recorder, Recording};
use talea_topo::{About, Machine, Session};
use talea_topology::hints::{PlacementSample, ThreadAt, hints};
use talea_topology::monitors::parse;
use talea_topology::{CpuSet, MonitorInfo, ObjectId};

use super::mutate::{Random, mutate};

const MACHINE: &str = "pack:2 [numa(memory=1GB)] l3:1(size=8MB) core:2 pu:2";
const MONITORS: [&str; 2] = [
    "L3_MISS{ OBJ = L3; CTR = PAPI_L3_TCM; PER = second; LOGSCALE = 1; UNIT = \"misses/s\"; }\n\
     IPC{ OBJ = Core; CTR = instructions / cycles; MIN = 0; MAX = 4; AGG = mean; WINDOW = 3; }\n\
     WORK{ OBJ = PU; CTR = instructions; ACCUMULATE = 1; } # all of it\n",
    "MISSES{\n  OBJ := PU;\n  EVSET := PAPI_L1_DCM, PAPI_L2_TCM;\n  REDUCTION := ($1 + 2 * $0) / 1e3;\n  WHEN = before;\n}\n",
];
/// Packed blocks, with the most that they unfold to here.
const PACKED: [Tag; 2] = [Tag(*b"OBJS"), Tag(*b"FRAM")];
const MOST: usize = 1 << 24;

/// Texts of monitors.
pub(super) fn monitors() -> Vec<Vec<u8>> {
    MONITORS.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// Recordings in the form of a file with this name, made in a folder.
pub(super) fn recordings(folder: &Path, name: &str) -> Result<Vec<Vec<u8>>, String> {
    MONITORS.iter().map(|text| recorded(text, &folder.join(name))).collect()
}

fn recorded(text: &str, path: &Path) -> Result<Vec<u8>, String> {
    let failed = |error: &dyn std::fmt::Display| error.to_string();
    let machine = Machine::synthetic(MACHINE).map_err(|e| failed(&e))?;
    let mut sources = Sources::new();
    let step = Nanos(500_000_000);
    sources.add(Box::new(Simulated::new(&machine.topology, Scenario::Lists { step }, 1)));
    let mut session =
        Session::open(machine, sources, Some(text), &Target::Machine).map_err(|e| failed(&e))?;
    let texts: Vec<String> = session.monitors().iter().map(ToString::to_string).collect();
    let about = About {
        host: "n1".to_owned(),
        command: "./app".to_owned(),
        start: "2026-01-01T00:00:00Z".to_owned(),
        source: session.source().to_owned(),
        monitors: texts.join("\n"),
        ..About::default()
    };
    let objects: Vec<Vec<ObjectId>> =
        (0..texts.len()).map(|monitor| session.objects(monitor).to_vec()).collect();
    let mut recorder =
        Recorder::create(path, &about, session.topology(), session.monitors(), &objects)
            .map_err(|e| failed(&e))?;
    for number in 1..=30 {
        let at = Nanos(100_000_000 * number);
        let frame = session.update_at(at).map_err(|e| failed(&e))?;
        recorder.frame(frame).map_err(|e| failed(&e))?;
        if number % 10 == 5 {
            recorder.placement(&places(at)).map_err(|e| failed(&e))?;
            recorder.phase(number as u32, "solve").map_err(|e| failed(&e))?;
        }
    }
    let mut gaps = Gaps::default();
    let detail = "a counter that nobody has".to_owned();
    gaps.note(Gap { kind: GapKind::Missing, rank: None, detail, count: 1 });
    recorder.finish(&gaps).map_err(|e| failed(&e))?;
    std::fs::read(path).map_err(|e| failed(&e))
}

fn places(at: Nanos) -> PlacementSample {
    let thread = |number: u32| ThreadAt {
        pid: 7,
        tid: 7 + number,
        label: format!("app t{number}"),
        pu: number,
        allowed: CpuSet::from_list("0-3,6").unwrap_or_default(),
        running: number != 2,
    };
    PlacementSample { at, threads: (0..4).map(thread).collect() }
}

/// Damage to a compact recording: to its bytes, or to what its blocks say.
pub(super) fn damage(random: &mut Random, bytes: &mut Vec<u8>, other: &[u8]) -> Result<(), String> {
    if random.below(4) == 0 {
        mutate(random, bytes, other);
        return Ok(());
    }
    let journal = Journal::read(bytes, KIND, Path::new("sample")).map_err(|e| e.to_string())?;
    let mut blocks: Vec<(Tag, Vec<u8>)> =
        journal.blocks.iter().map(|block| (block.tag, block.bytes.to_vec())).collect();
    for _ in 0..=random.below(3) {
        let at = random.below(blocks.len());
        let to = random.below(blocks.len());
        match random.below(8) {
            0 => blocks.swap(at, to),
            1 => blocks.insert(to, blocks[at].clone()),
            2 if blocks.len() > 1 => drop(blocks.remove(at)),
            _ => inside(random, &mut blocks[at], other)?,
        }
    }
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, KIND).map_err(|e| e.to_string())?;
    for (tag, payload) in blocks {
        writer.append(tag, &payload).map_err(|e| e.to_string())?;
    }
    *bytes = out;
    Ok(())
}

fn inside(
    random: &mut Random,
    (tag, payload): &mut (Tag, Vec<u8>),
    other: &[u8],
) -> Result<(), String> {
    // A block that was damaged before may unfold to nothing: then its bytes are damaged again.
    let unfolded = zstd::bulk::decompress(payload, MOST).ok().filter(|_| PACKED.contains(tag));
    let Some(mut content) = unfolded else {
        mutate(random, payload, other);
        return Ok(());
    };
    mutate(random, &mut content, other);
    *payload = zstd::bulk::compress(&content, 1).map_err(|e| e.to_string())?;
    Ok(())
}

/// Reads a recording of either form and does with it what `talea topo` does.
pub(super) fn recording(bytes: &[u8], path: &Path) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|e| e.to_string())?;
    let Ok(alone) = recording::read(path, None, &mut talea_model::Gaps::default())
        .map_err(|error| error.to_string())
    else {
        let machine = Machine::synthetic(MACHINE).map_err(|e| e.to_string())?;
        if let Ok(with) =
            recording::read(path, Some(machine.topology), &mut talea_model::Gaps::default())
        {
            show(&with);
        }
        return Ok(());
    };
    show(&alone);
    let trace = recording::to_paje(&alone);
    let text = talea_formats::paje::write(&trace);
    let again = talea_formats::paje::read(text.as_bytes()).map_err(|e| e.to_string())?;
    show(&recording::from_paje(&again, alone.topology));
    Ok(())
}

fn show(recording: &Recording) {
    let topology = &recording.topology;
    let monitors: Vec<MonitorInfo> = (recording.monitors.iter().zip(&recording.objects))
        .map(|(monitor, objects)| MonitorInfo::new(topology, monitor, objects))
        .collect();
    let found = hints(topology, &monitors, &recording.frames, &recording.placement);
    let shown = PageRecording {
        name: recording.about.command.clone(),
        facts: vec![recording.about.host.clone()],
        frames: &recording.frames,
        placement: &recording.placement,
        hints: &found,
        gaps: recording.gaps.iter().map(|gap| gap.detail.clone()).collect(),
        phases: recording.phases.clone(),
        run: None,
    };
    let _ = page(topology, &monitors, &shown, None);
}

/// An accepted text of monitors must come back when it is written: recordings keep it so.
pub(super) fn monitor_text(bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    let monitors = match parse(&text) {
        Ok(monitors) => monitors,
        Err(mistakes) => {
            let _ = mistakes.in_file("monitors.txt").to_string();
            return Ok(());
        }
    };
    let written: Vec<String> = monitors.iter().map(ToString::to_string).collect();
    let written = written.join("\n");
    let again = parse(&written).map_err(|mistakes| format!("{mistakes}\nof: {text}"))?;
    if again == monitors { Ok(()) } else { Err(format!("other monitors: {written}\nof: {text}")) }
}
