//! How many bytes a plan moves: counted, command by command, and by formula.

use std::collections::BTreeMap;

use crate::layout::{Layout, Operand, Panel};
use crate::plan::{Command, Plan};

/// One panel on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// The step in which it travels.
    pub step: usize,
    /// The rank that holds it.
    pub from: usize,
    /// The rank that needs it.
    pub to: usize,
    /// What it is.
    pub panel: Panel,
    /// How much it is.
    pub bytes: u64,
}

/// All that a plan sends, by steps. Between which ranks NCCL passes it on its way is NCCL's business.
pub fn transfers(plan: &Plan) -> Vec<Transfer> {
    let mut all = Vec::new();
    for (to, rank) in plan.ranks.iter().enumerate() {
        for command in rank.streams.iter().flatten() {
            let (step, got) = match command {
                Command::Copy { step, get, .. } => (*step, std::slice::from_ref(get)),
                Command::Exchange { step, receives, .. } => (*step, receives.as_slice()),
                _ => continue,
            };
            let arriving = got.iter().filter(|got| got.bytes > 0);
            all.extend(arriving.map(|got| Transfer { step, from: got.peer, to, panel: got.panel, bytes: got.bytes }));
        }
    }
    all.sort_by_key(|transfer| (transfer.step, transfer.to));
    all
}

/// Bytes that each rank receives, and that each sends.
pub fn by_rank(plan: &Plan) -> Vec<[u64; 2]> {
    let mut bytes = vec![[0, 0]; plan.ranks.len()];
    for transfer in transfers(plan) {
        bytes[transfer.to][0] += transfer.bytes;
        bytes[transfer.from][1] += transfer.bytes;
    }
    bytes
}

/// Bytes from one rank to another in one step.
pub fn by_link(plan: &Plan) -> BTreeMap<(usize, usize, usize), u64> {
    let mut bytes = BTreeMap::new();
    for Transfer { step, from, to, bytes: more, .. } in transfers(plan) {
        *bytes.entry((step, from, to)).or_default() += more;
    }
    bytes
}

/// By formula: a rank receives what its block of C needs of A and B, without what it holds. Whichever way they travel, `K · (m + n)`
/// elements are needed for an `m × n` block; over R ranks in a grid of P × Q, of square matrices of n²: `n² · (1/P + 1/Q − 2/R)` elements.
pub fn received(layout: &Layout, rank: usize) -> u64 {
    let [rows, columns] = layout.block(rank).map(|range| u64::from(range.end - range.start));
    let needed = (rows + columns) * u64::from(layout.shape().k) * layout.element().bytes() as u64;
    let held = [Operand::A, Operand::B].into_iter().flat_map(|of| layout.held(of, rank));
    needed - held.map(|panel| layout.bytes(panel)).sum::<u64>()
}

/// Bytes of A and B that a rank has room for: its rows of A, and its rooms for panels of B, each for the widest.
pub fn memory(layout: &Layout, rank: usize, rooms: usize) -> u64 {
    let [rows, _] = layout.block(rank).map(|range| u64::from(range.end - range.start));
    let of_a = rows * u64::from(layout.shape().k) * layout.element().bytes() as u64;
    of_a + rooms as u64 * widest(layout, rank)
}

/// Bytes of the widest panel of B that a rank multiplies.
pub fn widest(layout: &Layout, rank: usize) -> u64 {
    let panels = layout.group(Operand::B, rank).into_iter().flat_map(|owner| layout.held(Operand::B, owner));
    panels.map(|panel| layout.bytes(panel)).max().unwrap_or_default()
}
