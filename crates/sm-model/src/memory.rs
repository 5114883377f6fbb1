//! What lies behind the load and store unit: L1, and the way from L2.

use std::collections::HashMap;

use emulator::stream::{Executed, Touch};

use crate::figures::Figures;
use crate::ops::Kind;
use crate::warp::Warp;

/// What lies behind the load and store unit.
pub(crate) struct Memory {
    /// When a sector is in L1.
    sectors: HashMap<u64, u32>,
    /// When the way from L2 is free.
    l2_free: f64,
    pub(crate) misses: u64,
    /// When the banks of L1 are free for loads.
    pub(crate) banks_free: u32,
    cold: bool,
}

impl Memory {
    /// Nothing is in L1; and, if it is cold, nothing in L2.
    pub(crate) fn new(cold: bool) -> Memory {
        Memory { sectors: HashMap::new(), l2_free: 0.0, misses: 0, banks_free: 0, cold }
    }

    /// An instruction comes out of its queue: for how many clocks the next one has to wait, and how long it keeps the unit busy.
    pub(crate) fn serve(
        &mut self,
        warp: &mut Warp,
        op: usize,
        touches: &[Touch],
        figures: &Figures,
        clock: u32,
    ) -> (u32, u32) {
        let kind = warp.ops[op].kind;
        let none = Touch::default();
        let touch = match warp.ops[op].touch {
            Executed::NOTHING => &none,
            index => touches.get(index as usize).unwrap_or(&none),
        };
        let wavefronts = match kind {
            // It is read and written.
            Kind::Copy => banks(&touch.sectors) + touch.wavefronts,
            _ => touch.wavefronts.max(banks(&touch.sectors)),
        };
        let busy = figures.wavefront * wavefronts.max(1);
        // Loads from global memory leave their queue at once, and wait for their data's banks behind it.
        let (taken, start) = match kind {
            Kind::GlobalLoad => {
                let start = self.banks_free.max(clock);
                self.banks_free = start + busy;
                (1, start)
            }
            _ => (busy, clock),
        };
        match kind {
            Kind::SharedLoad => warp.done[op] = clock + figures.shared + busy - 1,
            Kind::GlobalLoad | Kind::Copy => {
                let mut there = start + figures.l1 + busy - 1;
                let mut asked = (u64::MAX, 0.0);
                for &sector in &touch.sectors {
                    let lands = match self.sectors.get(&sector) {
                        Some(&lands) => lands,
                        None => {
                            // A request for a line takes its time, and may bring all its sectors in that.
                            if asked.0 != sector / 4 {
                                asked = (sector / 4, figures.l2_line);
                                self.l2_free = self.l2_free.max(f64::from(clock)) + figures.l2_line;
                            }
                            let more = (1.0 / figures.l2_sectors - asked.1).max(0.0);
                            asked.1 = (asked.1 - 1.0 / figures.l2_sectors).max(0.0);
                            self.l2_free = self.l2_free.max(f64::from(clock)) + more;
                            self.misses += 1;
                            let lands = self.l2_free as u32 + if self.cold { figures.dram } else { figures.l2 };
                            if kind == Kind::GlobalLoad {
                                self.sectors.insert(sector, lands);
                            }
                            lands
                        }
                    };
                    there = there.max(lands);
                }
                warp.done[op] = there;
                if kind == Kind::Copy {
                    warp.group = warp.group.max(there);
                }
            }
            _ => warp.done[op] = clock + busy,
        }
        (taken, busy)
    }
}

/// How often the banks of L1 have to be read for these sectors: each of its four parts has one sector of a line. A row that
/// begins within a sector ends within one, which the first leaves room for.
fn banks(sectors: &[u64]) -> u32 {
    let mut parts = [0u32; 4];
    for row in sectors.chunk_by(|a, b| b - a == 1) {
        let whole = row.len() - usize::from(row.len() % 4 == 1 && row.len() > 1);
        row[..whole].iter().for_each(|sector| parts[(sector % 4) as usize] += 1);
    }
    parts.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_in_the_same_part_of_their_lines_are_read_one_after_the_other() {
        // A line; a row of a line's length that begins within a sector; two rows at multiples of a line; at other places.
        assert_eq!([banks(&[0, 1, 2, 3]), banks(&[1, 2, 3, 4, 5]), banks(&[0, 32]), banks(&[0, 33])], [1, 1, 2, 1]);
        assert_eq!(banks(&[]), 0);
    }
}
