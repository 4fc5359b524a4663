//! `talea run --fabric`: the counters of every node of a job, beside the run's own matrix.
//!
//! Owns the hosts of jobs on two of them: namespaces with a network, a name and a `/sys` of their
//! own, with a cable between them, that live as long as a process that waits for the end of its
//! input. MPI runs between them over TCP; nothing outside of them is touched, and no packet leaves
//! them.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::bench::{Bench, Mpi, on_path, stderr};
use talea_testing::missing;

/// Ports of this machine, as `talea fabric` sees them.
fn ports_of_this_machine(bench: &Bench) -> usize {
    let output =
        bench.talea(["fabric", "counters", "--interval", "10ms", "--json"]).output().unwrap();
    let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    said["frames"][0]["ports"].as_array().map_or(0, Vec::len)
}

fn halo(mpi: Mpi, words: &[&str]) -> Vec<String> {
    let mut command = mpi.launch(2);
    command.push(mpi.program("halo").display().to_string());
    command.extend(words.iter().map(|&word| word.to_owned()));
    command
}

#[test]
fn the_ports_of_one_node_are_read_before_during_and_after() {
    let Some(bench) = Bench::new() else { return };
    let ports = ports_of_this_machine(&bench);
    for mpi in Mpi::all() {
        let command = halo(mpi, &["--size", "24", "--steps", "300"]);
        let output = bench.record(mpi.name, &["--fabric=20ms"], &command);
        let metadata = fs::read_to_string(bench.path(mpi.name).join("run.json")).unwrap();
        let metadata: Value = serde_json::from_str(&metadata).unwrap();
        let kept = &metadata["fabric"];
        assert_eq!(metadata["options"]["fabric_interval_ns"], 20_000_000);
        assert_eq!((&kept["interval_ns"], &kept["ports"]), (&20_000_000.into(), &ports.into()));
        assert_eq!(kept["nodes"].as_array().unwrap().len(), 1, "{kept}");
        assert!(stderr(&output).contains(" on 1 node, see `talea fabric table`"), "{output:?}");

        let table = bench.json(&["fabric", "table", mpi.name, "--json"]);
        let node = &table["nodes"][0];
        assert_eq!(table["nodes"].as_array().unwrap().len(), 1, "{table}");
        assert_eq!(
            (&node["ended"], &node["source"]),
            (&"MPI_Finalize".into(), &"recorded sysfs".into())
        );
        assert_eq!(node["ranks"], serde_json::json!([0, 1]));
        let host = node["node"].as_str().unwrap();
        let network = ["--torus", "2x1x1", "--hosts", &format!("{host},other"), "--cores", "1"];
        let compared = ["--matrix", mpi.name, "--compare", "as-run,filled", "--json"];
        let compared = bench.json(&[&["fabric", "place"], &network[..], &compared].concat());
        let shares = [0, 1].map(|at| compared["placements"][at]["off_node_share"].as_f64());
        assert_eq!(shares, [Some(0.0), Some(1.0)], "{compared}");
        assert!(node["readings"].as_u64().unwrap() >= 3, "{node}");
        assert_eq!((&node["sent"]["own"], &node["received"]["own"]), (&0.into(), &0.into()));
        assert_eq!(node["ports"].as_array().unwrap().len(), ports);
        if ports > 0 {
            let steps = node["steps"].as_array().unwrap();
            let times: Vec<u64> =
                steps.iter().map(|s| s["realtime_ns"].as_u64().unwrap()).collect();
            assert!(times.is_sorted() && steps.len() as u64 == node["readings"].as_u64().unwrap());
            assert!(node["seconds"].as_f64().unwrap() > 0.01);
        } else {
            assert!(table["gaps"].to_string().contains("has no port with counters"), "{table}");
        }
        let text = bench.text(&["fabric", "table", mpi.name]);
        assert!(text.contains("own (by the run's matrix)") && text.contains("0-1"), "{text}");
    }
}

#[test]
fn without_being_asked_no_port_is_read() {
    let (Some(bench), Some(mpi)) = (Bench::new(), Mpi::any()) else { return };
    bench.record("run", &["--no-report"], &halo(mpi, &["--size", "4", "--steps", "5"]));
    assert!(!bench.path("run").join("fabric").exists());
    let (code, said) = bench.fails(&["fabric", "table", "run"]);
    assert_eq!(code, 2);
    assert!(
        said.contains("expected counters of the network, which `talea run --fabric` keeps"),
        "{said}"
    );
    let (code, said) = bench.fails(&["run", "--fabric=1ms", "--", "true"]);
    assert_eq!((code, said.contains("at least 10ms")), (2, true), "{said}");
    // The word behind it is the program, not its time.
    let output = bench.talea(["run", "--fabric", "--out", "none", "--", "true"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("network  0 readings"), "{}", stderr(&output));
}

#[test]
fn programs_without_a_world_are_read_until_they_end() {
    let Some(bench) = Bench::new() else { return };
    for mpi in Mpi::with_sessions() {
        let mut command = mpi.launch(2);
        command.extend([mpi.program("modern").display().to_string(), "sessions".to_owned()]);
        bench.record(mpi.name, &["--no-report", "--fabric"], &command);
        let table = bench.json(&["fabric", "table", mpi.name, "--json"]);
        let node = &table["nodes"][0];
        assert_eq!(
            (&node["ended"], node["readings"].as_u64() >= Some(2)),
            (&"exit".into(), true),
            "{table}"
        );
    }
}

/// The only file of counters, once there is one with a whole head.
fn file_of(run: &Path, child: &mut Child) -> Option<(PathBuf, u32)> {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_mins(1) && child.try_wait().unwrap().is_none() {
        let files = fs::read_dir(run.join("fabric")).into_iter().flatten().flatten();
        for path in files.map(|entry| entry.path()) {
            let text = fs::read_to_string(&path).unwrap();
            let process = text.lines().find_map(|line| line.strip_prefix("#! process "));
            if let Some(pid) = process.and_then(|pid| pid.parse().ok())
                && text.lines().filter(|line| line.starts_with("at ")).count() > 3
            {
                return Some((path, pid));
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    None
}

#[test]
fn counters_survive_a_killed_process() {
    let (Some(bench), Some(mpi)) = (Bench::new(), Mpi::any()) else { return };
    let mut words: Vec<String> =
        ["run", "--out", "run", "--fabric=10ms", "--"].map(str::to_owned).into();
    words.extend(halo(mpi, &["--size", "4", "--steps", "100000000"]));
    let mut child =
        bench.talea(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let (path, pid) = file_of(&bench.path("run"), &mut child).expect("a file of counters");
    Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    super::survive::ended(child);
    let table = bench.json(&["fabric", "table", "run", "--json"]);
    let gaps = table["gaps"].to_string();
    assert!(gaps.contains("readings end without a last one"), "{table}");
    let node = &table["nodes"][0];
    assert!(node["readings"].as_u64() > Some(3) && node["ended"].is_null(), "{table}");
    // What is missing stands with the run too.
    let stats = bench.json(&["show", "run", "stats", "--json"]).to_string();
    assert!(stats.contains("readings end without a last one"), "{stats}");
    // In the middle of a line.
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 3]).unwrap();
    assert!(bench.text(&["fabric", "table", "run"]).contains("gap: "));
}

/// A process in a network and with a name of its own.
struct Host(Child);

/// Waits until its input is closed. IPv6 would send what nobody asked for.
const HOLD: &str = "hostname $0 && mount -t sysfs none /sys && mount --bind \"$1\" /etc/hosts && \
    mount -t tmpfs none \"$2\" && \
    for all in /proc/sys/net/ipv6/conf/*/disable_ipv6; do echo 1 > $all; done; ip link set lo up; \
    echo ready; read end";

impl Host {
    fn new(name: &str, hosts: &Path, own: &Path) -> Result<Self, String> {
        let mut command = Command::new("unshare");
        command.args(["--net", "--mount", "--uts", "sh", "-c", HOLD, name]).arg(hosts).arg(own);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut own = Self(child.spawn().map_err(|error| error.to_string())?);
        let mut line = String::new();
        BufReader::new(own.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        if line == "ready\n" { Ok(own) } else { Err("no namespaces may be made".to_owned()) }
    }

    fn enter(&self) -> [String; 5] {
        let pid = self.0.id().to_string();
        ["--net", "--mount", "--uts", "--target", &pid].map(str::to_owned)
    }

    fn run(&self, words: &[&str]) -> Result<(), String> {
        let mut command = Command::new("nsenter");
        let output = command.args(self.enter()).args(words).stdin(Stdio::null()).output();
        let output = output.map_err(|error| error.to_string())?;
        let done = output.status.success();
        if done { Ok(()) } else { Err(format!("{words:?}: {}", stderr(&output))) }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Two hosts with a cable between them, which see the same files but for their own folder `own`.
pub(super) struct Pair {
    pub(super) bench: Bench,
    hosts: [Host; 2],
    agent: PathBuf,
}

pub(super) const NAMES: [&str; 2] = ["tla", "tlb"];
const NETWORK: &str = "10.231.18.0/24";
/// The cable's end on each host.
const PORT: &str = "tl0";

impl Pair {
    #[track_caller]
    pub(super) fn new() -> Option<Self> {
        let bench = Bench::new()?;
        for program in ["unshare", "nsenter", "ip"] {
            if !on_path(program) {
                return missing(&format!("no `{program}` for namespaces"));
            }
        }
        match Self::made(bench) {
            Ok(pair) => Some(pair),
            Err(why) => missing(&format!("no two hosts with a cable between them: {why}")),
        }
    }

    fn made(bench: Bench) -> Result<Self, String> {
        let own = bench.path("own");
        fs::create_dir(&own).unwrap();
        let names = bench.path("hosts");
        fs::write(&names, "127.0.0.1 localhost\n10.231.18.1 tla\n10.231.18.2 tlb\n").unwrap();
        let hosts = [Host::new(NAMES[0], &names, &own)?, Host::new(NAMES[1], &names, &own)?];
        let other = hosts[1].0.id().to_string();
        let cable =
            ["ip", "link", "add", PORT, "type", "veth", "peer", "name", PORT, "netns", &other];
        hosts[0].run(&cable)?;
        for (host, number) in hosts.iter().zip(["1", "2"]) {
            let address = format!("10.231.18.{number}/24");
            host.run(&["ip", "address", "add", &address, "dev", PORT])?;
            host.run(&["ip", "link", "set", PORT, "up"])?;
        }
        // The kernel notices a moment later that both ends are up; MPI takes no port before.
        for host in &hosts {
            let ready = "for i in $(seq 200); do ip -o link show $0 | grep -q 'state UP' && exit; sleep .05; done";
            host.run(&["sh", "-c", ready, PORT])?;
        }
        // What stands for `ssh` of the launchers: options, the host, and a command.
        let agent = bench.path("agent");
        let [a, b] = [0, 1].map(|at| hosts[at].0.id());
        let text = format!(
            "#!/bin/sh\nwhile [ \"${{1#-}}\" != \"$1\" ]; do shift; done\n\
             case $1 in tla) pid={a};; *) pid={b};; esac\nshift\n\
             exec nsenter --net --mount --uts --target $pid sh -c \"cd $PWD; $*\"\n"
        );
        fs::write(&agent, text).unwrap();
        fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
        Ok(Self { bench, hosts, agent })
    }

    /// Records a program with a rank on each host, started on the first one.
    #[track_caller]
    pub(super) fn record(&self, mpi: Mpi, options: &[&str], words: &[&str]) -> Output {
        let output = self.record_whatever(mpi, options, words);
        assert!(output.status.success(), "{}: {output:?}", mpi.name);
        output
    }

    /// The same for a program that may fail.
    pub(super) fn record_whatever(&self, mpi: Mpi, options: &[&str], words: &[&str]) -> Output {
        let agent = self.agent.display().to_string();
        let mut command = mpi.launch(2);
        let own: Vec<&str> = if mpi.name == "openmpi" {
            let (oob, btl) = ("oob_tcp_if_include", "btl_tcp_if_include");
            vec![
                "--mca",
                "plm_rsh_agent",
                &agent,
                "--mca",
                oob,
                NETWORK,
                "--mca",
                btl,
                NETWORK,
                "--host",
                "tla:1,tlb:1",
            ]
        } else {
            vec!["-launcher", "rsh", "-launcher-exec", &agent, "-hosts", "tla:1,tlb:1"]
        };
        command.extend(own.into_iter().map(str::to_owned));
        command.push(mpi.program("halo").display().to_string());
        let talea = self.bench.talea(["run", "--out", mpi.name]);
        let mut inside = Command::new("timeout");
        inside.args(["--kill-after=10", "120", "nsenter"]).args(self.hosts[0].enter());
        inside.arg(format!("--wd={}", self.bench.path("").display()));
        inside.arg(talea.get_program()).args(talea.get_args()).args(options);
        inside.arg("--").args(command).args(words);
        inside.envs(talea.get_envs().filter_map(|(name, value)| Some((name, value?))));
        // MPICH takes both hosts for one, as they have the same memory, and `lo` for a way between
        // them.
        let over_tcp = [
            ("UCX_TLS", "tcp,self"),
            ("UCX_NET_DEVICES", PORT),
            ("FI_PROVIDER", "tcp"),
            ("FI_TCP_IFACE", PORT),
        ];
        inside.envs(over_tcp).output().unwrap()
    }

    /// What the ports of both hosts carried, beside the messages between the ranks.
    #[track_caller]
    fn check(&self, mpi: Mpi) {
        let matrix = self.bench.json(&["show", mpi.name, "matrix", "--json"]);
        let cells = matrix["cells"].as_array().unwrap();
        let sent = |from: u64| -> u64 {
            let cells = cells.iter().filter(|cell| cell[0] == from);
            cells.map(|cell| cell[2].as_u64().unwrap()).sum()
        };
        // 2 variables in each of 40 steps, blocks of 96 cells and two ghosts of 8 bytes along each
        // side.
        let expected = [0, 1].map(|rank| (sent(rank), 2 * 40 * 98 * 98 * 8));
        assert!(expected.iter().all(|(sent, known)| sent == known), "{expected:?}");

        let table = self.bench.json(&["fabric", "table", mpi.name, "--json"]);
        let nodes = table["nodes"].as_array().unwrap();
        assert_eq!(nodes.len(), 2, "{table}");
        assert_eq!(
            table["gaps"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|gap| gap["kind"] != "estimated")
                .count(),
            0,
            "{}",
            table["gaps"]
        );
        let mut through = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            assert_eq!(
                (&node["node"], &node["ended"]),
                (&NAMES[at].into(), &"MPI_Finalize".into())
            );
            assert_eq!(node["ranks"], serde_json::json!([at]));
            let port = &node["ports"][0];
            assert_eq!(node["ports"].as_array().unwrap().len(), 1, "{node}");
            assert_eq!((&port["port"], &port["faults"]), (&PORT.into(), &0.into()));
            for way in ["sent", "received"] {
                let number = |name: &str| node[way][name].as_u64().unwrap();
                let (ports, own, other) = (number("ports"), number("own"), number("other"));
                assert_eq!((own, other), (expected[0].1, ports - own), "{node}");
                // Headers, acknowledgements, collective operations of some bytes, and the start of
                // MPI.
                assert!((other as f64) < 0.05 * ports as f64, "{}: {way} {node}", mpi.name);
                through.push(ports);
                assert!(port[way]["bytes_per_packet"].as_f64().unwrap() > 100.0, "{port}");
                let seconds = node["seconds"].as_f64().unwrap();
                let rate = port[way]["bytes_per_second"].as_f64().unwrap();
                assert!((rate * seconds / ports as f64 - 1.0).abs() < 1e-6, "{node}");
                let most = port[way]["most"]["bytes_per_second"].as_f64();
                assert!(most.is_none_or(|most| most > 0.99 * rate), "{node}");
            }
        }
        // What one side sent the other one received.
        for (sent, received) in [(through[0], through[3]), (through[2], through[1])] {
            assert!(sent.abs_diff(received) < sent / 50, "{through:?}");
        }
        let text = self.bench.text(&["fabric", "table", mpi.name]);
        assert!(NAMES.iter().all(|name| text.contains(name)), "{text}");
    }
}

const WORDS: [&str; 8] = ["--size", "96", "--steps", "40", "--vars", "2", "--stencil", "7"];

#[test]
fn counters_of_two_hosts_agree_with_the_matrix() {
    let Some(pair) = Pair::new() else { return };
    for mpi in Mpi::all() {
        pair.record(mpi, &["--fabric=50ms"], &WORDS);
        pair.check(mpi);
    }
}

#[test]
fn counters_on_nodes_own_disks_are_brought_together() {
    let Some(pair) = Pair::new() else { return };
    for mpi in Mpi::all() {
        let own = pair.bench.path("own").display().to_string();
        // By ranks if the user asks for it, else by observers.
        let merge = if mpi.name == "openmpi" { "ranks" } else { "auto" };
        pair.record(mpi, &["--fabric=50ms", "--live-dir", &own, "--merge", merge], &WORDS);
        pair.check(mpi);
        let files = fs::read_dir(pair.bench.path(mpi.name).join("fabric")).unwrap().count();
        assert_eq!(files, 2);
        for host in &pair.hosts {
            // The folder of the run is gone from both disks.
            host.run(&["sh", "-c", "[ -z \"$(ls \"$0\")\" ]", &own]).unwrap();
        }
    }
}
