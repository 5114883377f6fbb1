//! What becomes of a product's sums, as a value; and where what that needs lies.

use std::fmt;

pub use gemm::epilogue::Activation;
use gemm::epilogue::Epilogue as Told;

use crate::error::Error;
use crate::product::Product;

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
}

impl Product {
    /// Bytes that each of what lies beside A, B and D needs at least; nothing, where it is not asked for.
    pub fn bytes_beside(&self) -> Beside<u64> {
        let (shape, epilogue, c) = (self.shape, self.epilogue, self.types.c.bytes() as u64);
        let length = |along| u64::from(if along == Along::M { shape.m } else { shape.n });
        let of_c = |apart: Apart| {
            let behind = u64::from(self.batch.count.saturating_sub(1)).saturating_mul(apart.stride);
            let rows = u64::from(shape.m.saturating_sub(1)) * u64::from(apart.leading);
            behind.saturating_add(rows + u64::from(shape.n)).saturating_mul(c)
        };
        Beside {
            c: epilogue.apart.map(of_c),
            bias: epilogue.bias.map(|along| length(along) * c),
            row_factors: epilogue.row_factors.then_some(4 * length(Along::M)),
            column_factors: epilogue.column_factors.then_some(4 * length(Along::N)),
        }
    }

    /// Refuses an epilogue that does not go with the factors.
    pub(crate) fn check_epilogue(&self) -> Result<(), Error> {
        let Epilogue { gated, apart, .. } = self.epilogue;
        if self.form.beta == 0.0 && (gated || apart.is_some()) {
            let message = "C is asked for, and beta is 0".to_string();
            return Err(Error::misuse(message, "`Product::with_factors` says beta"));
        }
        if let Some(Apart { leading, .. }) = apart.filter(|apart| apart.leading < self.shape.n) {
            let message = format!("rows of C are {leading} elements apart, and have {}", self.shape.n);
            return Err(Error::misuse(message, "a leading dimension is at least the number of columns"));
        }
        let most = i32::MAX as u64;
        // As far as a tile reaches over the edge.
        let elements = apart.map_or(0, |apart| u64::from(apart.leading) * (u64::from(self.shape.m) + 256));
        if elements > most {
            let message =
                format!("C has {elements} elements with what lies between its rows, and kernels reach {most}");
            return Err(Error::misuse(message, "make the product smaller"));
        }
        Ok(())
    }

    /// Refuses memory beside A, B and D that is missing, superfluous or too small, or in which no element can begin: each is given by
    /// its address and its bytes.
    pub(crate) fn check_beside(&self, given: &Beside<(u64, u64)>) -> Result<(), Error> {
        let needed = self.bytes_beside();
        let c = self.types.c.bytes() as u64;
        for (name, needed, given, size) in [
            ("C", needed.c, given.c, c),
            ("the bias", needed.bias, given.bias, c),
            ("the factors of rows", needed.row_factors, given.row_factors, 4),
            ("the factors of columns", needed.column_factors, given.column_factors, 4),
        ] {
            match (needed, given) {
                (None, None) => {}
                (Some(_), None) => {
                    let message = format!("{name}: asked for, and not given");
                    return Err(Error::misuse(message, "`Beside` has a place for it"));
                }
                (None, Some(_)) => {
                    let message = format!("{name}: given, and not asked for");
                    return Err(Error::misuse(message, "the product's `epilogue` says what is to be read"));
                }
                (Some(needed), Some((address, bytes))) => {
                    if bytes < needed {
                        let message = format!("{name}: {bytes} bytes, and {} needs {needed}", self.shape);
                        return Err(Error::misuse(
                            message,
                            "check sizes, types, and the distance of rows and products",
                        ));
                    }
                    if !address.is_multiple_of(size) {
                        let message = format!("{name}: begins at {address:#x}, and its elements have {size} bytes");
                        return Err(Error::misuse(message, "a vector begins at a multiple of its elements' size"));
                    }
                }
            }
        }
        Ok(())
    }

    /// The epilogue as a kernel takes it, where what lies beside begins at these addresses.
    pub(crate) fn told(&self, addresses: &Beside<u64>) -> Told {
        let Epilogue { bias, gated, activation, apart, .. } = self.epilogue;
        let none = Told::none(&self.shape, &self.form, self.batch);
        Told {
            c: addresses.c,
            ldc: apart.map_or(none.ldc, |apart| apart.leading),
            stride: apart.map_or(none.stride, |apart| apart.stride),
            multiplied: gated,
            bias: addresses.bias.unwrap_or(0),
            bias_of_rows: bias == Some(Along::M),
            scales: [addresses.row_factors, addresses.column_factors].map(|address| address.unwrap_or(0)),
            activation,
            wide: self.types.c.bytes() == 4,
        }
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
