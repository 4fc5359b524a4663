//! Results that need no records, compared with those from the records of the whole trace.

use std::path::{Path, PathBuf};

use talea_cluster::bursts::{Bursts, bursts};
use talea_formats::paraver;
use talea_metric::measure::{Activities, Part, Span, measure, measure_activities};
use talea_model::trace::{EventRecord, types};
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
    let sampled = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../show/talea/tests/golden/halo");
    let unsampled = inside(&here).into_iter().flat_map(|version| inside(&version));
    for from in unsampled.chain([sampled]) {
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

fn is_sampled(analysis: &Analysis<'_>) -> bool {
    !talea_run::samples::files(&analysis.run.directory).unwrap().is_empty()
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
    let (mut found, mut counted) = (0, 0);
    each(|analysis| {
        let whole = trace(analysis);
        let extent = Extent::default();
        let Some((bare, computation)) = computation(analysis, Time::OutsideMpi, extent) else {
            return;
        };
        let expected = bursts(&whole);
        let named = |of: &Bursts| (0..of.len()).map(|at| of.site(at)).collect::<Vec<_>>();
        let own = &computation.bursts;
        assert_eq!(
            (&own.rank, &own.begin, &own.end),
            (&expected.rank, &expected.begin, &expected.end)
        );
        assert_eq!((&own.duration, &own.edge), (&expected.duration, &expected.edge));
        // In words, as an absent count is no number.
        assert_eq!(format!("{:?}", own.counters), format!("{:?}", expected.counters));
        assert_eq!(own.set, expected.set);
        counted += usize::from(!own.counters.is_empty());
        assert_eq!(named(own), named(&expected));
        assert_eq!((own.source, own.site_types), (expected.source, expected.site_types));
        assert_eq!((&own.gaps, &bare.locations), (&expected.gaps, &whole.locations));
        for part in [Part::BetweenInitAndFinalize, Part::Whole, Part::Between(None, None)] {
            let span = |trace: &Trace| Span::select(trace, part, &mut Gaps::default());
            assert_eq!(span(&bare), span(&whole));
            let expected = measure(&whole, part);
            let span = span(&bare).unwrap();
            let held = |location| computation.stretches(location);
            let activities = Activities::Stretches(&held);
            let found = measure_activities(&bare, activities, part);
            assert_eq!(format!("{found:?}"), format!("{expected:?}"));
            let read = super::activities(analysis, &bare, extent, span);
            let found = measure_activities(&bare, Activities::Sums(&read), part);
            assert_eq!(format!("{found:?}"), format!("{expected:?}"));
        }
        found += 1;
    });
    assert!(found > 0 && counted > 0);
}

/// Halves of the bursts of a run with more calls than are held.
#[test]
fn thinned_bursts_are_some_of_all() {
    let (mut found, mut counted) = (0, 0);
    each(|analysis| {
        let read =
            |most| computation(analysis, Time::OutsideMpi, Extent { part: Part::default(), most });
        let Some((bare, held)) = read(Extent::MOST) else { return };
        let all = &held.bursts;
        let most = all.len() as u64 / 2;
        let (trace, thinned) = read(most).unwrap();
        let kept = &thinned.bursts;
        assert!(thinned.is_thinned());
        assert_eq!((thinned.all, kept.in_window.len()), (all.len() as u64, kept.len()));
        // All bursts of threads that appear only in samples: these have one each.
        let alone = all.rank.chunk_by(|a, b| a == b).filter(|same| same.len() == 1).count();
        let bound = 2 * most as usize / 5 + alone;
        assert!((1..=bound).contains(&kept.len()), "{} of {most}", kept.len());
        assert!(
            kept.edge.is_empty() && kept.gaps.iter().any(|gap| gap.kind == GapKind::MemoryBound)
        );
        // In the order of all, with the same sites; whole windows among them.
        let of = |bursts: &Bursts, at: usize| {
            (bursts.rank[at], bursts.begin[at], bursts.end[at], bursts.site(at))
        };
        let mut ahead = 0..all.len();
        let places: Vec<usize> = (0..kept.len())
            .map(|at| ahead.find(|&place| of(all, place) == of(kept, at)).unwrap())
            .collect();
        let windows = (1..kept.len()).filter(|&at| kept.in_window[at] && kept.in_window[at - 1]);
        let follow = windows.clone().filter(|&at| places[at] == places[at - 1] + 1).count();
        assert!(2 * follow >= windows.count());
        assert_eq!(
            (&trace.states, &trace.events, trace.duration),
            (&bare.states, &bare.events, bare.duration)
        );
        // Counters are those of the same bursts among all, in words as an absent count is no
        // number.
        let places: Vec<u32> = places.into_iter().map(|place| place as u32).collect();
        assert_eq!(format!("{:?}", kept.counters), format!("{:?}", all.select(&places).counters));
        counted += usize::from(!kept.counters.is_empty());
        for part in [Part::default(), Part::Whole] {
            let span = Span::select(&trace, part, &mut Gaps::default()).unwrap();
            let sums = super::activities(analysis, &trace, Extent { part, most }, span);
            let found = measure_activities(&trace, Activities::Sums(&sums), part);
            let stretches = |location| held.stretches(location);
            let expected = measure_activities(&bare, Activities::Stretches(&stretches), part);
            assert_eq!(format!("{found:?}"), format!("{expected:?}"));
        }
        found += 1;
    });
    assert!(found > 0 && counted > 0);
}

#[test]
fn parts_of_long_runs_are_read_alone() {
    let mut found = 0;
    each(|analysis| {
        let Some((_, all)) = computation(analysis, Time::Computing, Extent::default()) else {
            return;
        };
        let duration = analysis.ranks.iter().map(|rank| rank.end).max().unwrap();
        let (from, to) = (Nanos(duration.0 / 3), Nanos(duration.0 / 2));
        let part = Part::Between(Some(from), Some(to));
        let held = |begin: u64, end: u64| (from.0..to.0).contains(&begin.midpoint(end));
        let (expected, _) = all.bursts.within(held);
        // Everything is held, but not read.
        let most = expected.len() as u64 * 3 + 50;
        let Some((trace, some)) = computation(analysis, Time::Computing, Extent { part, most })
        else {
            return;
        };
        if trace.gaps.iter().any(|gap| gap.detail.contains("of the run only")) {
            assert!(!some.is_thinned());
            let (own, _) = some.bursts.within(held);
            assert_eq!((own.rank, own.end), (expected.rank, expected.end));
            found += 1;
        }
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

#[test]
fn what_happens_inside_iterations_needs_no_calls() {
    let mut found = 0;
    each(|analysis| {
        let (whole, bare) = (trace(analysis), inside(analysis));
        let kept = |kind: &u32| {
            types::is_counter(*kind)
                || types::LOOP.contains(kind)
                || types::SAMPLE_CALLER.contains(kind)
                || types::SAMPLE_LINE.contains(kind)
                || [types::ITERATION, types::MARKED, types::COUNTER_SET].contains(kind)
        };
        let told = |of: &Trace| -> Vec<String> {
            let event =
                |event: EventRecord<'_>| event.types.iter().any(kept).then(|| format!("{event:?}"));
            of.events.iter().filter_map(event).collect()
        };
        assert_eq!(told(&bare), told(&whole));
        for part in [Part::BetweenInitAndFinalize, Part::Whole] {
            let span = |trace: &Trace| Span::select(trace, part, &mut Gaps::default());
            assert_eq!(span(&bare), span(&whole));
        }
        assert_eq!((&bare.locations, bare.duration), (&whole.locations, whole.duration));
        found += usize::from(is_sampled(analysis));
    });
    assert_eq!(found, 1);
}
