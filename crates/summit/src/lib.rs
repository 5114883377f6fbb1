//! Matrix products for a program: kernels that stay loaded on a GPU, and the choice of which one multiplies.
//!
//! - [`kernels`]: what multiplies
//! - [`Handle`]: a GPU, on which matrices stay; [`multiply()`]: the same product by one call, on either device
//! - [`choice`]: which of them, with which tile sizes; [`predict`]: by which times, [`nearby`]: how these are corrected,
//!   [`tuned`]: what measurements say of that

pub mod choice;
mod handle;
pub mod kernels;
pub mod multiply;
pub mod nearby;
pub mod predict;
pub mod tuned;

pub use choice::Choice;
pub use handle::{Batch, Handle};
pub use kernels::KERNELS;
pub use multiply::multiply;
