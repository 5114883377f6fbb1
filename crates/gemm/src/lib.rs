//! A rung of the ladder, and how its product is judged: no GPU, no compiler, no terminal, no clock, and no thread unless the
//! feature `threads` is on. So it builds for a browser, too.
//!
//! - [`level`]: what a level declares, its configurations and its launch
//! - [`shape`]: the sizes of a product, [`form`]: its factors, and how matrices lie in memory;
//!   [`epilogue`]: what becomes of its sums, and how many products there are
//! - [`dtype`]: the types of a product; [`element`]: of a matrix's elements; [`matrix`]: bytes with a type
//! - [`build`]: a level in one configuration; [`plan`]: what it launches for a problem, [`task`]: all that a device needs
//! - [`mapped`]: what tensor maps say of matrices; [`copies`]: of those that none can describe
//! - [`headers`]: what kernels may include
//! - [`asked`]: names that a person or a program gives
//! - [`problem`]: sizes and their limits, A and B
//! - [`mod@change`]: what a diff makes of a kernel's text
//! - [`kernel`]: shipped PTX, and what is asked of a compiler where it is not
//! - [`fit`]: whether a GPU can run a kernel, and which tile sizes, if not the default ones
//! - [`emulated`]: the product on the emulator; [`facts`]: what a device knows of a launch
//! - [`check`]: is C right?
//! - [`judge`]: what the emulator says, in every order of blocks and warps, also of what a GPU ran
//! - [`timing`]: times, as numbers
//! - [`modelled`]: what a modelled GPU would make of a launch; [`counted`]: that and the counts, for a person
//! - [`sums`]: in which type a kernel's instructions sum products
//! - [`candidate`]: what is judged, and what comes of it; [`report`]: for a person or a program, by named [`numbers`];
//!   [`annotate`]: kernel.cu with counters in its margin
//! - [`error`]: what can go wrong, and the exit code that it means

#![forbid(unsafe_code)]

pub mod annotate;
pub mod asked;
pub mod build;
pub mod candidate;
pub mod change;
pub mod check;
pub mod copies;
pub mod counted;
pub mod dtype;
pub mod element;
pub mod emulated;
pub mod epilogue;
pub mod error;
pub mod facts;
pub mod fit;
pub mod form;
pub mod headers;
pub mod judge;
pub mod kernel;
pub mod level;
pub mod mapped;
pub mod matrix;
pub mod modelled;
pub mod numbers;
pub mod plan;
pub mod problem;
pub mod report;
pub mod shape;
mod source;
pub mod sums;
pub mod task;
pub mod text;
mod tiles;
pub mod timing;
mod workers;

pub use archive::Archive;
pub use build::Build;
pub use dtype::Dtype;
pub use element::Element;
pub use emulator::Dim3;
pub use emulator::isa::Target;
pub use error::Error;
pub use level::{
    Configuration, Decomposition, Finding, LaunchShape, Level, Needs, Neighbours, Parameter, Preparation, Shape, Thin,
    Tile, Tiles, Types, Variant,
};
pub use mapped::{Role, TensorBox, TensorSwizzle};
pub use plan::Plan;
pub use source::{Source, Text};

/// The bytes of the archive of PTX that a level ships, in a program. A WebAssembly module has none of them: there, the page brings the
/// one text that is to run.
pub const fn beside(archive: &'static [u8]) -> Archive {
    Archive::new(if cfg!(target_arch = "wasm32") { &[] } else { archive })
}
