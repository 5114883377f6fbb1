//! What a product's epilogue needs beside A, B and D: how much memory, whether it is there, and how a kernel is told.

use gemm::epilogue::Epilogue as Told;

use crate::epilogue::{Along, Apart, Beside, Epilogue};
use crate::error::Error;
use crate::product::Product;

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
        let most = i32::MAX as u32;
        if let Some(Apart { leading, .. }) = apart.filter(|apart| apart.leading > most) {
            let message = format!("rows of C are {leading} elements apart, and kernels count {most}");
            return Err(Error::misuse(message, "rows so far apart need a copy first"));
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
