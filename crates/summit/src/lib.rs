//! Matrix products for a program: kernels that stay loaded on a GPU, and the choice of which one multiplies.
//!
//! - [`kernels`]: what multiplies
//! - [`Product`]: what is wanted, with an [`Epilogue`]; [`Plan`]: which kernel computes it, and why; [`Error`]: what can go wrong
//! - [`Handle`]: a GPU, on which matrices stay; [`Emulated`]: its calls without one; [`multiply()`]: the plain product by one call, on
//!   either device
//! - [`Scheme`]: products of narrower numbers in place of its own, where a product allows it
//! - [`choice`]: which of them, with which tile sizes, by predicted times ([`predict`]); [`tuned`]: what measurements say of that

mod beside;
pub mod choice;
mod emulated;
mod epilogue;
mod error;
mod handle;
pub mod kernels;
pub mod multiply;
mod plan;
mod product;
mod scheme;
pub mod tuned;

pub use choice::{Choice, Chooser};
pub use emulated::Emulated;
pub use epilogue::{Activation, Along, Apart, Beside, Epilogue};
pub use error::{Answer, Error};
pub use handle::{Handle, OnGpu};
pub use kernels::KERNELS;
pub use multiply::multiply;
pub use plan::Plan;
pub use product::{Batch, Product, Types};
pub use scheme::Scheme;
