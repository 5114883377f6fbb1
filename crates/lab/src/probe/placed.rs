//! Whether what is computed is right, and is stored in another place of C.

use gemm::matrix::Matrix;
use gemm::{Error, Shape};

use super::pattern::{self, Exchange, Factor};
use super::{NOTHING_STORED, Probe, holds};

/// Rounding that sums of whole numbers may have.
const NEAR: f64 = 1e-3;

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
        let factor = Factor { name: "C", line: "row", by_rows: true, leading, verb: "stored" };
        let rule = match by_columns {
            true => Some(format!(
                "C is stored transposed, by columns of {m}: its element of a row and a column lies at `row * {leading} + column` (of `wmma` that is mem_row_major)"
            )),
            false => pattern::rule(&moved, factor),
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
}
