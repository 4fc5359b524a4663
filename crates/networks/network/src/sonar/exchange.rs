//! The exchange of known messages by UDP.
//!
//! Owns the protocol: each message is answered before the next one is sent, so that nothing is
//! dropped for haste. First the sender repeats hello until it is answered, so that each end finds
//! the other's address; then both ends read their counters; then come the messages. The listener's
//! counters also include the answer to the message that made it read them.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use talea_model::{Gaps, Nanos};

use super::interface::Interface;
use super::pings::{Heard, Pings};
use super::wire::{ANSWER, Frames, Said};
use crate::NetworkError;

/// Timeout of the answer to a message; then it is lost.
const PATIENCE: Duration = Duration::from_secs(1);
/// Timeout of the answer to hello, which is repeated.
const GREETING: Duration = Duration::from_millis(200);
/// A sender that is silent for this long in the middle will not come back.
const SILENCE: Duration = Duration::from_secs(5);
/// Maximum size of a UDP message.
const LONGEST: usize = 65_535;

fn socket(what: &str, at: SocketAddr) -> impl FnOnce(io::Error) -> NetworkError {
    let what = format!("{what} {at}");
    move |source| NetworkError::Socket { what, source }
}

/// Sends, and waits for the answer to each message.
pub(super) fn send(
    to: SocketAddr,
    pings: Pings,
    wait: Nanos,
    interface: &mut Interface,
    gaps: &mut Gaps,
) -> Result<Heard, NetworkError> {
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
                return Err(NetworkError::Silent(format!("no answer from {to}: {expected}")));
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
        sent: Frames::for_message(bytes, interface.mtu, to.ip()).times(messages.into()),
        received: Frames::for_message(ANSWER, interface.mtu, to.ip()).times(answered.into()),
    })
}

/// Sends a message; true if it was answered in time.
fn ask(own: &UdpSocket, said: Said, message: &mut [u8], patience: Duration) -> io::Result<bool> {
    let begin = Instant::now();
    said.write(message);
    match own.send(message) {
        // The error that a closed port returned for the message before.
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
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
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                std::thread::sleep(GREETING / 4);
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
    }
}

fn is_silence(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(error.kind(), Kind::WouldBlock | Kind::TimedOut | Kind::Interrupted)
}

/// Answers the messages of one sender.
pub(super) fn listen(
    at: SocketAddr,
    wait: Nanos,
    listening: &mut dyn FnMut(SocketAddr),
    interface: &mut Interface,
    gaps: &mut Gaps,
) -> Result<Heard, NetworkError> {
    let own = UdpSocket::bind(at).map_err(socket("listen at", at))?;
    let bound = own.local_addr().unwrap_or(at);
    listening(bound);
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
        return Err(NetworkError::Silent(format!(
            "no message arrived at {bound} within the time of --wait"
        )));
    };
    let answer = Frames::for_message(ANSWER, interface.mtu, from);
    Ok(Heard {
        pings,
        answered,
        // The counters were read before the answer to the message that requested it.
        sent: answer.times(answered.into()).and(answer),
        received: Frames::for_message(pings.bytes, interface.mtu, from).times(answered.into()),
    })
}
