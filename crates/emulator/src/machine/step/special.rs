//! Instructions that the program keeps in its list `extended`: which does what, and those across a warp.

use crate::Fault;
use crate::machine::arithmetic::warp_mma;
use crate::machine::lanes::{LANES, each};
use crate::machine::state::global_pattern::Road;
use crate::machine::state::mbarriers::pending_count;
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::program::{Extension, File, MapDeed};

impl Worker<'_> {
    pub(crate) fn extended(&mut self, warp: &mut Warp, index: u32, mask: u32, at: u32) -> Result<(), Box<Fault>> {
        let program = self.context.program;
        let extended = &program.extended[index as usize];
        match extended.what {
            Extension::Atomic(atomic) => return self.atomic(warp, extended, atomic, mask),
            Extension::CopyAsync { size, bypassing } => {
                let road = if bypassing { Road::Bypassing } else { Road::Cached };
                return self.copy_async(warp, extended, (size, road), mask);
            }
            Extension::CommitCopies => warp.copies.commit(mask),
            Extension::WaitCopies(pending) => return self.wait_for_copies(warp, pending, mask),
            Extension::LoadMatrix { transpose } => {
                self.check_whole_warp(warp, mask, at)?;
                return self.load_matrix(warp, extended, transpose);
            }
            Extension::StoreMatrix { transpose } => {
                self.check_whole_warp(warp, mask, at)?;
                return self.store_matrix(warp, extended, transpose);
            }
            Extension::Fragment(fragment) => {
                self.check_whole_warp(warp, mask, at)?;
                return self.check_fragment(warp, extended, fragment, (mask, at));
            }
            Extension::MoveMatrix => {
                self.check_whole_warp(warp, mask, at)?;
                warp.move_matrix(extended);
            }
            Extension::Multiply(multiply) => {
                self.check_whole_warp(warp, mask, at)?;
                warp_mma::multiply(warp, extended, multiply, self.context.generation);
            }
            Extension::MapToRank { generic } => {
                let (&(file, from), &(_, rank)) = (&extended.reads[0], &extended.reads[1]);
                let mut out = <[u64; LANES]>::default();
                for lane in each(mask) {
                    let (address, rank) = (warp.wide(file, from, lane), warp.wide(File::R, rank, lane));
                    out[lane] = self.map_to_rank(warp, (lane, at), (address, rank, generic))?;
                }
                let (file, d) = extended.writes[0];
                warp.set_wide(file, d, &out, mask);
            }
            Extension::RankOf { generic } => {
                let (&(file, from), &(_, d)) = (&extended.reads[0], &extended.writes[0]);
                let mut out = <[u64; LANES]>::default();
                for lane in each(mask) {
                    // The rank of an address is what `mapa` to that rank does not change.
                    let address = warp.wide(file, from, lane);
                    self.map_to_rank(warp, (lane, at), (address, 0, generic))?;
                    out[lane] = address >> 24 & 0xff;
                }
                warp.set_wide(File::R, d, &out, mask);
            }
            Extension::ClusterBarrier(deed) => return self.cluster_barrier(warp, extended, deed, (mask, at)),
            Extension::MultiplyQuads(multiply) => {
                self.check_whole_warp(warp, mask, at)?;
                warp.multiply_quads(extended, multiply, self.context.generation);
            }
            Extension::Mbarrier(deed) => return self.mbarrier(warp, extended, deed, mask),
            Extension::Bulk(bulk) => return self.bulk(warp, extended, bulk, mask),
            Extension::Group(group) => return self.group(warp, group, (mask, at)),
            Extension::PendingCount => {
                let ((from, token), (file, d)) = (extended.reads[0], extended.writes[0]);
                let counts = std::array::from_fn(|lane| pending_count(warp.wide(from, token, lane)));
                warp.set_wide(file, d, &counts, mask);
            }
            Extension::SetRegisters(count) => return self.set_registers(warp, mask, (count, at)),
            Extension::ProxyFence(fenced) => self.proxy_fence(warp, mask, fenced),
            Extension::InitFence => self.fence_inits(warp, mask),
            Extension::TensorMap(deed) => {
                if let MapDeed::CopyOut(_) = deed {
                    self.check_whole_warp(warp, mask, at)?;
                }
                return self.change_map(warp, extended, deed, mask);
            }
            Extension::Match { .. } | Extension::Reduce(..) | Extension::Elect | Extension::Converge => {
                unreachable!("lanes meet for these at the end of a block")
            }
            Extension::Print => return self.print(warp, extended, mask, at),
            Extension::Assertion => return Err(self.assertion(warp, extended, mask, at)),
            Extension::Clock { high } => {
                let (file, d) = extended.writes[0];
                let now = self.probing.frozen.unwrap_or(self.state.executed);
                let time = if high { now >> 32 } else { now };
                warp.set_wide(file, d, &[time; LANES], mask);
            }
        }
        Ok(())
    }

    /// Instructions that all 32 lanes execute together.
    fn check_whole_warp(&self, warp: &Warp, mask: u32, at: u32) -> Result<(), Box<Fault>> {
        match mask {
            u32::MAX => Ok(()),
            _ => Err(self.convict_divergent_warp_barrier(warp, u32::MAX, mask, at)),
        }
    }
}
