//! Counts while a launch runs: one tally per worker, by block, instruction and access. Nothing here
//! depends on the order in which thread blocks run, so tallies add up to the same report every time.

use std::collections::BTreeMap;

use super::warned::Warned;
use crate::program::{Bulk, Exit, Extension, Info, Op, Program, Space, Tensor};
use crate::{Circumstance, Counters, LineCounters, Printed};

#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Passes {
    pub warps: u64,
    pub threads: u64,
    pub divergent: u64,
}

/// Counts of one memory access instruction.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Traffic {
    pub requests: u64,
    pub lanes: u64,
    /// Sectors of global memory, or wavefronts of shared memory.
    pub cost: u64,
    /// The least that the same bytes could cost; of bulk copies, the sectors that L2 gives.
    pub ideal: u64,
    pub unique_bytes: u64,
}

impl Traffic {
    /// One request by these lanes.
    pub fn add_lanes(&mut self, lanes: u32) {
        self.requests += 1;
        self.lanes += u64::from(lanes.count_ones());
    }
}

#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// By basic block: how often warps and threads passed it.
    pub blocks: Vec<Passes>,
    /// By instruction: warps and threads whose guard kept them out.
    pub idle_threads: Vec<u64>,
    pub idle_warps: Vec<u64>,
    /// By access, for its global and its shared part (a generic access may be either).
    pub global: Vec<Traffic>,
    pub shared: Vec<Traffic>,
    /// The part in the shared memory of other thread blocks of the cluster.
    pub peers: Vec<Traffic>,
    /// What was printed.
    pub said: Vec<Said>,
    /// What was doubtful.
    pub warned: Warned,
    /// What may be why a result is wrong, by instruction: the first block that did it, by number.
    pub circumstances: BTreeMap<u32, (u64, Circumstance)>,
}

impl Tally {
    pub fn new(program: &Program) -> Tally {
        Tally {
            blocks: vec![Passes::default(); program.blocks.len()],
            idle_threads: vec![0; program.code.len()],
            idle_warps: vec![0; program.code.len()],
            global: vec![Traffic::default(); program.accesses.len()],
            shared: vec![Traffic::default(); program.accesses.len()],
            peers: vec![Traffic::default(); program.accesses.len()],
            said: Vec::new(),
            warned: Warned::default(),
            circumstances: BTreeMap::new(),
        }
    }

    pub fn add(&mut self, other: &Tally) {
        self.said.extend(other.said.iter().cloned());
        self.warned.add(&other.warned);
        for (at, noted) in &other.circumstances {
            let known = self.circumstances.entry(*at).or_insert_with(|| noted.clone());
            if noted.0 < known.0 {
                *known = noted.clone();
            }
        }
        for (a, b) in self.blocks.iter_mut().zip(&other.blocks) {
            a.warps += b.warps;
            a.threads += b.threads;
            a.divergent += b.divergent;
        }
        for (a, b) in self.idle_threads.iter_mut().zip(&other.idle_threads) {
            *a += b;
        }
        for (a, b) in self.idle_warps.iter_mut().zip(&other.idle_warps) {
            *a += b;
        }
        let mine = self.global.iter_mut().chain(&mut self.shared).chain(&mut self.peers);
        for (a, b) in mine.zip(other.global.iter().chain(&other.shared).chain(&other.peers)) {
            a.requests += b.requests;
            a.lanes += b.lanes;
            a.cost += b.cost;
            a.ideal += b.ideal;
            a.unique_bytes += b.unique_bytes;
        }
    }

    /// A bulk copy of so many sectors of global memory, to or from so many blocks.
    pub fn add_copy(&mut self, shared: u32, blocks: u32, sectors: u64) {
        let copies = &mut self.global[shared as usize];
        copies.requests += 1;
        copies.cost += u64::from(blocks) * sectors;
        copies.ideal += sectors;
    }

    /// What an access did in the shared memory of other blocks since `before` counts apart.
    pub fn leave_to_peers(&mut self, index: usize, before: Traffic) {
        let now = std::mem::replace(&mut self.shared[index], before);
        let peers = &mut self.peers[index];
        peers.requests += now.requests - before.requests;
        peers.lanes += now.lanes - before.lanes;
    }

    /// What was printed, in the order of the thread blocks' turns.
    pub fn printed(&self) -> Vec<Printed> {
        let mut said = self.said.clone();
        said.sort_by_key(|said| said.turn);
        let mut bytes = 0;
        said.retain(|said| {
            bytes += said.printed.text.len().max(1);
            bytes <= MOST
        });
        said.into_iter().map(|said| said.printed).collect()
    }

    /// The counts by source line, in the order of files and lines.
    pub fn lines(&self, program: &Program) -> Vec<LineCounters> {
        let mut lines: BTreeMap<(u32, u32), Counters> = BTreeMap::new();
        for (index, block) in program.blocks.iter().enumerate() {
            let passes = self.blocks[index];
            for at in block.start..block.end {
                let info = &program.info[at as usize];
                let counters = lines.entry((info.file, info.line)).or_default();
                let warps = passes.warps - self.idle_warps[at as usize];
                let threads = passes.threads - self.idle_threads[at as usize];
                count(counters, info, warps, threads);
                self.count_access(counters, program, at);
            }
            if let Some(exit) = block.exit_info {
                let info = &program.info[exit as usize];
                let counters = lines.entry((info.file, info.line)).or_default();
                count(counters, info, passes.warps, passes.threads);
                match block.exit {
                    // A branch to one of several places is a chain of which one counts.
                    Exit::Branch { .. } if info.class.is_some() => {
                        counters.branches += passes.warps;
                        counters.divergent_branches += passes.divergent;
                    }
                    Exit::Barrier { .. } => counters.barriers += passes.warps,
                    _ => {}
                }
            }
        }
        let counted = lines.into_iter().filter(|(_, counters)| *counters != Counters::default());
        counted
            .map(|((file, line), counters)| {
                let file = program.files.get(file as usize).cloned().unwrap_or_else(|| "".into());
                LineCounters { file, line, counters }
            })
            .collect()
    }

    fn count_access(&self, counters: &mut Counters, program: &Program, at: u32) {
        let (index, load) = match program.code[at as usize].op {
            Op::Load(index) => (index as usize, true),
            Op::Store(index) => (index as usize, false),
            Op::Extended(index) => {
                let extended = &program.extended[index as usize];
                match (extended.what, extended.accesses.as_slice()) {
                    (Extension::Atomic(_), [access, ..]) => self.count_peers(counters, program, *access as usize),
                    (Extension::CopyAsync { .. }, [from, to]) => {
                        self.count_traffic(counters, program, *from as usize, true);
                        self.count_traffic(counters, program, *to as usize, false);
                    }
                    (Extension::LoadMatrix { .. }, [from]) => {
                        self.count_traffic(counters, program, *from as usize, true);
                    }
                    (Extension::StoreMatrix { .. }, [to]) => {
                        self.count_traffic(counters, program, *to as usize, false);
                    }
                    (Extension::Bulk(bulk), [first, second, ..]) => {
                        // What is known of a copy is noted with the access to shared memory.
                        let (index, load) = match bulk {
                            Bulk::Load | Bulk::Multicast | Bulk::Tensor(Tensor::Load { .. }, _) => (*second, true),
                            Bulk::Tensor(Tensor::Store(_), _) => (*second, false),
                            Bulk::Store(_) => (*first, false),
                            _ => return,
                        };
                        let copies = self.global[index as usize];
                        let bulk = &mut counters.bulk;
                        let (count, bytes) = match load {
                            true => (&mut bulk.loads, &mut bulk.bytes_read),
                            false => (&mut bulk.stores, &mut bulk.bytes_written),
                        };
                        *count += copies.requests;
                        *bytes += 32 * copies.cost;
                        if load {
                            bulk.l2_bytes_read += 32 * copies.ideal;
                        }
                    }
                    _ => {}
                }
                return;
            }
            _ => return,
        };
        self.count_traffic(counters, program, index, load);
    }

    fn count_traffic(&self, counters: &mut Counters, program: &Program, index: usize, load: bool) {
        let access = &program.accesses[index];
        if matches!(access.space, Space::Parameter | Space::Constant | Space::Local) {
            return;
        }
        let bytes = u64::from(access.bytes());
        let (global, shared) = (self.global[index], self.shared[index]);
        let into = if load { &mut counters.global_load } else { &mut counters.global_store };
        into.requests += global.requests;
        into.sectors += global.cost;
        into.ideal_sectors += global.ideal;
        into.bytes += global.lanes * bytes;
        let into = if load { &mut counters.shared_load } else { &mut counters.shared_store };
        into.requests += shared.requests;
        into.wavefronts += shared.cost;
        into.ideal_wavefronts += shared.ideal;
        into.bytes += shared.lanes * bytes;
        into.unique_bytes += shared.unique_bytes;
        self.count_peers(counters, program, index);
    }

    /// What an access did in the shared memory of other thread blocks.
    fn count_peers(&self, counters: &mut Counters, program: &Program, index: usize) {
        let peers = self.peers[index];
        counters.peer_shared.requests += peers.requests;
        counters.peer_shared.bytes += peers.lanes * u64::from(program.accesses[index].bytes());
    }
}

fn count(counters: &mut Counters, info: &Info, warps: u64, threads: u64) {
    if let Some(class) = info.class {
        let entry = &mut counters.classes[class as usize];
        entry.warp += warps;
        entry.thread += threads;
    }
    if let Some(product) = info.tensor {
        let entry = &mut counters.tensor[product.kind as usize];
        let multiply_adds = warps * u64::from(product.multiply_adds);
        entry.instructions += if info.class.is_some() { warps } else { 0 };
        entry.multiply_adds += multiply_adds;
        if let Some(bytes) = product.group_operands {
            entry.group_multiply_adds += multiply_adds;
            // Four warps read the operands of their product together.
            entry.operand_wavefronts += warps * u64::from(bytes) / (4 * 128);
        }
    }
    // Every `mma` of a `wmma` does its part of the work, though one of them counts as an instruction.
    counters.flops_f32 += threads * u64::from(info.flops_f32);
    counters.flops_f64 += threads * u64::from(info.flops_f64);
}

/// Bytes that a launch may print, as on a GPU; what comes behind is dropped.
pub(crate) const MOST: usize = 1 << 20;

/// A text that a thread printed.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    /// The turn of its thread block.
    pub turn: u64,
    pub printed: Printed,
}

#[cfg(test)]
mod tests {
    use crate::Class;

    #[test]
    fn classes_are_in_the_order_of_their_numbers() {
        assert!(Class::ALL.iter().enumerate().all(|(n, class)| *class as usize == n));
    }
}
