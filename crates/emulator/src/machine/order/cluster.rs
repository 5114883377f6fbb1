//! The order of threads of a cluster: its barrier, and who knows of whom.

use super::agents::learn;
use super::cell::Force;
use super::clock::{Clock, Past};
use super::threads::add;
use super::{Block, Clocks};
use crate::machine::lanes::each;

impl Clocks {
    /// The present block gets the shared memory of a peer, or gives it back.
    pub fn lend(&mut self, block: u32, peer: u32) {
        self.enter(block);
        let (warps, size) = (self.warps, self.size);
        let other = self.aside.entry(peer).or_insert_with(|| Block::new(peer, (warps, size), &self.nothing));
        std::mem::swap(&mut self.present.shared, &mut other.shared);
        std::mem::swap(&mut self.present.threads.phases, &mut other.threads.phases);
        std::mem::swap(&mut self.present.threads.owner, &mut other.threads.owner);
    }

    /// A lane of these that does not know that another block has started.
    pub fn strangers(&mut self, block: u32, (warp, lanes): (u32, u32), peer: u32) -> Option<u32> {
        let threads = self.threads(block);
        each(lanes).find(|lane| !threads.base(warp, *lane).known.has(peer)).map(|lane| lane as u32)
    }

    /// A lane of another block of whose access at a time no thread of this one knows.
    pub fn unnoticed(&mut self, block: u32, (of, warp, lanes): (u32, u32, u32), time: u32) -> Option<u32> {
        let threads = self.threads(block);
        let knows = |past: &Past, lane: usize| {
            past.known.unknown(of, warp, 1 << lane, time) == 0 || past.over.unknown(of, warp, 1 << lane, time) == 0
        };
        let any = |lane: usize| threads.bases().any(|past| knows(past, lane));
        each(lanes).find(|lane| !any(*lane)).map(|lane| lane as u32)
    }

    /// Lanes arrive at the barrier of their cluster.
    pub fn arrive_in_cluster(&mut self, block: u32, (warp, lanes): (u32, u32), relaxed: bool) {
        let threads = self.threads(block);
        let mut past = threads.past(warp, lanes);
        if relaxed {
            // Fences before it hand on what they do; all else is over, and the block is there.
            let word = threads.word(u32::MAX);
            let there = Clock::default();
            let mut weak = past.without_order();
            weak.known = std::rc::Rc::new(there).with(block, [(warp, 1, 0)].into_iter());
            for lane in each(lanes) {
                let handed = threads.handed(warp, lane, word, Force::Cluster, false);
                weak = handed.cluster.iter().fold(weak, |weak, past| weak.join(past));
            }
            past = weak;
        }
        threads.step(warp);
        let cluster = block / self.size;
        add(&mut self.clusters.entry(cluster).or_default().gathering, Some(&past));
    }

    /// All have arrived at the barrier of a cluster.
    pub fn complete_cluster(&mut self, cluster: u32) {
        let phases = self.clusters.entry(cluster).or_default();
        phases.complete = phases.gathering.take();
    }

    /// Lanes see that all have; `live` have not ended.
    pub fn observe_cluster(&mut self, block: u32, (warp, lanes): (u32, u32), live: u32) {
        let past = self.clusters.get(&(block / self.size)).and_then(|phases| phases.complete.clone());
        if let Some(past) = past {
            learn(self.threads(block), (warp, lanes), live, &past);
        }
    }

    /// All blocks of a cluster have ended.
    pub fn end_cluster(&mut self, cluster: u32) {
        self.clusters.remove(&cluster);
    }

    /// Lanes execute a fence for the beginnings of barriers.
    pub fn fence_beginnings(&mut self, block: u32, (warp, lanes): (u32, u32), live: u32) {
        let threads = self.threads(block);
        let own = threads.past(warp, lanes).known;
        learn(threads, (warp, lanes), live, &Past { begun: own, ..Past::default() });
        threads.step(warp);
    }
}
