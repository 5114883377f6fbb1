//! Where lanes of a warp wait for each other: `__syncwarp()`, shuffles, votes and what else has a member mask.
//!
//! The lanes that a mask names, as far as they have not ended, wait until all of them are at an instruction of the kind
//! with the same mask; it need not be the same instruction. Then they execute it together.

use crate::Fault;
use crate::machine::lanes::{LANES, each, mask_where};
use crate::machine::state::warp::{Party, Path, State, Wait, Warp};
use crate::machine::state::worker::Worker;
use crate::program::{Instruction, Op, Program, Slot};

impl Worker<'_> {
    /// Lanes of the present path of a warp, `on`, are at an instruction at which lanes meet; `off` go past it. Says whether the warp
    /// stops here.
    #[inline(always)]
    pub(crate) fn lanes_meet(
        &mut self,
        warp: &mut Warp,
        (path, at, next): (Path, u32, u32),
        (on, off): (u32, u32),
    ) -> Result<bool, Box<Fault>> {
        let instruction = self.context.program.code[at as usize];
        let members = warp.r[members(self.context.program, &instruction) as usize].0;
        let first = members[on.trailing_zeros() as usize & 31];
        // All of them name the lanes that are here.
        if first & warp.live == on && on & mask_where(|lane| members[lane] == first) == on {
            self.execute_together(warp, &[Party { at, lanes: on }])?;
            warp.advance(next);
            return Ok(false);
        }
        self.meet_or_wait(warp, (path, at, next), (on, off), &members)
    }

    /// Some lanes are missing, or there are several masks: each group of lanes meets, or waits.
    fn meet_or_wait(
        &mut self,
        warp: &mut Warp,
        (path, at, next): (Path, u32, u32),
        (on, off): (u32, u32),
        members: &[u32; LANES],
    ) -> Result<bool, Box<Fault>> {
        if let Some(lane) = each(on).find(|lane| members[*lane] >> lane & 1 == 0) {
            return Err(self.convict_not_a_member(warp, lane as u32, members[lane], at));
        }
        // A lane that is here with one mask does not come with another.
        let named = |lane: &usize| each(members[*lane] & on).find(|other| members[*other] != members[*lane]);
        if let Some((lane, other)) = each(on).find_map(|lane| Some((lane, named(&lane)?))) {
            return Err(self.convict_two_masks(warp, [lane, other], members, at));
        }
        let (mut rest, mut going) = (on, off);
        let mut parts = Vec::new();
        while rest != 0 {
            let mask = members[rest.trailing_zeros() as usize];
            let here = mask_where(|lane| members[lane] == mask) & rest;
            rest &= !here;
            let there = self.waiting_for(warp, mask, at);
            if mask & warp.live & !there.iter().fold(here, |lanes, index| lanes | warp.paths[*index].mask) != 0 {
                parts.push(Path { mask: here, wait: Wait::Meeting(mask), ..path });
                continue;
            }
            self.meet_at_last(warp, &there, Some(Party { at, lanes: here }))?;
            going |= here;
        }
        if going != 0 {
            parts.push(Path { block: next, mask: going, ..path });
        }
        warp.replace_path(&parts);
        Ok(going == 0 && !self.next_path(warp)?)
    }

    /// The paths that wait to meet the lanes of a mask at instructions like this one.
    fn waiting_for(&self, warp: &Warp, mask: u32, at: u32) -> Vec<usize> {
        let program = self.context.program;
        let like = |path: &Path| {
            path.wait == Wait::Meeting(mask) && program.are_alike(program.blocks[path.block as usize].end - 1, at)
        };
        (0..warp.paths.len()).filter(|index| like(&warp.paths[*index])).collect()
    }

    /// Lets paths go on that waited for each other, and for `last`.
    fn meet_at_last(&mut self, warp: &mut Warp, there: &[usize], last: Option<Party>) -> Result<(), Box<Fault>> {
        let program = self.context.program;
        let party =
            |path: Path, live| Party { at: program.blocks[path.block as usize].end - 1, lanes: path.mask & live };
        let mut parties: Vec<Party> = there.iter().map(|index| party(warp.paths[*index], warp.live)).collect();
        parties.extend(last);
        self.execute_together(warp, &parties)?;
        for index in there {
            if let crate::program::Exit::Meeting(next) = program.blocks[warp.paths[*index].block as usize].exit {
                warp.let_go(*index, next);
            }
        }
        Ok(())
    }

    /// Lets lanes meet that waited for none but such as have ended by now. Says whether there were any.
    fn settle(&mut self, warp: &mut Warp) -> Result<bool, Box<Fault>> {
        for index in 0..warp.paths.len() {
            let path = warp.paths[index];
            let Wait::Meeting(mask) = path.wait else { continue };
            let at = self.context.program.blocks[path.block as usize].end - 1;
            let there = self.waiting_for(warp, mask, at);
            let lanes = there.iter().fold(0, |lanes, index| lanes | warp.paths[*index].mask);
            if mask & warp.live & !lanes == 0 {
                self.meet_at_last(warp, &there, None)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Puts a path on top that can go on. Says whether there is one; if not, the warp waits, or has ended.
    #[inline(never)]
    pub(crate) fn next_path(&mut self, warp: &mut Warp) -> Result<bool, Box<Fault>> {
        loop {
            warp.drop_dead_paths();
            if warp.paths.is_empty() {
                self.end_warp(warp);
                return Ok(false);
            }
            if self.gather(warp)? || self.settle(warp)? {
                continue;
            }
            if warp.choose_path(false) || warp.go_ahead() {
                warp.state = State::Ready;
                return Ok(true);
            }
            warp.state = State::Waiting;
            return Ok(false);
        }
    }

    /// The parties execute their instructions together: all lanes that the mask names and that have not ended.
    fn execute_together(&mut self, warp: &mut Warp, parties: &[Party]) -> Result<(), Box<Fault>> {
        let program = self.context.program;
        if warp.taint.is_some() {
            for party in parties {
                self.propagate_taint(warp, party.at, party.lanes)?;
            }
        }
        if warp.group.is_some() {
            parties.iter().try_for_each(|party| self.watch_flight(warp, party.at))?;
        }
        match program.code[parties[0].at as usize].op {
            Op::Shuffle { .. } => {
                let absent = warp.shuffle(program, parties);
                if self.context.sanitize {
                    for (party, sources) in &absent {
                        let slot = members(program, &program.code[party.at as usize]);
                        let mask = warp.r[slot as usize].0[party.lanes.trailing_zeros() as usize & 31];
                        self.taint_absent(warp, *party, sources, mask);
                    }
                }
            }
            Op::Vote { .. } => warp.vote(program, parties),
            Op::WarpSync { .. } => self.note_warp_sync(warp, parties),
            _ => warp.meet_extended(program, parties),
        }
        Ok(())
    }
}

/// The register with the member mask of an instruction at which lanes meet.
fn members(program: &Program, instruction: &Instruction) -> Slot {
    match instruction.op {
        Op::Shuffle { members, .. } | Op::Vote { members, .. } | Op::WarpSync { members } => members,
        Op::Extended(index) => program.extended[index as usize].reads.last().map_or(0, |(_, slot)| *slot),
        _ => 0,
    }
}
