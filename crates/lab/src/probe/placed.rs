//! Whether what is computed is right, and is stored in another place of C; and whether the tile that a descriptor names lies otherwise.

use gemm::matrix::Matrix;
use gemm::{Error, Shape};

use super::pattern::{self, Exchange, Factor, NARROW};
use super::{NOTHING_STORED, Probe, Side, alone, holds};

/// Rounding that sums of whole numbers may have.
const NEAR: f64 = 1e-3;

/// Rows, or columns, whose parts of 16 bytes lie together in a tile of `wgmma`, and these bytes.
const GROUP: usize = 8;
const CHUNK: usize = 16;

/// What C holds instead of its own: hardly a sum of small whole numbers.
const MARK: f64 = 208.0;

impl Probe<'_> {
    /// What is added to the products, if something is.
    pub fn added(&self) -> Result<Option<String>, Error> {
        let empty = self.launched(self.a(|_, _| 0.0)?, self.b(|_, _| 0.0)?, 0.0)?;
        let added = empty.values().into_iter().find(|value| *value != 0.0);
        Ok(added.map(|added| {
            format!(
                "where A, B and C hold zeros, {added} comes out: what is added to the products? a sum begins with 0, and so does the place to which \
                 atomics add"
            )
        }))
    }

    /// Which elements keep what C held before, if some do and others do not.
    pub fn kept(&self) -> Result<Option<String>, Error> {
        let (form, k) = (&self.plain.form, self.plain.shape.k);
        let c = self.launched(self.a(|_, _| 1.0)?, self.b(|_, _| 1.0)?, MARK)?;
        let wanted = form.alpha * f64::from(k) + form.beta * MARK;
        let kept = || c.values().into_iter().enumerate().filter(|(_, value)| *value == MARK).map(|(at, _)| at);
        let (count, columns) = (kept().count(), c.columns());
        Ok(kept().next().filter(|_| form.beta != 1.0 && (wanted - MARK).abs() > 1.0 && count < c.elements()).map(|first| {
            format!(
                "{count} elements from C[{}][{}] on are as before the launch, and nothing is stored there: {NOTHING_STORED}",
                first / columns,
                first % columns
            )
        }))
    }

    /// Where C's elements lie, if whole sums come elsewhere than they belong.
    pub fn placed(&self) -> Result<Option<String>, Error> {
        let Shape { m, n, k } = self.plain.shape;
        let (columns, most) = (n as usize, m.max(n) as usize);
        let ones = self.a(|_, _| 1.0)?;
        if most < 2 || !holds(&self.plain.c, most * k as usize) || !holds(&self.plain.a, most) {
            return Ok(None);
        }
        let whole = self.launched(ones.clone(), self.b(|_, _| 1.0)?, 0.0)?;
        let is_whole = |sum: f64| (sum / self.plain.form.alpha / f64::from(k) - 1.0).abs() < NEAR;
        // Of what lies beyond C nothing comes.
        let nothing = whole.values().into_iter().filter(|sum| *sum == 0.0).count();
        if !whole.values().into_iter().all(|sum| sum == 0.0 || is_whole(sum)) || 2 * nothing > whole.elements() {
            return Ok(None);
        }
        let rows_say = self.launched(self.a(|row, _| (row + 1) as f64)?, self.b(|_, _| 1.0)?, 0.0)?;
        let columns_say = self.launched(ones, self.b(|_, column| (column + 1) as f64)?, 0.0)?;
        let place = |c: &Matrix, at: usize| {
            let number = c.at(at / columns, at % columns) / self.plain.form.alpha / f64::from(k);
            let near = (number - number.round()).abs() < NEAR && number > 0.5 && number < (most + 1) as f64;
            near.then(|| number.round() as usize - 1)
        };
        let mut moved = Vec::new();
        for at in 0..m as usize * columns {
            if whole.at(at / columns, at % columns) == 0.0 {
                continue;
            }
            let Some(got) = place(&rows_say, at).zip(place(&columns_say, at)) else { return Ok(None) };
            let wanted = [at / columns, at % columns];
            if [got.0, got.1] != wanted {
                moved.push(Exchange { wanted, got: [got.0, got.1] });
            }
        }
        // Where rows alone, or columns alone, are others, it may as well be a factor's.
        let both =
            moved.iter().any(|one| one.wanted[0] != one.got[0]) && moved.iter().any(|one| one.wanted[1] != one.got[1]);
        let mut all: Vec<[usize; 2]> = moved.iter().map(|one| one.got).collect();
        all.sort_unstable();
        all.dedup();
        let each_once = all.len() == moved.len();
        let Some(first) = moved.first().copied().filter(|_| both && each_once) else { return Ok(None) };
        let by_columns = moved
            .iter()
            .all(|Exchange { wanted, got }| wanted[0] * columns + wanted[1] == got[1] * m as usize + got[0]);
        let leading = self.plain.c.leading();
        let factor = Factor { name: "C", line: "row", by_rows: true, leading, verb: "stored", few_bits: 0 };
        let rule = match by_columns {
            true => Some(format!(
                "C is stored transposed, by columns of {m}: its element of a row and a column lies at `row * {leading} + column` (of `wmma` that is mem_row_major)"
            )),
            false => pattern::rule(&moved, &[], factor),
        };
        let rule = rule.unwrap_or_else(|| {
            "do the row and the column by which a sum is stored belong to the A and the B of which it was made?"
                .to_string()
        });
        Ok(Some(format!(
            "each sum is right, and C[{}][{}] holds that of C[{}][{}]: {rule}",
            first.wanted[0], first.wanted[1], first.got[0], first.got[1]
        )))
    }

    /// A bit for each number of bits in which the kernel keeps whole numbers, and to which an index may be cut; A and B have others.
    pub fn keeps_few_bits(&self) -> u32 {
        let is_kept = |bits: &u32| {
            let (mask, part) = (format!(", {};", (1u32 << bits) - 1), format!(", {bits};"));
            let types = ["u", "s", "b"].map(|kind| format!(".{kind}{bits}"));
            let is_one = |line: &str| {
                let (opcode, operands) = line.trim_start().split_once([' ', '\t']).unwrap_or_default();
                let starts = |words: &[&str]| words.iter().any(|word| opcode.starts_with(word));
                starts(&["st.", "ld.", "cvt."]) && types.iter().any(|of| opcode.contains(of))
                    || starts(&["and."]) && operands.ends_with(&mask)
                    || starts(&["bfe."]) && operands.ends_with(&part)
            };
            self.plain.dtype.input.bytes() != *bits as usize / 8 && self.ptx.lines().any(is_one)
        };
        NARROW.filter(is_kept).map(|bits| 1 << bits).sum()
    }

    /// How operands of the kernel's tensor core instructions lie.
    pub fn of_tensor_cores(&self) -> &'static str {
        match () {
            () if self.ptx.contains("wgmma.mma_async") => {
                " Of `wgmma`, a descriptor names the swizzle, and the leading and stride offsets, with which its tile was stored, as a tensor map does"
            }
            () if self.ptx.contains("ldmatrix.sync") => {
                " Of `ldmatrix`, lanes 0 to 7 name the rows of the first 8 x 8, the next 8 lanes those of the second, with the swizzle of the store"
            }
            () if self.ptx.contains("mma.sync") && !self.ptx.contains("wmma.load") => {
                " Of `mma`, lane l has row l / 4 of A and then the one 8 below, column l / 4 of B, and l % 4 counts along K; of C, columns 2 (l % 4) and the next"
            }
            () => "",
        }
    }

    /// Which offset of a descriptor of `wgmma` is another one than its tile was stored with, where elements alone tell it.
    pub fn of_descriptors(&self) -> Result<Option<String>, Error> {
        let Some(product) = self.ptx.find("wgmma.mma_async").and_then(|at| self.ptx[at..].split(';').next()) else {
            return Ok(None);
        };
        // Of operands that lie along M or N, other elements would tell it.
        let numbers: Vec<&str> = product.rsplit(',').map(str::trim).collect();
        // Something comes to each line: no copy is left out.
        let Shape { m, n, k } = self.plain.shape;
        let full = self.launched(self.a(|_, _| 1.0)?, self.b(|_, _| 1.0)?, 0.0)?;
        let is_full = |(row, column): (usize, usize)| {
            (full.at(row, column) / self.plain.form.alpha / f64::from(k) - 1.0).abs() < NEAR
        };
        let ends = [(GROUP, 0), (0, GROUP), (0, 0), (1, 1)];
        let within = |(row, column): &(usize, usize)| *row < m as usize && *column < n as usize;
        if !ends.into_iter().filter(within).all(is_full) {
            return Ok(None);
        }
        let halves = self.plain.dtype.input.bytes() == 2;
        let plain = |from_the_end: usize| !halves || numbers.get(from_the_end) == Some(&"0");
        let in_registers = product.matches('{').count() > 1;
        let mut found: Vec<(&str, &str)> = Vec::new();
        for (side, name) in [(Side::A, self.names[0]), (Side::B, self.names[1])] {
            let is_known = if side == Side::A { !in_registers && plain(1) } else { plain(0) };
            if let Some(what) = if is_known { self.of_descriptor(side)? } else { None } {
                found.push((name, what));
            }
        }
        let Some((_, what)) = found.first().copied().filter(|(_, what)| found.iter().all(|(_, other)| what == other))
        else {
            return Ok(None);
        };
        let names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
        Ok(Some(format!("`wgmma` reads the tile of {} otherwise than it lies: {what}", names.join(" and that of "))))
    }

    /// The same of one factor.
    fn of_descriptor(&self, side: Side) -> Result<Option<&'static str>, Error> {
        let chunk = CHUNK / self.plain.dtype.input.bytes().max(1);
        let Shape { m, n, k } = self.plain.shape;
        let lines = if side == Side::A { m } else { n } as usize;
        if lines <= GROUP || (k as usize) < 2 * chunk {
            return Ok(None);
        }
        // Beside ones, an element comes from any step of its line; beside a step alone, from its own.
        let comes = |line: usize, step: usize| self.comes_to_its_line(side, (line, step), &|_| true);
        let in_order = |line: usize, step: usize| self.comes_to_its_line(side, (line, step), &|other| other == step);
        let others = |is_so: &dyn Fn(usize) -> Result<bool, Error>| {
            (1..GROUP).try_fold(true, |all, line| Ok::<bool, Error>(all && is_so(line)?))
        };
        let (rows, next, further) = (others(&|line| comes(line, 0))?, comes(0, chunk)?, comes(GROUP, 0)?);
        let ordered = others(&|line| in_order(line, chunk))?;
        let start = in_order(0, 0)?;
        Ok(match (rows, next, further) {
            _ if !start => None,
            (true, true, false) if ordered => Some(
                "its first 8 lines are right, and the next 8 are not. So it is the stride offset of the descriptor, the bytes from 8 lines to the next 8 (along M \
                 or N): 8 times a row's bytes with a swizzle, 1024 for 128 bytes, 512 for 64, 256 for 32",
            ),
            (true, false, true) => Some(
                "of each line the first 16 bytes are right, and the next 16 are not. So it is the leading offset of the descriptor, without a swizzle the bytes \
                 from one part of 8 lines x 16 bytes to the next along K",
            ),
            (true, false, false) => Some(
                "its first part of 8 lines x 16 bytes is right, and those beside it are not, along K and along M or N. So it is the descriptor's two offsets, the \
                 leading one (along K, without a swizzle) and the stride (from 8 lines to the next 8): are they exchanged?",
            ),
            (_, true, _) if !(rows && ordered) && in_order(0, chunk)? => Some(
                "its first line is right, and others of the first 8 are not. So it is the swizzle: the descriptor names (in bits 62 and 63) that of the tensor map, or of the \
                 stores that fill the tile, and with one of 128 bytes the tile begins at a multiple of 1024",
            ),
            _ => None,
        })
    }

    /// Whether an element alone comes to the beginning of its line, beside a factor with ones in these steps.
    fn comes_to_its_line(
        &self,
        side: Side,
        (line, step): (usize, usize),
        ones: &dyn Fn(usize) -> bool,
    ) -> Result<bool, Error> {
        let one = |step: usize| f64::from(u8::from(ones(step)));
        let (a, b, at) = match side {
            Side::A => (self.a(alone((line, step)))?, self.b(|other, _| one(other))?, (line, 0)),
            Side::B => (self.a(|_, other| one(other))?, self.b(alone((step, line)))?, (0, line)),
        };
        let c = self.launched(a, b, 0.0)?;
        Ok((c.at(at.0, at.1) / self.plain.form.alpha) > 0.5)
    }
}
