//! What may stand for a type's own products where the caller allows it by name: products of narrower numbers, or sums of fewer bits.

use std::fmt;
use std::sync::LazyLock;

use gemm::{Build, Dtype, Level, Shape};

use crate::kernels::{KERNELS, wgmma_bytes, wgmma_halves};

/// What may stand for a type's own products. A scheme is never chosen unasked: its bits of C are others than those of the type's
/// multiply-adds. [`Scheme::Halves`] and [`Scheme::Bytes`] need memory beside the matrices, and their errors are no larger than those of
/// multiply-adds on data that do not spread (lessons 21 and 23 have both beside each other).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Scheme {
    /// Nothing.
    #[default]
    Plain,
    /// f32 from halves: a number is cut into two of f16, and three products stand for one. Numbers far smaller than the largest of 128
    /// neighbours along K lose bits.
    Halves,
    /// f64 from bytes: a number is its remainders by 14 moduli, and as many products of bytes stand for one (Ozaki's scheme II, arXiv
    /// 2504.08009). Rows and columns that spread too far are multiplied in f64.
    Bytes,
    /// fp8 whose sums stay as tensor cores keep them, with 14 bits, and are not promoted to f32 every 128 products: cuBLASLt has it as
    /// `CUBLASLT_MATMUL_DESC_FAST_ACCUM`. Errors grow with K (lesson 17).
    FastSums,
}

impl Scheme {
    /// The kernel that has it, where it is one kernel's.
    pub fn kernel(self) -> Option<&'static Level> {
        match self {
            Scheme::Plain | Scheme::FastSums => None,
            Scheme::Halves => Some(&wgmma_halves::KERNEL),
            Scheme::Bytes => Some(&wgmma_bytes::KERNEL),
        }
    }

    /// The types for whose products it stands; none, if it is none.
    pub fn dtypes(self) -> Vec<Dtype> {
        match self {
            Scheme::FastSums => LOSING.clone(),
            _ => self.kernel().into_iter().flat_map(Level::dtypes).collect(),
        }
    }

    /// Rows and columns of C, and products in a sum, from which on it was measured to be faster than cuBLAS on an H100
    /// (book/records).
    pub fn least(self) -> u32 {
        match self {
            Scheme::Plain | Scheme::FastSums => 0,
            Scheme::Halves => 1024,
            Scheme::Bytes => 4096,
        }
    }

    /// Whether it is faster at a shape, as far as that is known.
    pub(crate) fn pays(self, shape: &Shape) -> bool {
        shape.m.min(shape.n).min(shape.k) >= self.least()
    }
}

impl fmt::Display for Scheme {
    /// `f32 from halves`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Scheme::FastSums => "fast sums",
            _ => self.kernel().map_or("no scheme", |kernel| kernel.title),
        })
    }
}

/// Types of which a kernel's sums lose bits that another's keep.
static LOSING: LazyLock<Vec<Dtype>> = LazyLock::new(|| {
    let builds = KERNELS.iter().flat_map(|kernel| kernel.shipped_builds()).filter(loses_bits);
    let mut dtypes: Vec<Dtype> = builds.map(|build| build.configuration.dtype).collect();
    dtypes.sort_by_key(Dtype::to_string);
    dtypes.dedup();
    dtypes
});

/// Whether a kernel has a scheme.
pub(crate) fn has_one(kernel: &Level) -> bool {
    [Scheme::Halves, Scheme::Bytes].into_iter().filter_map(Scheme::kernel).any(|own| own.name == kernel.name)
}

/// Whether its sums lose bits that another kernel's keep.
pub(crate) fn loses_bits(build: &Build) -> bool {
    build.level.sum(&build.configuration).loses_bits()
}
