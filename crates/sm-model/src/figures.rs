//! The clocks and widths of an SM, with the source of each.

/// What the model knows of a GPU's SM.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// The GPU's name, as the emulator's models have it.
    pub gpu: &'static str,
    /// Warp schedulers, each of which issues one instruction a clock at most.
    pub schedulers: usize,
    /// Clocks from an FMA, or from an integer instruction, to one that needs its result.
    pub fixed: u32,
    /// Clocks from a comparison to an access that it decides on.
    pub guard: u32,
    /// Clocks from the load of a parameter to its use.
    pub parameter: u32,
    /// Clocks that one of them keeps its pipe: 32 lanes ÷ lanes of a scheduler's pipe.
    pub fma: u32,
    /// The same of integers, logic and comparisons.
    pub alu: u32,
    /// The same of multiply-adds in f64.
    pub fp64: u32,
    /// Clocks from a multiply-add in f64 to its result.
    pub fp64_latency: u32,
    /// Clocks from a load from shared memory to its use, where nothing else is under way.
    pub shared: u32,
    /// The same from global memory, where L1 has it…
    pub l1: u32,
    /// … where L2 has it…
    pub l2: u32,
    /// … and where nobody has read it before.
    pub dram: u32,
    /// What the assembler takes a load from global memory to need: longer than all else in a region, which comes first.
    pub assumed: u32,
    /// How many instructions a load from shared memory, or what needs it, comes before its place in PTX at most. Loads
    /// from global memory, and what they need, come from anywhere between two barriers.
    pub ahead: usize,
    /// Instructions on shared memory of a scheduler that wait for their turn.
    pub shared_queue: usize,
    /// The same on global memory.
    pub global_queue: usize,
    /// Clocks between two of them that leave the queue of a scheduler.
    pub global_every: f64,
    /// Clocks for which loads may wait behind it for the banks of L1.
    pub behind: u32,
    /// Clocks from an instruction that is no multiply-add to the warp's next one.
    pub pause: u32,
    /// Instructions that a warp issues one after the other, if it can, before others have their turn.
    pub patience: u32,
    /// Clocks that a wavefront keeps the load and store unit.
    pub wavefront: u32,
    /// Sectors of 32 bytes from L2 per clock to one SM, while all SMs ask.
    pub l2_sectors: f64,
    /// Clocks between requests of one SM for lines, of which each may bring four sectors.
    pub l2_line: f64,
    /// Clocks until the warps go on when the last one has come to a barrier.
    pub barrier: u32,
    /// Clocks from a branch back to the instruction behind it.
    pub branch: u32,
    /// Of 100 FMAs, how many wait a clock for the banks of the register file.
    pub bank_conflicts: u32,
}

/// H200, at any clock. Other GPUs are made of it, in [`crate::gpus`].
///
/// - `schedulers`, `fma`, `alu`, `fp64`, `wavefront`: the rates of NVIDIA's programming guide, for compute capability 9.0.
/// - `fixed`, `fp64_latency`, `shared`, `l1`: of the order that published microbenchmarks of Hopper give; not measured here.
/// - `guard`: what ptxas 13.0 lets lie between the two, in machine code for sm_90.
/// - Fitted to the records of waits, and to nothing else: those of [`FITTED`], by hand to all launches together. They are no
///   latencies of the hardware: fits to two thirds of the record find others, and `lab waits --held-out` says how good
///   these are for the rest.
pub const H200: Figures = Figures {
    gpu: "H200",
    schedulers: 4,
    fixed: 4,
    guard: 13,
    parameter: 30,
    fma: 1,
    alu: 2,
    fp64: 2,
    fp64_latency: 8,
    shared: 29,
    l1: 34,
    l2: 300,
    dram: 650,
    assumed: 5000,
    ahead: 16,
    shared_queue: 4,
    global_queue: 44,
    global_every: 5.0,
    behind: 640,
    patience: 8,
    pause: 3,
    wavefront: 1,
    l2_sectors: 1.3,
    l2_line: 3.0,
    barrier: 20,
    branch: 8,
    bank_conflicts: 12,
};

/// A figure that is fitted.
pub struct Fitted {
    /// Its name.
    pub name: &'static str,
    /// What a fit tries; it begins with the first.
    pub values: &'static [f64],
    /// Puts a value in.
    pub set: fn(&mut Figures, f64),
    /// What it is.
    pub get: fn(&Figures) -> f64,
}

macro_rules! fitted {
    ($($name:ident: $kind:ty = $values:expr),* $(,)?) => {
        [$(Fitted {
            name: stringify!($name),
            values: &$values,
            set: |figures, value| figures.$name = value as $kind,
            get: |figures| figures.$name as f64,
        }),*]
    };
}

/// The figures that are fitted to the record of waits: none is tuned to a level or to a launch.
pub const FITTED: [Fitted; 15] = fitted! {
    l2: u32 = [250.0, 300.0, 400.0],
    dram: u32 = [550.0, 650.0, 800.0],
    l2_sectors: f64 = [1.0, 1.3, 2.0],
    l2_line: f64 = [2.0, 3.0, 4.0],
    global_queue: usize = [32.0, 44.0, 64.0],
    global_every: f64 = [4.0, 5.0, 6.0],
    behind: u32 = [320.0, 640.0],
    parameter: u32 = [20.0, 30.0],
    ahead: usize = [8.0, 16.0, 24.0],
    shared_queue: usize = [4.0, 8.0],
    pause: u32 = [2.0, 3.0],
    patience: u32 = [4.0, 8.0],
    barrier: u32 = [10.0, 20.0],
    branch: u32 = [8.0, 16.0],
    bank_conflicts: u32 = [12.0, 24.0],
};
