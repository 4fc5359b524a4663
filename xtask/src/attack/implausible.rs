//! Batches that no node can have made, from the token of a node.

use talea_model::Nanos;
use talea_model::shares::Batch;

use super::{Attack, Extent, Outcome, SAMPLES, SECOND, batch};
use crate::site::{Role, Site};

pub(super) const ATTACKS: &[Attack] = &[Attack {
    name: "stolen token: 1e15 samples in 10 s, core 4294967295, begin in 1970, one minute from three agent starts",
    before: "all accepted",
    limit: "each is refused (400), operators see the reason, nothing of it is stored",
    extent: Extent::Fast,
    make,
}];

fn make(site: &Site, _: Extent) -> Result<Outcome, String> {
    let (root, node) = (site.user("root", 0, Role::Operator)?, site.token("node", "n1")?);
    let server = site.server("t.db", &[])?;
    let start = Nanos::now() - Nanos(100 * SECOND);
    let put = |change: &dyn Fn(&mut Batch)| -> Result<u16, String> {
        let mut batch = batch("n1", 0, start);
        change(&mut batch);
        Ok(server.put(&node, &[batch])?.status)
    };
    let honest = put(&|_| ())?;
    let refused = [
        put(&|batch| batch.shares[0].samples = 1_000_000_000_000_000)?,
        put(&|batch| batch.shares[0].core = u32::MAX)?,
        put(&|batch| (batch.begin, batch.end) = (Nanos(0), Nanos(10 * SECOND)))?,
        put(&|batch| batch.id.started = 2)?,
        put(&|batch| batch.id.started = 3)?,
    ];
    let count = refused.iter().filter(|&&status| status == 400).count();
    let nodes = server.json(&root, "nodes")?;
    let shown = &nodes["refused"][0];
    let has_reason = shown["node"] == "n1"
        && shown["requests"] == refused.len()
        && shown["why"].as_str().is_some_and(|why| !why.is_empty());
    let samples = server.samples(&root)?;
    let figures = format!(
        "{count} of {} refused (400); reason {}; {samples} samples stored of {SAMPLES} honest ones",
        refused.len(),
        if has_reason { "shown" } else { "not shown" },
    );
    let holds = honest == 200 && count == refused.len() && has_reason && samples == SAMPLES;
    Ok(Outcome::of(holds, figures))
}
