//! `talea fabric table RUN`: the counters of a job's node ports, as tables.
//!
//! Owns the columns: one row for each direction of each port, then one for each direction of each
//! node, with the run's own bytes beside those of the ports. A note below lists possible other
//! traffic, since counters do not know the owner of bytes.

use std::io::Write as _;
use std::path::Path;

use talea_model::Bytes;
use talea_network::NetworkError;
use talea_network::job::port::PortRun;
use talea_network::job::{Job, Part, Shares};
use talea_run::load;
use talea_topology::svg::amount;

use super::cell::{known, percent, stalled};
use super::{FabricError, print_json};
use crate::table::{Column, Table};
use crate::terminal::{self, Palette, Progress, grouped, prose};

const WAYS: [&str; 2] = ["out", "in"];

/// Prints the ports of all nodes of a run.
pub(super) fn table(path: &Path, is_json: bool) -> Result<(), FabricError> {
    let run = load::load(path).map_err(NetworkError::from)?;
    let job = Job::read(&run, &mut Progress::new().steps())?;
    if is_json { print_json(&job.result(&run)) } else { print(&job) }
}

/// Prints both tables, and the gaps.
fn print(job: &Job) -> Result<(), FabricError> {
    let mut out = std::io::stdout().lock();
    for line in lines(job).into_iter().chain(terminal::gaps(&job.gaps, Palette::stdout())) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Both tables, and the meaning of their words.
fn lines(job: &Job) -> Vec<String> {
    let mut lines = ports(job);
    lines.push(String::new());
    lines.extend(nodes(job));
    lines.push(String::new());
    lines.extend(terminal::wrapped(&note(job), prose()));
    lines
}

fn ports(job: &Job) -> Vec<String> {
    let mut table = Table::new(&[
        ("node", Column::Yields),
        ("port", Column::Yields),
        ("way", Column::Left),
        ("GB/s", Column::Right),
        ("bytes", Column::Right),
        ("packets", Column::Right),
        ("full", Column::Right),
        ("most", Column::Right),
        ("stalled", Column::Right),
        ("B/packet", Column::Right),
        ("faults", Column::Right),
    ]);
    let mut idle = 0;
    for part in &job.parts {
        let ports = part.node.iter().flat_map(|node| &node.ports);
        for port in ports {
            if is_idle(port) {
                idle += 1;
                continue;
            }
            for at in 0..2 {
                table.row(port_row(part, port, at));
            }
        }
    }
    let mut lines = table.lines();
    match idle {
        0 => {}
        1 => lines.push("not shown: 1 port without a link, which carried nothing".to_owned()),
        _ => lines.push(format!("not shown: {idle} ports without a link, which carried nothing")),
    }
    lines
}

/// True for an idle port; a node may have many.
fn is_idle(port: &PortRun) -> bool {
    let state = port.port.state.as_deref().unwrap_or_default().to_ascii_lowercase();
    matches!(state.as_str(), "down" | "disabled") && port.bytes() == [Some(0); 2]
}

fn port_row(part: &Part, port: &PortRun, at: usize) -> [String; 11] {
    let way = [port.rates.sent, port.rates.received][at];
    let (bytes, packets) = (port.bytes()[at], port.packets()[at]);
    let first = |text: String| if at == 0 { text } else { String::new() };
    let each = bytes.zip(packets).filter(|&(_, packets)| packets > 0);
    [
        first(part.name.clone()),
        first(port.port.name.clone()),
        WAYS[at].to_owned(),
        first(known(port.port.speed, |speed| format!("{:.2}", speed / 1e9))),
        known(bytes, |bytes| amount(bytes as f64, "B")),
        known(packets, grouped),
        percent(way.utilisation),
        known(port.most[at], |most| amount(most.rate, "B/s")),
        stalled(way),
        known(each, |(bytes, packets)| format!("{:.1}", bytes as f64 / packets as f64)),
        first(known(port.rates.faults, grouped)),
    ]
}

fn nodes(job: &Job) -> Vec<String> {
    let mut table = Table::new(&[
        ("node", Column::Yields),
        ("ranks", Column::Yields),
        ("way", Column::Left),
        ("ports", Column::Right),
        ("own (by the run's matrix)", Column::Right),
        ("other", Column::Right),
        ("its share", Column::Right),
    ]);
    for part in &job.parts {
        for (at, Shares { ports, own, other }) in part.shares().into_iter().enumerate() {
            let first = |text: String| if at == 0 { text } else { String::new() };
            let bytes = |bytes: u64| amount(bytes as f64, "B");
            let share = other.zip(ports).filter(|&(_, ports)| ports > 0);
            table.row([
                first(part.name.clone()),
                first(part.ranks()),
                WAYS[at].to_owned(),
                known(ports, bytes),
                bytes(own),
                known(other, bytes),
                percent(share.map(|(other, ports)| other as f64 / ports as f64)),
            ]);
        }
    }
    table.lines()
}

/// Note on possible other traffic.
fn note(job: &Job) -> String {
    let collective = match job.collective {
        0 => String::new(),
        bytes => format!(", collective operations (their ranks gave {})", Bytes(bytes)),
    };
    format!(
        "own: messages and one-sided transfers between ranks on different nodes, without headers; other: headers, acknowledgements and the start of MPI{collective}, file systems, other jobs"
    )
}

#[cfg(test)]
mod tests {
    use talea_model::{Gaps, Nanos, Rank};
    use talea_network::job::node::Node;

    use super::*;

    const TEXT: &str = include_str!("../../../../networks/network/src/job/two_ports.counters");

    fn part(name: &str, ranks: std::ops::Range<u32>, own: [u64; 2]) -> Part {
        let text = TEXT.replace("10 17 500 2", "100 17 500 2");
        let text = text.replace("host n1", &format!("host {name}"));
        Part {
            name: name.to_owned(),
            ranks: ranks.map(Rank).collect(),
            end: Some(Nanos(20_000_000_000)),
            clocks: Some((Nanos(1_500_000_000), Nanos(0))),
            node: Some(Node::parse(name, text).unwrap()),
            own,
        }
    }

    #[test]
    fn own_bytes_stand_beside_those_of_others() {
        let without = Part { node: None, ..part("n3", 8..9, [5, 6]) };
        let parts = vec![part("n1", 0..4, [600, 2000]), part("n2", 4..8, [700, 4000]), without];
        let mut job = Job { parts, collective: 64, gaps: Gaps::default() };
        job.compare();
        let gaps = job.gaps.iter().map(|gap| gap.detail.clone());
        insta::assert_snapshot!(lines(&job).into_iter().chain(gaps).collect::<Vec<_>>().join("\n"));
    }
}
