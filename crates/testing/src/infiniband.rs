//! A generated fat tree of InfiniBand in every form in which tools describe it.
//!
//! Owns the texts of `ibnetdiscover` (blocks, and lines of `-p`), `perfquery -x` and Slurm's
//! `topology.conf` for one network, and its truth: switches, hosts, cables, speeds, and counters of
//! each port. Cables between the same two switches have the same numbers of ports at both.

use std::fmt::Write as _;

/// A tree of leaves with hosts below spines.
#[derive(Clone, Copy, Debug)]
pub struct Tree {
    /// Switches with hosts.
    pub leaves: usize,
    /// Switches above them.
    pub spines: usize,
    /// Hosts of a leaf.
    pub hosts: usize,
    /// Cables between each leaf and each spine.
    pub cables: usize,
    /// Every so many hosts the adapter is slow; 0 for none.
    pub slow: usize,
    /// True if a cable between the first leaf and the first spine is slow.
    pub degraded: bool,
}

/// Usual speed of a cable: its name, and bytes a second of data.
pub const SPEED: (&str, f64) = ("QDR", 4e9);
/// Speed of slow cables.
pub const SLOW: (&str, f64) = ("DDR", 2e9);

/// One end of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Number of the device; see [`Tree::devices`].
    pub device: usize,
    /// Its port.
    pub port: usize,
}

/// A cable with its ends, the lower one first.
#[derive(Clone, Copy, Debug)]
pub struct Cable {
    /// Both ends.
    pub ends: [End; 2],
    /// True if it is slow.
    pub slow: bool,
}

/// Four-byte units that a port has sent and received.
#[must_use]
pub fn counted(device: usize, port: usize) -> [u64; 2] {
    let base = 1_000_000_000 * (device as u64 + 1) + 1_000 * port as u64;
    [base + 17, 2 * base + 5]
}

impl Tree {
    /// Number of switches; leaves come first.
    #[must_use]
    pub fn switches(&self) -> usize {
        self.leaves + self.spines
    }

    /// Number of devices: switches, then hosts.
    #[must_use]
    pub fn devices(&self) -> usize {
        self.switches() + self.leaves * self.hosts
    }

    /// Name of a device. Hosts are numbered over all leaves.
    #[must_use]
    pub fn name(&self, device: usize) -> String {
        match (device.checked_sub(self.switches()), device.checked_sub(self.leaves)) {
            (Some(host), _) => format!("n{host:03}"),
            (None, Some(spine)) => format!("spine{spine}"),
            (None, None) => format!("leaf{device}"),
        }
    }

    /// All cables.
    #[must_use]
    pub fn all_cables(&self) -> Vec<Cable> {
        let mut cables = Vec::new();
        for leaf in 0..self.leaves {
            for at in 0..self.hosts {
                let host = leaf * self.hosts + at;
                let slow = self.slow > 0 && host.is_multiple_of(self.slow);
                let own = End { device: self.switches() + host, port: 1 };
                cables.push(Cable { ends: [own, End { device: leaf, port: at + 1 }], slow });
            }
            for spine in 0..self.spines {
                for at in 0..self.cables {
                    let up = self.hosts + spine * self.cables + at + 1;
                    let down = leaf * self.cables + at + 1;
                    let slow = self.degraded && leaf == 0 && spine == 0 && at == 0;
                    let other = End { device: self.leaves + spine, port: down };
                    cables.push(Cable { ends: [End { device: leaf, port: up }, other], slow });
                }
            }
        }
        cables
    }

    /// Local identifier of a device.
    #[must_use]
    pub fn lid(&self, device: usize) -> usize {
        10 + device
    }

    fn guid(device: usize) -> usize {
        0x2c90_0000 + 16 * device
    }

    /// Description of a device: adapters have a number behind the host's name.
    fn described(&self, device: usize) -> String {
        let adapter = if device < self.switches() { "" } else { " HCA-1" };
        format!("{}{adapter}", self.name(device))
    }

    /// Ports of a device with the other ends and speeds, by number.
    fn ports(&self, device: usize) -> Vec<(usize, End, &'static str)> {
        let mut ports = Vec::new();
        for cable in self.all_cables() {
            let speed = if cable.slow { SLOW.0 } else { SPEED.0 };
            for [own, other] in [cable.ends, [cable.ends[1], cable.ends[0]]] {
                if own.device == device {
                    ports.push((own.port, other, speed));
                }
            }
        }
        ports.sort_by_key(|port| port.0);
        ports
    }

    /// Output of `ibnetdiscover`: a block for each device.
    #[must_use]
    pub fn blocks(&self) -> String {
        let mut text = "#\n# Topology file: generated for tests\n#\n".to_owned();
        let guid = |device: usize| format!("{:016x}", Self::guid(device));
        let kind = |device: usize| if device < self.switches() { "S" } else { "H" };
        for device in 0..self.devices() {
            let (own, name) = (guid(device), self.described(device));
            let _ = writeln!(text, "\nvendid=0x2c9\ndevid=0x5a5a\nsysimgguid=0x{own}");
            let is_switch = device < self.switches();
            if is_switch {
                let lid = self.lid(device);
                let _ = writeln!(text, "switchguid=0x{own}({own})");
                let _ = writeln!(
                    text,
                    "Switch\t36 \"S-{own}\"\t\t# \"{name}\" enhanced port 0 lid {lid} lmc 0"
                );
            } else {
                let _ = writeln!(text, "caguid=0x{own}\nCa\t1 \"H-{own}\"\t\t# \"{name}\"");
            }
            for (port, other, speed) in self.ports(device) {
                let (to, kind) = (guid(other.device), kind(other.device));
                let (name, lid) = (self.described(other.device), self.lid(other.device));
                let far = other.port;
                // Ports of adapters have identifiers of their own.
                let id = |device: usize| format!("({:x})", Self::guid(device) + 1);
                let (near_id, far_id) = match (is_switch, other.device < self.switches()) {
                    (false, _) => (id(device), String::new()),
                    (true, false) => (String::new(), id(other.device)),
                    (true, true) => (String::new(), String::new()),
                };
                let own_lid = if is_switch {
                    String::new()
                } else {
                    format!("lid {} lmc 0 ", self.lid(device))
                };
                let _ = writeln!(
                    text,
                    "[{port}]{near_id}\t\"{kind}-{to}\"[{far}]{far_id}\t\t\
                     # {own_lid}\"{name}\" lid {lid} 4x{speed}"
                );
            }
        }
        text
    }

    /// Output of `ibnetdiscover -p`: a line for each port.
    #[must_use]
    pub fn lines(&self) -> String {
        let mut text = String::new();
        let end = |end: End| {
            let kind = if end.device < self.switches() { "SW" } else { "CA" };
            let (lid, guid) = (self.lid(end.device), Self::guid(end.device));
            format!("{kind} {lid:5} {:2} 0x{guid:016x}", end.port)
        };
        // Adapters first, as the tool sorts them.
        let order = (self.switches()..self.devices()).chain(0..self.switches());
        for device in order {
            for (port, other, speed) in self.ports(device) {
                let _ = writeln!(
                    text,
                    "{} 4x {speed} - {} ( '{}' - '{}' )",
                    end(End { device, port }),
                    end(other),
                    self.described(device),
                    self.described(other.device)
                );
            }
        }
        text
    }

    /// Slurm's description. Each cable is in it once, from the spine.
    #[must_use]
    pub fn topology_conf(&self) -> String {
        let mut text = "# topology.conf\n".to_owned();
        for leaf in 0..self.leaves {
            let (first, last) = (leaf * self.hosts, (leaf + 1) * self.hosts - 1);
            let _ = writeln!(text, "SwitchName=leaf{leaf} Nodes=n[{first:03}-{last:03}]");
        }
        for spine in 0..self.spines {
            let last = self.leaves - 1;
            let _ = writeln!(text, "SwitchName=spine{spine} Switches=leaf[0-{last}]");
        }
        text
    }

    /// Output of `perfquery -x` for each port of a device; see [`counted`].
    #[must_use]
    pub fn perfquery(&self, device: usize) -> String {
        let mut text = String::new();
        for (port, ..) in self.ports(device) {
            let [sent, received] = counted(device, port);
            let lid = self.lid(device);
            let _ = writeln!(
                text,
                "# Port extended counters: Lid {lid} port {port} \
                 (CapMask: 0x5300 CapMask2: 0x0000002)"
            );
            for (name, value) in [
                ("PortSelect", port.to_string()),
                ("CounterSelect", "0x0000".to_owned()),
                ("PortXmitData", sent.to_string()),
                ("PortRcvData", received.to_string()),
                ("PortXmitPkts", (sent / 500).to_string()),
                ("PortRcvPkts", (received / 500).to_string()),
                ("CounterSelect2", "0x00000000".to_owned()),
                ("SymbolErrorCounter", "0".to_owned()),
                ("PortXmitWait", (port * 3).to_string()),
            ] {
                let dots = ".".repeat(32 - name.len());
                let _ = writeln!(text, "{name}:{dots}{value}");
            }
        }
        text
    }
}
