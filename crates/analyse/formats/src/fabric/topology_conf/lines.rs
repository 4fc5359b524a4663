//! Lines of `topology.conf` and of `scontrol show topology`.
//!
//! Owns keys in any case, comments after `#`, lines that continue after `\\`, `Include FILE`, and
//! the recognition of lines of a switch (`SwitchName=s0 Nodes=n[0-3]`, `SwitchName=s2
//! Switches=s[0-1]`) or a block (`BlockName=b0 Nodes=n[0-3]`). The output of `scontrol` is the same
//! with more keys: `Level=1` has the nodes of the switches below it again, `AggregatedBlock=` those
//! of blocks. Sizes of blocks are for the scheduler and are skipped. It refuses cycles.

use super::{Error, Include, MOST, Room, Switch, wrong};
use crate::fabric::short;

/// Maximum depth of includes, and maximum number of included files.
const DEEPEST: usize = 8;
const MOST_FILES: usize = 256;

struct Reader<'a> {
    include: Include<'a>,
    room: Room,
    files: usize,
    switches: Vec<Switch>,
}

pub(super) fn read(text: &str, include: Include<'_>) -> Result<Vec<Switch>, Error> {
    let mut reader = Reader { include, room: Room(MOST), files: 0, switches: Vec::new() };
    reader.file(text, 0)?;
    Ok(reader.switches)
}

impl Reader<'_> {
    fn file(&mut self, text: &str, depth: usize) -> Result<(), Error> {
        let mut whole = String::new();
        let mut begin = 0;
        for (line, number) in text.lines().zip(1_u64..) {
            let line = line.split('#').next().unwrap_or("").trim();
            if whole.is_empty() {
                begin = number;
            }
            let (line, goes_on) =
                line.strip_suffix('\\').map_or((line, false), |line| (line, true));
            whole.push_str(line);
            if goes_on {
                whole.push(' ');
                continue;
            }
            let line = std::mem::take(&mut whole);
            self.line(line.trim(), begin, depth)?;
        }
        if !whole.trim().is_empty() {
            return Err(wrong(begin, "a line behind the last `\\`", &whole));
        }
        Ok(())
    }

    fn line(&mut self, line: &str, number: u64, depth: usize) -> Result<(), Error> {
        let first = line.split_whitespace().next().unwrap_or("");
        if first.eq_ignore_ascii_case("include") {
            let name = line[first.len()..].trim();
            return self.included(name, number, depth);
        }
        let skipped = ["aggregatedblock=", "blocksizes=", "blocklevels="];
        let first = first.to_ascii_lowercase();
        if !line.is_empty() && !skipped.iter().any(|key| first.starts_with(key)) {
            let switch = self.switch(line, number)?;
            self.switches.push(switch);
        }
        Ok(())
    }

    fn included(&mut self, name: &str, line: u64, depth: usize) -> Result<(), Error> {
        if name.is_empty() {
            return Err(wrong(line, "the name of a file behind `Include`", name));
        }
        self.files += 1;
        if depth >= DEEPEST || self.files > MOST_FILES {
            let expected =
                format!("files that include others up to {DEEPEST} deep, and {MOST_FILES} in all");
            return Err(wrong(line, expected, name));
        }
        let inside = |source| {
            let (name, source) = (short(name), Box::new(source));
            Error::Included { line, name, source }
        };
        let bytes = (self.include)(name).map_err(|why| inside(Error::Unread { why }))?;
        self.file(&String::from_utf8_lossy(&bytes), depth + 1).map_err(inside)
    }

    fn switch(&mut self, line: &str, number: u64) -> Result<Switch, Error> {
        let mut switch = Switch { line: number, ..Switch::default() };
        let mut level = 0_u64;
        for word in line.split_whitespace() {
            let expected = "SwitchName= or BlockName=, Switches=, Nodes= or LinkSpeed=, each once";
            let (key, value) = word.split_once('=').ok_or_else(|| wrong(number, expected, word))?;
            let key = key.to_ascii_lowercase();
            match key.as_str() {
                "switchname" | "blockname" if switch.name.is_empty() => {
                    switch.name = self.room.name(value, number)?;
                    switch.is_block = key == "blockname";
                }
                "switches" | "nodes" if value == "(null)" => {}
                "switches" if switch.switches.is_empty() => {
                    switch.switches = self.room.list(value, number)?;
                }
                "nodes" if switch.nodes.is_empty() => {
                    switch.nodes = self.room.list(value, number)?;
                }
                "level" => {
                    let other = || wrong(number, "a number behind Level=", value);
                    level = value.parse().map_err(|_| other())?;
                }
                "linkspeed" | "blockindex" | "blocksize" => {}
                _ => return Err(wrong(number, expected, word.split('=').next().unwrap_or(word))),
            }
        }
        if switch.name.is_empty() {
            return Err(wrong(number, "SwitchName= or BlockName= with a name", line));
        }
        if switch.is_block && !switch.switches.is_empty() {
            return Err(wrong(number, "a block of nodes, without Switches=", line));
        }
        switch.repeats = level > 0 && !switch.switches.is_empty();
        Ok(switch)
    }
}
