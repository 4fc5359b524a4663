//! Control flow of the instructions of a part.
//!
//! Owns decoding, by iced-x86, to the few instructions after which an instruction other than the
//! next one may run.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic};

use super::parts::Part;

/// The instructions of a part of a function.
#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) part: Part,
    /// Begin of each, ascending.
    pub(super) instructions: Vec<u64>,
    /// Control transfers, ascending.
    pub(super) transfers: Vec<Transfer>,
    /// Begins of padding instructions, ascending.
    fillers: Vec<u64>,
}

/// A control transfer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    /// Address after its last byte.
    pub(super) end: u64,
    pub(super) to: To,
}

/// Target of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum To {
    /// To this address.
    Jump(u64),
    /// To this address or the next instruction.
    Branch(u64),
    /// To this function and then the next instruction: whether it returns is unknown.
    Call(u64),
    /// To an address that the program computes.
    Computed,
    /// Back to the caller.
    Return,
    /// No target.
    End,
}

impl Decoded {
    /// `None` where bytes are no instruction, or there are more than `most` instructions.
    pub(super) fn new(part: Part, bytes: &[u8], most: usize) -> Option<Self> {
        let mut decoder = Decoder::with_ip(64, bytes, part.begin, DecoderOptions::NONE);
        let mut decoded =
            Self { part, instructions: Vec::new(), transfers: Vec::new(), fillers: Vec::new() };
        let mut instruction = Instruction::default();
        while decoder.can_decode() {
            decoder.decode_out(&mut instruction);
            if instruction.is_invalid() || decoded.instructions.len() == most {
                return None;
            }
            decoded.instructions.push(instruction.ip());
            if matches!(instruction.mnemonic(), Mnemonic::Nop | Mnemonic::Int3) {
                decoded.fillers.push(instruction.ip());
            }
            let target = instruction.near_branch_target();
            let to = match instruction.flow_control() {
                FlowControl::UnconditionalBranch => To::Jump(target),
                FlowControl::ConditionalBranch => To::Branch(target),
                FlowControl::Call => To::Call(target),
                FlowControl::IndirectBranch => To::Computed,
                FlowControl::Return => To::Return,
                FlowControl::Exception => To::End,
                _ => continue,
            };
            decoded.transfers.push(Transfer { end: instruction.next_ip(), to });
        }
        Some(decoded)
    }

    /// True if an instruction begins at this address.
    pub(super) fn has(&self, address: u64) -> bool {
        self.instructions.binary_search(&address).is_ok()
    }

    /// True if all instructions from `begin` up to `end` are padding.
    pub(super) fn is_filler(&self, begin: u64, end: u64) -> bool {
        let between = |list: &[u64]| {
            list.partition_point(|&at| at < end) - list.partition_point(|&at| at < begin)
        };
        between(&self.fillers) == between(&self.instructions)
    }

    /// Targets of jumps.
    pub(super) fn jumps(&self) -> impl Iterator<Item = u64> + '_ {
        self.transfers.iter().filter_map(|transfer| match transfer.to {
            To::Jump(target) | To::Branch(target) => Some(target),
            _ => None,
        })
    }
}
