//! What is wrong between thread blocks of a cluster, put into words.

use super::words::{fault, place as line, verb_of};
use crate::machine::state::block::thread_in;
use crate::machine::state::probe::Stuck;
use crate::machine::state::warp::Warp;
use crate::machine::state::worker::Worker;
use crate::program::{Access, Exit};
use crate::{Cause, Fault, FaultKind, Site};

const STAY: &str = "behind the last access to a peer's shared memory comes a cluster barrier (`cluster.sync()`), behind the last step of a loop as well, or an arrival that the peer waits for before it leaves";

impl Worker<'_> {
    /// `block rank 1, thread (0,0,0)`.
    pub(crate) fn of_rank(&self, site: &Site, block: u64) -> String {
        format!("block rank {}, thread {}", self.rank_of_block(block), site.thread)
    }

    /// Where threads end.
    fn end_site(&self, block: u64) -> Option<Site> {
        let program = self.context.program;
        let last = program.blocks.iter().position(|block| block.exit == Exit::Return)? as u32;
        let leaves =
            program.blocks.iter().rev().find(|block| block.exit == Exit::Jump(last) && block.exit_info.is_some());
        Some(self.context.site(block, 0, leaves?.exit_info?))
    }

    /// What an instruction does to a peer's shared memory.
    fn deed_of(site: &Site) -> &'static str {
        match verb_of(&site.opcode) {
            _ if site.opcode.starts_with("mbarrier") => "an arrival, or the like,",
            "write" => "a store",
            "atomic" => "an atomic",
            "copy" => "a copy",
            _ => "a load",
        }
    }

    /// A block has ended, and nothing told it of an access to its shared memory.
    #[inline(never)]
    pub(crate) fn convict_leaving(&self, of: u64, thread: u32, at: u32) -> Box<Fault> {
        let site = self.context.site(of, thread, at);
        let message = format!(
            "race on the shared memory of block rank {}: {} by {} at {}, and nothing keeps the block from leaving before",
            self.rank_of_block(self.state.block),
            Self::deed_of(&site),
            self.of_rank(&site, of),
            line(&site)
        );
        let mut fault = fault(FaultKind::Race, message, site, STAY).because(Cause::BlockLeft);
        fault.other = self.end_site(self.state.block).map(|site| ("the block leaves here:".to_string(), site));
        fault
    }

    /// An access to the shared memory of a block that has ended.
    #[inline(never)]
    pub(crate) fn convict_visit_of_left(&self, warp: &Warp, access: &Access, lanes: u32, rank: u32) -> Box<Fault> {
        let site = self.site_of(warp, lanes.trailing_zeros(), access.at);
        let message = format!(
            "race on the shared memory of block rank {rank}: {} by {} at {}, and the block has left",
            Self::deed_of(&site),
            self.of_rank(&site, self.state.block),
            line(&site)
        );
        let mut fault = fault(FaultKind::Race, message, site, STAY).because(Cause::BlockLeft);
        fault.other = self.end_site(self.block_of_rank(rank)).map(|site| ("the block leaves here:".to_string(), site));
        fault
    }

    /// An access to the shared memory of a block that may not have started.
    #[inline(never)]
    pub(crate) fn convict_stranger(&self, warp: &Warp, access: &Access, lane: u32, rank: u32) -> Box<Fault> {
        let site = self.site_of(warp, lane, access.at);
        let message = format!(
            "race on the shared memory of block rank {rank}: {} by {} at {}, and the block may not have started",
            Self::deed_of(&site),
            self.of_rank(&site, self.state.block),
            line(&site)
        );
        let hint = "before the first access to a peer's shared memory comes a cluster barrier (`cluster.sync()`): only then all blocks have started";
        fault(FaultKind::Race, message, site, hint)
    }

    /// An instruction for own shared memory gets an address in a peer's.
    #[inline(never)]
    pub(crate) fn convict_own_only(&self, warp: &Warp, access: &Access, lane: usize, what: &str) -> Box<Fault> {
        let site = self.site_of(warp, lane as u32, access.at);
        let message = format!("{} of {} bytes {what}", verb_of(&site.opcode), access.bytes());
        let hint = "to a peer's shared memory go `.shared::cluster`, and generic addresses";
        fault(FaultKind::OutOfBounds, message, site, hint)
    }

    #[inline(never)]
    pub(crate) fn convict_rank(&self, warp: &Warp, lane: usize, at: u32, what: &str) -> Box<Fault> {
        let site = self.site_of(warp, lane as u32, at);
        let name = site.opcode.split('.').next().unwrap_or_default().to_string();
        let message = format!("{name} {what}");
        let hint =
            "ranks go from 0 to `%cluster_nctarank` less one; is the launch in clusters as large as the kernel wants?";
        fault(FaultKind::OutOfBounds, message, site, hint)
    }

    /// What goes to one block is to tell a barrier of another.
    #[inline(never)]
    pub(crate) fn convict_barrier_elsewhere(
        &self,
        warp: &Warp,
        access: &Access,
        lane: usize,
        (to, barrier): (u64, u64),
    ) -> Box<Fault> {
        let site = self.site_of(warp, lane as u32, access.at);
        let message = format!("a copy to block rank {to} tells the mbarrier of block rank {barrier}");
        fault(
            FaultKind::Barrier,
            message,
            site,
            "the mbarrier lies in the shared memory to which the bytes go: map both",
        )
    }

    #[inline(never)]
    pub(crate) fn convict_mask(&self, warp: &Warp, access: &Access, lane: usize, ranks: u32) -> Box<Fault> {
        let site = self.site_of(warp, lane as u32, access.at);
        let size = self.context.shape.cluster_size();
        let message = format!("multicast to the ranks of mask {ranks:#06x}, and the cluster has {size} blocks");
        fault(FaultKind::OutOfBounds, message, site, "a bit for each rank that the bytes go to, and for no other")
    }

    #[inline(never)]
    pub(crate) fn convict_cluster_arrival(&self, warp: &Warp, (lanes, at): (u32, u32), before: u32) -> Box<Fault> {
        let site = self.site_of(warp, lanes.trailing_zeros(), at);
        let other = self.site_of(warp, lanes.trailing_zeros(), before);
        let message = format!("thread {} arrives twice at the cluster barrier without a wait between", site.thread);
        let mut fault =
            fault(FaultKind::Barrier, message, site, "each `barrier.cluster.arrive` has its `barrier.cluster.wait`");
        fault.other = Some(("the arrival before it:".to_string(), other));
        fault
    }

    #[inline(never)]
    pub(crate) fn convict_cluster_wait(&self, warp: &Warp, (lanes, at): (u32, u32)) -> Box<Fault> {
        let site = self.site_of(warp, lanes.trailing_zeros(), at);
        let message = format!("thread {} waits at the cluster barrier and has not arrived", site.thread);
        fault(
            FaultKind::Barrier,
            message,
            site,
            "each `barrier.cluster.wait` has its `barrier.cluster.arrive` before it",
        )
    }

    /// A warp waits at the barrier of its cluster, and some will never come.
    #[inline(never)]
    pub(crate) fn convict_cluster_deadlock(&self, stuck: &Stuck, all: &[Stuck]) -> Option<Box<Fault>> {
        let size = u64::from(self.context.shape.cluster_size());
        let barrier = self.others.clusters.get(&(self.state.block / size)).filter(|_| stuck.waits_for_cluster())?;
        let site = self.site_of(&self.state.warps[stuck.warp as usize], stuck.lane, stuck.at);
        let nobody = Warp::default();
        let missing: Vec<(u32, u32, u32)> = self.awaited_in_cluster(barrier, &nobody).collect();
        let threads: u32 = missing.iter().map(|(.., lanes)| lanes.count_ones()).sum();
        let mut message = format!(
            "deadlock: {} waits at the cluster barrier in phase {}, and {threads} thread{} will not arrive",
            self.of_rank(&site, stuck.block),
            barrier.phase,
            if threads == 1 { "" } else { "s" }
        );
        let mut other = None;
        for (rank, warp, lanes) in missing.iter().take(4) {
            message += &format!("; block rank {rank}: {} of warp {warp}", lanes.count_ones());
            let block = self.block_of_rank(*rank);
            let state = match block == self.state.block {
                true => Some(&self.state),
                false => self.others.aside.iter().find(|state| state.block == block),
            };
            let at = state.and_then(|state| self.where_it_waits(block, state.warps.get(*warp as usize)?));
            let at = at.or_else(|| {
                let stuck = all.iter().find(|other| (other.block, other.warp) == (block, *warp))?;
                Some(self.context.site(block, thread_in(*warp, *lanes), stuck.loads.example.map_or(stuck.at, |e| e.0)))
            });
            if let Some(at) = at {
                message += &format!(", at {}", line(&at));
                other.get_or_insert(at);
            }
        }
        if missing.len() > 4 {
            message += &format!("; {} more warps", missing.len() - 4);
        }
        let hint = "all threads of all blocks of the cluster arrive that have not ended: none may take a way around it";
        let mut fault = fault(FaultKind::NoProgress, message, site, hint).because(Cause::Deadlock);
        fault.other = other.map(|site| ("one of them is here:".to_string(), site));
        Some(fault)
    }

    /// What the others wait for, for a message: `; block rank 1, thread (0,0,0) waits at x.cu:12`.
    pub(crate) fn others_in_words(&self, stuck: &Stuck, all: &[Stuck]) -> String {
        if self.context.unit() == 1 {
            return String::new();
        }
        let others: Vec<&Stuck> = all.iter().filter(|other| other.block != stuck.block).collect();
        let mut text = String::new();
        for other in others.iter().take(4) {
            let at = other.loads.example.map_or(other.at, |(at, ..)| at);
            let site = self.context.site(other.block, thread_in(other.warp, 1 << other.lane), at);
            let what = if other.waits_for_cluster() { "at the cluster barrier, " } else { "" };
            text += &format!("; {} waits {what}at {}", self.of_rank(&site, other.block), line(&site));
        }
        if others.len() > 4 {
            text += &format!("; {} more thread blocks wait", others.len() - 4);
        }
        text
    }
}
