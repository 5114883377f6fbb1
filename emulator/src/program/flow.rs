//! Control flow: basic blocks, and where diverged lanes meet again (the immediate post-dominator).

use std::collections::HashMap;

use super::{Barrier, Block, Exit, Guard, Info};
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
    Trap,
}

/// Splits the items into blocks; `end` is the label of the kernel's end. An instruction at which lanes of a warp meet is
/// the last of its block.
pub(super) fn blocks(
    items: Vec<Item>,
    end: u32,
    info: &mut Vec<Info>,
    meets: &dyn Fn(u32) -> bool,
) -> Result<Vec<Block>, PtxError> {
    let starts = block_starts(&items, end, meets)?;
    let mut blocks: Vec<Block> = Vec::new();
    let mut code = 0;
    let mut start = 0;
    let mut open = true;
    for item in items {
        if !open {
            open = true;
            start = code;
        }
        let next = blocks.len() as u32 + 1;
        match item {
            Item::Code(index) => {
                code = index + 1;
                if meets(index) {
                    blocks.push(Block { start, stop: index, end: code, exit: Exit::Meeting(next), exit_info: None });
                    open = false;
                }
            }
            Item::Label(_) => {
                blocks.push(Block { start, stop: code, end: code, exit: Exit::Jump(next), exit_info: None });
                open = false;
            }
            Item::End(proto, about) => {
                let line = about.as_ref().map_or(0, |i| i.ptx_line);
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
                    Proto::Trap => Exit::Trap,
                };
                let exit_info = about.map(|about| {
                    info.push(*about);
                    info.len() as u32 - 1
                });
                blocks.push(Block { start, stop: code, end: code, exit, exit_info });
                open = false;
            }
        }
    }
    // The one block in which every path ends.
    blocks.push(Block { start: code, stop: code, end: code, exit: Exit::Return, exit_info: None });
    set_meeting_points(&mut blocks);
    Ok(blocks)
}

/// The block that each label starts. Every label, every end and every meeting closes the block before it.
fn block_starts(items: &[Item], end: u32, meets: &dyn Fn(u32) -> bool) -> Result<HashMap<u32, u32>, PtxError> {
    let mut starts = HashMap::new();
    let mut block = 0;
    for item in items {
        match item {
            Item::Code(index) => block += u32::from(meets(*index)),
            Item::Label(label) => {
                block += 1;
                if starts.insert(*label, block).is_some() {
                    return error(0, "a label is defined twice");
                }
            }
            Item::End(..) => block += 1,
        }
    }
    starts.insert(end, block);
    Ok(starts)
}

/// The blocks that may come next.
pub(crate) fn successors(exit: &Exit) -> [Option<u32>; 2] {
    match *exit {
        Exit::Jump(next) | Exit::Meeting(next) | Exit::Barrier { next, .. } => [Some(next), None],
        Exit::Branch { target, fall, .. } => [Some(target), Some(fall)],
        Exit::Return | Exit::Trap => [None, None],
    }
}

/// Post-dominators by the algorithm of Cooper, Harvey and Kennedy on the reversed graph.
fn set_meeting_points(blocks: &mut [Block]) {
    let count = blocks.len();
    let exit = count - 1;
    let mut predecessors = vec![Vec::new(); count];
    for (index, block) in blocks.iter().enumerate() {
        for next in successors(&block.exit).into_iter().flatten() {
            predecessors[next as usize].push(index);
        }
    }
    // A trap never reaches the exit; treat it as if it did.
    for (index, block) in blocks.iter().enumerate() {
        if block.exit == Exit::Trap {
            predecessors[exit].push(index);
        }
    }
    let order = reverse_postorder(exit, &predecessors);
    let mut rank = vec![usize::MAX; count];
    for (position, &block) in order.iter().enumerate() {
        rank[block] = position;
    }
    let mut dominator = vec![usize::MAX; count];
    dominator[exit] = exit;
    let mut changed = true;
    while changed {
        changed = false;
        for &block in &order[1..] {
            let next = successors(&blocks[block].exit).into_iter().flatten().map(|n| n as usize);
            let next = next.chain((blocks[block].exit == Exit::Trap).then_some(exit));
            let meet = next
                .filter(|&n| dominator[n] != usize::MAX)
                .reduce(|a, b| intersect(a, b, &dominator, &rank))
                .unwrap_or(exit);
            changed |= dominator[block] != meet;
            dominator[block] = meet;
        }
    }
    for (index, block) in blocks.iter_mut().enumerate() {
        if let Exit::Branch { meet, .. } = &mut block.exit {
            // A block in an endless loop reaches no exit: its lanes meet at the exit, that is never.
            *meet = if dominator[index] == usize::MAX { exit } else { dominator[index] } as u32;
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
