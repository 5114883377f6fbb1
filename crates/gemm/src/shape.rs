//! The sizes of a product.

use std::fmt;

use serde::Serialize;

/// The sizes of a problem: C (M×N) = A (M×K) · B (K×N).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Shape {
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
}

impl Shape {
    /// M·N·K, or the most that the type holds.
    pub fn multiply_adds(&self) -> u64 {
        let [m, n, k] = [self.m, self.n, self.k].map(u64::from);
        m.saturating_mul(n).saturating_mul(k)
    }
}

impl fmt::Display for Shape {
    /// `M×N×K`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}×{}×{}", self.m, self.n, self.k)
    }
}
