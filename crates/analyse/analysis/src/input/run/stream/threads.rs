//! Records of one thread in the order of time, without those of others.
//!
//! Owns the merge of a walk with the iterations of the thread's loops and with its samples.
//! Corrected clocks may let calls overlap, so that the end of a call comes after the begin of the
//! next one. Events of such a thread wait for those before them.

use talea_model::Trace;
use talea_model::trace::{EventRecord, Records, StateRecord, types};

use super::super::calls::{CallWalk, Sink, each_time};
use super::Stream;

/// An event that waits for those before it.
struct Waiting {
    time: u64,
    types: Vec<u32>,
    values: Vec<i64>,
}

/// Events of calls that are not passed on yet, in the order of time, and memory for more.
#[derive(Default)]
struct Ahead {
    waiting: Vec<Waiting>,
    free: Vec<Waiting>,
}

impl Sink for Ahead {
    fn state(&mut self, _: StateRecord) {}

    fn event(&mut self, event: EventRecord<'_>) {
        let free = || Waiting { time: 0, types: Vec::new(), values: Vec::new() };
        let mut next = self.free.pop().unwrap_or_else(free);
        next.time = event.time;
        next.types.clear();
        next.types.extend_from_slice(event.types);
        next.values.clear();
        next.values.extend_from_slice(event.values);
        // Of the same time those that come first stay first.
        let place = self.waiting.partition_point(|one| one.time <= next.time);
        self.waiting.insert(place, next);
    }
}

/// Passes on the states of a thread and drops its events.
struct StateSink<'f>(&'f mut dyn FnMut(StateRecord));

impl Sink for StateSink<'_> {
    fn state(&mut self, state: StateRecord) {
        (self.0)(state);
    }

    fn event(&mut self, _: EventRecord<'_>) {}
}

/// Passes on the events of a thread and drops its states.
struct EventSink<F>(F);

impl<F: FnMut(EventRecord<'_>)> Sink for EventSink<F> {
    fn state(&mut self, _: StateRecord) {}

    fn event(&mut self, event: EventRecord<'_>) {
        (self.0)(event);
    }
}

/// The same records as in the whole trace.
impl Records for Stream<'_> {
    fn head(&self) -> &Trace {
        &self.head
    }

    fn states(&self, location: u32, found: &mut dyn FnMut(StateRecord)) {
        let Ok(at) = self.rows.binary_search_by_key(&location, |row| row.location) else {
            // Samples are of other threads.
            let rows = self.samples_by_location[1].rows(location).iter();
            let states = &self.samples.states;
            return rows.filter_map(|&row| states.get(row as usize)).for_each(found);
        };
        let mut walk = CallWalk::new(self.analysis, &self.rows[at], &self.plans[at]);
        let mut states = StateSink(found);
        while walk.next(&mut states).is_some() {}
    }

    fn events(&self, location: u32, found: &mut dyn FnMut(EventRecord<'_>)) {
        let samples = self.samples_by_location[0].rows(location).iter();
        let samples = samples.filter_map(|&row| self.samples.events.get(row as usize));
        let Ok(at) = self.rows.binary_search_by_key(&location, |row| row.location) else {
            return samples.for_each(found);
        };
        let marks = &self.marks[at];
        let mut order: Vec<u32> = (0..marks.len() as u32).collect();
        order.sort_by_key(|&row| marks.time[row as usize]);
        let mut marks = order.into_iter().filter_map(|row| marks.get(row as usize)).peekable();
        let mut samples = samples.peekable();
        // The next iteration or sample before a time; of the same time iterations come first.
        let mut beside = |until: Option<u64>| {
            let is_before = |event: &EventRecord<'_>| until.is_none_or(|until| event.time < until);
            match (marks.peek(), samples.peek()) {
                (Some(mark), sample) if sample.is_none_or(|sample| mark.time <= sample.time) => {
                    marks.next_if(is_before)
                }
                _ => samples.next_if(is_before),
            }
        };
        let mut beside = |until: Option<u64>, found: &mut dyn FnMut(EventRecord<'_>)| {
            while let Some(event) = beside(until) {
                found(event);
            }
        };
        let mut walk = CallWalk::new(self.analysis, &self.rows[at], &self.plans[at]);
        if self.apart[at] {
            let mut sink = EventSink(|event: EventRecord<'_>| {
                beside(Some(event.time), found);
                found(event);
            });
            while walk.next(&mut sink).is_some() {}
            return beside(None, found);
        }
        let mut ahead = Ahead::default();
        loop {
            // Later calls begin no earlier.
            let reached = walk.next(&mut ahead).map(|call| call.begin.0);
            let done = match reached {
                Some(time) => ahead.waiting.partition_point(|one| one.time < time),
                None => ahead.waiting.len(),
            };
            for one in ahead.waiting.drain(..done) {
                beside(Some(one.time), found);
                let (time, types, values) = (one.time, &one.types, &one.values);
                found(EventRecord { location, cpu: 0, time, types, values });
                ahead.free.push(one);
            }
            if reached.is_none() {
                break;
            }
        }
        beside(None, found);
    }
}

impl Stream<'_> {
    /// Begin and end of each call of MPI of a thread, in their order; none where calls overlap.
    pub(crate) fn calls(&self, location: u32) -> Option<Vec<(u64, u64)>> {
        let at = self.rows.binary_search_by_key(&location, |row| row.location).ok()?;
        let (row, plans) = (&self.rows[at], &self.plans[at]);
        let mut calls: Vec<(u64, u64)> = Vec::new();
        let mut overlap = false;
        each_time(self.analysis, row, |call| {
            let plan = plans.get(call.node.0 as usize);
            if plan.is_some_and(|plan| types::MPI.contains(&plan.kind.event)) {
                overlap |= calls.last().is_some_and(|&(_, before)| call.begin.0 < before);
                calls.push((call.begin.0, call.end.0));
            }
        });
        (!overlap).then_some(calls)
    }
}
