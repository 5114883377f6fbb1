//! The ladder in a page: a request as JSON, the report as JSON, on the emulator, from shipped PTX.
//!
//! `cargo x wasm` makes a WebAssembly module of it, and `ladder.mjs` is how JavaScript calls that, in a page or in Node.
//!
//! - [`Request`]: what a page asks; [`multiply`]: what it gets
//! - [`levels`]: what it may ask for
//! - [`exports`]: the module's functions

mod answer;
pub mod exports;
mod levels;
mod request;
mod steps;

pub use answer::multiply;
pub use levels::levels;
pub use request::{Request, Step};
