//! The addresses of lanes as offsets in shared memory: all within it, and aligned.

use crate::machine::lanes::{LANES, each, mask_where};
use crate::machine::state::warp::{Scratch, Warp};
use crate::machine::state::worker::Worker;
use crate::program::{Access, BLOCK_WINDOW, SHARED_WINDOW, Space, in_window};
use crate::{Fault, FaultKind};

impl Worker<'_> {
    /// Where lanes access the shared memory at hand, by whatever addresses.
    pub(crate) fn shared_offsets(
        &self,
        warp: &mut Warp,
        access: &Access,
        mask: u32,
    ) -> Result<[u32; LANES], Box<Fault>> {
        self.shared_addresses(warp, access, mask)?;
        self.offsets(warp, access, mask)
    }

    /// The addresses of lanes in shared memory.
    pub(crate) fn shared_addresses(&self, warp: &mut Warp, access: &Access, mask: u32) -> Result<(), Box<Fault>> {
        warp.set_addresses(access, mask);
        if access.space == Space::Generic {
            let all = warp.scratch.addresses.0;
            let away = mask & !mask_where(|lane| in_window(all[lane], SHARED_WINDOW));
            if let Some(lane) = each(away).next() {
                let what = format!("at address {:#x}, which is not in shared memory", all[lane]);
                return Err(self.convict_access(warp, access, lane, FaultKind::OutOfBounds, &what));
            }
            warp.narrow_addresses(&all, mask, SHARED_WINDOW);
        }
        Ok(())
    }

    /// The addresses at hand as offsets in shared memory, all within it and aligned.
    pub(crate) fn offsets(&self, warp: &mut Warp, access: &Access, mask: u32) -> Result<[u32; LANES], Box<Fault>> {
        match self.set_offsets(warp, access) {
            true => Ok(warp.scratch.offsets.0),
            false => Err(self.convict_shared_address(warp, access, mask)),
        }
    }

    /// The addresses as offsets. Says whether all lie within the shared memory at hand and are aligned.
    #[inline(always)]
    pub(crate) fn set_offsets(&self, warp: &mut Warp, access: &Access) -> bool {
        let (bytes, base) = (u64::from(access.bytes()), self.state.base);
        let start = base + u64::from(access.within.0);
        let room = (base + u64::from(access.within.1.min(self.shared_bytes))).saturating_sub(start);
        let limit = room.wrapping_sub(bytes);
        let (mut outside, mut low) = (room < bytes, 0);
        let Scratch { addresses, offsets } = &mut *warp.scratch;
        for lane in 0..LANES {
            outside |= addresses.0[lane].wrapping_sub(start) > limit;
            low |= addresses.0[lane];
            offsets.0[lane] = addresses.0[lane].wrapping_sub(base) as u32;
        }
        !outside && low & (bytes - 1) == 0
    }

    #[inline(never)]
    pub(crate) fn convict_shared_address(&self, warp: &Warp, access: &Access, mask: u32) -> Box<Fault> {
        let bytes = u64::from(access.bytes());
        let addresses = warp.scratch.addresses.0.map(|address| address.wrapping_sub(self.state.base));
        let (start, end) = (u64::from(access.within.0), u64::from(access.within.1.min(self.shared_bytes)));
        let fits = |at: u64| at >= start && at.checked_add(bytes).is_some_and(|last| last <= end);
        let bad = each(mask).find(|&lane| !fits(addresses[lane]) || addresses[lane] % bytes != 0).unwrap_or_default();
        let address = addresses[bad];
        if fits(address) {
            let (name, offset) = self.shared_name(address as u32);
            let whose = self.of_whom();
            let what = format!("of {name} (shared memory{whose}) at offset {offset}, which is no multiple of {bytes}");
            return self.convict_access(warp, access, bad, FaultKind::Misaligned, &what);
        }
        let (all, size) = (address.wrapping_add(self.state.base), u64::from(self.context.shape.cluster_size()));
        let rank = all / BLOCK_WINDOW;
        if rank < size && rank != self.state.base / BLOCK_WINDOW && !self.may_be_elsewhere(access) {
            let what =
                format!("at address {all:#x}, which is of block rank {rank}, by an instruction for own shared memory");
            return self.convict_own_only(warp, access, bad, &what);
        }
        let (side, offset) = match (address as i64) < start as i64 {
            true => ("before the start", address as i64 - start as i64),
            false => ("past the end", address as i64 - start as i64),
        };
        let what = format!("{side} of {} at offset {offset}", self.shared_in_words(access));
        self.convict_access(warp, access, bad, FaultKind::OutOfBounds, &what)
    }
}
