//! Courses of made-up iterations, beside sums over each of them.

use std::path::Path;

use proptest::prelude::*;
use talea_run::load::load;

use super::*;

fn iterations(durations: &[u64]) -> Vec<Iteration> {
    let mut time = 7;
    let one = |(at, &duration): (usize, &u64)| {
        let begin = Nanos(time);
        time += duration + duration % 3;
        Iteration { events: 2 * at..2 * at + 2, begin, duration: Nanos(duration) }
    };
    durations.iter().enumerate().map(one).collect()
}

proptest! {
    #[test]
    fn groups_have_the_sums_and_extremes_of_their_iterations(
        durations in prop::collection::vec(0_u64..5_000, 0..300),
        most in 1_usize..40,
        every in 1_usize..9,
    ) {
        let all = iterations(&durations);
        let outliers: Vec<usize> = (0..all.len()).step_by(every).collect();
        let course = Course::new(&all, &outliers, most);
        let stride = course.stride();
        prop_assert!(stride.is_power_of_two() && all.len().div_ceil(stride) <= most);
        prop_assert!(stride == 1 || all.len().div_ceil(stride / 2) > most);
        prop_assert_eq!(course.len(), all.len());
        prop_assert_eq!(course.is_empty(), all.is_empty());
        prop_assert_eq!(course.sum().0, durations.iter().sum::<u64>());
        for (at, one) in all.iter().enumerate() {
            let known = stride == 1 || at % every == 0;
            prop_assert_eq!(course.duration(at), known.then_some(one.duration));
        }
        prop_assert_eq!(course.duration(all.len()), None);
        for from in (0..all.len()).step_by(2 * stride) {
            for (at, (group, count)) in course.groups(from..from + 2 * stride).enumerate() {
                let first = from + at * stride;
                let own = &durations[first..first + count];
                prop_assert_eq!(group.begin, all[first].begin);
                prop_assert_eq!(group.sum.0, own.iter().sum::<u64>());
                prop_assert_eq!(Some(&group.min.0), own.iter().min());
                prop_assert_eq!(Some(&group.max.0), own.iter().max());
            }
        }
        let counts: usize = course.groups(0..all.len() + 1).map(|one| one.1).sum();
        prop_assert_eq!(counts, all.len());
        let bytes = rmp_serde::to_vec(&course).unwrap();
        prop_assert_eq!(rmp_serde::from_slice::<Course>(&bytes).unwrap(), course);
    }
}

#[test]
fn what_contradicts_the_thread_is_no_course_of_it() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let run = load(&here.join("../../record/run/tests/samples/version-3/finished")).unwrap();
    let thread = &run.recording.processes[0].threads[0];
    let events = thread.log.events as usize;
    let all = iterations(&vec![5; events / 2]);
    let whole = Course::new(&all, &[1, 4], 4);
    assert!(whole.fits(thread) && whole.stride() > 1);
    assert!(Course::new(&all, &[], events).fits(thread));
    let longer = iterations(&vec![5; events / 2 + 1]);
    assert!(!Course::new(&longer, &[], events).fits(thread));
    let Course::Grouped(grouped) = whole else { panic!("each is kept") };
    let changes: [fn(&mut Grouped); 8] = [
        |one| one.count = usize::MAX,
        |one| one.stride = 0,
        |one| one.stride = 3,
        |one| one.groups.truncate(1),
        |one| one.groups[0].min.0 += 1,
        |one| one.groups[0].sum.0 = 1,
        |one| one.outliers.swap(0, 1),
        |one| one.outliers[1].0 = one.count,
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut other = grouped.clone();
        change(&mut other);
        assert!(!Course::Grouped(other).fits(thread), "{number}");
    }
}

#[test]
fn all_threads_together_have_a_bound() {
    for threads in [vec![1], vec![0, 7], vec![100, 1, 5, 9_000], vec![3; 40]] {
        let events = threads.iter().sum();
        for kept in [1, 50, 120, 10_000, u64::MAX] {
            let max: Vec<usize> =
                threads.iter().map(|&own| max_of_thread(kept, own, events)).collect();
            assert!(max.iter().sum::<usize>() as u64 <= kept.saturating_add(threads.len() as u64));
            // No thread has more iterations than events.
            let all = events <= kept;
            assert!(!all || threads.iter().zip(&max).all(|(&own, &max)| own <= max as u64));
        }
    }
}
