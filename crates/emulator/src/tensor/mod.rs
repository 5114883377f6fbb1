//! What tensor cores compute, bit by bit. They do not round after each addition: all products of a step and the sum so far
//! are laid out as integers below the largest of them, cut there, and added exactly.
//!
//! | step | file |
//! |---|---|
//! | each element taken apart into a significand and an exponent, once | `factor` |
//! | the largest exponent, the cut, the exact sum | `fused` |
//! | the result as f32, cut, or as f16, to nearest | `result` |
//! | which GPU adds how many products at once, and cuts where | `generation` |
//! | a whole tile of a warp | `tile` |
//!
//! Hopper's arithmetic was compared with a card, of warps and of warpgroups; that of the others comes from published models.

mod factor;
mod fused;
mod generation;
#[cfg(test)]
mod model;
mod result;
#[cfg(test)]
mod tests;
mod tile;

pub(crate) use factor::{Factor, half_of};
pub(crate) use generation::{Generation, Unit};
pub(crate) use tile::{COLUMNS, Columns, Rows, Sums, Tile, product, products_of_integers};
