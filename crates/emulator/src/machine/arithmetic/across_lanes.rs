//! Instructions across the lanes of a warp, for all lanes that meet: usually at one instruction, sometimes at several.

use super::general::evaluate;
use crate::machine::lanes::{FULL, LANES, each, mask_where};
use crate::machine::state::operands::set_predicate;
use crate::machine::state::warp::{Party, Warp};
use crate::program::{Extended, Extension, General, IntegerOp, Op, Program, VoteMode};

impl Warp {
    /// `shfl.sync`: each lane takes `a` of another lane, within segments that `c` describes. A lane whose
    /// source lies outside its segment keeps its own; `valid` says which got one. Gives the lanes of parties whose source
    /// is not among those that meet, and which lane that is; they get what that lane's register holds.
    pub(crate) fn shuffle(&mut self, program: &Program, parties: &[Party]) -> Vec<(Party, [usize; LANES])> {
        let shuffle = |party: &Party| match program.code[party.at as usize].op {
            Op::Shuffle { mode, d, valid, a, b, c, .. } => (mode, d, valid, a, b, c),
            _ => unreachable!("the parties execute instructions that are alike"),
        };
        let mut values = self.r[shuffle(&parties[0]).3 as usize].0;
        for party in &parties[1..] {
            let theirs = &self.r[shuffle(party).3 as usize].0;
            each(party.lanes).for_each(|lane| values[lane] = theirs[lane]);
        }
        let all = parties.iter().fold(0, |all, party| all | party.lanes);
        let mut absent = Vec::new();
        for party in parties {
            let (mode, d, valid, _, b, c) = shuffle(party);
            let (mut out, mut sources) = ([0; LANES], [0; LANES]);
            let (mut in_range, mut missing) = (0, 0);
            for lane in 0..LANES {
                let (from, valid) = self.shuffle_source(mode, b, c, lane);
                in_range |= u32::from(valid) << lane;
                missing |= u32::from(valid && all >> from & 1 == 0) << lane;
                out[lane] = values[from];
                sources[lane] = from;
            }
            self.r[d as usize].set(&out, party.lanes);
            set_predicate(self, valid, in_range, party.lanes);
            if missing & party.lanes != 0 {
                absent.push((Party { lanes: missing & party.lanes, ..*party }, sources));
            }
        }
        absent
    }

    /// `movmatrix`: lane `4r + c` holds elements `2c` and `2c + 1` of row `r`, and gets those of column `r`.
    pub(crate) fn move_matrix(&mut self, extended: &Extended) {
        let ((_, from), (file, to)) = (extended.reads[0], extended.writes[0]);
        let values = self.r[from as usize].0;
        let element = |row: usize, column: usize| values[4 * row + column / 2] >> (16 * (column % 2)) & 0xffff;
        let out = std::array::from_fn(|lane| {
            let (column, row) = (lane / 4, 2 * (lane % 4));
            u64::from(element(row + 1, column) << 16 | element(row, column))
        });
        self.set_wide(file, to, &out, FULL);
    }

    /// `vote.sync` over the lanes that meet.
    pub(crate) fn vote(&mut self, program: &Program, parties: &[Party]) {
        let vote = |party: &Party| match program.code[party.at as usize].op {
            Op::Vote { mode, d, predicate, negated, .. } => (mode, d, predicate, negated),
            _ => unreachable!("the parties execute instructions that are alike"),
        };
        let (mut yes, mut all) = (0, 0);
        for party in parties {
            let (_, _, predicate, negated) = vote(party);
            yes |= self.predicate(predicate, negated) & party.lanes;
            all |= party.lanes;
        }
        let set = |holds: bool| if holds { FULL } else { 0 };
        for party in parties {
            let (mode, d, ..) = vote(party);
            match mode {
                VoteMode::All => set_predicate(self, d, set(yes == all), party.lanes),
                VoteMode::Any => set_predicate(self, d, set(yes != 0), party.lanes),
                VoteMode::Uniform => set_predicate(self, d, set(yes == all || yes == 0), party.lanes),
                VoteMode::Ballot => self.r[d as usize].set(&[yes; LANES], party.lanes),
            }
        }
    }

    /// `match`, `redux` and `elect` over the lanes that meet.
    pub(crate) fn meet_extended(&mut self, program: &Program, parties: &[Party]) {
        let extended = |party: &Party| match program.code[party.at as usize].op {
            Op::Extended(index) => &program.extended[index as usize],
            _ => unreachable!("the parties execute instructions that are alike"),
        };
        let all = parties.iter().fold(0, |all, party| all | party.lanes);
        let mut values = <[u64; LANES]>::default();
        for party in parties {
            let (file, slot) = extended(party).reads[0];
            each(party.lanes).for_each(|lane| values[lane] = self.wide(file, slot, lane));
        }
        for party in parties {
            let extended = extended(party);
            let Some(&(file, d)) = extended.writes.first() else { continue };
            let mut out = values;
            let flag = match extended.what {
                Extension::Match { all: whole } => match_lanes(&values, all, whole, &mut out),
                Extension::Reduce(op, signed) => {
                    out = [reduce(&values, all, op, signed); LANES];
                    0
                }
                // The lowest member.
                _ => {
                    out = [u64::from(all.trailing_zeros() & 31); LANES];
                    all & all.wrapping_neg()
                }
            };
            self.set_wide(file, d, &out, party.lanes);
            if let Some((_, slot)) = extended.writes.get(1) {
                set_predicate(self, *slot, flag, party.lanes);
            }
        }
    }
}

/// For each lane the lanes that have the same value, or all or none of them. Gives the lanes that agree with all.
fn match_lanes(values: &[u64; LANES], all: u32, whole: bool, out: &mut [u64; LANES]) -> u32 {
    let mut agreed = 0;
    for lane in each(all) {
        let same = mask_where(|other| values[other] == values[lane]) & all;
        agreed |= u32::from(same == all) << lane;
        out[lane] = u64::from(if whole && same != all { 0 } else { same });
    }
    agreed
}

fn reduce(values: &[u64; LANES], all: u32, op: IntegerOp, signed: bool) -> u64 {
    let code = General::Integer { op, bits: 32, signed };
    each(all).map(|lane| values[lane]).reduce(|a, b| evaluate(code, [a, b, b, b])).unwrap_or_default()
}
