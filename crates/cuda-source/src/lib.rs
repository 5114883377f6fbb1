//! CUDA C++ as people write it: host code, headers, templates, launches. This crate reads it, and compiles nothing.
//!
//! - [`token`], `lexer`, `branches`, `macros`, `expand`: a text in tokens, the preprocessor's lines among them
//! - `unit`, `item`, `declared`: a file, its declarations, and the names that these give
//! - [`headers`]: which headers are the host's, and which are CUDA's
//! - [`Program`]: a file and the headers of its own; `reach`, [`Cut`]: the part of it that is for the device
//! - [`Kernel`], [`types`]: its kernels and their parameters; [`roles`]: what the parameters of a matrix product stand for; `guards`: which of them
//!   are compared
//! - [`Launch`]: what stands in `<<<…>>>`; `scope`, `evaluate`, `value`: what its expressions come to, [`Extents`]; [`Instance`]: template arguments
//! - `attributes`: what host code sets for a kernel before its launch
//! - [`prelude`]: what nvcc knows without an include

#![forbid(unsafe_code)]

mod attributes;
mod branches;
mod cut;
mod declared;
mod evaluate;
mod expand;
mod guards;
pub mod headers;
mod instance;
mod item;
mod kernel;
mod launch;
mod lexer;
mod macros;
pub mod prelude;
mod program;
mod reach;
pub mod roles;
mod scope;
mod sizes;
pub mod token;
pub mod types;
mod unit;
mod value;

pub use cut::{Cut, CutHeader};
pub use instance::{Instance, entry_words};
pub use kernel::{Kernel, Parameter, TemplateParameter};
pub use launch::Launch;
pub use program::{Found, Include, Program};
pub use sizes::{Extents, Sizes};

/// The device part of a text that includes no header of its own.
///
/// ```
/// let file = "#include <cstdio>\n__global__ void k(int* x) { *x = 1; }\nint main() { k<<<1, 1>>>(0); }\n";
/// let cut = cuda_source::device_code(file);
/// assert_eq!(cut.text, format!("{}\n__global__ void k(int* x) {{ *x = 1; }}\n{}\n", " ".repeat(17), " ".repeat(30)));
/// ```
pub fn device_code(text: &str) -> Cut {
    Program::read("", text, &[], &mut |_| None).cut(&[])
}
