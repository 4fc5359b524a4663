//! Tests of the parts of a run within a recording: iterations, clipping, merging of many
//! iterations. Phases of random runs must be in order.

use proptest::prelude::*;

use super::*;

const MS: i64 = 1_000_000;

/// Ten ms of set-up from `begin` on, iterations of 10 ms (every seventh 30 ms, and slow), ten ms of
/// wrap-up.
fn course(begin: i64, count: usize) -> Course {
    let long = |at: usize| at % 7 == 6;
    let mut now = begin + 10 * MS;
    let iterations: Vec<(i64, Nanos)> = (0..count)
        .map(|at| {
            let time = if long(at) { 30 * MS } else { 10 * MS };
            now += time;
            (now - time, Nanos(time as u64))
        })
        .collect();
    Course {
        of: "rank 0 of `R`".into(),
        place: "a.c:7".into(),
        begin,
        end: now + 10 * MS,
        iterations,
        slow: (0..count).filter(|&at| long(at)).collect(),
        median: Nanos(10 * MS as u64),
    }
}

fn ms(at: i64) -> Nanos {
    Nanos((at * MS) as u64)
}

fn check(phases: &Phases, from: Nanos, to: Nanos) {
    for phase in &phases.all {
        assert!(phase.from >= from && phase.from < phase.to && phase.to <= to, "{phase:?}");
        assert!(phase.first <= phase.last, "{phase:?}");
    }
    assert!(phases.all.windows(2).all(|two| two[0].to <= two[1].from));
}

fn kinds(phases: &Phases) -> Vec<PhaseKind> {
    phases.all.iter().map(|phase| phase.kind).collect()
}

#[test]
fn each_iteration_is_a_phase() {
    let phases = Phases::within(&course(100 * MS, 10), ms(0), ms(1000)).unwrap();
    check(&phases, ms(0), ms(1000));
    assert_eq!((phases.all.len(), phases.outside, phases.merged), (12, 0, None));
    assert_eq!(phases.name(&phases.all[0]), "set-up");
    assert_eq!(phases.name(&phases.all[7]), "a.c:7 iteration 6");
    assert_eq!((phases.all[7].slow, phases.all[7].longest), (true, ms(30)));
    assert_eq!(phases.name(&phases.all[11]), "wrap-up");
    assert_eq!((phases.all[11].from, phases.all[11].to), (ms(230), ms(240)));
    assert_eq!(phases.at(ms(115)).map(|one| one.first), Some(0));
    assert_eq!((phases.at(ms(99)), phases.at(ms(241))), (None, None));
    assert_eq!(
        phases.summary(),
        "rank 0 of `R`: a.c:7, an iteration takes 10.0 ms (median of 10; mean 12.0 ms)"
    );
}

#[test]
fn what_is_outside_is_cut_and_counted() {
    // The recording begins inside iteration 2 and ends with iteration 4.
    let phases = Phases::within(&course(-35 * MS, 10), ms(0), ms(25)).unwrap();
    check(&phases, ms(0), ms(25));
    assert_eq!((phases.all.len(), phases.outside), (3, 7));
    let first = &phases.all[0];
    assert_eq!((first.first, first.from, first.to, first.longest), (2, ms(0), ms(5), ms(10)));
    assert_eq!(kinds(&Phases::within(&course(0, 9), ms(0), ms(9)).unwrap()), [PhaseKind::SetUp]);
    let end = course(0, 3);
    let phases = Phases::within(&end, Nanos((end.end - MS) as u64), ms(1000)).unwrap();
    assert_eq!((kinds(&phases), phases.outside), (vec![PhaseKind::WrapUp], 3));
}

#[test]
fn runs_of_other_times_have_no_part() {
    assert_eq!(Phases::within(&course(-1000 * MS, 3), ms(0), ms(100)), None);
    assert_eq!(Phases::within(&course(100 * MS, 3), ms(0), ms(100)), None);
    assert_eq!(Phases::within(&course(i64::MIN, 3), ms(0), Nanos(u64::MAX)), None);
}

#[test]
fn what_is_between_two_executions_is_a_phase() {
    let mut run = course(0, 6);
    for (begin, _) in &mut run.iterations[3..] {
        *begin += 50 * MS;
    }
    run.end += 50 * MS;
    let phases = Phases::within(&run, ms(0), ms(1000)).unwrap();
    assert_eq!(phases.name(&phases.all[4]), "between a.c:7 iterations 2 and 3");
    assert_eq!((phases.all[4].from, phases.all[4].to), (ms(40), ms(90)));
    // A recording of nothing else has it too.
    let phases = Phases::within(&run, ms(50), ms(60)).unwrap();
    assert_eq!((kinds(&phases), phases.outside), (vec![PhaseKind::Between], 6));
}

#[test]
fn many_iterations_become_few_phases_and_the_slowest_stay() {
    let mut run = course(0, 1_000_000);
    run.slow = vec![777, 999_999, 3];
    let end = Nanos(run.end as u64);
    let phases = Phases::within(&run, ms(0), end).unwrap();
    check(&phases, ms(0), end);
    assert!(phases.all.len() <= MOST + 2, "{}", phases.all.len());
    assert_eq!(phases.merged, Some(625));
    let slow: Vec<u64> = phases.all.iter().filter(|p| p.slow).map(|p| p.first).collect();
    assert_eq!(slow, [3, 777, 999_999]);
    // None is lost, none is duplicated.
    let mut next = 0;
    for phase in phases.all.iter().filter(|phase| phase.kind == PhaseKind::Iterations) {
        assert_eq!(phase.first, next);
        next = phase.last + 1;
    }
    assert_eq!(next, 1_000_000);
    assert_eq!(phases.name(&phases.all[1]), "a.c:7 iterations 0-2");
    assert!(phases.summary().ends_with(", shown in runs of up to 625, the slowest single"));
}

#[test]
fn equally_slow_iterations_stay_where_they_lie_scattered() {
    let run = course(0, 70_000);
    assert_eq!(run.slow.len(), 10_000);
    let phases = Phases::within(&run, ms(0), Nanos(run.end as u64)).unwrap();
    let slow: Vec<u64> = phases.all.iter().filter(|p| p.slow).map(|p| p.first).collect();
    assert_eq!(slow.len(), SLOWEST);
    assert!(slow.windows(2).all(|two| (100..800).contains(&(two[1] - two[0]))), "{slow:?}");
}

#[test]
fn a_run_without_a_loop_is_one_phase() {
    let run = Course { place: String::new(), iterations: Vec::new(), ..course(10 * MS, 3) };
    let phases = Phases::within(&run, ms(0), ms(1000)).unwrap();
    assert_eq!(kinds(&phases), [PhaseKind::Whole]);
    assert_eq!(phases.summary(), "rank 0 of `R`: no loop");
    assert_eq!(phases.during(ms(20), ms(30)).as_deref(), Some("run without a loop"));
}

#[test]
fn stretches_of_time_have_words() {
    let phases = Phases::within(&course(100 * MS, 10), ms(0), ms(1000)).unwrap();
    let check = |from, to, expected: Option<&str>| {
        assert_eq!(phases.during(ms(from), ms(to)).as_deref(), expected, "{from} to {to}");
    };
    check(101, 105, Some("set-up"));
    check(0, 90, None);
    check(112, 114, Some("a.c:7 iteration 0"));
    check(110, 120, Some("a.c:7 iteration 0"));
    // A frame that ends a little later does not name the next one.
    check(108, 133, Some("a.c:7 iterations 0-1"));
    check(110, 180, Some("a.c:7 iterations 0-5"));
    check(100, 240, Some("all 10 iterations of a.c:7"));
    check(171, 199, Some("a.c:7 iteration 6"));
    check(0, 1000, None);
    check(105, 115, None);
    check(233, 240, Some("wrap-up"));
    check(500, 600, None);
    check(150, 150, None);
}

proptest! {
    #[test]
    fn any_run_gives_phases_in_order(
        begin in any::<i64>(),
        length in any::<i64>(),
        iterations in prop::collection::vec((any::<i64>(), any::<u64>()), 0..40),
        near in prop::collection::vec((-100..1000_i64, 0..50_u64), 0..40),
        from in any::<u64>(),
        to in any::<u64>(),
    ) {
        let near: Vec<_> = near.into_iter().map(|(at, time)| (at, Nanos(time))).collect();
        let far: Vec<_> = iterations.into_iter().map(|(at, time)| (at, Nanos(time))).collect();
        let slow = vec![0, 3, usize::MAX];
        let of = |begin, end, iterations| Course {
            begin,
            end,
            iterations,
            slow: slow.clone(),
            ..Course::default()
        };
        for (run, from, to) in [
            (of(begin, begin.saturating_add(length), far), Nanos(from), Nanos(to)),
            (of(-50, 1050, near), Nanos(from % 500), Nanos(from % 500 + to % 700)),
        ] {
            let Some(phases) = Phases::within(&run, from, to) else { continue };
            check(&phases, from, to);
            for phase in &phases.all {
                phases.name(phase);
                phases.during(phase.from, phase.to);
            }
            phases.during(from, to);
            phases.summary();
        }
    }
}
