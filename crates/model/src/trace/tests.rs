//! Tests of the trace: numbers of threads, order of events, columns of unequal length, first names.

use super::*;

/// Two applications: tasks of 1 and 2 threads on nodes 1 and 2, and one of 3 threads on an unknown
/// node.
fn locations() -> Locations {
    let mut locations = Locations::default();
    locations.nodes = vec![4, 4];
    locations.push_application();
    locations.push_task(1, 1).unwrap();
    locations.push_task(2, 2).unwrap();
    locations.push_application();
    locations.push_task(3, 0).unwrap();
    locations
}

#[test]
fn every_thread_has_one_number() {
    let locations = locations();
    assert_eq!((locations.len(), locations.applications()), (6, 2));
    for location in 0..6 {
        let place = locations.get(location).unwrap();
        assert_eq!(
            locations.find(place.application, place.task, place.thread),
            Some(location),
            "{place:?}"
        );
    }
    let place = |application, task, thread, node| Place { application, task, thread, node };
    assert_eq!(locations.get(2), Some(place(1, 2, 2, Some(2))));
    assert_eq!(locations.get(3), Some(place(2, 1, 1, None)));
    assert_eq!(locations.get(6), None);
    for (application, task, thread) in
        [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 1, 2), (1, 3, 1), (2, 2, 1), (3, 1, 1)]
    {
        assert_eq!(locations.find(application, task, thread), None);
    }
    assert_eq!(locations.tasks(1).collect::<Vec<_>>(), [(1, 1), (2, 2)]);
    assert_eq!(locations.tasks(9).count(), 0);
}

#[test]
fn claims_of_many_threads_are_not_believed() {
    let mut locations = locations();
    assert_eq!(locations.push_task(u32::MAX, 1), Err(TooManyLocations));
    assert_eq!(locations.push_task(MOST_LOCATIONS, 1), Err(TooManyLocations));
    assert_eq!(locations.push_task(MOST_LOCATIONS - 6, 1), Ok(()));
}

fn trace() -> Trace {
    let mut trace = Trace { locations: locations(), ..Trace::default() };
    trace.push_line(b"#first");
    trace.push_event((0, 1), 30, &[7, 8, 7], &[1, -2, 3]);
    trace.push_event((5, 2), 10, &[8], &[4]);
    trace.push_state(StateRecord { location: 0, cpu: 1, begin: 0, end: 5, state: 1 });
    trace.push_event((0, 1), 20, &[7], &[i64::MIN]);
    trace.push_line(b"#last");
    trace.push_event((0, 1), 20, &[9], &[6]);
    trace
}

#[test]
fn events_of_a_location_come_by_time_and_else_as_in_the_source() {
    let trace = trace();
    trace.check().unwrap();
    let index = trace.events_by_location();
    assert_eq!(index.rows(0), [2, 3, 0]);
    assert_eq!(index.rows(5), [1]);
    assert!(index.rows(1).is_empty() && index.rows(77).is_empty());
    assert_eq!(trace.states_by_location().rows(0), [0]);
    assert_eq!(trace.messages_by_sender().len(), 6);
}

#[test]
fn values_of_a_type_know_their_record() {
    let trace = trace();
    let found: Vec<_> = trace
        .events
        .of_type(7)
        .map(|one| (one.record, one.location, one.time, one.value))
        .collect();
    assert_eq!(found, [(0, 0, 30, 1), (0, 0, 30, 3), (2, 0, 20, i64::MIN)]);
    assert_eq!(trace.events.get(0).unwrap().value(8), Some(-2));
    assert_eq!(trace.events.get(0).unwrap().value(9), None);
    assert_eq!(trace.events.distinct_types(), [7, 8, 9]);
    let lines: Vec<_> = trace.lines.iter().collect();
    assert_eq!(lines, [(0, &b"#first"[..]), (4, b"#last")]);
}

#[test]
fn columns_that_do_not_fit_are_found() {
    let mut broken = trace();
    broken.order.pop();
    assert_eq!(broken.check().unwrap_err().to_string(), "expected 4 events in the order, found 3");
    let mut broken = trace();
    broken.states.end.clear();
    assert!(broken.check().is_err());
    let mut broken = trace();
    broken.events.values.pop();
    assert!(broken.check().is_err());
    let mut broken = trace();
    broken.events.pairs_end[0] = 9;
    assert!(broken.check().is_err());
    let mut broken = trace();
    broken.states.location[0] = 6;
    assert_eq!(
        broken.check().unwrap_err().to_string(),
        "expected a state at one of 6 locations, found 6"
    );
}

#[test]
fn the_first_name_of_a_value_counts() {
    let mut set = ValueSet::default();
    assert_eq!(set.push(-1, "a".into()), None);
    assert_eq!(set.push(3, "b".into()), None);
    assert_eq!(set.push(-1, "c".into()), Some("a"));
    assert_eq!((set.get(-1), set.get(3), set.get(0)), (Some("a"), Some("b"), None));
    let labels = Labels {
        event_types: vec![EventType { number: 5, values: Some(0), ..EventType::default() }],
        value_sets: vec![set],
        ..Labels::default()
    };
    assert_eq!((labels.value(5, 3), labels.value(6, 3)), (Some("b"), None));
}
