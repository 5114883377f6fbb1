//! A warp: its registers, its lanes' fates, and the stack of paths that diverged.

use super::polls::Polls;
use super::product_registers::InFlight;
use super::shadow::Taint;
use crate::Dim3;
use crate::machine::beside::async_copy::Copies;
use crate::machine::control::functions::Stack;
use crate::machine::lanes::{FULL, LANES, Lanes};
use crate::program::{BLOCK_WINDOW, Preset, Program, SHARED_WINDOW, Slot};

/// A path that lanes take: from `block` until they meet the others at `meet`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Path {
    pub block: u32,
    pub meet: u32,
    pub mask: u32,
    pub wait: Wait,
}

/// No block: a path that meets no other.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// What a path waits for, at the end of its block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Wait {
    No,
    /// The lanes of a mask, to meet them.
    Meeting(u32),
    /// At an aligned barrier, the warp's other lanes: they have gone another way, and may still come. With all lanes that
    /// must come.
    Others(u32),
    /// At a barrier of this number, the warp's other lanes.
    Gathering(u32),
    /// At a barrier of this number, other warps.
    Barrier(u32),
    /// At a product of the warpgroup, its other warps.
    Group,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) enum State {
    Ready,
    /// All its paths wait.
    Waiting,
    #[default]
    Done,
}

/// Where the lanes access memory. Lanes that do not run have the place of the first one that does. (On the
/// heap, so that the compiler keeps the vectors whole.)
#[derive(Default)]
pub(crate) struct Scratch {
    pub addresses: Lanes<u64>,
    /// Offsets in shared memory, or words of a buffer.
    pub offsets: Lanes<u32>,
}

/// By default one without registers, which stands in the list of warps while one of them runs.
#[derive(Default)]
pub(crate) struct Warp {
    pub number: u32,
    pub r: Vec<Lanes<u32>>,
    pub d: Vec<Lanes<u64>>,
    pub p: Vec<u32>,
    /// Lanes that exist and have not ended.
    pub live: u32,
    /// Where its lanes are. A lane is where the last path says that has it; paths before that are where it meets others.
    pub(crate) paths: Vec<Path>,
    /// Lanes that a branch has sent where nothing is left to do but to end.
    pub(crate) left: u32,
    /// How many of the paths wait.
    pub(crate) waiting: u32,
    pub(crate) state: State,
    pub(crate) polls: Polls,
    /// Warp-level barriers passed since the last block-wide one.
    pub epoch: u32,
    /// The memory access at hand.
    pub(crate) scratch: Box<Scratch>,
    /// Local memory of all lanes, one after the other, and which of its bytes were written.
    pub local: Vec<u8>,
    pub local_written: Vec<u8>,
    /// How much of it each lane has, in bytes.
    pub(crate) local_bytes: usize,
    /// The calls in which each lane is; empty for a program without functions that are called.
    pub(crate) stacks: Vec<Stack>,
    /// Uninitialised values in registers; absent until one is loaded.
    pub(crate) taint: Option<Box<Taint>>,
    /// Registers of products under way; absent where there are none, or nobody watches.
    pub(crate) group: Option<Box<InFlight>>,
    /// Asynchronous copies under way.
    pub(crate) copies: Copies,
}

impl Warp {
    pub fn new(program: &Program, number: u32) -> Warp {
        Warp {
            number,
            r: vec![Lanes::default(); program.registers32 as usize],
            d: vec![Lanes::default(); program.registers64 as usize],
            p: vec![u32::default(); program.predicates as usize],
            local: vec![0xff; program.local_bytes as usize * LANES],
            local_written: vec![u8::default(); program.local_bytes as usize * LANES],
            local_bytes: program.local_bytes as usize,
            stacks: if program.called.is_empty() { Vec::new() } else { vec![Stack::default(); LANES] },
            ..Warp::default()
        }
    }

    /// The lanes of warp `number` that the thread block has threads for.
    pub fn existing(number: u32, block: Dim3) -> u32 {
        let threads = block.count() - u64::from(number) * LANES as u64;
        if threads >= LANES as u64 { FULL } else { (1 << threads) - 1 }
    }

    /// Makes the warp ready to run in thread block `block`.
    pub fn start(&mut self, program: &Program, launch: &Shape, block: Dim3) {
        let threads = launch.block.count() as u32;
        let first = self.number * LANES as u32;
        let lanes = (threads - first).min(LANES as u32);
        self.live = if lanes == 32 { FULL } else { (1 << lanes) - 1 };
        self.paths.clear();
        self.paths.push(Path { block: 0, meet: NOWHERE, mask: self.live, wait: Wait::No });
        (self.left, self.waiting) = (0, 0);
        self.state = State::Ready;
        self.polls = Polls::default();
        self.epoch = 0;
        self.taint = None;
        self.copies = Copies::default();
        self.local_written.fill(0);
        self.stacks.iter_mut().for_each(Stack::clear);
        for &(slot, preset) in &program.preset32 {
            self.r[slot as usize] = Lanes(preset_values(preset, launch, block, first).map(|value| value as u32));
        }
        for &(slot, preset) in &program.preset64 {
            self.d[slot as usize] = Lanes(preset_values(preset, launch, block, first));
        }
        for &(slot, preset) in &program.preset_predicates {
            self.p[slot as usize] = if preset_values(preset, launch, block, first)[0] != 0 { FULL } else { 0 };
        }
    }

    #[inline(always)]
    pub fn predicate(&self, slot: Slot, negated: bool) -> u32 {
        let mask = self.p[slot as usize];
        if negated { !mask } else { mask }
    }
}

/// What every thread block of a launch has in common.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub grid: Dim3,
    pub block: Dim3,
    /// Thread blocks of a cluster, and whether kernel or launch named it.
    pub cluster: Dim3,
    pub explicit: bool,
    pub dynamic_shared: u32,
    /// Bytes of all shared memory of a thread block.
    pub shared_bytes: u32,
    /// Addresses of the module's variables in global memory.
    pub globals: Vec<u64>,
}

impl Shape {
    /// The position of thread `linear` in its block.
    pub fn thread(&self, linear: u32) -> Dim3 {
        unfold(linear.into(), self.block)
    }

    /// The position of thread block `number` in the grid. Numbers go cluster by cluster, and by rank within one.
    pub fn block_at(&self, number: u64) -> Dim3 {
        let size = self.cluster.count();
        if size == 1 {
            return unfold(number, self.grid);
        }
        let (at, within) = (unfold(number / size, self.clusters()), unfold(number % size, self.cluster));
        let Dim3 { x, y, z } = self.cluster;
        Dim3 { x: at.x * x + within.x, y: at.y * y + within.y, z: at.z * z + within.z }
    }

    /// Clusters of the grid.
    pub fn clusters(&self) -> Dim3 {
        let (grid, cluster) = (self.grid, self.cluster);
        Dim3 { x: grid.x / cluster.x, y: grid.y / cluster.y, z: grid.z / cluster.z }
    }

    /// Thread blocks of a cluster.
    pub fn cluster_size(&self) -> u32 {
        self.cluster.count() as u32
    }

    /// The cluster of the thread block at a place in the grid, and its place there.
    fn in_cluster(&self, block: Dim3) -> (Dim3, Dim3) {
        let Dim3 { x, y, z } = self.cluster;
        let at = Dim3 { x: block.x / x, y: block.y / y, z: block.z / z };
        (at, Dim3 { x: block.x % x, y: block.y % y, z: block.z % z })
    }

    /// Whether two thread blocks, at places of their own, are of one cluster.
    pub fn are_clustered(&self, a: Dim3, b: Dim3) -> bool {
        self.in_cluster(a).0 == self.in_cluster(b).0
    }

    fn rank_at(&self, block: Dim3) -> u64 {
        let (Dim3 { x, y, .. }, within) = (self.cluster, self.in_cluster(block).1);
        u64::from(within.x + x * (within.y + y * within.z))
    }

    /// Where the addresses of a thread block's shared memory begin, by its rank.
    pub fn base_of(&self, rank: u64) -> u64 {
        rank * BLOCK_WINDOW
    }
}

fn unfold(linear: u64, extents: Dim3) -> Dim3 {
    let (x, y) = (u64::from(extents.x), u64::from(extents.y));
    Dim3 { x: (linear % x) as u32, y: (linear / x % y) as u32, z: (linear / x / y) as u32 }
}

/// What the lanes of the warp whose first thread is `first` find in a register.
fn preset_values(preset: Preset, launch: &Shape, block: Dim3, first: u32) -> [u64; LANES] {
    let axis = |extents: Dim3, axis: u8| u64::from([extents.x, extents.y, extents.z][axis as usize]);
    let same = match preset {
        Preset::Tid(n) => return std::array::from_fn(|lane| axis(launch.thread(first + lane as u32), n)),
        Preset::LaneId => return std::array::from_fn(|lane| lane as u64),
        Preset::LaneMask(kind) => {
            return std::array::from_fn(|lane| {
                let below = (1u64 << lane) - 1;
                let mask = [below + 1, below, 2 * below + 1, !(2 * below + 1), !below][kind as usize];
                mask & 0xffff_ffff
            });
        }
        Preset::Constant(bits) => bits,
        Preset::SharedAddress { address, .. } | Preset::SharedBase(address) => {
            address.wrapping_add(launch.base_of(launch.rank_at(block)))
        }
        Preset::SharedWindow => SHARED_WINDOW + launch.base_of(launch.rank_at(block)),
        Preset::ClusterWindow => launch.base_of(launch.cluster.count()),
        Preset::ClusterId(n) => axis(launch.in_cluster(block).0, n),
        Preset::NClusterId(n) => axis(launch.clusters(), n),
        Preset::ClusterCtaid(n) => axis(launch.in_cluster(block).1, n),
        Preset::ClusterNctaid(n) => axis(launch.cluster, n),
        Preset::ClusterRank => launch.rank_at(block),
        Preset::ClusterSize => launch.cluster.count(),
        Preset::IsExplicitCluster => launch.explicit.into(),
        Preset::Ntid(n) => axis(launch.block, n),
        Preset::Ctaid(n) => axis(block, n),
        Preset::Nctaid(n) => axis(launch.grid, n),
        Preset::WarpId => u64::from(first) / LANES as u64,
        Preset::NWarpId => launch.block.count().div_ceil(LANES as u64),
        Preset::SharedBytes => launch.shared_bytes.into(),
        Preset::DynamicSharedBytes => launch.dynamic_shared.into(),
        Preset::Global(index, offset) => launch.globals[index as usize].wrapping_add(offset as u64),
        Preset::Frame => 0,
        Preset::DynamicSharedBase(_) => unreachable!("a constant once the program is decoded"),
    };
    [same; LANES]
}
