//! Publishes with MQTT 3.1.1 at `QoS` 1, and nothing else of it.
//!
//! Owns the four packets that this takes; a client crate would bring a runtime with it into every
//! node's agent. A connection is kept; one that broke is made again, once, and what was not
//! acknowledged is sent again. Topics are `PREFIX/NODE`, the payload is lines of `influx`.
//! <https://docs.oasis-open.org/mqtt/mqtt/v3.1.1/os/mqtt-v3.1.1-os.html>

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Most bytes of one message, as far as lines allow: brokers bound them.
const MOST_BYTES: usize = 64 << 10;
const PORT: u16 = 1883;

/// A broker.
pub struct Mqtt {
    host: String,
    port: u16,
    topic: String,
    patience: Duration,
    stream: Option<TcpStream>,
    /// Of the last packet; never 0 in one.
    packet: u16,
}

impl Mqtt {
    /// A broker by `HOST[:PORT]/TOPIC`; none where that is not what it is. Nothing is sent yet.
    pub fn at(address: &str, patience: Duration) -> Option<Self> {
        let (place, topic) = address.split_once('/')?;
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().ok()?),
            None => (place, PORT),
        };
        let is_topic = !topic.is_empty()
            && topic.len() < 1024
            && !topic.starts_with('$')
            && !topic.chars().any(|c| matches!(c, '+' | '#') || c.is_control());
        (is_topic && !host.is_empty() && !host.contains('@')).then(|| Self {
            host: host.to_owned(),
            port,
            topic: topic.trim_end_matches('/').to_owned(),
            patience,
            stream: None,
            packet: 0,
        })
    }

    /// Where the broker is, for messages.
    pub fn address(&self) -> String {
        format!("mqtt://{}:{}/{}", self.host, self.port, self.topic)
    }

    /// Publishes the lines of a node, in as few messages as their size allows, until the broker has
    /// acknowledged each.
    ///
    /// # Errors
    /// What the network or the broker refuses, after a second try.
    pub fn publish(&mut self, node: &str, lines: &str) -> io::Result<()> {
        let topic = format!("{}/{}", self.topic, level(node));
        for message in messages(lines) {
            if self.stream.is_some() && self.one(&topic, message).is_ok() {
                continue;
            }
            // Anew: an old connection may have ended long ago without a word.
            self.stream = None;
            let sent = self.one(&topic, message);
            if sent.is_err() {
                self.stream = None;
            }
            sent?;
        }
        Ok(())
    }

    fn one(&mut self, topic: &str, message: &str) -> io::Result<()> {
        self.packet = self.packet.checked_add(1).unwrap_or(1);
        let id = self.packet.to_be_bytes();
        if self.stream.is_none() {
            self.stream = Some(self.connect()?);
        }
        let Some(stream) = &mut self.stream else { return Ok(()) };
        // QoS 1, no retain.
        stream.write_all(&packet(0x32, &[&text(topic), &id, message.as_bytes()]))?;
        let mut acknowledged = [0; 4];
        stream.read_exact(&mut acknowledged)?;
        if acknowledged != [0x40, 2, id[0], id[1]] {
            return Err(io::Error::other("the broker did not acknowledge the message"));
        }
        Ok(())
    }

    fn connect(&self) -> io::Result<TcpStream> {
        let mut last = io::Error::other("the host has no address");
        for place in (self.host.trim_matches(['[', ']']), self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&place, self.patience) {
                Ok(stream) => return self.greet(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn greet(&self, mut stream: TcpStream) -> io::Result<TcpStream> {
        stream.set_read_timeout(Some(self.patience))?;
        stream.set_write_timeout(Some(self.patience))?;
        stream.set_nodelay(true)?;
        // Protocol level 4, a clean session, no keep-alive, a name of the broker's choice.
        stream.write_all(&packet(0x10, &[&text("MQTT"), &[4, 2, 0, 0], &text("")]))?;
        let mut answer = [0; 4];
        stream.read_exact(&mut answer)?;
        match answer {
            [0x20, 2, _, 0] => Ok(stream),
            [0x20, 2, _, code] => {
                Err(io::Error::other(format!("the broker refuses the connection with code {code}")))
            }
            _ => Err(io::Error::other("expected an MQTT broker")),
        }
    }
}

impl Drop for Mqtt {
    fn drop(&mut self) {
        if let Some(stream) = &mut self.stream {
            let _ = stream.write_all(&[0xe0, 0]);
        }
    }
}

/// A node's name as one level of a topic.
fn level(node: &str) -> String {
    let node = node.chars().take(255);
    node.map(|c| if matches!(c, '/' | '+' | '#') || c.is_control() { '_' } else { c }).collect()
}

/// Whole lines, as many as one message may have; a line longer than that is one.
fn messages(lines: &str) -> Vec<&str> {
    let (mut messages, mut begin, mut end) = (Vec::new(), 0, 0);
    for line in lines.split_inclusive('\n') {
        if end > begin && end + line.len() - begin > MOST_BYTES {
            messages.push(&lines[begin..end]);
            begin = end;
        }
        end += line.len();
    }
    if end > begin {
        messages.push(&lines[begin..end]);
    }
    messages
}

/// Text with its length before it; ours are shorter than the 65,535 bytes that this can say.
fn text(text: &str) -> Vec<u8> {
    let length = text.len().min(usize::from(u16::MAX));
    [&(length as u16).to_be_bytes(), &text.as_bytes()[..length]].concat()
}

fn packet(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    let (mut out, mut length) = (vec![kind], body.len());
    loop {
        let more = if length > 127 { 128 } else { 0 };
        out.push((length % 128) as u8 | more);
        length /= 128;
        if length == 0 {
            break;
        }
    }
    out.extend(body);
    out
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::process::{Command, Stdio};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(5);

    #[test]
    fn packets() {
        assert_eq!(packet(0x32, &[&text("a/b"), &[0, 1], b"x"]), b"\x32\x08\x00\x03a/b\x00\x01x");
        assert_eq!(packet(0x32, &[&[0; 321]])[..3], [0x32, 0xc1, 2]);
    }

    #[test]
    fn whole_lines_in_bounded_messages() {
        let lines =
            format!("{}\n", "x".repeat(999)).repeat(200) + &"y".repeat(MOST_BYTES * 2) + "\nz\n";
        let messages = messages(&lines);
        assert_eq!(messages.concat(), lines);
        assert!(messages.iter().all(|m| m.ends_with('\n')));
        assert!(messages.iter().all(|m| m.len() <= MOST_BYTES || m.lines().count() == 1));
        assert_eq!(level("a/b#c\n"), "a_b_c_");
    }

    #[test]
    fn brokers_that_are_none() {
        for said in [b"\x20\x02\x00\x05".as_slice(), b"HTTP/1.1 400", b"\x20", b""] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = format!("{}/t", listener.local_addr().unwrap());
            let server = std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                stream.read_exact(&mut [0; 14]).unwrap();
                stream.write_all(said).unwrap();
            });
            let mut mqtt = Mqtt::at(&address, PATIENCE).unwrap();
            assert!(mqtt.publish("n", "line\n").is_err());
            server.join().unwrap();
        }
    }

    #[test]
    fn a_real_broker_has_what_was_published() {
        let Ok(found) = Command::new("mosquitto").arg("-h").stdout(Stdio::null()).status() else {
            talea_testing::skip("mosquitto is not installed (apt-get install mosquitto)");
            return;
        };
        println!("mosquitto: {found}");
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("config");
        let text = format!("listener {port} 127.0.0.1\nallow_anonymous true\n");
        std::fs::write(&config, text).unwrap();
        let broker = || {
            let mut broker = Command::new("mosquitto");
            broker
                .arg("-c")
                .arg(&config)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        };
        let mut first = broker();
        let mut mqtt = Mqtt::at(&format!("127.0.0.1:{port}/site/talea"), PATIENCE).unwrap();
        let until = |mqtt: &mut Mqtt| {
            let sent = (0..100).any(|_| {
                let sent = mqtt.publish("n/1", "one\ntwo\n");
                sent.inspect_err(|_| std::thread::sleep(Duration::from_millis(100))).is_ok()
            });
            assert!(sent, "the broker does not begin to answer");
        };
        until(&mut mqtt);
        // The broker ends and comes back: the connection is made anew.
        first.kill().unwrap();
        first.wait().unwrap();
        let mut second = broker();
        until(&mut mqtt);
        let mut heard = Command::new("mosquitto_sub")
            .args(["-p", &port.to_string(), "-q", "1", "-C", "1", "-v", "-t", "site/#"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Until it listens, nothing is heard.
        let is_heard = (0..100).any(|_| {
            mqtt.publish("n/1", "one\ntwo\n").unwrap();
            std::thread::sleep(Duration::from_millis(50));
            heard.try_wait().unwrap().is_some()
        });
        let mut said = String::new();
        if !is_heard {
            heard.kill().unwrap();
        }
        heard.wait().unwrap();
        heard.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        second.kill().unwrap();
        second.wait().unwrap();
        assert_eq!(said, "site/talea/n_1 one\ntwo\n\n");
    }
}
