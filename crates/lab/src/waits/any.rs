//! What the warps of any launch wait for, by the model; of no kernel but those of levels 0 to 8 is it known how far that is off.

use std::fmt;

use emulator::gpu::Gpu;
use emulator::occupancy::occupancy;
use emulator::stream::Stream;
use emulator::{Dim3, Launch};
use gemm::kernel::Resources;
use serde::Serialize;
use sm_model::sm::How;
use sm_model::waits::{Tally, Why};

use super::model::{Machine, place};
use super::{DRAWN, Judged, MODELLED};

/// Warp instructions of the blocks on one SM that are kept for the model: 8 bytes each, and more for accesses to memory.
const MOST: u64 = 40_000_000;

/// Instructions that wait for, or work beside, what the model has not.
const UNKNOWN: [&str; 12] = [
    "wgmma",
    "tcgen05",
    "mbarrier",
    "cp.async.bulk",
    "cp.async.mbarrier",
    "cp.reduce",
    "barrier.cluster",
    "mapa",
    "st.async",
    "red.async",
    "griddepcontrol",
    "setmaxnreg",
];

/// What the warps of a launch wait for, or why the model does not say it.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Waiting {
    /// What the model says.
    Modelled(Modelled),
    /// Why there is nothing.
    Not {
        /// In words.
        not_modelled: String,
    },
}

/// What the model says of a launch.
#[derive(Debug, Clone, Serialize)]
pub struct Modelled {
    /// The GPU.
    pub gpu: &'static str,
    /// Whether the model's figures are by measurements of this GPU.
    pub is_measured: bool,
    /// Thread blocks of the launch that live on one SM together.
    pub blocks: usize,
    /// Warps of each.
    pub warps: usize,
    /// Clocks until the last of them ends.
    pub clocks: u32,
    /// The shares of all clocks of warps, the largest first.
    pub shares: Vec<(&'static str, f64)>,
}

/// A launch, as far as the model asks.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The modelled GPU.
    pub gpu: &'static Gpu,
    /// What ptxas says of the kernel there.
    pub resources: Option<&'a Resources>,
    /// Grid, block and dynamic shared memory.
    pub launch: &'a Launch,
    /// Warp instructions of all blocks.
    pub instructions: u64,
}

/// What `record` notes of a launch's blocks, in the model.
pub fn waiting(asked: Asked, record: impl FnOnce(&dyn Fn(Dim3) -> bool) -> Result<Stream, String>) -> Waiting {
    match modelled(asked, record) {
        Ok(modelled) => Waiting::Modelled(modelled),
        Err(not_modelled) => Waiting::Not { not_modelled },
    }
}

fn modelled(
    asked: Asked,
    record: impl FnOnce(&dyn Fn(Dim3) -> bool) -> Result<Stream, String>,
) -> Result<Modelled, String> {
    let Asked { gpu, resources, launch, instructions } = asked;
    let machine = Machine::of(gpu).map_err(|error| error.to_string().lines().next().unwrap_or_default().to_string())?;
    let resources = resources.ok_or("what a thread needs is not known: ptxas says it, of one kernel")?;
    let (grid, threads) = (launch.grid, launch.block.count() as u32);
    let shared = resources.shared_bytes.max(launch.dynamic_shared);
    let fit = u64::from(occupancy(gpu, threads, resources.registers, shared).blocks_per_sm.max(1));
    let (sms, all) = (u64::from(gpu.sms), grid.count());
    let together = fit.min(all.div_ceil(sms));
    let noted = instructions / all.max(1) * together;
    if noted > MOST {
        return Err(format!("{noted} warp instructions on one SM, and it takes {MOST}: make the problem smaller"));
    }
    let stream = record(&|block| place(grid, block).is_multiple_of(sms) && place(grid, block) / sms < fit)?;
    if let Some(opcode) = unknown(&stream) {
        return Err(format!("it does not know `{opcode}`"));
    }
    let blocks = sm_model::assembled(&stream, resources.registers, &machine.figures);
    // The blocks that begin first find nothing in L2.
    let first = ((sms * fit) as f64 / all.max(1) as f64).min(1.0);
    let run = |cold| sm_model::sm::run(&blocks, &stream.touches, &machine.figures, How { cold, ..How::default() });
    let cold = run(true);
    let tally = match first < 1.0 {
        true => Tally::weighed([(first, cold.tally), (1.0 - first, run(false).tally)]),
        false => cold.tally,
    };
    let mut shares: Vec<(&str, f64)> = Why::ALL.iter().map(|&why| (why.name(), tally.share(why))).collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    let warps = stream.blocks.first().map_or(0, |block| block.warps.len());
    let is_measured = machine.is_measured();
    Ok(Modelled { gpu: gpu.name, is_measured, blocks: stream.blocks.len(), warps, clocks: cold.clocks, shares })
}

/// The first instruction that the model does not know.
fn unknown(stream: &Stream) -> Option<&str> {
    let is_unknown = |opcode: &str| UNKNOWN.iter().any(|word| opcode.starts_with(word)) || opcode.contains("::cluster");
    stream.code.iter().map(|code| &*code.opcode).find(|opcode| is_unknown(opcode))
}

/// What a share is of, in words.
fn meaning(name: &str) -> &'static str {
    match name {
        "issue" => "an instruction is issued",
        "long_scoreboard" => "for global memory",
        "short_scoreboard" => "for shared memory, or a special function",
        "barrier" => "for the other warps of the block",
        "mio_throttle" => "for room in the queue to shared memory",
        "lg_throttle" => "for room in the queue to global memory",
        "math_pipe_throttle" => "for a pipe of arithmetic",
        "wait" => "the few clocks of the instruction before",
        "dispatch_stall" => "for the banks of the register file",
        "no_instruction" => "for its next instruction",
        _ => "another warp was taken",
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let modelled = match self {
            Waiting::Modelled(modelled) => modelled,
            Waiting::Not { not_modelled } => return writeln!(f, "waits       the model says nothing: {not_modelled}"),
        };
        let Modelled { gpu, is_measured, blocks, warps, clocks, shares } = modelled;
        writeln!(f, "waits       by a MODEL of an SM of {gpu}: {blocks} x {warps} warps, {clocks} clocks")?;
        for (name, share) in shares.iter().filter(|(_, share)| *share >= 0.005) {
            writeln!(f, "{:>17.1}%  {name:<18}  {}", 100.0 * share, meaning(name))?;
        }
        let Judged { right, launches, .. } = DRAWN;
        writeln!(
            f,
            "            its two largest were right in {right} of {launches} launches of levels 0 to {MODELLED}; of other kernels nobody knows"
        )?;
        match is_measured {
            true => Ok(()),
            false => writeln!(f, "            its figures of {gpu} are published ones, and not measured here"),
        }
    }
}
