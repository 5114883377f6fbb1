//! What is done to shared memory beside the threads, under the order model: see `order::agents`.

use crate::Fault;
use crate::machine::order::{Access as Touch, Agent, Doubts, Force, Kind};
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::program::Access;

impl Worker<'_> {
    /// An agent of a block, `of`, reads or writes bytes of the shared memory at hand, for a lane that asked for it.
    pub(crate) fn agent_access(
        &mut self,
        warp: &Warp,
        access: &Access,
        (start, length): (u32, u32),
        (asker, of, agent): ((u32, u32), u64, Agent),
        kind: Kind,
    ) -> Result<(), Box<Fault>> {
        let grain = self.context.program.shared_grain;
        let block = self.state.block as u32;
        let opcode = self.context.program.info.get(access.at as usize).map_or("", |info| &info.opcode);
        let by_proxy = ["cp.async.bulk", "cp.reduce.async.bulk", "wgmma"].iter().any(|start| opcode.starts_with(start));
        let Some(clocks) = &mut self.clocks else { return Ok(()) };
        let cells = start / grain..(start + length).div_ceil(grain);
        // Those that combine values do not race with each other; with a thread's access, of whatever size, they do.
        let force = if kind == Kind::Atomic { Force::Cluster } else { Force::Weak };
        let now = Touch { block, warp: asker.0, lanes: 1 << asker.1, at: access.at, kind, force, extent: u8::MAX };
        let mut doubts = Doubts::default();
        let doubtful = by_proxy.then_some(&mut doubts);
        match clocks.access_by_agent(&now, (of as u32, agent), (None, cells), doubtful) {
            Ok(()) => {
                if !doubts.0.is_empty() {
                    self.warn_of_doubts(warp, access, asker.1, &doubts);
                }
                Ok(())
            }
            Err((cell, conflict)) => {
                Err(self.convict_agent(warp, access, asker.1, (cell * grain, conflict), (kind, agent.number)))
            }
        }
    }
}
