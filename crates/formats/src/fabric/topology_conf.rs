//! Slurm's `topology.conf` of the tree plugin: `SwitchName=s0 Nodes=n[0-3,7]`, `SwitchName=s2 Switches=s[0-1]`.
//!
//! Owns its lines (comments behind `#`, lines that go on behind `\`, keys in any case) and the network that they say: switches, one cable between two of them however often it is told, and
//! nodes. `LinkSpeed` has no unit in Slurm and is not read, so that capacities are absent. It refuses switches that no line defines.
//! Follows the manual page topology.conf(5).

use std::collections::BTreeSet;

use talea_fabric::{Draft, Fabric, RouterId};

use super::hostlist::{LONGEST, expand};
use super::{Error, at_line, wrong};

/// Most names of a file, those of switches among them.
const MOST: usize = 1 << 20;

struct Switch {
    line: u64,
    name: String,
    switches: Vec<String>,
    nodes: Vec<String>,
}

/// Reads a file.
pub fn read(bytes: &[u8]) -> Result<Fabric, Error> {
    let text = String::from_utf8_lossy(bytes);
    let mut switches = Vec::new();
    let mut names = 0;
    let mut whole = String::new();
    let mut begin = 0;
    for (line, number) in text.lines().zip(1_u64..) {
        let line = line.split('#').next().unwrap_or("").trim();
        if whole.is_empty() {
            begin = number;
        }
        let (line, goes_on) = line.strip_suffix('\\').map_or((line, false), |line| (line, true));
        whole.push_str(line);
        if goes_on {
            whole.push(' ');
            continue;
        }
        let line = std::mem::take(&mut whole);
        if !line.trim().is_empty() {
            let room = MOST.checked_sub(names + 1);
            let room = room.ok_or_else(|| wrong(begin, format!("at most {MOST} names"), &line))?;
            let switch = of_line(&line, begin, room)?;
            names += 1 + switch.nodes.len() + switch.switches.len();
            switches.push(switch);
        }
    }
    if !whole.trim().is_empty() {
        return Err(wrong(begin, "a line behind the last `\\`", &whole));
    }
    if switches.is_empty() {
        return Err(Error::Nothing { expected: "lines such as SwitchName=s0 Nodes=n[0-3]" });
    }
    assemble(switches)
}

fn of_line(line: &str, number: u64, room: usize) -> Result<Switch, Error> {
    let mut switch =
        Switch { line: number, name: String::new(), switches: Vec::new(), nodes: Vec::new() };
    for word in line.split_whitespace() {
        let expected = "SwitchName=, Switches=, Nodes= or LinkSpeed=, each once";
        let (key, value) = word.split_once('=').ok_or_else(|| wrong(number, expected, word))?;
        let list = || {
            let most = room - switch.nodes.len() - switch.switches.len();
            expand(value, most).map_err(|expected| wrong(number, expected, value))
        };
        match key.to_ascii_lowercase().as_str() {
            "switchname" if switch.name.is_empty() => {
                if value.len() > LONGEST {
                    return Err(wrong(number, format!("a name of at most {LONGEST} bytes"), value));
                }
                value.clone_into(&mut switch.name);
            }
            "switches" if switch.switches.is_empty() => switch.switches = list()?,
            "nodes" if switch.nodes.is_empty() => switch.nodes = list()?,
            "linkspeed" => {}
            _ => return Err(wrong(number, expected, key)),
        }
    }
    if switch.name.is_empty() {
        return Err(wrong(number, "SwitchName= with a name", line));
    }
    Ok(switch)
}

fn assemble(switches: Vec<Switch>) -> Result<Fabric, Error> {
    let mut draft = Draft::default();
    for switch in &switches {
        draft.router(switch.name.clone(), None).map_err(at_line(switch.line))?;
    }
    let kind = draft.kind("cable", None)?;
    let mut told = BTreeSet::new();
    for (at, switch) in switches.into_iter().enumerate() {
        let own = RouterId(at as u32);
        for name in switch.switches {
            let Some(other) = draft.named(&name).filter(|&other| other != own) else {
                let expected = "another switch that a line defines";
                return Err(wrong(switch.line, expected, &name));
            };
            if told.insert((own.min(other), own.max(other))) {
                draft.cable((own, other), kind, 1).map_err(at_line(switch.line))?;
            }
        }
        for node in switch.nodes {
            draft.host(node, own).map_err(at_line(switch.line))?;
        }
    }
    Ok(draft.finish()?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fabric::damaged::{changed, changes};

    const SAMPLE: &str = "\
# A tree
SwitchName=s0 Nodes=n[0-3,7] LinkSpeed=900 # leaf
switchname=s1 \\
  nodes=n[4-6]
SwitchName=s2 Switches=s[0-1]
";

    #[test]
    fn switches_and_nodes() {
        let fabric = read(SAMPLE.as_bytes()).unwrap();
        let hosts: Vec<String> = fabric
            .hosts()
            .iter()
            .map(|host| format!("{}@{}", host.name, fabric.routers()[host.router.at()].name))
            .collect();
        assert_eq!(hosts.join(" "), "n0@s0 n1@s0 n2@s0 n3@s0 n7@s0 n4@s1 n5@s1 n6@s1");
        assert_eq!(fabric.links().len(), 4);
        assert_eq!(fabric.links()[0].capacity, None);
        // A link that both ends tell is there once.
        let both = SAMPLE.replacen("LinkSpeed=900", "Switches=s2", 1);
        assert_eq!(read(both.as_bytes()).unwrap(), fabric);
    }

    #[test]
    fn what_is_wrong_with_files() {
        let told = [
            String::new(),
            "Nodes=n1".to_owned(),
            "SwitchName=s0 Node=n1".to_owned(),
            SAMPLE.replace("s[0-1]", "s[0-2]"),
            SAMPLE.replace("s[0-1]", "s[0-3]"),
            SAMPLE.replace("n[4-6]", "n[3-6]"),
            SAMPLE.replace("n[4-6]", "n[4-"),
            SAMPLE.replace("n[4-6]", "n[1-9999999]"),
            SAMPLE.replacen("s1", "s0", 1),
            SAMPLE.replacen("LinkSpeed=900", "Nodes=n9", 1),
            SAMPLE.replacen("s0", &"s".repeat(300), 1),
            "SwitchName=s0 \\".to_owned(),
        ]
        .map(|text| read(text.as_bytes()).unwrap_err().to_string());
        insta::assert_snapshot!(told.join("\n"));
    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(changes in changes()) {
            let _ = read(&changed(SAMPLE, &changes));
        }
    }
}
