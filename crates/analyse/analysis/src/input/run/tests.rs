//! Results that need no records, compared with those from the records of the whole trace.

use std::path::{Path, PathBuf};

use talea_cluster::bursts::{Bursts, bursts};
use talea_formats::paraver;
use talea_metric::measure::{Part, Span, measure, measure_activities};
use talea_model::{Gaps, Trace};
use talea_run::load::load;
use tempfile::TempDir;

use super::*;

/// Copies of recorded runs that are kept for tests: reading one writes its sums.
pub(crate) fn samples() -> Vec<TempDir> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../record/run/tests/samples");
    let mut found = Vec::new();
    let inside = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.is_dir()).collect()
    };
    for from in inside(&here).iter().flat_map(|version| inside(version)) {
        let to = TempDir::new().unwrap();
        copy(&from, to.path());
        found.push(to);
    }
    assert!(found.len() > 2);
    found
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir(&to).unwrap();
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Calls `check` with each run that has times.
fn each(mut check: impl FnMut(&Analysis<'_>)) {
    for folder in samples() {
        let Ok(run) = load(folder.path()) else { continue };
        check(&Analysis::new(&run, &mut |_| ()));
    }
}

#[test]
fn computations_are_those_that_records_show() {
    let mut found = 0;
    each(|analysis| {
        let whole = trace(analysis);
        let Some((bare, computation)) = computation(analysis, Time::OutsideMpi) else { return };
        let expected = bursts(&whole);
        let named = |of: &Bursts| (0..of.len()).map(|at| of.site(at)).collect::<Vec<_>>();
        let own = &computation.bursts;
        assert_eq!(
            (&own.rank, &own.begin, &own.end),
            (&expected.rank, &expected.begin, &expected.end)
        );
        assert_eq!((&own.duration, &own.edge), (&expected.duration, &expected.edge));
        assert_eq!(named(own), named(&expected));
        assert_eq!((own.source, own.site_types), (expected.source, expected.site_types));
        assert_eq!((&own.gaps, &bare.locations), (&expected.gaps, &whole.locations));
        for part in [Part::BetweenInitAndFinalize, Part::Whole, Part::Between(None, None)] {
            let span = |trace: &Trace| Span::select(trace, part, &mut Gaps::default());
            assert_eq!(span(&bare), span(&whole));
            let activities = computation.activities().unwrap();
            assert_eq!(measure_activities(&bare, &activities, part), measure(&whole, part));
        }
        found += 1;
    });
    assert!(found > 0);
}

#[test]
fn lines_that_are_made_as_they_are_written_are_those_of_the_trace() {
    let mut found = 0;
    each(|analysis| {
        let whole = trace(analysis);
        let Some(stream) = stream(analysis) else { return };
        let mut expected = Vec::new();
        paraver::write(&whole, &mut expected).unwrap();
        let mut lines = Vec::new();
        let counts = stream.write(&mut lines).unwrap();
        assert!(lines == expected);
        let records = [whole.states.len(), whole.events.len(), whole.messages.len()];
        assert_eq!([counts.states, counts.events, counts.messages], records.map(|n| n as u64));
        assert_eq!((&stream.head.labels, &stream.head.gaps), (&whole.labels, &whole.gaps));
        found += 1;
    });
    assert!(found > 0);
}
