//! Which nodes and jobs there are.
//!
//! Owns both lists. A user's list of nodes says nothing of when others used them. First and last
//! times of jobs are of the whole job on the nodes that are asked for, whatever the filters of
//! rows.

use std::collections::{BTreeMap, BTreeSet};

use talea_model::shares::{Job, Sampler};
use talea_model::{Gaps, Nanos};

use crate::answer::{JobSeen, NodeSeen};
use crate::error::StoreError;
use crate::prometheus::ask::{Sums, at, each};
use crate::prometheus::http::{Found, Server};
use crate::prometheus::names::name;
use crate::prometheus::put::{BEGIN, END, WORK, WORK_BEGIN, WORK_END};
use crate::prometheus::{select, window};
use crate::question::{Question, Visible};

fn node(found: &Found) -> String {
    name(found.label("node").unwrap_or_default()).to_owned()
}

pub(super) fn nodes(server: &Server, visible: Visible) -> Result<Vec<NodeSeen>, StoreError> {
    let windows = [window::everything(server)?];
    let none = Vec::new();
    let (mut latest, mut lasts) = (BTreeMap::new(), BTreeMap::new());
    let functions = ("max by (node,cores,sampler)", "max_over_time");
    for found in each(server, &windows, functions, END, &none)? {
        let Some(end) = at(&found) else { continue };
        let cores: u32 = found.label("cores").and_then(|cores| cores.parse().ok()).unwrap_or(0);
        let sampler = serde_json::Value::from(found.label("sampler").unwrap_or_default());
        let sampler: Sampler = serde_json::from_value(sampler).unwrap_or(Sampler::OwnProcesses);
        let seen = latest.entry(node(&found)).or_insert((end, cores, sampler));
        *seen = (*seen).max((end, cores, sampler));
    }
    let own = select::visible(visible);
    let (begin, end) = match visible {
        Visible::All => (BEGIN, END),
        Visible::User(_) => (WORK_BEGIN, WORK_END),
    };
    for found in each(server, &windows, ("max by (node)", "max_over_time"), end, &own)? {
        lasts.extend(at(&found).map(|last| (node(&found), last)));
    }
    let mut nodes = Vec::new();
    let mut firsts = each(server, &windows, ("min by (node)", "min_over_time"), begin, &own)?;
    firsts.sort_by_cached_key(node);
    for found in firsts {
        let name = node(&found);
        let Some((first, &last)) = at(&found).zip(lasts.get(&name)) else { continue };
        let Some(&(_, cores, sampler)) = latest.get(&name) else { continue };
        // Which batches were the last is known of one node at a time only.
        nodes.push(NodeSeen { name, first, last, cores, sampler, interval: None });
    }
    Ok(nodes)
}

fn job(found: &Found) -> Option<Job> {
    let id = name(found.label("job")?).to_owned();
    Some(Job { id, user: found.label("owner").and_then(|owner| owner.parse().ok()) })
}

#[derive(Default)]
struct Seen {
    sums: Sums,
    nodes: BTreeSet<String>,
    time: Option<(Nanos, Nanos)>,
}

pub(super) fn jobs(server: &Server, question: &Question) -> Result<Vec<JobSeen>, StoreError> {
    let windows = window::windows(server, question, &mut Gaps::default())?;
    let any = |mut matchers: Vec<String>| {
        matchers.push("job!=\"\"".to_owned());
        matchers
    };
    let (metric, rows) = if select::has_filters_of_rows(question) {
        let plain = Question { by: Vec::new(), ..question.clone() };
        (select::metric(&plain, &mut Gaps::default()), any(select::rows(question)))
    } else {
        (WORK, any(select::who(question)))
    };
    let mut jobs: BTreeMap<Job, Seen> = BTreeMap::new();
    let functions = ("sum by (job,owner,node,period)", "sum_over_time");
    for found in each(server, &windows, functions, metric, &rows)? {
        let Some(job) = job(&found) else { continue };
        let seen = jobs.entry(job).or_default();
        seen.sums.add(Sums::from_samples(&found, found.number().unwrap_or(0.0)));
        seen.nodes.insert(node(&found));
    }
    let who = any(select::who(question));
    let functions = ("min by (job,owner)", "min_over_time");
    for found in each(server, &windows, functions, WORK_BEGIN, &who)? {
        let seen = job(&found).and_then(|job| jobs.get_mut(&job));
        if let Some((seen, first)) = seen.zip(at(&found)) {
            seen.time = Some(seen.time.map_or((first, first), |time| (time.0.min(first), time.1)));
        }
    }
    let functions = ("max by (job,owner)", "max_over_time");
    for found in each(server, &windows, functions, WORK_END, &who)? {
        let seen = job(&found).and_then(|job| jobs.get_mut(&job));
        if let Some((seen, last)) = seen.zip(at(&found)) {
            seen.time = Some(seen.time.map_or((last, last), |time| (time.0, time.1.max(last))));
        }
    }
    let mut list: Vec<JobSeen> = jobs
        .into_iter()
        .filter_map(|(job, seen)| {
            let (first, last) = seen.time?;
            let (nodes, samples) = (seen.nodes.len() as u64, seen.sums.samples());
            let core_seconds = seen.sums.core_seconds();
            Some(JobSeen { job, first, last, nodes, samples, core_seconds })
        })
        .collect();
    // Jobs are by name, and sorting keeps the order of equal ones.
    list.sort_by_key(|job| std::cmp::Reverse(job.samples));
    list.truncate(question.limit);
    Ok(list)
}
