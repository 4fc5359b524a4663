//! A bug of the thread that writes.

use std::sync::mpsc::channel;
use std::time::Duration;

use talea_model::Nanos;
use talea_model::shares::Batch;
use talea_store::{
    Answer, JobSeen, NodeSeen, Put, Question, Rates, Retained, Series, SpreadSeen, Store,
    StoreError, Visible,
};

use super::Served;
use crate::access::Kind;
use crate::server::serve_on;
use crate::testing::batch;

struct Broken;

impl Store for Broken {
    fn put_all(&mut self, _: &[Batch]) -> Result<Vec<Put>, StoreError> {
        panic!("a bug of this test")
    }

    fn usage(&self, _: &Question) -> Result<Answer, StoreError> {
        unreachable!()
    }

    fn series(&self, _: &Question, _: Nanos) -> Result<Series, StoreError> {
        unreachable!()
    }

    fn nodes(&self, _: Visible) -> Result<Vec<NodeSeen>, StoreError> {
        unreachable!()
    }

    fn jobs(&self, _: &Question) -> Result<Vec<JobSeen>, StoreError> {
        unreachable!()
    }

    fn rates(&self, _: &Question) -> Result<Rates, StoreError> {
        unreachable!()
    }

    fn spreads(&self, _: &Question) -> Result<Vec<SpreadSeen>, StoreError> {
        unreachable!()
    }

    fn retain(&mut self, _: Nanos, _: usize) -> Result<Retained, StoreError> {
        Ok(Retained::default())
    }
}

#[test]
fn a_server_that_cannot_write_any_more_ends() {
    let (ended, ends) = channel();
    let mut served = Served::by(
        |_| (),
        move |options, told| {
            let serve = || serve_on(options, told, |_| Box::new(Broken));
            let served = std::panic::catch_unwind(std::panic::AssertUnwindSafe(serve));
            ended.send(served.is_err()).unwrap();
        },
    );
    let node = served.token(Kind::Node, "n1");
    assert_eq!(served.put(&node, &[batch("n1", 1, &[])]).status, 503);
    // Nobody told it to.
    let is_bug = ends.recv_timeout(Duration::from_mins(1));
    assert_eq!(is_bug, Ok(true));
    served.thread.take().unwrap().join().unwrap();
}
