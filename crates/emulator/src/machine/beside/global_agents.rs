//! What is done to global memory beside the threads: what bulk copies read there before they tell an mbarrier, and what they
//! write there until their group is complete.
//!
//! The order model has agents for both (`order::agents`). Of what a group writes it is another one than of what the group
//! reads: who has waited by `cp.async.bulk.wait_group.read` knows of the one alone. Stamps do not know when a copy is done: to
//! them, whoever meets it races with it, and then the launch runs once more under the order model.

use crate::Fault;
use crate::global::locate;
use crate::machine::lanes::LANES;
use crate::machine::order::{Access as Touch, Agent, Conflict, Force, Kind, force};
use crate::machine::state::bulk_load::Groups;
use crate::machine::state::deed::Target;
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::program::Access;

impl Worker<'_> {
    /// A copy that a lane asked for reads bytes of global memory, for each of its destinations: a block, and the agent of
    /// its mbarrier. Where `proxied`, it does so by another proxy than that of threads, which must have fenced what they stored.
    pub(crate) fn agents_read_global(
        &mut self,
        warp: &Warp,
        access: &Access,
        lane: usize,
        (source, length): (u64, u32),
        agents: impl Iterator<Item = (u64, Agent)>,
        proxied: bool,
    ) -> Result<(), Box<Fault>> {
        let (buffer, offset) = locate(source);
        let memory = &self.context.memory.buffers[buffer];
        if memory.watch.is_none() || length == 0 {
            return Ok(());
        }
        if !self.global_by_clocks() {
            let bytes = offset as usize..offset as usize + length as usize;
            if proxied {
                self.watch_proxy((warp, access, lane), memory, bytes.clone())?;
            }
            return self.watch_read_beside((warp, access, lane), memory, bytes);
        }
        let (bytes, deed) = ((offset as u32, length), (Kind::Read, proxied));
        let mut agents = agents;
        agents.try_for_each(|agent| self.agent_access_global((warp, access, lane), (buffer, bytes), agent, deed))
    }

    /// A copy that a lane asked for writes bytes of watched memory, from an offset of a buffer on and as part of the lane's
    /// present group, or combines them with what is there.
    pub(crate) fn agent_writes_global(
        &mut self,
        (warp, access, lane): (&Warp, &Access, usize),
        buffer: usize,
        (offset, bytes): (usize, &[u8]),
        kind: Kind,
    ) -> Result<(), Box<Fault>> {
        if !self.global_by_clocks() {
            let memory = &self.context.memory.buffers[buffer];
            return self.watch_write_beside((warp, access, lane), memory, offset, bytes);
        }
        let thread = warp.number * LANES as u32 + lane as u32;
        let mbarriers = &mut self.state.mbarriers;
        let Some(groups) = mbarriers.groups.get(&thread).copied() else { return Ok(()) };
        let number = groups.writer.unwrap_or_else(|| mbarriers.new_agent());
        mbarriers.groups.insert(thread, Groups { writer: Some(number), ..groups });
        let agent = Agent { number, time: groups.committed + 1 };
        let bytes = (offset as u32, bytes.len() as u32);
        self.agent_access_global((warp, access, lane), (buffer, bytes), (self.state.block, agent), (kind, false))
    }

    fn agent_access_global(
        &mut self,
        (warp, access, lane): (&Warp, &Access, usize),
        (buffer, (start, length)): (usize, (u32, u32)),
        (of, agent): (u64, Agent),
        (kind, proxied): (Kind, bool),
    ) -> Result<(), Box<Fault>> {
        let (block, grain) = (self.state.block, self.context.program.global_grain);
        let Some(clocks) = &mut self.clocks else { return Ok(()) };
        let (force, extent) = match kind {
            Kind::Atomic => (force(access), access.element_bytes.trailing_zeros() as u8),
            _ => (Force::Weak, 0),
        };
        let now =
            Touch { block: block as u32, warp: warp.number, lanes: 1 << lane, at: access.at, kind, force, extent };
        let thread = warp.number * LANES as u32 + lane as u32;
        clocks.note_asker((of as u32, agent.number, access.at), (block, thread));
        let cells = start / grain..(start + length).div_ceil(grain);
        let clash = clocks.access_by_agent(&now, (of as u32, agent), (Some(buffer as u32), cells.clone()), None);
        let unfenced = match clash {
            Ok(()) if proxied => clocks.unfenced(block as u32, (warp.number, lane as u32), (buffer as u32, cells)),
            _ => None,
        };
        if let Some((cell, record)) = unfenced {
            let what = format!("{} at offset {}", self.context.memory.buffers[buffer].name, cell * grain);
            return Err(self.convict_unfenced(
                (warp, access, lane as u32),
                &what,
                &record,
                "read by a bulk copy",
                false,
            ));
        }
        match clash {
            Ok(()) | Err((_, Conflict::Unfenced(_))) => Ok(()),
            Err((cell, Conflict::Race(clash))) => {
                let target = Target::Global(buffer, &self.context.memory.buffers[buffer]);
                Err(self.convict_clash(warp, access, target, cell * grain, (&clash, &now)))
            }
        }
    }
}
