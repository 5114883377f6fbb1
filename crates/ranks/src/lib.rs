//! A matrix product over several GPUs, of which each is a *rank*: who holds which part, what is sent when, and what waits for what.
//!
//! - [`layout`]: which rank holds which panels of A and B, and computes which block of C
//! - [`plan`]: what each rank does, as commands on two streams, in three [`Variant`]s
//! - [`order`]: in which order that can happen, or which [`Fault`] it has
//! - [`volume`]: bytes by rank, by link and by step, counted and by formula
//! - [`model`]: the time of a plan, from a link's rate and the products' times
//! - [`emulated`]: runs a plan without a GPU; [`gpus`]: on GPUs of one host, beside the vendor
//! - [`processes`]: ranks in processes of their own, on one machine or several
//! - [`streamed`]: how matrices that fit no card are cut; [`gpus::stream`] runs it

pub mod emulated;
mod fault;
pub mod gpus;
mod host;
pub mod layout;
pub mod model;
pub mod order;
pub mod plan;
pub mod processes;
pub mod streamed;
pub mod volume;

pub use fault::Fault;
pub use host::collected;
pub use layout::Layout;
pub use plan::{Plan, Variant};
