//! Barriers in shared memory, and what tells them of itself: what a thread block knows of both.

use std::collections::{BTreeMap, HashMap};

use super::bulk_load::{BulkLoad, Groups};
use crate::machine::lanes::LANES;
use crate::machine::order::Then;

/// The largest number of arrivals, and of bytes that are missing or too many.
pub(crate) const MOST: u32 = (1 << 20) - 1;

/// Bytes of a barrier.
pub(crate) const BYTES: u32 = 8;

/// The barriers of a thread block, by their place in shared memory.
#[derive(Debug, Default)]
pub(crate) struct Mbarriers {
    pub live: BTreeMap<u32, Mbarrier>,
    /// Where some have ended, and who made an end of the last one there.
    pub dead: BTreeMap<u32, Event>,
    /// Agents so far.
    agents: u32,
    /// The thread that asked an agent for what an instruction does, and its block.
    askers: HashMap<(u32, u32), (u64, u32)>,
    /// Arrivals that wait for a thread's copies.
    pub deferred: Vec<Deferred>,
    /// Bulk copies to shared memory that have not landed.
    pub loads: Vec<BulkLoad>,
    /// Addresses of tensor maps of which somebody has acquired what was written there.
    pub maps: Vec<u64>,
    /// By thread, its bulk copies out of shared memory.
    pub groups: HashMap<u32, Groups>,
    /// The agents of warpgroups, that read what they multiply.
    warpgroups: HashMap<u32, u32>,
}

/// A thread at an instruction, and its time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Event {
    pub block: u64,
    pub thread: u32,
    pub at: u32,
    pub time: u32,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Mbarrier {
    /// Arrivals that a phase is for, and those that are missing in the present one.
    pub count: u32,
    pub pending: u32,
    /// Bytes that are expected and have not come; negative for those that came unexpected.
    pub bytes: i64,
    /// Bytes that were expected in the present phase.
    pub expected: i64,
    /// The present phase, from 0.
    pub phase: u32,
    pub init: Event,
    /// A fence for its `mbarrier.init` lies behind that.
    pub fenced: bool,
    /// The last arrival, and the last expectation of bytes.
    pub last: Option<Event>,
    pub expectation: Option<Event>,
    /// Stands for the copies that tell it when they have landed.
    pub agent: Option<u32>,
    /// By warp, the last use, and by which lanes.
    pub users: Vec<(u32, Event)>,
    /// By block and warp, the last wait that found a phase complete.
    pub seen: Vec<Seen>,
}

/// A warp of a block found phase `phase` complete, by an instruction; the one before the first has the number -1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub block: u64,
    pub warp: u32,
    pub phase: i64,
    pub at: u32,
}

/// An arrival once the copies of a lane have landed, of which there were so many.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deferred {
    pub place: u32,
    pub warp: u32,
    pub lane: u32,
    pub serial: u32,
    pub at: u32,
}

impl Mbarriers {
    pub fn is_empty(&self) -> bool {
        self.live.is_empty()
    }

    /// The barrier of which bytes lie among these.
    pub fn at(&self, start: u32, length: u32) -> Option<u32> {
        let mut found = self.live.range(start.saturating_sub(BYTES - 1)..start.saturating_add(length));
        found.next().map(|(place, _)| *place)
    }

    /// A number for another agent.
    pub fn new_agent(&mut self) -> u32 {
        self.agents += 1;
        self.agents - 1
    }

    /// The agent of a warpgroup.
    pub fn group_agent(&mut self, group: u32) -> u32 {
        if let Some(agent) = self.warpgroups.get(&group) {
            return *agent;
        }
        let agent = self.new_agent();
        self.warpgroups.insert(group, agent);
        agent
    }

    /// Notes who asked an agent for what an instruction does.
    pub fn note_asker(&mut self, agent: u32, at: u32, asker: (u64, u32)) {
        self.askers.insert((agent, at), asker);
    }

    pub fn asker(&self, agent: u32, at: u32) -> Option<(u64, u32)> {
        self.askers.get(&(agent, at)).copied()
    }
}

impl Event {
    /// What the order model has of it.
    pub fn then(self) -> Then {
        let (warp, lane) = (self.thread / LANES as u32, self.thread % LANES as u32);
        Then { block: self.block as u32, warp, lane, time: self.time }
    }
}

impl Mbarrier {
    /// The last phase that a warp of a block found complete.
    pub fn seen_by(&self, block: u64, warp: u32) -> Option<Seen> {
        self.seen.iter().find(|seen| (seen.block, seen.warp) == (block, warp)).copied()
    }

    /// A warp of a block finds the phase before the present one complete.
    pub fn note_seen(&mut self, block: u64, warp: u32, at: u32) {
        let now = Seen { block, warp, phase: i64::from(self.phase) - 1, at };
        match self.seen.iter_mut().find(|seen| (seen.block, seen.warp) == (block, warp)) {
            Some(seen) => *seen = now,
            None => self.seen.push(now),
        }
    }

    /// The state that an arrival brings: phase, place, and arrivals that are missing.
    pub fn token(&self, place: u32) -> u64 {
        u64::from(self.phase & 0xff_ffff) << 40 | u64::from(place / BYTES) << 20 | u64::from(self.pending)
    }
}

/// The arrivals that a state says are missing.
pub(crate) fn pending_count(token: u64) -> u64 {
    token & u64::from(MOST)
}
