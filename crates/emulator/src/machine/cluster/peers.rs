//! Shared memory of the other thread blocks of a cluster.
//!
//! An address in shared memory holds the rank of its block in the bits from 24 on, as on sm_90: own addresses do so, too. Who
//! accesses another block's shared memory gets it lent for that one instruction, with all that is known of it (`lend`):
//! what holds for a block's own memory holds there as well.
//!
//! Two things are asked of the order model besides. Who comes to a block's memory knows that the block has started: by a
//! barrier of the cluster, or by anything that leads from there. And a block leaves only when some thread of it knows of
//! all accesses to its memory by others (`leave_cluster`): what the schedule happened to do first says nothing.

use crate::Fault;
use crate::machine::lanes::{each, mask_where};
use crate::machine::state::block::{Visit, thread_in};
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::program::{Access, BLOCK_WINDOW, SHARED_WINDOW, Space};

impl Worker<'_> {
    /// The lanes of an access by the block whose shared memory they access: nothing where that is the present one for all,
    /// or where an address is in none of the cluster.
    pub(crate) fn by_rank(&self, warp: &Warp, access: &Access, mask: u32) -> Option<Vec<(u32, u32)>> {
        let size = u64::from(self.context.shape.cluster_size());
        if size == 1 || !(access.of_cluster || access.space == Space::Generic) {
            return None;
        }
        let rank = |lane: usize| warp.scratch.addresses.0[lane] / BLOCK_WINDOW;
        let own = u64::from(self.rank_of_block(self.state.owner));
        if each(mask).any(|lane| rank(lane) >= size) || each(mask).all(|lane| rank(lane) == own) {
            return None;
        }
        let mut parts = Vec::new();
        let mut rest = mask;
        while rest != 0 {
            let first = rank(rest.trailing_zeros() as usize & 31);
            let here = mask_where(|lane| rank(lane) == first) & rest;
            parts.push((first as u32, here));
            rest &= !here;
        }
        Some(parts)
    }

    /// Does something for each block whose shared memory lanes access, with that memory at hand. Gives nothing where it is
    /// the present block's for all lanes: then nothing is done.
    pub(crate) fn at_each_rank(
        &mut self,
        warp: &mut Warp,
        access: &Access,
        mask: u32,
        mut deed: impl FnMut(&mut Self, &mut Warp, u32) -> Result<(), Box<Fault>>,
    ) -> Result<Option<()>, Box<Fault>> {
        let Some(parts) = self.by_rank(warp, access, mask) else { return Ok(None) };
        let all = warp.scratch.addresses.0;
        for (rank, lanes) in parts {
            warp.narrow_addresses(&all, lanes, 0);
            self.at_rank(warp, access, (rank, lanes), &mut deed)?;
        }
        Ok(Some(()))
    }

    /// Lanes access the shared memory of one block, with that memory at hand.
    fn at_rank<T>(
        &mut self,
        warp: &mut Warp,
        access: &Access,
        (rank, lanes): (u32, u32),
        deed: impl FnOnce(&mut Self, &mut Warp, u32) -> Result<T, Box<Fault>>,
    ) -> Result<T, Box<Fault>> {
        self.note_visit(warp, access, (rank, lanes));
        self.with_memory_of(warp, access, (rank, lanes), deed)
    }

    /// Does something with the shared memory of one block at hand that is no access of these lanes: of what they send, the
    /// block's mbarrier tells.
    pub(crate) fn with_memory_of<T>(
        &mut self,
        warp: &mut Warp,
        access: &Access,
        (rank, lanes): (u32, u32),
        deed: impl FnOnce(&mut Self, &mut Warp, u32) -> Result<T, Box<Fault>>,
    ) -> Result<T, Box<Fault>> {
        let peer = self.block_of_rank(rank);
        if peer == self.state.owner {
            return deed(self, warp, lanes);
        }
        let Some(place) = self.others.aside.iter().position(|state| state.block == peer) else {
            return Err(self.convict_visit_of_left(warp, access, lanes, rank));
        };
        if let Some(clocks) = &mut self.clocks
            && let Some(lane) = clocks.strangers(self.state.block as u32, (warp.number, lanes), peer as u32)
        {
            return Err(self.convict_stranger(warp, access, lane, rank));
        }
        self.lend(place);
        let done = deed(self, warp, lanes);
        self.lend(place);
        done
    }

    /// The present block gets the shared memory of another one, or gives it back.
    fn lend(&mut self, place: usize) {
        let peer = &mut self.others.aside[place];
        self.state.exchange_memory(peer);
        if let Some(clocks) = &mut self.clocks {
            clocks.lend(self.state.block as u32, peer.block as u32);
        }
    }

    /// Lanes are about to access a peer's shared memory: it must not leave before.
    fn note_visit(&mut self, warp: &Warp, access: &Access, (rank, lanes): (u32, u32)) {
        let (block, peer) = (self.state.block, self.block_of_rank(rank));
        let place = self.others.aside.iter().position(|state| state.block == peer && peer != self.state.owner);
        let (Some(clocks), Some(place)) = (&mut self.clocks, place) else { return };
        let time = clocks.time(block as u32, warp.number);
        let visits = self.others.aside[place].visits.entry((block, warp.number)).or_default();
        visits.retain_mut(|known| {
            known.lanes &= !lanes;
            known.lanes != 0
        });
        match visits.iter_mut().find(|known| known.time == time) {
            Some(known) => (known.lanes, known.at) = (known.lanes | lanes, access.at),
            None => visits.push(Visit { lanes, at: access.at, time }),
        }
    }

    /// The present block has ended: does some thread of it know of all accesses to its memory?
    pub(crate) fn leave_cluster(&mut self) -> Result<(), Box<Fault>> {
        let size = u64::from(self.context.shape.cluster_size());
        if self.context.unit() == 1 {
            return Ok(());
        }
        let block = self.state.block;
        if let Some(clocks) = &mut self.clocks {
            let visits =
                self.state.visits.iter().flat_map(|(who, visits)| visits.iter().map(move |visit| (who, visit)));
            let unnoticed = visits.into_iter().find_map(|(&(of, warp), visit)| {
                let lane = clocks.unnoticed(block as u32, (of as u32, warp, visit.lanes), visit.time)?;
                Some((of, thread_in(warp, 1 << lane), visit.at))
            });
            if let Some((of, thread, at)) = unnoticed {
                return Err(self.convict_leaving(of, thread, at));
            }
        }
        let barrier = self.others.clusters.entry(block / size).or_default();
        barrier.left |= 1 << (block % size);
        if barrier.left.count_ones() == size as u32 {
            self.others.clusters.remove(&(block / size));
            if let Some(clocks) = &mut self.clocks {
                clocks.end_cluster((block / size) as u32);
            }
        }
        Ok(())
    }

    /// `mapa`: the address of the same place in another block's shared memory.
    pub(crate) fn map_to_rank(
        &mut self,
        warp: &Warp,
        (lane, at): (usize, u32),
        (address, rank, generic): (u64, u64, bool),
    ) -> Result<u64, Box<Fault>> {
        let size = u64::from(self.context.shape.cluster_size());
        let place = address.wrapping_sub(if generic { SHARED_WINDOW } else { 0 });
        if place >= size.max(1) * BLOCK_WINDOW {
            return Err(self.convict_rank(
                warp,
                lane,
                at,
                &format!("of address {address:#x}, which is not in shared memory"),
            ));
        }
        if rank >= size {
            let what =
                format!("to block rank {rank}, and the cluster has {size} block{}", if size == 1 { "" } else { "s" });
            return Err(self.convict_rank(warp, lane, at, &what));
        }
        Ok(address & !(0xff * BLOCK_WINDOW) | (rank * BLOCK_WINDOW))
    }

    /// The words of shared memory in which an address lies, of whatever block of the cluster, and the offset there.
    pub(crate) fn words_at(&self, address: u64) -> Option<(&[u32], u64)> {
        let at = address.wrapping_sub(self.state.base);
        if at < BLOCK_WINDOW || self.context.shape.cluster_size() == 1 {
            return Some((&self.state.shared, at));
        }
        let rank = address / BLOCK_WINDOW;
        let peer = self.block_of_rank(u32::try_from(rank).ok()?);
        let state = self.others.aside.iter().find(|state| state.block == peer)?;
        Some((&state.shared, address % BLOCK_WINDOW))
    }
}
