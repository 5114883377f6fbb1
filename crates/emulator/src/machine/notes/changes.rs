//! What an instruction reads, and what it changes, for a probe that looks whether a warp repeats itself.

use crate::global::locate;
use crate::machine::lanes::each;
use crate::machine::memory::shared_access::read_shared;
use crate::machine::state::probe::{Loads, Piece};
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::program::{Access, ClusterBarrier, Extension, Mbarrier, Op, SHARED_WINDOW, Space, in_window};

impl Worker<'_> {
    /// Before an instruction that a probe steps over: what it reads, and what stands where it writes.
    pub(crate) fn watch_change(&mut self, warp: &mut Warp, at: u32, mask: u32) {
        let program = self.context.program;
        let (access, load, store) = match program.code[at as usize].op {
            Op::Load(index) => (index, true, false),
            Op::Store(index) => (index, false, true),
            Op::Extended(index) => {
                let extended = &program.extended[index as usize];
                match (extended.what, extended.accesses.first()) {
                    (Extension::Atomic(_), Some(access)) => (*access, true, true),
                    (Extension::LoadMatrix { .. }, Some(access)) => (*access, true, false),
                    (Extension::Mbarrier(Mbarrier::Wait { .. }), Some(access)) => {
                        // Whether something lands meanwhile, it says itself.
                        let access = &program.accesses[*access as usize];
                        let piece = self.pieces(warp, access, mask).first().copied();
                        let example = piece.map(|piece| (at, piece.lane, piece.address));
                        let loads = Loads { barrier: true, example, ..Loads::default() };
                        return self.probing.seen.loads = self.probing.seen.loads.and(loads);
                    }
                    (Extension::ClusterBarrier(ClusterBarrier::Test), _) => {
                        let loads = Loads { cluster: true, ..Loads::default() };
                        return self.probing.seen.loads = self.probing.seen.loads.and(loads);
                    }
                    (Extension::MapToRank { .. } | Extension::RankOf { .. }, _) => return,
                    (Extension::Clock { .. }, _) if self.probing.frozen.is_some() => {
                        return self.probing.seen.loads.clock = true;
                    }
                    (
                        Extension::Multiply(_)
                        | Extension::MultiplyQuads(_)
                        | Extension::CommitCopies
                        | Extension::PendingCount
                        | Extension::SetRegisters(_),
                        _,
                    ) => return,
                    // The clock, too: it never stands still.
                    _ => return self.probing.seen.changed = true,
                }
            }
            _ => return,
        };
        let pieces = self.pieces(warp, &program.accesses[access as usize], mask);
        if load {
            self.probing.seen.loads.global |= pieces.iter().any(|piece| !piece.shared);
            self.probing.seen.loads.shared |= pieces.iter().any(|piece| piece.shared);
            let example = pieces.first().map(|piece| (at, piece.lane, piece.address));
            self.probing.seen.loads.example = self.probing.seen.loads.example.or(example);
        }
        if store {
            self.probing.seen.changed |= pieces.is_empty();
            self.probing.seen.before = pieces.into_iter().map(|piece| (piece, self.value(piece))).collect();
        }
    }

    /// After an instruction that a probe steps over.
    pub(crate) fn see_change(&mut self) {
        let before = std::mem::take(&mut self.probing.seen.before);
        self.probing.seen.changed |=
            before.iter().any(|(piece, value)| value.is_none() || self.value(*piece) != *value);
    }

    /// The places in global and shared memory that lanes access.
    fn pieces(&self, warp: &mut Warp, access: &Access, mask: u32) -> Vec<Piece> {
        warp.set_addresses(access, mask);
        let addresses = &warp.scratch.addresses.0;
        let place = |lane: usize| match (access.space, addresses[lane]) {
            (Space::Shared, address) => Some((true, address)),
            (Space::Global, address) => Some((false, address)),
            (Space::Generic, address) if in_window(address, SHARED_WINDOW) => Some((true, address - SHARED_WINDOW)),
            (Space::Generic, address) if locate(address).0 < self.context.memory.buffers.len() => {
                Some((false, address))
            }
            _ => None,
        };
        let pieces = each(mask).filter_map(|lane| place(lane).map(|(shared, address)| (lane as u32, shared, address)));
        let bytes = access.element_bytes;
        let elements = move |(lane, shared, start): (u32, bool, u64)| {
            (0..access.elements).map(move |n| Piece { lane, shared, address: start + u64::from(n * bytes), bytes })
        };
        pieces.flat_map(elements).collect()
    }

    /// What stands in memory; nothing where an access would be a fault.
    fn value(&self, piece: Piece) -> Option<u64> {
        let Piece { shared, address, bytes, .. } = piece;
        if address % u64::from(bytes) != 0 {
            return None;
        }
        if shared {
            let (words, at) = self.words_at(address)?;
            let fits = at + u64::from(bytes) <= self.shared_bytes.into();
            return fits.then(|| read_shared(words, at as u32, bytes));
        }
        let (buffer, offset) = locate(address);
        let memory = self.context.memory.buffers.get(buffer)?;
        let fits = offset >= 0 && offset as u64 + u64::from(bytes) <= memory.bytes as u64 && !memory.freed;
        fits.then(|| memory.load(offset as usize, bytes))
    }
}
