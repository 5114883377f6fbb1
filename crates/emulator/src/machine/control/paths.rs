//! The paths of a warp whose lanes diverged, and which of them goes on.
//!
//! Each branch's sides run one after the other until both are where they meet. Where a side waits for lanes of
//! another, that one runs; and lanes that wait for others at their meeting point go on ahead when nothing else can.

use crate::machine::state::warp::{Path, Wait, Warp};
use crate::program::{Barrier, Exit, Program, Target, successors};

impl Warp {
    #[inline(always)]
    pub(crate) fn advance(&mut self, next: u32) {
        if let Some(path) = self.paths.last_mut() {
            path.block = next;
        }
    }

    /// The present path of a warp that runs.
    pub(crate) fn path(&self) -> Path {
        self.paths[self.paths.len() - 1]
    }

    /// Splits the present path in two that meet at `meet`; the second runs first. Lanes that go straight to
    /// the kernel's end, end.
    pub(crate) fn diverge(&mut self, program: &Program, sides: [(u32, u32); 2], meet: u32) {
        self.advance(meet);
        let end = program.blocks.len() as u32 - 1;
        for (block, mask) in sides {
            self.left |= if ends(program, block) { mask } else { 0 };
            if block == end {
                self.live &= !mask;
            } else if block != meet {
                self.paths.push(Path { block, meet, mask, wait: Wait::No });
            }
        }
    }

    /// Puts the paths `replaced` in the place of the present one, the last of them on top.
    pub(crate) fn replace_path(&mut self, replaced: &[Path]) {
        self.paths.pop();
        self.paths.extend(replaced);
        self.waiting += replaced.iter().filter(|path| path.wait != Wait::No).count() as u32;
    }

    /// Lets a path go on with block `next`.
    pub(crate) fn let_go(&mut self, index: usize, next: u32) {
        let path = &mut self.paths[index];
        (path.block, path.wait) = (next, Wait::No);
        self.waiting -= 1;
    }

    /// Forgets paths of which no lane is left.
    pub(crate) fn drop_dead_paths(&mut self) {
        let live = self.live;
        self.paths.retain(|path| path.mask & live != 0);
        self.waiting = self.paths.iter().filter(|path| path.wait != Wait::No).count() as u32;
    }

    /// The live lanes that are on a path now, and whether they are all that it has.
    fn on_path(&self, index: usize) -> (u32, bool) {
        let above = self.paths[index + 1..].iter().fold(0, |above, path| above | path.mask);
        let lanes = self.paths[index].mask & self.live;
        (lanes & !above, lanes & above == 0)
    }

    /// Puts a path on top that can go on, not the present one if `other`. Says whether there was one.
    pub(crate) fn choose_path(&mut self, other: bool) -> bool {
        let last = self.paths.len() - usize::from(other && !self.paths.is_empty());
        // Who had its turn goes below the others, so the next one is at the bottom.
        let ready = |index: &usize| self.paths[*index].wait == Wait::No && self.on_path(*index).1;
        let found = if other { (0..last).find(ready) } else { (0..last).rev().find(ready) };
        let Some(index) = found else { return false };
        let path = self.paths.remove(index);
        self.paths.push(path);
        true
    }

    /// Puts a path on top that can go on and has none of some lanes. Says whether there was one.
    pub(crate) fn choose_without(&mut self, lanes: u32) -> bool {
        let fits = |index: &usize| {
            let path = self.paths[*index];
            path.wait == Wait::No && path.mask & self.live & lanes == 0 && self.on_path(*index).1
        };
        let Some(index) = (0..self.paths.len()).rev().find(fits) else { return false };
        let path = self.paths.remove(index);
        self.paths.push(path);
        true
    }

    /// Lets lanes go ahead that wait at a meeting point for others. Says whether there were any.
    pub(crate) fn go_ahead(&mut self) -> bool {
        for index in (0..self.paths.len()).rev() {
            let (lanes, all) = self.on_path(index);
            if lanes != 0 && !all && self.paths[index].wait == Wait::No {
                self.paths[index].mask &= !lanes;
                self.paths.push(Path { mask: lanes, ..self.paths[index] });
                return true;
            }
        }
        false
    }

    /// Where each live lane is: the paths that have some, with these.
    pub(crate) fn places(&self) -> impl Iterator<Item = (Path, u32)> + '_ {
        (0..self.paths.len()).map(|index| (self.paths[index], self.on_path(index).0)).filter(|(_, lanes)| *lanes != 0)
    }
}

/// Whether a way leads from one block to another, to a barrier there, past no other barrier: those who come to one cannot
/// come further while lanes of their warp wait elsewhere.
pub(crate) fn leads(program: &Program, from: u32, to: u32) -> bool {
    let mut seen = vec![false; program.blocks.len()];
    let mut open = vec![from];
    while let Some(block) = open.pop() {
        if block == to {
            return true;
        }
        if !std::mem::replace(&mut seen[block as usize], true) {
            let exit = &program.blocks[block as usize].exit;
            if !matches!(exit, Exit::Barrier { barrier: Barrier { guard: None, .. }, .. }) {
                open.extend(ways(program, block));
            }
        }
    }
    false
}

/// Where a way leads on from a block: into functions, too, and out of them to wherever any of them is called.
fn ways(program: &Program, block: u32) -> impl Iterator<Item = u32> {
    let exit = &program.blocks[block as usize].exit;
    let mut further = Vec::new();
    match *exit {
        Exit::Call { site, .. } => match &program.calls[site as usize].target {
            Target::Function(function) => further.push(program.called[*function as usize].entry),
            Target::Pointer(_) => further.extend(program.called.iter().map(|called| called.entry)),
        },
        Exit::Leave => further.extend(program.blocks.iter().filter_map(|block| match block.exit {
            Exit::Call { next, .. } => Some(next),
            _ => None,
        })),
        _ => {}
    }
    successors(exit).into_iter().flatten().chain(further)
}

/// Whether lanes that begin a block do nothing any more but end.
fn ends(program: &Program, block: u32) -> bool {
    let mut block = &program.blocks[block as usize];
    // A chain of empty blocks, and no circle of them.
    for _ in 0..program.blocks.len() {
        match block.exit {
            _ if block.start != block.end => return false,
            Exit::Return => return true,
            Exit::Jump(next) => block = &program.blocks[next as usize],
            _ => return false,
        }
    }
    false
}
