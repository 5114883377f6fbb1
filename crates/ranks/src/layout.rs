//! Which rank holds which part of A, B and C.

use std::fmt;
use std::ops::Range;

use gemm::{Element, Error, Shape};

/// Rows of A, or columns of B, of which a part is a multiple where it can be: 128 bytes of 16-bit numbers.
const STEP: u32 = 64;

/// The most ranks of a layout.
pub const MOST: usize = 1024;

/// One of the two matrices that are multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operand {
    /// M × K, of which a panel is some whole rows.
    A,
    /// K × N, of which a panel is some whole columns, stored as a matrix of its own.
    B,
}

/// What travels in one piece: what one rank holds of an operand before the product begins, or a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Panel {
    /// Of which matrix.
    pub of: Operand,
    /// The rank that holds it.
    pub owner: usize,
    /// Which of the owner's parts, where what it holds travels in several.
    pub part: usize,
}

impl fmt::Display for Panel {
    /// `B's panel of rank 2`, or `part 1 of B's panel of rank 2`; the first part goes without saying.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.part > 0 {
            write!(f, "part {} of ", self.part)?;
        }
        write!(f, "{:?}'s panel of rank {}", self.of, self.owner)
    }
}

/// C as a grid of blocks, one for each rank; and A and B, of which every rank holds one panel.
///
/// Rank `i · columns + j` computes block (i, j) of C. It needs the rows of A of its row of the grid, and the columns of B of its column.
/// A is cut into as many panels of rows as there are ranks, B into as many panels of columns: the ranks of a row of the grid hold the rows
/// that this row needs, and the ranks of a column the columns. So a panel goes through the whole of K, and every product of two panels
/// is a finished part of C: nothing is added up. A matrix whose panels travel may travel in parts, which lie one behind the other on their
/// owner: some rows of its rows of A, or some of its columns of B, each a panel of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    shape: Shape,
    element: Element,
    grid: [usize; 2],
    parts: usize,
}

impl Layout {
    /// A product over a grid of `rows × columns` ranks, with A and B of this type. `ranks × 1` gives each rank whole rows of C, and
    /// moves B alone.
    ///
    /// # Errors
    /// [`Error::Usage`], where a size or a side of the grid is 0, or there are more than [`MOST`] ranks.
    pub fn new(shape: Shape, element: Element, grid: [usize; 2]) -> Result<Layout, Error> {
        let [rows, columns] = grid;
        if shape.m.min(shape.n).min(shape.k) == 0 {
            return Err(Error::usage(format!("a size of {shape} is 0"), "every size is at least 1"));
        }
        match rows.checked_mul(columns) {
            Some(ranks) if (1..=MOST).contains(&ranks) => Ok(Layout { shape, element, grid, parts: 1 }),
            _ => {
                let message = format!("a grid of {rows}×{columns} has no rank, or more than {MOST}");
                Err(Error::usage(message, "give the grid as ROWSxCOLUMNS, for instance 2x1"))
            }
        }
    }

    /// The same, with each rank's panel in so many parts, 1 at least, where panels travel.
    pub fn in_parts(self, parts: usize) -> Layout {
        Layout { parts: parts.max(1), ..self }
    }

    /// In how many parts an operand's panels are: 1, where they do not travel.
    pub fn parts(&self, of: Operand) -> usize {
        let [rows, columns] = self.grid;
        let among = if of == Operand::A { columns } else { rows };
        if among > 1 { self.parts } else { 1 }
    }

    /// A rank's panels of an operand, one for each part, in the order in which they lie in the matrix.
    pub fn held(&self, of: Operand, owner: usize) -> impl Iterator<Item = Panel> + use<> {
        (0..self.parts(of)).map(move |part| Panel { of, owner, part })
    }

    /// M, N and K of the whole product.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The type of A and B.
    pub fn element(&self) -> Element {
        self.element
    }

    /// Rows and columns of the grid.
    pub fn grid(&self) -> [usize; 2] {
        self.grid
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        self.grid[0] * self.grid[1]
    }

    /// Where a rank stands in the grid: row and column.
    pub fn place(&self, rank: usize) -> [usize; 2] {
        [rank / self.grid[1], rank % self.grid[1]]
    }

    /// The rank at a row and a column of the grid.
    pub fn rank(&self, [row, column]: [usize; 2]) -> usize {
        row * self.grid[1] + column
    }

    /// The ranks among which an operand's panels travel, in the order in which these lie in the matrix: for A those of a rank's row of
    /// the grid, for B those of its column.
    pub fn group(&self, of: Operand, rank: usize) -> Vec<usize> {
        let [row, column] = self.place(rank);
        match of {
            Operand::A => (0..self.grid[1]).map(|column| self.rank([row, column])).collect(),
            Operand::B => (0..self.grid[0]).map(|row| self.rank([row, column])).collect(),
        }
    }

    /// Rows of A, or columns of B, that a panel has. What ranks hold differs by one at most; where there are more ranks than rows, some are
    /// empty. Parts of it begin at multiples of 64, if they have as many.
    pub fn range(&self, panel: Panel) -> Range<u32> {
        let [row, column] = self.place(panel.owner);
        let (all, number) = match panel.of {
            Operand::A => (self.shape.m, row * self.grid[1] + column),
            Operand::B => (self.shape.n, column * self.grid[0] + row),
        };
        let at = |number: usize| (u64::from(all) * number as u64 / self.ranks() as u64) as u32;
        let (start, end, parts) = (at(number), at(number + 1), self.parts(panel.of) as u64);
        let within = |part: usize| {
            let at = (u64::from(end - start) * part as u64 / parts) as u32;
            // Parts of one column more or less begin where no tensor map can, and are multiplied by slower kernels.
            start
                + if part as u64 == parts || u64::from(end - start) < parts * u64::from(STEP) {
                    at
                } else {
                    at / STEP * STEP
                }
        };
        within(panel.part)..within(panel.part + 1)
    }

    /// Rows of A, or columns of B, that a rank holds.
    pub fn whole(&self, of: Operand, owner: usize) -> Range<u32> {
        let last = Panel { of, owner, part: self.parts(of) - 1 };
        self.range(Panel { part: 0, ..last }).start..self.range(last).end
    }

    /// Bytes of a rank's parts of an operand that lie before this one.
    pub fn before(&self, panel: Panel) -> u64 {
        (0..panel.part).map(|part| self.bytes(Panel { part, ..panel })).sum()
    }

    /// A panel's bytes.
    pub fn bytes(&self, panel: Panel) -> u64 {
        let range = self.range(panel);
        u64::from(range.end - range.start) * u64::from(self.shape.k) * self.element.bytes() as u64
    }

    /// Rows and columns of C that a rank computes.
    pub fn block(&self, rank: usize) -> [Range<u32>; 2] {
        [Operand::A, Operand::B].map(|of| {
            let group = self.group(of, rank);
            let [first, last] = [group[0], group[group.len() - 1]].map(|owner| self.whole(of, owner));
            first.start..last.end
        })
    }
}

impl fmt::Display for Layout {
    /// `4096×4096×4096 in bf16 over 2×1 ranks`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [rows, columns] = self.grid;
        write!(f, "{} in {} over {rows}×{columns} ranks", self.shape, self.element.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(m: u32, n: u32, grid: [usize; 2]) -> Layout {
        Layout::new(Shape { m, n, k: 3 }, Element::F32, grid).unwrap()
    }

    #[test]
    fn panels_and_blocks_cover_the_matrices_once() {
        for (m, n) in [(1, 1), (2, 9), (13, 7), (64, 48)] {
            for (grid, parts) in [([1, 1], 2), ([2, 1], 1), ([1, 3], 4), ([2, 2], 1), ([2, 3], 2), ([7, 1], 3)] {
                let layout = layout(m, n, grid).in_parts(parts);
                let mut covered = vec![0; (m * n) as usize];
                for rank in 0..layout.ranks() {
                    let [rows, columns] = layout.block(rank);
                    for row in rows.clone() {
                        columns.clone().for_each(|column| covered[(row * n + column) as usize] += 1);
                    }
                    // What a group holds is what its ranks need, in order and without gaps.
                    for (of, needed) in [(Operand::A, rows), (Operand::B, columns)] {
                        let mut at = needed.start;
                        for panel in layout.group(of, rank).into_iter().flat_map(|owner| layout.held(of, owner)) {
                            let range = layout.range(panel);
                            assert_eq!(range.start, at);
                            at = range.end;
                        }
                        assert_eq!(at, needed.end);
                    }
                }
                assert!(covered.iter().all(|&times| times == 1), "{m}×{n} over {grid:?}");
            }
        }
    }

    #[test]
    fn parts_begin_where_tensor_maps_can() {
        let parts = |n: u32| -> Vec<u32> {
            let layout = layout(64, n, [2, 1]).in_parts(3);
            layout.held(Operand::B, 1).map(|panel| layout.range(panel).start - n / 2).collect()
        };
        assert_eq!(parts(4096), [0, 640, 1344]);
        assert_eq!(parts(300), [0, 50, 100], "too few for a step each");
    }

    #[test]
    fn no_layout_of_nothing() {
        let none = |m, grid| Layout::new(Shape { m, n: 1, k: 1 }, Element::F32, grid).unwrap_err().to_string();
        assert!(none(0, [1, 1]).starts_with("a size of 0×1×1 is 0"));
        assert!(none(1, [0, 5]).starts_with("a grid of 0×5 has no rank, or more than 1024"));
        assert!(none(1, [usize::MAX, 2]).contains("has no rank, or more than 1024"));
    }
}
