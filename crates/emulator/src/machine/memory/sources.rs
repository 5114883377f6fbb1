//! What copies under way still read of global memory that the launch may write.

use crate::Fault;
use crate::global::locate;
use crate::machine::lanes::each;
use crate::machine::order::Kind;
use crate::machine::state::copies::SourceUnderWay;
use crate::machine::state::deed::{Deed, Target};
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::program::Access;

impl Worker<'_> {
    /// A lane reads so many bytes of memory that may be watched.
    pub(crate) fn read_source(
        &mut self,
        warp: &mut Warp,
        access: &Access,
        lane: usize,
        source: u64,
        length: u32,
        check: bool,
    ) -> Result<(), Box<Fault>> {
        if length == 0 {
            return Ok(());
        }
        let (buffer, offset) = locate(source);
        let memory = &self.context.memory.buffers[buffer];
        if memory.watch.is_none() {
            return Ok(());
        }
        if !self.global_by_clocks() {
            let offset = offset as usize;
            return self.watch_lane(warp, access, lane, memory, offset..offset + length as usize);
        }
        warp.scratch.addresses.0[lane] = source;
        let deed = Deed { check, ..Deed::new(Kind::Read, length) };
        self.order_access(warp, access, 1 << lane, Target::Global(buffer, memory), deed)
    }

    /// Lanes are about to write what a copy under way may not have read yet.
    #[inline]
    pub(crate) fn check_sources(&self, warp: &Warp, access: &Access, mask: u32) -> Result<(), Box<Fault>> {
        if self.sources.is_empty() {
            return Ok(());
        }
        for lane in each(mask) {
            let (buffer, offset) = locate(warp.scratch.addresses.0[lane]);
            let (start, end) = (offset as usize, offset as usize + access.bytes() as usize);
            let meets = |source: &&SourceUnderWay| {
                source.buffer == buffer && source.offset < end && start < source.offset + source.length
            };
            if let Some(source) = self.sources.iter().find(meets) {
                return Err(self.convict_source_under_way(warp, access, lane as u32, source));
            }
        }
        Ok(())
    }
}
