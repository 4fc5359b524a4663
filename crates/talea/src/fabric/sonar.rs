//! `talea fabric sonar`: known messages between two nodes, and what the counters of a port say of them.
//!
//! Owns the exchange (each message is answered before the next one is sent, so that nothing is dropped for haste) and the table of expected and seen. Follows the experiments of Pedretti et al.,
//! "Using the Cray Gemini Performance Counters", 2013: a request with its response, on a network that one has to oneself.
//!
//! First the sender says hello until it is answered, which lets both find each other's address; then both read their counters; then come the messages. What the listener has to
//! count besides is the answer to the word that made it read them.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use talea_model::{Gaps, Nanos};
use talea_sampling::Root;
use talea_sampling::fabric::{
    CounterSource, Files, Port, PortKind, Reading, Role, Unit, of_machine,
};

use super::wire::{ANSWER, Frames, Said};
use super::{FabricError, print_json};
use crate::table::{Column, Table};
use crate::terminal::{self, Palette, grouped, say};

/// What is asked for.
#[derive(Debug)]
pub(crate) struct Options {
    /// The interface whose counters are read.
    pub(crate) interface: String,
    /// Which end this is.
    pub(crate) end: End,
    /// How long nobody may be there.
    pub(crate) wait: Nanos,
    /// JSON instead of a table.
    pub(crate) json: bool,
}

/// Which end this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It sends to this address.
    Sends {
        /// Where somebody listens.
        to: SocketAddr,
        /// What it sends.
        pings: Pings,
    },
    /// It answers at this address.
    Listens {
        /// Where.
        at: SocketAddr,
    },
}

/// Known messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pings {
    /// How many.
    pub(crate) messages: u32,
    /// Bytes of each, without headers.
    pub(crate) bytes: u32,
}

/// How long the answer to a message may take; then it is lost.
const PATIENCE: Duration = Duration::from_secs(1);
/// The same of hello, which is said again.
const GREETING: Duration = Duration::from_millis(200);
/// A sender that is silent for so long in the middle will not come back.
const SILENCE: Duration = Duration::from_secs(5);
/// Drivers that ask their device now and then have done so after this.
const SETTLED: Duration = Duration::from_secs(3);
/// Longest message of UDP.
const LONGEST: usize = 65_535;

/// What both ends of an exchange know.
struct Heard {
    pings: Pings,
    /// How many messages were answered.
    answered: u32,
    /// What went out and came in after the counters were read.
    sent: Frames,
    received: Frames,
}

/// Exchanges messages, and prints what the counters say.
pub(crate) fn sonar(options: &Options) -> Result<(), FabricError> {
    let mut gaps = Gaps::default();
    let mut interface = Interface::find(&options.interface, &mut gaps)?;
    let heard = match options.end {
        End::Sends { to, pings } => send(to, pings, options.wait, &mut interface, &mut gaps)?,
        End::Listens { at } => listen(at, options.wait, &mut interface, &mut gaps)?,
    };
    let rows = interface.rows(&heard, &mut gaps);
    let findings = findings(&rows, &heard, &interface.port().name);
    if options.json {
        return print_json(&json!({
            "interface": interface.port().name, "mtu": interface.mtu,
            "messages": heard.pings.messages, "bytes": heard.pings.bytes, "answered": heard.answered,
            "rows": rows.iter().map(Row::json).collect::<Vec<Value>>(), "findings": findings, "gaps": gaps,
        }));
    }
    print(&interface, &heard, &rows, &findings, &gaps)
}

/// The interface, and its counters before.
struct Interface {
    source: Files,
    place: usize,
    mtu: u32,
    before: Vec<Option<Reading>>,
}

impl Interface {
    fn find(name: &str, gaps: &mut Gaps) -> Result<Self, FabricError> {
        let root = Root::machine();
        let source = of_machine(&root, &mut Gaps::default());
        let is = |port: &Port| port.kind == PortKind::Ethernet && port.name == name;
        let place = source.ports().iter().position(is);
        let mtu = root.number(&format!("sys/class/net/{name}/mtu"));
        let mtu = mtu.and_then(|mtu| u32::try_from(mtu).ok());
        let (Some(place), Some(mtu)) = (place, mtu) else {
            let known = source.ports().iter().filter(|port| port.kind == PortKind::Ethernet);
            let known: Vec<&str> = known.map(|port| port.name.as_str()).take(8).collect();
            return Err(FabricError::NoInterface {
                name: name.to_owned(),
                known: if known.is_empty() { "eth0".to_owned() } else { known.join(", ") },
            });
        };
        let mut interface = Self { source, place, mtu, before: Vec::new() };
        interface.before = interface.read(gaps);
        Ok(interface)
    }

    fn port(&self) -> &Port {
        &self.source.ports()[self.place]
    }

    /// Its counters now.
    fn read(&mut self, gaps: &mut Gaps) -> Vec<Option<Reading>> {
        // What other ports lack is not of interest.
        let readings = self.source.read(Nanos::now(), &mut Gaps::default());
        let readings = readings.map(|readings| readings.port(self.place).to_vec());
        let readings = readings.unwrap_or_default();
        if readings.iter().all(Option::is_none) {
            gaps.note(talea_model::Gap {
                kind: talea_model::GapKind::Missing,
                rank: None,
                detail: format!("the counters of {} cannot be read any more", self.port().name),
                count: 0,
            });
        }
        readings
    }

    /// What was expected and seen, as soon as all that was sent is seen, or will not be.
    fn rows(&mut self, heard: &Heard, gaps: &mut Gaps) -> Vec<Row> {
        let begin = Instant::now();
        loop {
            let after = self.read(gaps);
            let mut own = Gaps::default();
            let rows = rows(self.port(), [&self.before, &after], heard, &mut own);
            let less = |row: &Row| row.seen.is_some_and(|seen| seen < row.expected);
            if !rows.iter().any(less) || begin.elapsed() > SETTLED {
                gaps.merge(own);
                return rows;
            }
            std::thread::sleep(GREETING / 4);
        }
    }
}

/// A counter, and what was expected of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    counter: String,
    way: &'static str,
    unit: &'static str,
    expected: u64,
    /// Absent where a counter cannot be read.
    seen: Option<u64>,
}

impl Row {
    /// In percent of what was expected.
    fn deviation(&self) -> Option<f64> {
        let expected = self.expected as f64;
        self.seen.filter(|_| self.expected > 0).map(|seen| (seen as f64 / expected - 1.0) * 100.0)
    }

    fn json(&self) -> Value {
        json!({
            "counter": self.counter, "way": self.way, "unit": self.unit, "expected": self.expected,
            "seen": self.seen, "deviation_percent": self.deviation(),
        })
    }
}

/// Each counter of bytes or packets.
fn rows(
    port: &Port,
    [before, after]: [&[Option<Reading>]; 2],
    heard: &Heard,
    gaps: &mut Gaps,
) -> Vec<Row> {
    let mut rows = Vec::new();
    for (at, counter) in port.counters.iter().enumerate() {
        let (way, frames) = match counter.role {
            Role::Sent => ("sent", heard.sent),
            Role::Received => ("received", heard.received),
            _ => continue,
        };
        let (unit, expected, each) = match counter.unit {
            Unit::Packets => ("packets", frames.packets, 1),
            unit => match unit.bytes(1) {
                Some(each) => ("bytes", frames.bytes, each),
                None => continue,
            },
        };
        let reading = |readings: &[Option<Reading>]| readings.get(at).copied().flatten();
        let both = reading(before).zip(reading(after));
        let seen = both.and_then(|(before, after)| counter.grown(&port.name, before, after, gaps));
        let seen = seen.map(|seen| seen.saturating_mul(each));
        rows.push(Row { counter: counter.name.clone(), way, unit, expected, seen });
    }
    rows
}

/// What the difference says, if it says something.
fn findings(rows: &[Row], heard: &Heard, interface: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let lost = heard.pings.messages - heard.answered.min(heard.pings.messages);
    if lost > 0 {
        findings.push(format!(
            "{} of {} messages have no answer",
            grouped(lost.into()),
            heard.pings.messages
        ));
    }
    for way in ["sent", "received"] {
        let of = |unit| rows.iter().find(|row| row.way == way && row.unit == unit);
        let (Some(packets), Some(bytes)) = (of("packets"), of("bytes")) else { continue };
        let (Some(seen), Some(seen_bytes)) = (packets.seen, bytes.seen) else { continue };
        // Answers that were lost were counted on the way or not: nobody knows.
        if lost == 0 && seen < packets.expected {
            let less = grouped(packets.expected - seen);
            let why = if seen == 0 {
                "the way to the other node leads through another interface"
            } else if seen_bytes >= bytes.expected {
                "the driver counts several frames as one"
            } else {
                "part of the way leads through another interface, or the driver updates its counters seldom"
            };
            findings
                .push(format!("{less} packets fewer {way} than expected at {interface}: {why}"));
        }
        if seen > packets.expected {
            let more = grouped(seen - packets.expected);
            findings.push(format!(
                "{more} packets more {way} than expected at {interface}: others use it too"
            ));
        }
        if seen == packets.expected && seen_bytes == bytes.expected + 4 * seen && seen > 0 {
            findings.push(format!(
                "{interface} counts 4 bytes more of each packet {way}: the frame's check sequence"
            ));
        }
    }
    findings
}

fn print(
    interface: &Interface,
    heard: &Heard,
    rows: &[Row],
    findings: &[String],
    gaps: &Gaps,
) -> Result<(), FabricError> {
    use std::io::Write as _;
    let mut table = Table::new(&[
        ("counter", Column::Yields),
        ("way", Column::Left),
        ("expected", Column::Right),
        ("seen", Column::Right),
        ("deviation", Column::Right),
    ]);
    for row in rows {
        let absent = || "absent".to_owned();
        table.row([
            row.counter.clone(),
            row.way.to_owned(),
            grouped(row.expected),
            row.seen.map_or_else(absent, grouped),
            row.deviation().map_or_else(|| "-".to_owned(), |percent| format!("{percent:+.3} %")),
        ]);
    }
    let palette = Palette::stdout();
    let mut out = std::io::stdout().lock();
    let Pings { messages, bytes } = heard.pings;
    let head = format!(
        "{} messages of {} bytes, {} answered; {}, MTU {}",
        grouped(messages.into()),
        grouped(bytes.into()),
        grouped(heard.answered.into()),
        interface.port().name,
        interface.mtu
    );
    writeln!(out, "{}", terminal::clean(&head, terminal::WIDTH))?;
    for line in table.lines() {
        writeln!(out, "{line}")?;
    }
    for line in terminal::findings(findings, palette).chain(terminal::gaps(gaps, palette)) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn socket(what: &str, at: SocketAddr) -> impl FnOnce(std::io::Error) -> FabricError {
    let what = format!("{what} {at}");
    move |source| FabricError::Socket { what, source }
}

/// Sends, and waits for the answer to each message.
fn send(
    to: SocketAddr,
    pings: Pings,
    wait: Nanos,
    interface: &mut Interface,
    gaps: &mut Gaps,
) -> Result<Heard, FabricError> {
    let any: IpAddr = if to.is_ipv4() { [0; 4].into() } else { [0_u16; 8].into() };
    let own = UdpSocket::bind((any, 0)).and_then(|own| own.connect(to).map(|()| own));
    let own = own.map_err(socket("send to", to))?;
    let mut message = vec![0_u8; pings.bytes.max(ANSWER) as usize];
    // Bytes that no network can make shorter.
    let mut random = 1_u64;
    for byte in &mut message {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *byte = (random >> 56) as u8;
    }
    let Pings { messages, bytes } = pings;
    for (said, patience) in [(Said::Hello, GREETING), (Said::Ready(messages, bytes), PATIENCE)] {
        let begin = Instant::now();
        let part = &mut message[..ANSWER as usize];
        while !ask(&own, said, part, patience).map_err(socket("send to", to))? {
            if begin.elapsed() > Duration::from_nanos(wait.0) {
                let expected = "expected `talea fabric sonar --listen` there";
                return Err(FabricError::Silent(format!("nobody answers at {to}: {expected}")));
            }
        }
    }
    interface.before = interface.read(gaps);
    let mut answered = 0;
    for number in 0..messages {
        let there = ask(&own, Said::Ping(number), &mut message, PATIENCE);
        answered += u32::from(there.map_err(socket("send to", to))?);
    }
    Ok(Heard {
        pings,
        answered,
        sent: Frames::of(bytes, interface.mtu, to.ip()).times(messages.into()),
        received: Frames::of(ANSWER, interface.mtu, to.ip()).times(answered.into()),
    })
}

/// Says something, and whether it was answered in time.
fn ask(
    own: &UdpSocket,
    said: Said,
    message: &mut [u8],
    patience: Duration,
) -> std::io::Result<bool> {
    let begin = Instant::now();
    said.write(message);
    match own.send(message) {
        // What a port that nobody listens at said of the message before.
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
            std::thread::sleep(GREETING / 4);
            return Ok(false);
        }
        sent => sent?,
    };
    let mut answer = [0_u8; 2 * ANSWER as usize];
    loop {
        let left = patience.saturating_sub(begin.elapsed());
        if left.is_zero() {
            return Ok(false);
        }
        own.set_read_timeout(Some(left))?;
        match own.recv(&mut answer) {
            Ok(length) if Said::read(&answer[..length]) == Some(said) => return Ok(true),
            // An answer that came too late.
            Ok(_) => {}
            Err(error) if is_silence(&error) => return Ok(false),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                std::thread::sleep(GREETING / 4);
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
    }
}

fn is_silence(error: &std::io::Error) -> bool {
    use std::io::ErrorKind as Kind;
    matches!(error.kind(), Kind::WouldBlock | Kind::TimedOut | Kind::Interrupted)
}

/// Answers what one sender sends.
fn listen(
    at: SocketAddr,
    wait: Nanos,
    interface: &mut Interface,
    gaps: &mut Gaps,
) -> Result<Heard, FabricError> {
    let own = UdpSocket::bind(at).map_err(socket("listen at", at))?;
    let bound = own.local_addr().unwrap_or(at);
    say(&format!("listening at {bound}"));
    let mut message = vec![0_u8; LONGEST];
    let mut pings: Option<Pings> = None;
    let mut seen: Vec<bool> = Vec::new();
    let (mut answered, mut last) = (0_u32, Instant::now());
    let mut from = bound.ip();
    while pings.is_none_or(|pings| answered < pings.messages) {
        let patience = if pings.is_some() { SILENCE } else { Duration::from_nanos(wait.0) };
        let left = patience.saturating_sub(last.elapsed());
        if left.is_zero() {
            break;
        }
        own.set_read_timeout(Some(left)).map_err(socket("listen at", at))?;
        let (length, sender) = match own.recv_from(&mut message) {
            Ok(heard) => heard,
            Err(error) if is_silence(&error) => continue,
            Err(error) => return Err(socket("listen at", at)(error)),
        };
        let Some(said) = Said::read(&message[..length]) else { continue };
        match said {
            Said::Hello => {}
            Said::Ready(messages, bytes) if messages <= 1 << 20 => {
                interface.before = interface.read(gaps);
                pings = Some(Pings { messages, bytes });
                seen = vec![false; messages as usize];
                answered = 0;
                from = sender.ip();
            }
            Said::Ready(..) => continue,
            Said::Ping(number) => match seen.get_mut(number as usize) {
                Some(there) => answered += u32::from(!std::mem::replace(there, true)),
                None => continue,
            },
        }
        last = Instant::now();
        message[..ANSWER as usize].fill(0);
        said.write(&mut message[..ANSWER as usize]);
        let answer = own.send_to(&message[..ANSWER as usize], sender);
        answer.map_err(socket("answer", sender))?;
    }
    let Some(pings) = pings else {
        return Err(FabricError::Silent(format!(
            "nobody sent to {bound} within the time of --wait"
        )));
    };
    let answer = Frames::of(ANSWER, interface.mtu, from);
    Ok(Heard {
        pings,
        answered,
        // The counters were read before the answer to what made us read them.
        sent: answer.times(answered.into()).and(answer),
        received: Frames::of(pings.bytes, interface.mtu, from).times(answered.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(way: &'static str, unit: &'static str, expected: u64, seen: Option<u64>) -> Row {
        Row { counter: format!("{way}_{unit}"), way, unit, expected, seen }
    }

    fn check(seen: [u64; 2], answered: u32, expected: &[&str]) {
        let pings = Pings { messages: 100, bytes: 58 };
        let (sent, received) = (Frames { packets: 100, bytes: 10_000 }, Frames::default());
        let heard = Heard { pings, answered, sent, received };
        let [bytes, packets] = seen;
        let rows = [
            row("sent", "bytes", 10_000, Some(bytes)),
            row("sent", "packets", 100, Some(packets)),
            row("received", "bytes", 0, None),
        ];
        assert_eq!(findings(&rows, &heard, "eth0"), expected, "{seen:?}");
    }

    #[test]
    fn what_differences_say() {
        check([10_000, 100], 100, &[]);
        check([10_000, 100], 98, &["2 of 100 messages have no answer"]);
        check(
            [0, 0],
            100,
            &[
                "100 packets fewer sent than expected at eth0: the way to the other node leads through another interface",
            ],
        );
        check(
            [10_000, 50],
            100,
            &[
                "50 packets fewer sent than expected at eth0: the driver counts several frames as one",
            ],
        );
        check(
            [10_400, 100],
            100,
            &["eth0 counts 4 bytes more of each packet sent: the frame's check sequence"],
        );
        check(
            [10_084, 102],
            100,
            &["2 packets more sent than expected at eth0: others use it too"],
        );
    }

    #[test]
    fn deviations() {
        assert_eq!(
            row("sent", "bytes", 200, Some(201)).deviation().map(|d| (d * 10.0).round()),
            Some(5.0)
        );
        assert_eq!(row("sent", "bytes", 0, Some(201)).deviation(), None);
        assert_eq!(row("sent", "bytes", 200, None).deviation(), None);
    }
}
