//! Sixteen neighbouring cells. Where lanes of a warp access all of them with one instruction, side by side, and lie
//! behind whoever was there before, one record stands for the sixteen; where not, each cell has its own.

use super::agents::{Doubts, doubt};
use super::cell::{Access, Cell, Kind, Record};
use super::threads::Judge;

/// Cells of a line.
pub(crate) const LINE: usize = 16;
/// What `clusters::residency` says of memory rests on it.
const _: () = assert!(size_of::<Line>() <= 64);

/// Lanes with as many cells each, one behind the other: the first lane, how far it is to the next, and the cells of
/// each, as a power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Side {
    pub first: u8,
    pub step: u8,
    pub shift: u8,
}

impl Side {
    pub fn lanes(self) -> impl Iterator<Item = u32> {
        (0..LINE as u32 >> self.shift).map(move |n| self.lane(n))
    }

    fn lane(self, n: u32) -> u32 {
        u32::from(self.first) + n * u32::from(self.step)
    }
}

/// A plain load or store of all cells of a line by lanes side by side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Row {
    block: u32,
    warp: u8,
    side: Side,
    at: u32,
    time: u32,
}

/// See the module.
#[derive(Debug)]
pub(super) enum Line {
    /// The last store, and the last load behind it.
    Rows {
        write: Option<Row>,
        read: Option<Row>,
    },
    Cells(Box<[Cell]>),
}

impl Default for Line {
    fn default() -> Line {
        Line::Rows { write: None, read: None }
    }
}

impl Row {
    /// Whether all that it did lies before all that `now` does.
    fn precedes(&self, now: &Row, judge: &Judge) -> bool {
        let other = (self.block, u32::from(self.warp));
        let knows = |lane: u32| judge.knows_all((now.warp.into(), lane), other, self.time);
        (self.block, self.warp, self.side) == (now.block, now.warp, now.side) || now.side.lanes().all(knows)
    }

    fn record(&self, kind: Kind, cell: usize) -> Record {
        let lane = self.side.lane(cell as u32 >> self.side.shift);
        Record::plain(kind, (self.block, self.warp, 1 << lane), self.at, self.time)
    }
}

impl Line {
    /// Keeps a plain access to all of its cells, if that is as simple as it mostly is, and then no race; says whether
    /// it was.
    pub fn keep(&mut self, judge: &Judge, now: &Access, side: Side) -> bool {
        let Line::Rows { write, read } = self else { return false };
        let time = judge.threads.time(now.warp);
        let row = Row { block: now.block, warp: now.warp as u8, side, at: now.at, time };
        let ordered = |before: &Option<Row>| before.is_none_or(|before| before.precedes(&row, judge));
        if !(ordered(write) && ordered(read)) {
            return false;
        }
        let same = |before: Row| Row { at: row.at, ..before } == row;
        match now.kind {
            // Of lanes that read again, the first instruction is kept.
            Kind::Read if read.is_some_and(same) => {}
            Kind::Read => *read = Some(row),
            _ => (*write, *read) = (Some(row), None),
        }
        true
    }

    /// The same for an access of an agent, with its time, that `asker` asked for. In shared memory a store that it reads has
    /// a proxy fence behind it; what is doubtful of that is said of the first cell, whose number is at hand.
    pub fn keep_of_agent(
        &mut self,
        judge: &Judge,
        asker: (u32, u32),
        (now, time): (Access, u32),
        proxies: Option<(u32, Option<&mut Doubts>)>,
    ) -> bool {
        let Line::Rows { write, read } = self else { return false };
        let side = Side { first: now.lanes.trailing_zeros() as u8, step: 1, shift: LINE.trailing_zeros() as u8 };
        let row = Row { block: now.block, warp: now.warp as u8, side, at: now.at, time };
        let over = |kind: Kind, before: Row| {
            let other = (before.block, u32::from(before.warp));
            judge.threads.will_be_over(kind, other.1, now.kind) && judge.is_over(asker, other, before.time)
        };
        let known = |before: &Option<Row>, kind: Kind| {
            before.is_none_or(|before| {
                let other = (before.block, u32::from(before.warp));
                (judge.knows_all(asker, other, before.time) || over(kind, before))
                    && (proxies.is_none() || now.kind != Kind::Read || judge.is_proxied(asker, other, before.time))
            })
        };
        let (last_write, last_read) = (*write, *read);
        match now.kind {
            Kind::Read
                if known(write, Kind::Write)
                    && (known(read, Kind::Read)
                        || read.is_some_and(|read| {
                            (read.block, read.warp, read.side) == (row.block, row.warp, row.side)
                        })) =>
            {
                *read = Some(row);
            }
            Kind::Write if known(write, Kind::Write) && known(read, Kind::Read) => (*write, *read) = (Some(row), None),
            _ => return false,
        }
        let before = if now.kind == Kind::Read { (Kind::Write, last_write) } else { (Kind::Read, last_read) };
        if let ((kind, Some(row)), Some((cell, Some(doubts)))) = (before, proxies) {
            let lanes = row.side.lanes().fold(0, |lanes, lane| lanes | 1 << lane);
            let record = Record::plain(kind, (row.block, row.warp, lanes), row.at, row.time);
            doubt(judge.threads, (&record, cell), asker, doubts);
        }
        true
    }

    /// Its cells, one by one.
    pub fn open(&mut self) -> &mut [Cell] {
        if let Line::Rows { write, read } = self {
            let (write, read) = (*write, *read);
            let cell = |n: usize| {
                let rows = [(Kind::Write, write), (Kind::Read, read)];
                Cell::with(rows.into_iter().filter_map(|(kind, row)| Some(row?.record(kind, n))))
            };
            *self = Line::Cells((0..LINE).map(cell).collect());
        }
        match self {
            Line::Cells(cells) => cells,
            Line::Rows { .. } => &mut [],
        }
    }

    /// The same, if it is open.
    pub fn cells(&self) -> &[Cell] {
        match self {
            Line::Cells(cells) => cells,
            Line::Rows { .. } => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cell::Force;
    use super::super::clock::Past;
    use super::super::threads::Threads;
    use super::*;

    const SIDES: [Side; 3] = [
        Side { first: 0, step: 1, shift: 0 },
        Side { first: 16, step: 1, shift: 0 },
        Side { first: 1, step: 2, shift: 2 },
    ];

    /// Whether the access is a race; keeps it if not.
    fn races_by_cells(line: &mut Line, judge: &Judge, now: &Access, side: Side) -> bool {
        let of = |n: usize| Access { lanes: 1 << side.lane(n as u32 >> side.shift), ..*now };
        let cells = line.open();
        let races = cells.iter().enumerate().any(|(n, cell)| cell.clash(judge, &of(n), &mut |_| false).is_some());
        if !races {
            cells.iter_mut().enumerate().for_each(|(n, cell)| cell.keep(judge.threads, of(n)));
        }
        races
    }

    #[test]
    fn one_record_for_all_says_what_one_for_each_does() {
        let mut state = 1_u32;
        let mut chance = move |n: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % n
        };
        let (mut races, mut simple) = (0, 0);
        for _ in 0..2000 {
            let mut threads = Threads::new(0, (2, 1), &Past::default());
            let (mut line, mut cells) = (Line::default(), Line::default());
            for at in 0..8 {
                if chance(2) == 0 {
                    (0..2).for_each(|warp| threads.arrive(0, warp, u32::MAX));
                    threads.complete((0, false), &[(0, u32::MAX), (1, u32::MAX)], &[], |_| u32::MAX);
                }
                let (kind, side) = ([Kind::Read, Kind::Write][chance(2) as usize], SIDES[chance(3) as usize]);
                let now = Access { block: 0, warp: chance(2), lanes: 0, at, kind, force: Force::Weak, extent: 0 };
                let judge = Judge::new(&threads);
                let kept = line.keep(&judge, &now, side);
                let race = races_by_cells(&mut cells, &judge, &now, side);
                assert_eq!(!kept && races_by_cells(&mut line, &judge, &now, side), race);
                simple += u32::from(kept);
                if race {
                    races += 1;
                    break;
                }
            }
            assert_eq!(format!("{:?}", line.open()), format!("{:?}", cells.open()));
        }
        assert!(races > 100 && simple > 1000, "{races} races, {simple} kept as one");
    }
}
