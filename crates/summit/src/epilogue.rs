//! What becomes of a product's sums, as a value; and where what that needs lies.

use std::fmt;

pub use gemm::epilogue::Activation;

/// Which way a vector lies along C.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Along {
    /// A number for each row.
    M,
    /// A number for each column.
    N,
}

/// Where C is that is read, when what is written is another matrix, D.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Apart {
    /// Elements from the beginning of a row to that of the next.
    pub leading: u32,
    /// Elements from a product's C to the next one's.
    pub stride: u64,
}

/// What becomes of the sums: `D = act(alpha·r·c·A·B + bias) + beta·C`, rounded to C's type once. D is C, if C is not apart. All
/// products of a batch have the same vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct Epilogue {
    /// Numbers of C's type that are added.
    pub bias: Option<Along>,
    /// Whether there is r: an f32 factor of each row.
    pub row_factors: bool,
    /// Whether there is c: an f32 factor of each column.
    pub column_factors: bool,
    /// What comes then.
    pub activation: Activation,
    /// Whether beta·C is a factor in the end, and no summand: a gate.
    pub gated: bool,
    /// Where C lies, if that is not where D is written.
    pub apart: Option<Apart>,
}

/// What an epilogue reads beside A, B and D, wherever that lies: what it does not ask for is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beside<T> {
    /// C, if it is apart from D.
    pub c: Option<T>,
    /// The bias.
    pub bias: Option<T>,
    /// An f32 factor of each row.
    pub row_factors: Option<T>,
    /// An f32 factor of each column.
    pub column_factors: Option<T>,
}

impl<T> Default for Beside<T> {
    fn default() -> Self {
        Beside { c: None, bias: None, row_factors: None, column_factors: None }
    }
}

impl<T> Beside<T> {
    /// The same with something else in place of each.
    ///
    /// # Errors
    /// The first that comes of it.
    pub(crate) fn map<U, E>(self, mut change: impl FnMut(&'static str, T) -> Result<U, E>) -> Result<Beside<U>, E> {
        let mut of = |name, one: Option<T>| one.map(|one| change(name, one)).transpose();
        Ok(Beside {
            c: of("C", self.c)?,
            bias: of("the bias", self.bias)?,
            row_factors: of("the factors of rows", self.row_factors)?,
            column_factors: of("the factors of columns", self.column_factors)?,
        })
    }
}

impl Epilogue {
    /// Whether it is more than beta·C where C lies.
    pub fn is_any(&self) -> bool {
        *self != Epilogue::default()
    }

    /// Whether a function is computed that takes more than a comparison.
    pub(crate) fn is_computed(&self) -> bool {
        !matches!(self.activation, Activation::None | Activation::Relu)
    }
}

impl fmt::Display for Epilogue {
    /// `, then GELU, of a sum with a bias for each column, C apart`: what is asked for.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Epilogue { bias, row_factors, column_factors, activation, gated, apart } = self;
        if *row_factors {
            f.write_str(", a factor for each row")?;
        }
        if *column_factors {
            f.write_str(", a factor for each column")?;
        }
        match bias {
            Some(Along::M) => f.write_str(", a bias for each row")?,
            Some(Along::N) => f.write_str(", a bias for each column")?,
            None => {}
        }
        if *activation != Activation::None {
            write!(f, ", {activation} before C")?;
        }
        if *gated {
            f.write_str(", C a factor")?;
        }
        if apart.is_some() {
            f.write_str(", C apart from D")?;
        }
        Ok(())
    }
}
