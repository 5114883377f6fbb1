//! What the device refuses, why a launch did not end well, and PTX that cannot be run.

use crate::{Dim3, Fault};

/// A request that the device refuses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The buffer is another device's.
    #[error("a buffer of another device\nhint: a handle is good for the device that gave it out")]
    Foreign,
    /// The buffer has been freed.
    #[error("{verb} of {bytes} bytes of {name}, which has been freed")]
    Freed {
        /// What was to be done.
        verb: &'static str,
        /// To how many bytes.
        bytes: usize,
        /// Of which buffer.
        name: String,
    },
    /// The bytes do not all lie in the buffer.
    #[error("{verb} of {bytes} bytes{} of {name}, which has {size}", at(.offset))]
    OutOfRange {
        /// What was to be done.
        verb: &'static str,
        /// To how many bytes.
        bytes: usize,
        /// From which byte of the buffer on.
        offset: usize,
        /// Of which buffer.
        name: String,
        /// Its size in bytes.
        size: usize,
    },
    /// Some of the bytes were never written.
    #[error(
        "{count} of the {bytes} bytes read of {name} were never written, the first at offset {first}\n\
         hint: does the grid cover all of {name}, and is what is copied there written itself?"
    )]
    Unwritten {
        /// How many.
        count: usize,
        /// Of how many that were to be read.
        bytes: usize,
        /// Where the first of them lies in the buffer.
        first: usize,
        /// Of which buffer.
        name: String,
    },
    /// There was no memory for the buffer.
    #[error("there is no memory for {name}, which has {size} bytes")]
    NoMemory {
        /// Which buffer.
        name: String,
        /// Its size in bytes.
        size: usize,
    },
    /// The module has no variable of this name.
    #[error("the module has no variable `{name}`; it has: {}", .known.join(", "))]
    NoVariable {
        /// The name.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
}

fn at(offset: &usize) -> String {
    if *offset == 0 { String::new() } else { format!(" at offset {offset}") }
}

/// Why a launch is impossible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Too few arguments, or too many.
    #[error("{kernel} takes {wanted} arguments, and {given} were given")]
    Arguments {
        /// Which kernel.
        kernel: String,
        /// How many it takes.
        wanted: usize,
        /// How many were given.
        given: usize,
    },
    /// An argument of another size than its parameter's.
    #[error("argument {index} of {kernel} has {given} bytes, and the parameter {wanted}")]
    ArgumentSize {
        /// Which kernel.
        kernel: String,
        /// Which argument, from 0.
        index: usize,
        /// The parameter's size.
        wanted: usize,
        /// The argument's.
        given: usize,
    },
    /// An argument that is no buffer of this device, or one without memory.
    #[error("argument {index} of {kernel}: {error}")]
    Buffer {
        /// Which kernel.
        kernel: String,
        /// Which argument, from 0.
        index: usize,
        /// What is wrong with it.
        error: DeviceError,
    },
    /// A module-level variable for which there was no memory.
    #[error("{kernel} cannot run: {error}")]
    Variable {
        /// Which kernel.
        kernel: String,
        /// What is wrong.
        error: DeviceError,
    },
    /// A grid or block without threads.
    #[error("grid {grid} of blocks {block}: an extent is 0")]
    Empty {
        /// The grid.
        grid: Dim3,
        /// The block.
        block: Dim3,
    },
    /// A kernel that wants clusters, launched without.
    #[error(
        "{kernel} is compiled for clusters of a size that the launch names, and it names none\nhint: `Launch::cluster`"
    )]
    NoCluster {
        /// Which kernel.
        kernel: String,
    },
    /// Another cluster than the one that the kernel was compiled for.
    #[error("clusters of {cluster} thread blocks, and {kernel} needs .reqnctapercluster {required}")]
    RequiredCluster {
        /// Which kernel.
        kernel: String,
        /// The cluster that the launch names.
        cluster: Dim3,
        /// The one that the kernel needs.
        required: Dim3,
    },
    /// Clusters on a GPU that has none.
    #[error("clusters of {cluster} thread blocks on sm_{architecture}: the first GPUs that have them are of sm_90")]
    ClusterBefore {
        /// The cluster.
        cluster: Dim3,
        /// The GPU.
        architecture: u32,
    },
    /// Too many thread blocks in a cluster, or none.
    #[error("clusters of {cluster} are {} thread blocks, of 1 to {limit} that a cluster may have", .cluster.count())]
    ClusterSize {
        /// The cluster.
        cluster: Dim3,
        /// How many there may be.
        limit: u64,
    },
    /// A grid that clusters do not divide.
    #[error("a grid of {grid} thread blocks is no whole number of clusters of {cluster}")]
    ClusterGrid {
        /// The grid.
        grid: Dim3,
        /// The cluster.
        cluster: Dim3,
    },
    /// More threads per block than any GPU has.
    #[error("{threads} threads per block are more than {limit}")]
    Threads {
        /// How many.
        threads: u64,
        /// How many there may be.
        limit: u64,
    },
    /// More threads per block than the kernel was compiled for.
    #[error("{threads} threads per block are more than .maxntid {limit} of {kernel}")]
    MaxThreads {
        /// Which kernel.
        kernel: String,
        /// How many.
        threads: u64,
        /// How many there may be.
        limit: u64,
    },
    /// Another block than the one that the kernel was compiled for.
    #[error("blocks of {block} threads, and {kernel} needs .reqntid {required}")]
    RequiredBlock {
        /// Which kernel.
        kernel: String,
        /// The block.
        block: Dim3,
        /// The one that it needs.
        required: Dim3,
    },
    /// A grid that is too long.
    #[error("{extent} thread blocks in {axis} are more than {limit}")]
    Grid {
        /// `x`, `y` or `z`.
        axis: char,
        /// How many.
        extent: u32,
        /// How many there may be.
        limit: u64,
    },
    /// A block that is too long.
    #[error("{extent} threads in {axis} of a block are more than {limit}")]
    Block {
        /// `x`, `y` or `z`.
        axis: char,
        /// How many.
        extent: u32,
        /// How many there may be.
        limit: u64,
    },
    /// A grid whose thread blocks all meet, and do not fit on the GPU together.
    #[error(
        "{kernel} lets all {blocks} thread blocks of the grid meet, and the GPU holds {limit} of them at a time\n\
         hint: fewer blocks, each with more of the work: a card refuses such a cooperative launch, too"
    )]
    Cooperative {
        /// Which kernel.
        kernel: String,
        /// How many blocks there are.
        blocks: u64,
        /// How many there may be.
        limit: u64,
    },
    /// A grid that is too large as a whole.
    #[error("{blocks} thread blocks are more than the emulator counts, {limit}")]
    Blocks {
        /// How many.
        blocks: u64,
        /// How many there may be.
        limit: u64,
    },
    /// More shared memory than any GPU has.
    #[error("{bytes} bytes of shared memory per block are more than {limit}")]
    Shared {
        /// Static and dynamic shared memory.
        bytes: u64,
        /// How much there may be.
        limit: u64,
    },
}

/// Why a launch did not end well.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The launch itself is impossible: wrong arguments, too many threads.
    #[error("{0}")]
    Refused(Refusal),
    /// The kernel did something wrong.
    #[error(transparent)]
    Fault(Box<Fault>),
}

impl From<Refusal> for LaunchError {
    fn from(refusal: Refusal) -> LaunchError {
        LaunchError::Refused(refusal)
    }
}

/// PTX that cannot be run: what is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("PTX{}: {message}", if *line > 0 { format!(" line {line}") } else { String::new() })]
#[non_exhaustive]
pub struct PtxError {
    /// Line in the PTX text, from 1; 0 when the text as a whole is meant.
    pub line: u32,
    /// What is wrong.
    pub message: String,
    /// What to do instead, where it is PTX that the emulator does not run.
    pub hint: Option<&'static str>,
}
