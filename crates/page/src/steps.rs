//! What one warp accesses, execution by execution, for a page that steps through it.

use std::collections::BTreeSet;
use std::sync::Arc;

use emulator::{Memory, Touched, TouchedRow, TracedAccess};
use gemm::emulated::traced;
use gemm::facts::Extras;
use gemm::{Dim3, Error};
use serde::Serialize;

use crate::Step;
use crate::answer::Trial;

/// So many executions are handed out at most.
const MOST: usize = 2048;
/// And no more once these have so many chunks.
const CHUNKS: usize = 200_000;

/// What a page gets to step through.
#[derive(Debug, Serialize)]
pub struct Steps {
    grid: Dim3,
    block: Dim3,
    /// Executions in all; of very many, `executions` has the first.
    found: usize,
    /// The warps of the block that have executions there.
    warps: Vec<u32>,
    executions: Vec<Execution>,
}

/// One execution by one warp.
#[derive(Debug, Serialize)]
struct Execution {
    line: u32,
    opcode: Arc<str>,
    phase: u32,
    /// `global` or `shared`.
    memory: &'static str,
    kind: String,
    /// Bytes that each lane accesses.
    bytes: u32,
    /// Sectors of 32 bytes in global memory, wavefronts in shared memory; and the least that these bytes take.
    cost: Option<[u32; 2]>,
    lanes: Vec<Lane>,
    /// What it touches, where that is not `bytes` from each lane's address on.
    #[serde(skip_serializing_if = "Option::is_none")]
    touched: Option<Touch>,
}

/// A box of a tensor, or an operand of a product.
#[derive(Debug, Serialize)]
struct Touch {
    /// `box`, `A`, `B`, or `unknown`.
    what: &'static str,
    rows: Vec<Row>,
}

/// The addresses of a row's chunks of 16 bytes in shared memory; and its bytes in global memory, if a copy moves them: the array, the
/// bytes from its start, the address and their number.
#[derive(Debug, Serialize)]
struct Row(Vec<u32>, Option<(Arc<str>, i64, u64, u32)>);

/// The lane, its array, the bytes from the array's start, and the address.
#[derive(Debug, Serialize)]
struct Lane(u32, Arc<str>, u64, u64);

/// What the warp accesses on the line.
pub fn steps(trial: &Trial, step: Step) -> Result<Steps, Error> {
    let Trial { candidate, problem, options, .. } = trial;
    let [x, y, z] = step.block;
    let extras = Extras { architecture: options.gpu.sm(), ..options.extras };
    let (block, grid) = (Dim3 { x, y, z }, candidate.task.launch.grid);
    if x >= grid.x || y >= grid.y || z >= grid.z {
        return Err(Error::usage(format!("there is no thread block {block}"), format!("the grid is {grid}")));
    }
    let accesses = traced(&candidate.task, problem, extras, |one| one == block)?;
    let there = || accesses.iter().filter(|access| step.line.is_none_or(|line| access.line() == line));
    let warps: BTreeSet<u32> = there().map(|access| access.warp).collect();
    let wanted: Vec<&TracedAccess> = there().filter(|access| access.warp == step.warp).collect();
    let mut room = CHUNKS;
    let has_room = |access: &&&TracedAccess| {
        let had = room;
        room = room.saturating_sub(rows(access).iter().map(|row| row.chunks.len()).sum());
        had > 0
    };
    let executions = wanted.iter().take(MOST).take_while(has_room).map(|access| Execution::of(access)).collect();
    let launch = candidate.task.launch;
    Ok(Steps {
        grid: launch.grid,
        block: launch.block,
        found: wanted.len(),
        warps: warps.into_iter().collect(),
        executions,
    })
}

fn rows(access: &TracedAccess) -> &[TouchedRow] {
    match &access.touched {
        Touched::Box(rows) | Touched::A(rows) | Touched::B(rows) => rows,
        _ => &[],
    }
}

impl Touch {
    fn of(access: &TracedAccess) -> Option<Touch> {
        let what = match &access.touched {
            Touched::Lanes => return None,
            Touched::Box(_) => "box",
            Touched::A(_) => "A",
            Touched::B(_) => "B",
            _ => "unknown",
        };
        let global = |row: &TouchedRow| row.global.as_ref().map(|g| (g.array.clone(), g.offset, g.address, g.bytes));
        let rows = rows(access).iter().map(|row| Row(row.chunks.clone(), global(row))).collect();
        Some(Touch { what, rows })
    }
}

impl Execution {
    fn of(access: &TracedAccess) -> Execution {
        let global = access.global_cost().map(|cost| [cost.sectors, cost.ideal_sectors]);
        let shared = access.shared_cost().map(|cost| [cost.wavefronts, cost.ideal_wavefronts]);
        Execution {
            line: access.line(),
            opcode: access.opcode.clone(),
            phase: access.phase,
            memory: if access.memory == Memory::Global { "global" } else { "shared" },
            kind: access.kind.to_string(),
            bytes: access.bytes,
            cost: global.or(shared),
            touched: Touch::of(access),
            lanes: access.lanes.iter().map(|l| Lane(l.lane, l.array.clone(), l.offset, l.address)).collect(),
        }
    }
}
