//! Control flow: basic blocks, and where diverged lanes meet again (the immediate post-dominator).

use std::collections::HashMap;
use std::ops::Range;

use super::{Barrier, Block, Exit, Guard, Info, Slot};
use crate::PtxError;
use crate::ptx::error;

/// A decoded body, still in one line.
pub(super) enum Item {
    Label(u32),
    /// Index into the code.
    Code(u32),
    End(Proto, Option<Box<Info>>),
}

/// A block's end, with labels for blocks.
pub(super) enum Proto {
    /// To the next block.
    Fall,
    Jump(u32),
    Branch(Guard, u32),
    Barrier(Barrier),
    /// The how manieth call, and its pointer if it has one.
    Call(u32, Option<Slot>),
    /// The end of a function that is called.
    Leave,
    Trap,
}

/// Splits the items into blocks; `end` is the label of the kernel's end, `entries` those of the functions behind it. An
/// instruction at which lanes of a warp meet is the last of its block. With the blocks in which the functions begin.
pub(super) fn blocks(
    items: Vec<Item>,
    (end, entries): (u32, &[u32]),
    info: &mut Vec<Info>,
    meets: &dyn Fn(u32) -> bool,
) -> Result<(Vec<Block>, Vec<u32>), PtxError> {
    let starts = block_starts(&items, end, meets);
    let mut blocks: Vec<Block> = Vec::new();
    let mut code = 0;
    for item in items {
        // A block begins where the one before it ends.
        let start = blocks.last().map(|before| before.end).unwrap_or_default();
        let next = blocks.len() as u32 + 1;
        match item {
            Item::Code(index) => {
                code = index + 1;
                if meets(index) {
                    blocks.push(Block { start, stop: index, end: code, exit: Exit::Meeting(next), exit_info: None });
                }
            }
            Item::Label(_) => {
                blocks.push(Block { start, stop: code, end: code, exit: Exit::Jump(next), exit_info: None });
            }
            Item::End(proto, about) => {
                let line = about.as_ref().map(|i| i.ptx_line).unwrap_or_default();
                let find = |label: u32| match starts.get(&label) {
                    Some(block) => Ok(*block),
                    None => error(line, "this branch leads to a label that is not defined"),
                };
                let exit = match proto {
                    Proto::Fall => Exit::Jump(next),
                    Proto::Jump(label) => Exit::Jump(find(label)?),
                    Proto::Branch(guard, label) => Exit::Branch {
                        predicate: guard.predicate,
                        negated: guard.negated,
                        target: find(label)?,
                        fall: next,
                        meet: 0,
                    },
                    Proto::Barrier(barrier) => Exit::Barrier { barrier, next },
                    Proto::Call(site, pointer) => Exit::Call { site, pointer, next },
                    Proto::Leave => Exit::Leave,
                    Proto::Trap => Exit::Trap,
                };
                let exit_info = about.map(|about| {
                    info.push(*about);
                    info.len() as u32 - 1
                });
                blocks.push(Block { start, stop: code, end: code, exit, exit_info });
            }
        }
    }
    // The one block in which every path ends.
    blocks.push(Block { start: code, stop: code, end: code, exit: Exit::Return, exit_info: None });
    let entries: Vec<u32> = entries.iter().filter_map(|entry| starts.get(entry).copied()).collect();
    let last = blocks.len() - 1;
    let ends = entries.iter().map(|entry| *entry as usize).chain([last]).collect::<Vec<_>>();
    set_meeting_points(&mut blocks, 0..ends[0], last);
    for bounds in ends.windows(2) {
        let leave = (bounds[0]..bounds[1]).find(|block| blocks[*block].exit == Exit::Leave).unwrap_or(last);
        set_meeting_points(&mut blocks, bounds[0]..bounds[1], leave);
    }
    Ok((blocks, entries))
}

/// The block that each label starts. Every label, every end and every meeting closes the block before it.
fn block_starts(items: &[Item], end: u32, meets: &dyn Fn(u32) -> bool) -> HashMap<u32, u32> {
    let mut starts = HashMap::new();
    let mut block = 0;
    for item in items {
        match item {
            Item::Code(index) => block += u32::from(meets(*index)),
            Item::Label(label) => {
                block += 1;
                starts.insert(*label, block);
            }
            Item::End(..) => block += 1,
        }
    }
    starts.insert(end, block);
    starts
}

/// The blocks that may come next.
pub(crate) fn successors(exit: &Exit) -> [Option<u32>; 2] {
    match *exit {
        Exit::Jump(next) | Exit::Meeting(next) | Exit::Barrier { next, .. } | Exit::Call { next, .. } => {
            [Some(next), None]
        }
        Exit::Branch { target, fall, .. } => [Some(target), Some(fall)],
        Exit::Return | Exit::Leave | Exit::Trap => [None, None],
    }
}

/// Post-dominators by the algorithm of Cooper, Harvey and Kennedy on the reversed graph, among the blocks of a kernel or of
/// a called function. All ways out of them, and a trap, count as ways to their end.
fn set_meeting_points(blocks: &mut [Block], range: Range<usize>, end: usize) {
    let (first, exit) = (range.start, range.len());
    // The end has the last number, wherever it stands.
    let number = |block: usize| if block == end || !range.contains(&block) { exit } else { block - first };
    let next = |blocks: &[Block], block: usize| -> [Option<usize>; 2] {
        match successors(&blocks[first + block].exit).map(|next| next.map(|next| number(next as usize))) {
            [None, None] => [Some(exit), None],
            some => some,
        }
    };
    let mut predecessors = vec![Vec::new(); exit + 1];
    for block in (0..exit).filter(|block| first + block != end) {
        for next in next(blocks, block).into_iter().flatten() {
            predecessors[next].push(block);
        }
    }
    let order = reverse_postorder(exit, &predecessors);
    let mut rank = vec![usize::MAX; exit + 1];
    for (position, &block) in order.iter().enumerate() {
        rank[block] = position;
    }
    let mut dominator = vec![usize::MAX; exit + 1];
    dominator[exit] = exit;
    let mut changed = true;
    while changed {
        changed = false;
        for &block in &order[1..] {
            let meet = next(blocks, block)
                .into_iter()
                .flatten()
                .filter(|&n| dominator[n] != usize::MAX)
                .reduce(|a, b| intersect(a, b, &dominator, &rank))
                .unwrap_or(exit);
            changed |= dominator[block] != meet;
            dominator[block] = meet;
        }
    }
    for block in 0..exit {
        if let Exit::Branch { meet, .. } = &mut blocks[first + block].exit {
            // A block in an endless loop reaches no exit: its lanes meet at the exit, that is never.
            *meet = if dominator[block] >= exit { end } else { first + dominator[block] } as u32;
        }
    }
}

fn intersect(mut a: usize, mut b: usize, dominator: &[usize], rank: &[usize]) -> usize {
    while a != b {
        while rank[a] > rank[b] {
            a = dominator[a];
        }
        while rank[b] > rank[a] {
            b = dominator[b];
        }
    }
    a
}

fn reverse_postorder(root: usize, edges: &[Vec<usize>]) -> Vec<usize> {
    let mut seen = vec![false; edges.len()];
    let mut order = Vec::new();
    let mut stack = vec![(root, 0)];
    seen[root] = true;
    while let Some((block, edge)) = stack.pop() {
        match edges[block].get(edge) {
            Some(&next) => {
                stack.push((block, edge + 1));
                if !seen[next] {
                    seen[next] = true;
                    stack.push((next, 0));
                }
            }
            None => order.push(block),
        }
    }
    order.reverse();
    order
}
