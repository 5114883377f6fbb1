//! Shared memory's cells: the last write and two readers of each, one after the other in memory, so that
//! a row of lanes is checked by vector instructions.

use crate::machine::lanes::LANES;
use crate::stamp::Stamp;

/// See the module. A cell is as wide as the kernel's narrowest access.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    writes: Vec<Stamp>,
    first_reads: Vec<Stamp>,
    second_reads: Vec<Stamp>,
}

impl Cells {
    pub fn new(count: usize) -> Cells {
        let none = vec![Stamp::default(); count];
        Cells { writes: none.clone(), first_reads: none.clone(), second_reads: none }
    }

    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    pub fn forget(&mut self) {
        for stamps in [&mut self.writes, &mut self.first_reads, &mut self.second_reads] {
            stamps.fill(Stamp::default());
        }
    }

    /// The last write to a cell.
    pub fn write(&self, cell: u32) -> Stamp {
        self.writes[cell as usize]
    }

    /// Two of the last readers of a cell.
    pub fn reads(&self, cell: u32) -> [Stamp; 2] {
        [self.first_reads[cell as usize], self.second_reads[cell as usize]]
    }

    /// Remembers that one thread read `count` cells. Says whether any of them was written by an unordered
    /// thread, or not at all since epoch `since`.
    #[inline(always)]
    pub fn read(&mut self, start: usize, count: usize, now: Stamp, since: u32) -> bool {
        let mut bad = false;
        let writes = &self.writes[start..start + count];
        let reads = self.first_reads[start..start + count].iter_mut().zip(&mut self.second_reads[start..start + count]);
        for (write, (first, second)) in writes.iter().zip(reads) {
            bad |= write.conflicts(now) | (write.epoch() < since);
            remember(first, second, now);
        }
        bad
    }

    /// The same for two threads of one warp that read the same cells.
    #[inline(always)]
    pub fn read_by_two(&mut self, start: usize, count: usize, now: Stamp, other: Stamp, since: u32) -> bool {
        let mut bad = false;
        let writes = &self.writes[start..start + count];
        let reads = self.first_reads[start..start + count].iter_mut().zip(&mut self.second_reads[start..start + count]);
        for (write, (first, second)) in writes.iter().zip(reads) {
            bad |= write.conflicts(now) | write.conflicts(other) | (write.epoch() < since);
            // A reader of another warp is kept: with it, one of this warp will do.
            let apart = |reader: Stamp| (reader.0 >> 40 == now.0 >> 40) & ((reader.0 ^ now.0) & 0x3e0 != 0);
            let (one, two) = (apart(*first), apart(*second));
            let rest = if two { *second } else { other };
            *second = if one { now } else { rest };
            *first = if one { *first } else { now };
        }
        bad
    }

    /// The same for the 32 threads of a warp, each reading the next cell; `now` is lane 0's.
    #[inline(always)]
    pub fn read_row(&mut self, start: usize, now: Stamp, since: u32) -> bool {
        let mut bad = false;
        let writes = &self.writes[start..start + LANES];
        let (first, second) =
            (&mut self.first_reads[start..start + LANES], &mut self.second_reads[start..start + LANES]);
        for lane in 0..LANES {
            let now = Stamp(now.0 + lane as u64);
            bad |= writes[lane].conflicts(now) | (writes[lane].epoch() < since);
            remember(&mut first[lane], &mut second[lane], now);
        }
        bad
    }

    /// Whether an unordered thread accessed any of `count` cells.
    #[inline(always)]
    pub fn conflict(&self, start: usize, count: usize, now: Stamp) -> bool {
        let mut bad = false;
        for cell in start..start + count {
            bad |= self.writes[cell].conflicts(now)
                | self.first_reads[cell].conflicts(now)
                | self.second_reads[cell].conflicts(now);
        }
        bad
    }

    /// The same for the 32 threads of a warp, each with the next cell; `now` is lane 0's.
    #[inline(always)]
    pub fn conflict_in_row(&self, start: usize, now: Stamp) -> bool {
        let mut bad = false;
        let writes = &self.writes[start..start + LANES];
        let (first, second) = (&self.first_reads[start..start + LANES], &self.second_reads[start..start + LANES]);
        for lane in 0..LANES {
            let now = Stamp(now.0 + lane as u64);
            bad |= writes[lane].conflicts(now) | first[lane].conflicts(now) | second[lane].conflicts(now);
        }
        bad
    }

    /// Whether any of `count` cells was last written in an epoch.
    #[inline(always)]
    pub fn written_in(&self, start: usize, count: usize, epoch: u32) -> bool {
        self.writes[start..start + count].iter().fold(false, |any, write| any | (write.epoch() == epoch))
    }

    /// Remembers that a thread wrote `count` cells.
    #[inline(always)]
    pub fn mark(&mut self, start: usize, count: usize, now: Stamp) {
        self.writes[start..start + count].fill(now);
    }

    /// Remembers that the 32 threads of a warp wrote a cell each; `now` is lane 0's.
    #[inline(always)]
    pub fn mark_row(&mut self, start: usize, now: Stamp) {
        for (lane, write) in self.writes[start..start + LANES].iter_mut().enumerate() {
            *write = Stamp(now.0 + lane as u64);
        }
    }
}

/// Keeps a reader. Of one epoch, two different threads are kept: whoever writes next, one of them is
/// another.
#[inline(always)]
fn remember(first: &mut Stamp, second: &mut Stamp, now: Stamp) {
    let replace = first.is_past(now);
    // Readers of two warps are kept as they are: whoever writes, one of them is of another warp.
    let apart = !second.is_past(now) & ((first.0 ^ second.0) & 0x3e0 != 0);
    *second = if replace | apart { *second } else { now };
    *first = if replace { now } else { *first };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_readers_one_conflicts_with_any_writer() {
        let mut cells = Cells::new(1);
        cells.mark(0, 1, Stamp::new(1, 0, 0, 4));
        for thread in [4, 4, 9, 12] {
            assert!(!cells.read(0, 1, Stamp::new(2, 0, 2, thread), 1));
        }
        for writer in [4, 9, 12, 31] {
            assert!(cells.conflict(0, 1, Stamp::new(2, 0, 3, writer)), "writer {writer}");
        }
    }

    /// Whatever is read, by whom and when: a write meets one of the two readers that are kept where it meets any that was.
    #[test]
    fn the_readers_that_are_kept_speak_for_all() {
        let mut chance = 7u64;
        let mut roll = |sides: u64| {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (chance >> 33) % sides
        };
        for _ in 0..4000 {
            let mut cells = Cells::new(LANES);
            let mut readers: Vec<Vec<Stamp>> = vec![Vec::new(); LANES];
            // When each warp passed barriers of its own: they count up within an epoch.
            let (mut epoch, mut passed) = (1, [0; 3]);
            for at in 0..1 + roll(7) as u32 {
                match roll(6) {
                    0 => (epoch, passed) = (epoch + 1, [0; 3]),
                    1 => passed[roll(3) as usize] += 1,
                    _ => {}
                }
                let warp = roll(3) as u32;
                let stamp = |lane: u32| Stamp::new(epoch, passed[warp as usize], at, 32 * warp + lane);
                let (one, other) = (roll(32) as u32, roll(32) as u32);
                match roll(4) {
                    0 => {
                        cells.read_row(0, stamp(0), 0);
                        readers.iter_mut().zip(0..).for_each(|(readers, lane)| readers.push(stamp(lane)));
                    }
                    1 if one != other => {
                        cells.read_by_two(3, 2, stamp(one), stamp(other), 0);
                        readers[3..5].iter_mut().for_each(|readers| readers.extend([stamp(one), stamp(other)]));
                    }
                    _ => {
                        cells.read(3, 2, stamp(one), 0);
                        readers[3..5].iter_mut().for_each(|readers| readers.push(stamp(one)));
                    }
                }
                for writer in 0..96 {
                    let now = Stamp::new(epoch, passed[writer as usize / 32], 99, writer);
                    for cell in [0, 3, 4] {
                        let meets = readers[cell].iter().any(|reader| reader.conflicts(now));
                        assert_eq!(cells.conflict(cell, 1, now), meets, "{:x?} and {now:x?}", readers[cell]);
                    }
                }
            }
        }
    }

    #[test]
    fn rows_pairs_and_single_cells_agree() {
        let stamp = |thread| Stamp::new(5, 0, 1, thread);
        for written in [Stamp::new(5, 0, 0, 3), Stamp::new(4, 0, 0, 3), Stamp::new(2, 0, 0, 3), Stamp::default()] {
            let (mut row, mut single, mut pair) = (Cells::new(LANES), Cells::new(LANES), Cells::new(LANES));
            for cells in [&mut row, &mut single, &mut pair] {
                cells.mark(0, LANES, written);
            }
            let by_lane = (0..LANES).fold(false, |bad, lane| bad | single.read(lane, 1, stamp(lane as u32), 4));
            assert_eq!(row.read_row(0, stamp(0), 4), by_lane);
            assert_eq!(row.first_reads, single.first_reads);
            assert_eq!(pair.read_by_two(0, LANES, stamp(3), stamp(4), 4), written != Stamp::new(4, 0, 0, 3));
            assert!(row.conflict_in_row(0, Stamp::new(5, 0, 2, 64)) && row.conflict(7, 1, Stamp::new(5, 0, 2, 64)));
        }
    }

    #[test]
    fn what_is_forgotten_is_nobodys() {
        let mut cells = Cells::new(4);
        cells.mark(1, 2, Stamp::new(3, 0, 1, 5));
        cells.read(2, 1, Stamp::new(3, 1, 2, 6), 0);
        cells.read(2, 1, Stamp::new(3, 1, 2, 40), 0);
        cells.forget();
        let nobody = Stamp::default();
        assert!((0..4).all(|cell| cells.write(cell) == nobody && cells.reads(cell) == [nobody; 2]));
    }
}
