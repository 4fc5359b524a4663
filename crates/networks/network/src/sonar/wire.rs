//! A UDP message on Ethernet, and the messages of a sonar.
//!
//! Owns the arithmetic of headers and fragments (RFC 768, 791, 8200) and the form of messages. It
//! refuses sockets.

use std::net::IpAddr;

/// Bytes of every answer, and the minimum of a message: with all headers more than Ethernet's
/// minimum frame, so that no driver pads.
pub(super) const ANSWER: u32 = 32;

const ETHERNET: u64 = 14;
const UDP: u64 = 8;
/// Fragments begin at multiples of this.
const STEP: u64 = 8;

/// Frames of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frames {
    /// Number of frames.
    pub packets: u64,
    /// Bytes with the headers of Ethernet, IP and UDP, without check sequence and preamble.
    pub bytes: u64,
}

impl Frames {
    /// Frames of a message of this many bytes over an interface.
    pub(super) fn for_message(bytes: u32, mtu: u32, to: IpAddr) -> Self {
        let datagram = u64::from(bytes) + UDP;
        // Fragments of IPv6 have one more header.
        let (header, more) = if is_v6(to) { (40, 8) } else { (20, 0) };
        let room = u64::from(mtu).saturating_sub(header).max(STEP);
        if datagram <= room {
            return Self { packets: 1, bytes: ETHERNET + header + datagram };
        }
        let room = (room.saturating_sub(more) / STEP * STEP).max(STEP);
        let packets = datagram.div_ceil(room);
        Self { packets, bytes: packets * (ETHERNET + header + more) + datagram }
    }

    /// Frames of this many messages.
    pub(super) fn times(self, messages: u64) -> Self {
        Self { packets: self.packets * messages, bytes: self.bytes * messages }
    }

    /// Sum with other frames.
    pub(super) fn and(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

/// IPv4 addresses mapped to IPv6 travel as IPv4.
fn is_v6(to: IpAddr) -> bool {
    match to {
        IpAddr::V4(_) => false,
        IpAddr::V6(to) => to.to_ipv4_mapped().is_none(),
    }
}

/// Content of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// Request for an answer; the ends learn each other's address meanwhile.
    Hello,
    /// This many messages of this many bytes follow: read the counters.
    Ready(u32, u32),
    /// The message of this number.
    Ping(u32),
}

const MAGIC: [u8; 8] = *b"talea-s1";

impl Said {
    /// Writes it into the first bytes of a message.
    pub(super) fn write(self, message: &mut [u8]) {
        let (kind, a, b) = match self {
            Self::Hello => (1_u32, 0, 0),
            Self::Ready(messages, bytes) => (2, messages, bytes),
            Self::Ping(number) => (3, number, 0),
        };
        let numbers = [kind, a, b].into_iter().flat_map(u32::to_le_bytes);
        for (byte, value) in message.iter_mut().zip(MAGIC.into_iter().chain(numbers)) {
            *byte = value;
        }
    }

    /// Content of a received message; `None` if it is not a sonar's.
    pub(super) fn read(message: &[u8]) -> Option<Self> {
        let rest = message.strip_prefix(&MAGIC)?;
        let number =
            |at: usize| Some(u32::from_le_bytes(rest.get(4 * at..4 * at + 4)?.try_into().ok()?));
        match number(0)? {
            1 => Some(Self::Hello),
            2 => Some(Self::Ready(number(1)?, number(2)?)),
            3 => Some(Self::Ping(number(1)?)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn frames_of_messages() {
        let v4 = IpAddr::from([10, 0, 0, 1]);
        let v6 = IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, 1]);
        let check = |bytes, mtu, to, packets, all| {
            assert_eq!(
                Frames::for_message(bytes, mtu, to),
                Frames { packets, bytes: all },
                "{bytes}"
            );
        };
        check(1024, 1500, v4, 1, 1024 + 42);
        check(1472, 1500, v4, 1, 1514);
        check(1473, 1500, v4, 2, 1473 + 8 + 2 * 34);
        // 8008 bytes in fragments of 1480.
        check(8000, 1500, v4, 6, 8008 + 6 * 34);
        check(8000, 9000, v4, 1, 8042);
        check(1452, 1500, v6, 1, 1514);
        check(1453, 1500, v6, 2, 1461 + 2 * 62);
        check(1473, 1500, "::ffff:10.0.0.1".parse().unwrap(), 2, 1481 + 2 * 34);
        check(32, 0, v4, 5, 40 + 5 * 34);
    }

    proptest! {
        #[test]
        fn what_is_said_is_heard(a: u32, b: u32, length in 20_usize..64) {
            for said in [Said::Hello, Said::Ready(a, b), Said::Ping(a)] {
                let mut message = vec![7; length];
                said.write(&mut message);
                prop_assert_eq!(Said::read(&message), Some(said));
                prop_assert_eq!(Said::read(&message[..12]).is_none(), said != Said::Hello);
            }
        }

        #[test]
        fn no_bytes_do_harm(mut message in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = Said::read(&message);
            message.splice(0..0, MAGIC);
            let _ = Said::read(&message);
        }
    }
}
