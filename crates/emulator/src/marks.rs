//! What is known of each cell of a watched buffer: who accessed it in this launch.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::stamp::Stamp;

/// A buffer's cells, of `grain` bytes each.
#[derive(Debug)]
pub(crate) struct Watch {
    pub grain: u32,
    pub writes: Pages<Mark>,
    /// Two readers for each cell; absent where the launch cannot read the buffer.
    pub reads: Option<Pages<[Mark; 2]>>,
    /// Present while thread blocks run side by side.
    pub owners: Option<Pages<Owner>>,
}

/// What is expected of a buffer.
pub(crate) struct Use {
    /// The launch may read it.
    pub read: bool,
    /// Thread blocks run side by side.
    pub side_by_side: bool,
    /// Most of it may never be accessed: the room that a kernel keeps for its largest problem.
    pub in_part: bool,
}

impl Watch {
    pub fn new(bytes: usize, grain: u32, expected: Use) -> Watch {
        let (cells, in_part) = (bytes.div_ceil(grain as usize), expected.in_part);
        Watch {
            grain,
            writes: Pages::new(cells, in_part),
            reads: expected.read.then(|| Pages::new(cells, in_part)),
            owners: expected.side_by_side.then(|| Pages::new(cells, in_part)),
        }
    }
}

/// One value for each cell, in pages of a power of two.
#[derive(Debug)]
pub(crate) struct Pages<T> {
    pages: Vec<OnceLock<Box<[T]>>>,
    shift: u32,
}

impl<T: Default> Pages<T> {
    /// Small pages that come to be with the first access, or one page here and now.
    fn new(cells: usize, in_part: bool) -> Pages<T> {
        if in_part {
            // Of the largest buffers the list of pages would be long.
            let shift = if cells >> 30 == 0 { 10 } else { 16 };
            return Pages { pages: (0..=cells >> shift).map(|_| OnceLock::new()).collect(), shift };
        }
        let page: Box<[T]> = (0..cells).map(|_| T::default()).collect();
        Pages { pages: vec![OnceLock::from(page)], shift: usize::BITS - 1 }
    }

    #[inline]
    pub fn at(&self, cell: usize) -> &T {
        let size = 1 << self.shift;
        let new = || (0..size).map(|_| T::default()).collect();
        &self.pages[cell >> self.shift].get_or_init(new)[cell & (size - 1)]
    }
}

/// An access to global memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    pub block: u32,
    pub stamp: Stamp,
}

/// The last access of a kind; its thread block plus one, zero for none.
#[derive(Debug, Default)]
pub(crate) struct Mark {
    block: AtomicU32,
    stamp: AtomicU64,
}

impl Mark {
    #[inline]
    pub fn get(&self) -> Option<Moment> {
        let block = self.block.load(Relaxed);
        let moment = || Moment { block: block - 1, stamp: Stamp(self.stamp.load(Relaxed)) };
        (block != 0).then(moment)
    }

    #[inline]
    pub fn set(&self, moment: Moment) {
        self.stamp.store(moment.stamp.0, Relaxed);
        self.block.store(moment.block + 1, Relaxed);
    }
}

/// Which thread blocks accessed a cell: none (0), one (its number plus one) or several; and whether one of them wrote.
///
/// It is the same in whatever order the accesses come, so no chance decides whether blocks share a cell.
#[derive(Debug, Default)]
pub(crate) struct Owner(AtomicU32);

impl Owner {
    const WRITTEN: u32 = 1 << 31;
    const SEVERAL: u32 = Self::WRITTEN - 1;
    /// The most thread blocks that are told apart.
    pub const BLOCKS: u64 = Self::SEVERAL as u64 - 1;

    /// Notes an access by `block`. Whether several blocks have accessed the cell by now, and one of them wrote.
    #[inline]
    pub fn is_shared(&self, block: u32, write: bool) -> bool {
        let noted = |old: u32| {
            let mine = block + 1;
            let owner = if [0, mine].contains(&(old & Self::SEVERAL)) { mine } else { Self::SEVERAL };
            owner | old & Self::WRITTEN | if write { Self::WRITTEN } else { 0 }
        };
        let changed = self.0.fetch_update(Relaxed, Relaxed, |old| Some(noted(old)).filter(|new| *new != old));
        changed.map_or_else(|same| same, noted) == Self::SEVERAL | Self::WRITTEN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_shared_once_two_blocks_met_and_one_wrote_in_any_order() {
        let shared = |accesses: &[(u32, bool)]| {
            let owner = Owner::default();
            accesses.iter().map(|(block, write)| owner.is_shared(*block, *write)).collect::<Vec<_>>()
        };
        assert_eq!(shared(&[(0, false), (0, true), (0, false)]), [false; 3], "one block alone");
        assert_eq!(shared(&[(0, false), (7, false), (Owner::BLOCKS as u32 - 1, false)]), [false; 3], "readers");
        assert_eq!(shared(&[(0, true), (7, false)]), [false, true]);
        assert_eq!(shared(&[(7, false), (0, true)]), [false, true]);
        assert_eq!(shared(&[(7, true), (0, true)]), [false, true]);
        assert_eq!(shared(&[(7, false), (0, false), (7, true)]), [false, false, true]);
    }

    #[test]
    fn pages_come_with_the_first_access_where_a_buffer_is_used_in_part() {
        let made = |pages: &Pages<u32>| pages.pages.iter().filter(|page| page.get().is_some()).count();
        let (part, whole) = (Pages::<u32>::new(2050, true), Pages::<u32>::new(2050, false));
        assert_eq!((made(&part), made(&whole)), (0, 1));
        assert_eq!((*part.at(2049), *whole.at(2049)), (0, 0));
        assert_eq!((made(&part), made(&whole)), (1, 1));
    }
}
