//! What kernels mean, held against formulas of this test's own: results, counts, races, and what nobody wrote. Most kernels
//! are made by chance; the same ones every time.

mod dice;
mod run;
mod steps;
