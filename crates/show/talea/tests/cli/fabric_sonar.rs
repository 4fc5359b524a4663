//! `talea fabric`: known messages between two network namespaces, and the counters of ports.
//!
//! Owns the namespaces: they live as long as two processes that wait for the end of their input, so
//! that they are gone however the test ends. Nothing outside of them is touched, and no packet
//! leaves them.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use super::bench::{on_path, stderr};
use talea_testing::missing;

/// A process in a network of its own, with the `/sys` of that network.
struct Namespace(Child);

/// Waits until its input is closed. IPv6 would send what nobody asked for.
const HOLD: &str = "mount -t sysfs none /sys && \
    for all in /proc/sys/net/ipv6/conf/*/disable_ipv6; do echo 1 > $all; done; echo ready; read end";

impl Namespace {
    fn new() -> Result<Self, String> {
        let mut command = Command::new("unshare");
        command.args(["--net", "--mount", "sh", "-c", HOLD]);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut own = Self(child.spawn().map_err(|error| error.to_string())?);
        let mut line = String::new();
        BufReader::new(own.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        if line == "ready\n" { Ok(own) } else { Err("no namespaces may be made".to_owned()) }
    }

    /// A command in it.
    fn inside(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--net", "--mount", "--target", &self.0.id().to_string(), program]);
        command.args(words).env("NO_COLOR", "1").stdin(Stdio::null());
        command
    }

    fn talea(&self, words: &[&str]) -> Command {
        self.inside(env!("CARGO_BIN_EXE_talea"), words)
    }

    fn run(&self, program: &str, words: &[&str]) -> Result<(), String> {
        let output = self.inside(program, words).output().map_err(|error| error.to_string())?;
        let done = output.status.success();
        if done { Ok(()) } else { Err(format!("{program} {words:?}: {}", stderr(&output))) }
    }

    fn statistic(&self, interface: &str, name: &str) -> u64 {
        let path = format!("/sys/class/net/{interface}/statistics/{name}");
        let output = self.inside("cat", &[&path]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Two networks with a cable between them.
struct Cable {
    a: Namespace,
    b: Namespace,
    names: [String; 2],
}

const ADDRESSES: [&str; 2] = ["10.231.17.1", "10.231.17.2"];

impl Cable {
    #[track_caller]
    fn new() -> Option<Self> {
        for program in ["unshare", "nsenter", "ip"] {
            if !on_path(program) {
                return missing(&format!("no `{program}` for namespaces"));
            }
        }
        match Self::made() {
            Ok(cable) => Some(cable),
            Err(why) => missing(&format!("no two networks with a cable between them: {why}")),
        }
    }

    fn made() -> Result<Self, String> {
        let (a, b) = (Namespace::new()?, Namespace::new()?);
        let names = ["a", "b"].map(|end| format!("tl{}{end}", std::process::id()));
        let other = b.0.id().to_string();
        let pair =
            ["link", "add", &names[0], "type", "veth", "peer", "name", &names[1], "netns", &other];
        a.run("ip", &pair)?;
        for (end, name, address) in [(&a, &names[0], ADDRESSES[0]), (&b, &names[1], ADDRESSES[1])] {
            end.run("ip", &["address", "add", &format!("{address}/24"), "dev", name])?;
            end.run("ip", &["link", "set", name, "up"])?;
        }
        Ok(Self { a, b, names })
    }

    /// What both ends say of so many messages.
    fn ping(&self, messages: u64, bytes: u64) -> [Value; 2] {
        let at = format!("{}:5733", ADDRESSES[1]);
        let listener = ["fabric", "sonar", "--ethernet", &self.names[1], "--listen", &at, "--json"];
        let mut listener = self.b.talea(&listener);
        let listener = listener.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let [messages, bytes] = [messages, bytes].map(|number| number.to_string());
        let sender = ["fabric", "sonar", "--ethernet", &self.names[0], "--to", &at];
        let more = ["--messages", &messages, "--bytes", &bytes, "--json"];
        let sent = self.a.talea(&[&sender[..], &more].concat()).output().unwrap();
        [sent, listener.wait_with_output().unwrap()].map(|output| json(&output))
    }
}

#[track_caller]
fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", stderr(output));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let subject = if found.get("frames").is_some() { "counters" } else { "sonar" };
    super::schemas::check(&["fabric", subject], &found);
    found
}

/// Expected and seen of a counter.
fn row(said: &Value, counter: &str) -> (u64, u64) {
    let rows = said["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["counter"] == counter).unwrap();
    (row["expected"].as_u64().unwrap(), row["seen"].as_u64().unwrap())
}

#[test]
fn counters_show_the_messages_that_were_sent() {
    let Some(cable) = Cable::new() else { return };
    // Message, frames of it, bytes of headers: one frame, and 8,008 bytes in fragments of 1,480.
    for (messages, bytes, frames, headers) in [(200, 1000, 1, 42), (50, 8000, 6, 8 + 6 * 34)] {
        let counters = ["tx_bytes", "tx_packets", "rx_bytes", "rx_packets"];
        let total = |name: &&str| cable.a.statistic(&cable.names[0], name);
        let before: Vec<u64> = counters.iter().map(total).collect();
        let said = cable.ping(messages, bytes);
        let after: Vec<u64> = counters.iter().map(total).collect();
        let there = [messages * (bytes + headers), messages * frames];
        let back = [messages * (32 + 42), messages];
        let [sender, listener] = &said;
        for (at, (counter, expected)) in
            counters.into_iter().zip(there.into_iter().chain(back)).enumerate()
        {
            let (told, seen) = row(sender, counter);
            assert_eq!(told, expected, "{counter}");
            // Neighbours may ask for each other's addresses meanwhile.
            let most = expected + if counter.ends_with("bytes") { 6 * 60 } else { 6 };
            assert!((expected..=most).contains(&seen), "{counter}: {seen} of {expected}: {sender}");
            // What this test read itself, with the greeting.
            assert!(after[at] - before[at] >= seen, "{counter}");
            let slack = if counter.ends_with("bytes") { 1200 } else { 12 };
            assert!(after[at] - before[at] <= seen + slack, "{counter}: {before:?} {after:?}");
        }
        // At the other end the same, the other way round, with one answer more.
        assert_eq!(row(listener, "rx_bytes").0, there[0]);
        assert_eq!(row(listener, "rx_packets").0, there[1]);
        assert_eq!(row(listener, "tx_bytes").0, back[0] + 32 + 42);
        assert_eq!(row(listener, "tx_packets").0, back[1] + 1);
        for said in &said {
            assert_eq!(said["answered"], messages, "{said}");
            assert_eq!(said["mtu"], 1500);
            for counter in counters {
                let (expected, seen) = row(said, counter);
                assert!(
                    seen >= expected && (seen - expected) * 20 <= expected,
                    "{counter}: {said}"
                );
            }
        }
    }
}

#[test]
fn nobody_at_the_other_end() {
    let Some(cable) = Cable::new() else { return };
    let [name, to] = [&*cable.names[0], &format!("{}:5734", ADDRESSES[1])];
    let words = ["fabric", "sonar", "--ethernet", name, "--to", to, "--wait", "300ms"];
    let output = cable.a.talea(&words).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("no answer from 10.231.17.2:5734"), "{}", stderr(&output));
    let at = format!("{}:5734", ADDRESSES[0]);
    let words = ["fabric", "sonar", "--ethernet", name, "--listen", &at, "--wait", "300ms"];
    let output = cable.a.talea(&words).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let words = ["fabric", "sonar", "--ethernet", "none", "--to", to];
    let output = cable.a.talea(&words).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains(&format!("such as {name}")), "{}", stderr(&output));
}

#[test]
fn totals_are_kept_and_shown_again() {
    let Some(cable) = Cable::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("totals.txt").display().to_string();
    let words =
        ["fabric", "counters", "--interval", "50ms", "--count", "3", "--out", &kept, "--json"];
    let live = json(&cable.a.talea(&words).output().unwrap());
    let again = json(
        &cable.a.talea(&["fabric", "counters", "--replay", &kept, "--json"]).output().unwrap(),
    );
    assert_eq!((&live["source"], &again["source"]), (&"sysfs".into(), &"recorded sysfs".into()));
    assert_eq!(live["frames"], again["frames"]);
    assert_eq!(live["frames"].as_array().unwrap().len(), 3);
    let ports = live["frames"][0]["ports"].as_array().unwrap();
    let names: Vec<&str> = ports.iter().map(|port| port["port"].as_str().unwrap()).collect();
    // The loop-back is no port.
    assert_eq!(names, [cable.names[0].as_str()]);
    assert_eq!((&ports[0]["network"], &ports[0]["state"]), (&"ethernet".into(), &"up".into()));
    let first = cable.a.talea(&["fabric", "counters", "--replay", &kept, "--json", "--count", "1"]);
    let mut first = first;
    assert_eq!(json(&first.output().unwrap())["frames"].as_array().unwrap().len(), 1);
}

/// Two adapters of Slingshot, of which one has the cable of an older one, and one of InfiniBand
/// that was reset.
const KEPT: &str = "\
talea-fabric-counters 1
source sysfs
set
counter hni_sts_tx_ok_octets sent 1B 56 wraps
counter hni_sts_rx_ok_octets received 1B 56 wraps
counter hni_tx_paused_0 sent-stalled 1000000000Hz 56 wraps
counter hni_tx_paused_1 sent-stalled 1000000000Hz 56 wraps
set
counter port_xmit_data sent 4B 64 wraps
counter port_rcv_data received 4B 64 wraps
counter port_xmit_wait sent-stalled 0Hz 32 stops
counter symbol_error fault events 16 stops
port cxi0 slingshot 0 2.5e10 up
port cxi1 slingshot 0 1.25e10 up
port mlx5_0/1 infiniband 1 1.25e10 ACTIVE
at 1000000000
72057594037927935 1000 0 0
5 - 0 0
1000 500000 10 1
at 3000000000
9999999999 2000 500000000 1500000000
5 7 0 0
2500001000 1000 4294967295 4
";

#[test]
fn a_recording_is_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept.txt");
    std::fs::write(&path, KEPT).unwrap();
    let talea = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_talea"));
        command.args(["fabric", "counters", "--replay"]).arg(&path).args(words);
        command.env("NO_COLOR", "1").output().unwrap()
    };
    let text = String::from_utf8(talea(&[]).stdout).unwrap();
    insta::assert_snapshot!(text);
    let said = json(&talea(&["--json"]));
    let sent = &said["frames"][0]["ports"][0]["sent"];
    assert_eq!(sent["bytes_per_second"], 5e9);
    assert_eq!((&sent["utilisation"], &sent["stalled"]), (&0.2.into(), &0.75.into()));
    std::fs::write(&path, KEPT.replace("56 wraps", "65 wraps")).unwrap();
    let output = talea(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("line 4: expected `counter NAME ROLE"), "{}", stderr(&output));
    // What shows nothing is no success, and what runs backwards is said.
    let refused = |text: &str, expected: &str| {
        std::fs::write(&path, text).unwrap();
        let output = talea(&[]);
        let said = stderr(&output);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{said}");
        assert!(said.contains(expected) && said.contains("kept.txt"), "{said}");
    };
    let second = KEPT.find("at 3").unwrap();
    refused(&KEPT[..second], "two or more readings at increasing times");
    refused(&KEPT.replace("at 3000000000", "at 300000000"), "two or more readings");
    refused(&KEPT[..KEPT.len() - 3], "two or more readings");
    refused(&KEPT[..KEPT.find("port cxi0").unwrap()], "expected a line `port ...`");
    refused(&KEPT.replace("port cxi1", "port cxi0"), "line 14: expected a port that was not");
    refused(&KEPT.replace("paused_1", "paused_0"), "line 7: expected a counter that the set");
    let wide: Vec<u8> = KEPT.encode_utf16().flat_map(u16::to_le_bytes).collect();
    std::fs::write(&path, [&[0xff, 0xfe], &wide[..]].concat()).unwrap();
    assert!(stderr(&talea(&[])).contains("found UTF-16"), "{}", stderr(&talea(&[])));
    std::fs::write(&path, [KEPT.as_bytes(), &[0xe9, b'\n']].concat()).unwrap();
    assert!(stderr(&talea(&[])).contains("line 24: expected UTF-8"), "{}", stderr(&talea(&[])));
    std::fs::write(&path, format!("\u{feff}{KEPT}at 2000000000\n")).unwrap();
    let marked = String::from_utf8(talea(&[]).stdout).unwrap();
    assert!(marked.contains("the recording ends early"), "{marked}");
}

#[test]
fn a_recording_of_more_intervals_than_json_holds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.txt");
    let head = "talea-fabric-counters 1\nset\ncounter a sent 1B 64 wraps\nport p ethernet 0 - -\n";
    let shown = |readings: u64| {
        let mut text = head.to_owned();
        for at in 0..readings {
            text.extend(["at ", &at.to_string(), "\n", &at.to_string(), "\n"]);
        }
        std::fs::write(&path, text).unwrap();
        let counters = |words: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_talea"));
            command.args(["fabric", "counters", "--replay"]).arg(&path).args(words);
            String::from_utf8(command.env("NO_COLOR", "1").output().unwrap().stdout).unwrap()
        };
        let json = counters(&["--json"]);
        assert_eq!(json.matches("at_ns").count(), 100_000);
        (counters(&[]).matches("network").count(), json.contains("intervals that JSON has not"))
    };
    assert_eq!([shown(100_001), shown(100_002)], [(100_000, false), (100_001, true)]);
}
