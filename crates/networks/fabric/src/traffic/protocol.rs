//! Packets and phits of messages on a Gemini, whose packets carry up to 64 bytes of data.
//!
//! Owns the accounting. A phit is three bytes. A request has 8 phits and a response 3, and each
//! word of 8 bytes of data three more (64 bits and 8 check bits): a full PUT is 8 + 8 x 3 = 32
//! phits with a response of 3, a full GET 8 with a response of 3 + 8 x 3 = 27, which are the
//! figures of Pedretti et al., "Using the Cray Gemini Performance Counters", 2013. A word of zeros
//! or ones alone is compressed to one phit: their megabyte of zeros then is 16,384 x 16 phits =
//! 262,144, and 262,565 - 262,144 is the same 421 as the excess over 524,288 for random bits. Those
//! 421 (and 23 packets) are MPI's: a header of 64 bytes and control packets of a few words. That
//! rule is ours, read from those figures. It refuses noise: their counters also saw the traffic of
//! other programs of a node, about 8 packets of 20 phits in the time of the test.

use serde::{Deserialize, Serialize};

use super::Message;
use crate::gemini::tiles::PHIT;

/// Maximum bytes of data in a packet.
pub const PACKET: u64 = 64;
/// Phits of a request without data.
const REQUEST: u64 = 8;
/// Phits of a response without data.
const RESPONSE: u64 = 3;
/// Phits of a word of data of eight bytes.
const WORD: u64 = 3;
/// Phits that compression saves for a word of zeros or ones.
const SPARED: u64 = 2;

/// Transaction that carries the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transaction {
    /// The sender writes: data are in requests (VC0); each is answered (VC1).
    Put,
    /// The receiver reads: it sends requests (VC0), and data are in the responses (VC1).
    Get,
}

/// Packets of MPI itself, beside header and data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Control {
    /// Packets from the sender for each message.
    pub there: u64,
    /// Bytes in each of them.
    pub there_bytes: u64,
    /// Packets from the receiver.
    pub back: u64,
    /// Bytes in each of those.
    pub back_bytes: u64,
}

impl Control {
    /// Packets in the table of slide "Tile Counter Directionality (1)" beyond data and header:
    /// 16,401 packets there, 14 back, of nearly 17 and nearly 20 phits.
    pub const SONAR: Self = Self { there: 16, there_bytes: 24, back: 14, back_bytes: 32 };
    /// Packets of the first test of slide "1 MB Point-to-Point MPI Test": 16,407 packets there; the
    /// slide does not give those back.
    pub const PING: Self = Self { there: 22, there_bytes: 24, back: 0, back_bytes: 0 };
}

/// Protocol of messages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Protocol {
    /// Transaction that carries the data.
    pub transaction: Transaction,
    /// Bytes of MPI's header, which precedes the data of each message.
    pub header: u64,
    /// Share of the data's words that are zeros or ones alone, from 0 to 1.
    pub zeros: f64,
    /// Packets of MPI for messages of more than `eager` bytes.
    pub control: Control,
    /// Maximum bytes of a message that is sent without control packets.
    pub eager: u64,
}

impl Protocol {
    /// Data alone: no header, no control, random bits.
    pub const PUT: Self = Self {
        transaction: Transaction::Put,
        header: 0,
        zeros: 0.0,
        control: Control { there: 0, there_bytes: 0, back: 0, back_bytes: 0 },
        eager: 8192,
    };
    /// The same, read by the receiver.
    pub const GET: Self = Self { transaction: Transaction::Get, ..Self::PUT };
    /// Written, with MPI's header of 64 bytes.
    pub const MPI: Self = Self { header: 64, ..Self::PUT };
}

/// Packets and phits of one virtual channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    /// Packets.
    pub packets: u64,
    /// Phits, of three bytes each.
    pub phits: u64,
}

/// Load of a link in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Bytes of messages' data, without headers.
    pub bytes: u64,
    /// Requests: virtual channel 0.
    pub requests: Channel,
    /// Responses: virtual channel 1.
    pub responses: Channel,
}

/// Cost of messages in both directions, which take different routes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// From the sender to the receiver.
    pub there: Load,
    /// From the receiver to the sender.
    pub back: Load,
}

impl Channel {
    /// Adds this many packets of this many phits each.
    fn add(&mut self, packets: u64, phits: u64) {
        self.packets = self.packets.saturating_add(packets);
        self.phits = self.phits.saturating_add(packets.saturating_mul(phits));
    }

    fn sum(&mut self, other: Self) {
        self.packets = self.packets.saturating_add(other.packets);
        self.phits = self.phits.saturating_add(other.phits);
    }
}

impl Load {
    /// Adds another load.
    pub fn sum(&mut self, other: &Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.requests.sum(other.requests);
        self.responses.sum(other.responses);
    }

    /// Bytes on the wire: all phits of both channels.
    pub fn wire(&self) -> u64 {
        self.requests.phits.saturating_add(self.responses.phits).saturating_mul(PHIT)
    }
}

impl Protocol {
    /// Cost of the messages of an entry; their sizes differ by one byte at most.
    pub fn cost(&self, message: &Message) -> Cost {
        let mut cost = Cost::default();
        cost.there.bytes = message.bytes;
        let Some(size) = message.bytes.checked_div(message.count) else { return cost };
        let larger = message.bytes % message.count;
        self.add(size, message.count - larger, &mut cost);
        if larger > 0 {
            self.add(size + 1, larger, &mut cost);
        }
        cost
    }

    /// Adds this many messages of one size.
    fn add(&self, bytes: u64, count: u64, cost: &mut Cost) {
        let spared = self.spared(bytes).saturating_mul(count);
        match self.transaction {
            Transaction::Put => {
                put(bytes.saturating_add(self.header), count, &mut cost.there, &mut cost.back);
                let phits = &mut cost.there.requests.phits;
                *phits = phits.saturating_sub(spared);
            }
            Transaction::Get => {
                put(self.header, count, &mut cost.there, &mut cost.back);
                for (packets, words) in packets(bytes) {
                    let packets = packets.saturating_mul(count);
                    cost.back.requests.add(packets, REQUEST);
                    cost.there.responses.add(packets, RESPONSE + WORD * words);
                }
                let phits = &mut cost.there.responses.phits;
                *phits = phits.saturating_sub(spared);
            }
        }
        if bytes > self.eager {
            let Control { there, there_bytes, back, back_bytes } = self.control;
            let each = |packets: u64, bytes, one: &mut Load, other: &mut Load| {
                // A control packet without bytes is still a packet.
                let packets = packets.saturating_mul(count);
                one.requests.add(packets, REQUEST + WORD * words(bytes));
                other.responses.add(packets, RESPONSE);
            };
            each(there, there_bytes, &mut cost.there, &mut cost.back);
            each(back, back_bytes, &mut cost.back, &mut cost.there);
        }
    }

    /// Phits that compressed words of zeros or ones save for a message.
    fn spared(&self, bytes: u64) -> u64 {
        let words = bytes.div_ceil(8);
        let zeros = (words as f64 * self.zeros.clamp(0.0, 1.0)).round() as u64;
        zeros.min(words).saturating_mul(SPARED)
    }
}

/// Number of words of a packet's bytes, at most those of a full one.
fn words(bytes: u64) -> u64 {
    bytes.min(PACKET).div_ceil(8)
}

/// Full packets and the partial one, each with its words.
fn packets(bytes: u64) -> [(u64, u64); 2] {
    let rest = bytes % PACKET;
    [(bytes / PACKET, words(PACKET)), (u64::from(rest > 0), words(rest))]
}

/// Adds requests with data, and their responses in the other direction.
fn put(bytes: u64, count: u64, there: &mut Load, back: &mut Load) {
    for (packets, words) in packets(bytes) {
        let packets = packets.saturating_mul(count);
        there.requests.add(packets, REQUEST + WORD * words);
        back.responses.add(packets, RESPONSE);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MIB: Message = Message { from: 0, to: 1, bytes: 1 << 20, count: 1 };

    /// Packets and phits there and back: VC0, VC1.
    fn seen(protocol: Protocol, message: Message) -> [(u64, u64); 4] {
        let Cost { there, back } = protocol.cost(&message);
        [there.requests, there.responses, back.requests, back.responses]
            .map(|channel| (channel.packets, channel.phits))
    }

    fn near(found: u64, seen: u64, most: f64) {
        let deviation = (found as f64 / seen as f64 - 1.0).abs();
        assert!(deviation <= most, "{found} where {seen} was seen");
    }

    #[test]
    fn a_mebibyte_as_it_was_expected() {
        let put = seen(Protocol::PUT, MIB);
        assert_eq!(put, [(16_384, 524_288), (0, 0), (0, 0), (16_384, 49_152)]);
        let get = seen(Protocol::GET, MIB);
        assert_eq!(get, [(0, 0), (16_384, 16_384 * 27), (16_384, 16_384 * 8), (0, 0)]);
        // Either moves 105 bytes for 64.
        for protocol in [Protocol::PUT, Protocol::GET] {
            let Cost { there, back } = protocol.cost(&MIB);
            assert_eq!(there.wire() + back.wire(), 16_384 * 105);
        }
    }

    #[test]
    fn a_mebibyte_as_it_was_seen() {
        let ping = Protocol { control: Control::PING, ..Protocol::MPI };
        let [requests, _, _, responses] = seen(ping, MIB);
        assert_eq!((requests.0, responses), (16_407, (16_407, 49_221)));
        assert_eq!(requests.1, 524_288 + 32 + 22 * 17);
        near(requests.1, 524_709, 0.0001);
        let zeroed = seen(Protocol { zeros: 1.0, ..ping }, MIB)[0];
        assert_eq!(zeroed.1, requests.1 - 524_288 / 2);
        near(zeroed.1, 262_565, 0.0001);
        // With the header alone, which every message has.
        let mpi = seen(Protocol::MPI, MIB);
        assert_eq!(mpi, [(16_385, 524_320), (0, 0), (0, 0), (16_385, 49_155)]);
    }

    #[test]
    fn small_messages() {
        let sized = |bytes, count| Message { bytes, count, ..MIB };
        assert_eq!(seen(Protocol::PUT, sized(0, 1)), [(0, 0); 4]);
        assert_eq!(seen(Protocol::MPI, sized(0, 3))[0], (3, 96));
        // 8 bytes and the header: a full packet and one of a word.
        assert_eq!(seen(Protocol::MPI, sized(8, 1))[0], (2, 32 + 11));
        // 9 + 8 + 8 bytes.
        assert_eq!(seen(Protocol::PUT, sized(25, 3))[0], (3, 14 + 11 + 11));
        assert_eq!(Protocol::PUT.cost(&sized(5, 0)).there.requests, Channel::default());
        let control = Protocol { control: Control::SONAR, ..Protocol::PUT };
        assert_eq!(seen(control, sized(8192, 1))[0].0, 128);
        assert_eq!(seen(control, sized(8193, 1))[0].0, 129 + 16);
    }

    proptest! {
        #[test]
        fn sums_are_of_single_messages_and_nothing_overflows(
            bytes in prop_oneof![0_u64..5000, any::<u64>()],
            count in prop_oneof![1_u64..40, any::<u64>()],
            get in any::<bool>(),
            zeros in -1.0..2.0_f64,
        ) {
            let transaction = if get { Transaction::Get } else { Transaction::Put };
            let protocol = Protocol {
                transaction,
                zeros,
                control: Control::SONAR,
                ..Protocol::MPI
            };
            let all = protocol.cost(&Message { bytes, count, ..MIB });
            if bytes < 5000 && count < 40 {
                let mut sum = Cost::default();
                for at in 0..count {
                    let bytes = bytes / count + u64::from(at < bytes % count);
                    let one = protocol.cost(&Message { bytes, count: 1, ..MIB });
                    sum.there.sum(&one.there);
                    sum.back.sum(&one.back);
                }
                prop_assert_eq!(all, sum);
            }
        }
    }
}
