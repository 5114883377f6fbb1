//! CUDA C++ as people write it: host code, headers, templates, launches. This crate reads it, and compiles nothing.
//!
//! - [`token`], `lexer`, `branches`, `macros`: a text in tokens, the preprocessor's lines among them
//! - `unit`, `item`, `declared`: a file, its declarations, and the names that these give
//! - [`headers`]: which headers are the host's, and which are CUDA's
//! - [`Program`]: a file and the headers of its own; `reach`, [`Cut`]: the part of it that is for the device
//! - [`Kernel`], [`types`]: its kernels and their parameters

#![forbid(unsafe_code)]

mod branches;
mod cut;
mod declared;
pub mod headers;
mod item;
mod kernel;
mod lexer;
mod macros;
mod program;
mod reach;
pub mod token;
pub mod types;
mod unit;

pub use cut::{Cut, CutHeader};
pub use kernel::{Kernel, Parameter, TemplateParameter};
pub use program::{Found, Include, Program};

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
