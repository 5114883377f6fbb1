//! How a product is cut whose matrices fit no card: some columns of B stay on the card while the rows of A come past them, some at a time.
//! Each product of the two goes through all of K, and is a finished part of C, which goes back to the host.
//!
//! All of B travels once, and all of C; A travels once for each part of B.

use device::pinned::Window;
use gemm::{Error, Shape};
use summit::Types;

/// Rooms that a matrix has on the card at most: one is multiplied, another one is filled or sent.
pub const ROOMS: usize = 2;
/// Rows of A at a time, where nobody says how many: enough for large tiles, few enough that little waits at the begin and at the end.
const ROWS: u32 = 8192;
/// Parts that B is cut into, where nobody says how many, so that the first product does not wait for all of it.
const PARTS: u32 = 4;
/// Columns of B are a multiple of these, where there are so many.
const STEP: u32 = 256;
/// Elements of a matrix at most: their bytes have an address.
const ELEMENTS: u64 = 1 << 58;
/// Elements of a panel at most where kernels index it by 32 bits, those of f32 and f64: 7/8 of 2³¹, as they count whole tiles.
const INDEXED: u64 = 7 << 28;
/// Parts at most.
const MOST: u64 = 1 << 20;

/// So many rows of A and columns of B at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    shape: Shape,
    types: Types,
    rows: u32,
    columns: u32,
}

/// A product of some rows of A with some columns of B: each matrix's window of the host's, and the room on the card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// M and N of the part, and all of K.
    pub shape: Shape,
    /// Of A, B and C.
    pub windows: [Window; 3],
    /// Of A, B and C.
    pub rooms: [usize; 3],
    /// Whether it is the first that reads its columns of B: these are to come before it.
    pub brings_b: bool,
}

impl Cut {
    /// So many rows and columns, no more than there are.
    ///
    /// # Errors
    /// [`Error::Usage`], where a size is 0, a matrix has more than 2⁵⁸ elements, or there are more than a million parts.
    pub fn new(shape: Shape, types: Types, [rows, columns]: [u32; 2]) -> Result<Cut, Error> {
        if [shape.m, shape.n, shape.k, rows, columns].contains(&0) {
            let message = format!("{shape} in parts of {rows} rows and {columns} columns");
            return Err(Error::usage(message, "every size is at least 1"));
        }
        let [m, n, k] = [shape.m, shape.n, shape.k].map(u64::from);
        if [m * k, k * n, m * n].into_iter().max() > Some(ELEMENTS) {
            return Err(Error::usage(format!("a matrix of {shape} has more than 2^58 elements"), "make it smaller"));
        }
        Cut { shape, types, rows: rows.min(shape.m), columns: columns.min(shape.n) }.checked()
    }

    /// Not in so many parts that a list of them is a burden.
    fn checked(self) -> Result<Cut, Error> {
        let [down, across] = self.counts().map(u64::from);
        match down * across {
            0..=MOST => Ok(self),
            parts => Err(Error::usage(format!("{parts} parts, and {MOST} are the most"), "give larger panels")),
        }
    }

    /// The largest usual one that takes no more than so many bytes of the card.
    ///
    /// # Errors
    /// [`Error::Usage`], where one row of A and one column of B are too much; as of [`Cut::new`].
    pub fn fitting(shape: Shape, types: Types, bytes: u64) -> Result<Cut, Error> {
        let columns = shape.n.div_ceil(PARTS).next_multiple_of(STEP);
        let mut cut = Cut::new(shape, types, [ROWS, columns])?;
        while cut.memory() > bytes || !cut.is_indexed() {
            match cut {
                Cut { columns, .. } if columns > STEP => cut.columns = columns.div_ceil(2).next_multiple_of(STEP),
                Cut { rows, .. } if rows > 1 => cut.rows = rows.div_ceil(2),
                Cut { columns, .. } if columns > 1 => cut.columns = columns.div_ceil(2),
                _ => {
                    let message = match cut.is_indexed() {
                        true => format!("{shape} needs {} bytes of the card, and there are {bytes}", cut.memory()),
                        false => format!("a row of A of {shape} has more elements than kernels of this type index"),
                    };
                    return Err(Error::usage(message, "K is not cut: make it smaller"));
                }
            }
        }
        cut.checked()
    }

    /// Whether kernels of these types reach all of a panel.
    fn is_indexed(&self) -> bool {
        let [rows, columns, k] = [self.rows, self.columns, self.shape.k].map(u64::from);
        self.types.a.bytes() < 4
            || [rows * k, k * columns, rows * columns].into_iter().all(|elements| elements < INDEXED)
    }

    /// Rows of A and columns of B at a time.
    pub fn sides(&self) -> [u32; 2] {
        [self.rows, self.columns]
    }

    /// M, N and K of the whole product.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The types.
    pub fn types(&self) -> Types {
        self.types
    }

    /// How many parts A is cut into, and B.
    fn counts(&self) -> [u32; 2] {
        [self.shape.m.div_ceil(self.rows), self.shape.n.div_ceil(self.columns)]
    }

    /// Rooms on the card, and bytes of each: of A, B and C.
    pub fn rooms(&self) -> [(usize, u64); 3] {
        let [of_a, of_b] = self.counts();
        let sides = [(self.rows, self.shape.k), (self.shape.k, self.columns), (self.rows, self.columns)];
        let counts = [of_a.saturating_mul(of_b), of_b, of_a.saturating_mul(of_b)];
        let elements = [self.types.a, self.types.b, self.types.c];
        std::array::from_fn(|i| {
            let bytes = u64::from(sides[i].0) * u64::from(sides[i].1) * elements[i].bytes() as u64;
            ((counts[i] as usize).min(ROOMS), bytes)
        })
    }

    /// Bytes that this takes of the card.
    pub fn memory(&self) -> u64 {
        self.rooms().iter().map(|(rooms, bytes)| *rooms as u64 * bytes).sum()
    }

    /// Bytes to the card and from there: K·(M·parts of B + N) elements, and M·N.
    pub fn moved(&self) -> [u64; 2] {
        let Shape { m, n, k } = self.shape;
        let [m, n, k] = [m, n, k].map(u64::from);
        let of_a = (m * k * self.types.a.bytes() as u64).saturating_mul(self.counts()[1].into());
        [of_a.saturating_add(k * n * self.types.b.bytes() as u64), m * n * self.types.c.bytes() as u64]
    }

    /// All parts in their order.
    pub fn parts(&self) -> Vec<Part> {
        let [down, across] = self.counts();
        let places = (0..across).flat_map(|column| (0..down).map(move |row| [row, column]));
        places.zip(0..).map(|([row, column], number)| self.part([row, column], number)).collect()
    }

    fn part(&self, [row, column]: [u32; 2], number: usize) -> Part {
        let Shape { m, n, k } = self.shape;
        let (top, left) = (row * self.rows, column * self.columns);
        let shape = Shape { m: self.rows.min(m - top), n: self.columns.min(n - left), k };
        let window = |[top, left]: [u32; 2], [rows, columns]: [u32; 2], leading: u32, size: usize| {
            let [top, left, rows, columns, leading] = [top, left, rows, columns, leading].map(|at| at as usize);
            let first = (top * leading + left) * size;
            Window { first, rows, width: columns * size, pitch: leading * size }
        };
        let windows = [
            window([top, 0], [shape.m, k], k, self.types.a.bytes()),
            window([0, left], [k, shape.n], n, self.types.b.bytes()),
            window([top, left], [shape.m, shape.n], n, self.types.c.bytes()),
        ];
        let rooms = [number % ROOMS, column as usize % ROOMS, number % ROOMS];
        Part { shape, windows, rooms, brings_b: row == 0 }
    }
}
