//! A CUDA C++ file as people write it, with host code, headers and templates: read, and compiled without what is not the device's.
//!
//! - [`headers`]: where headers are looked for
//! - [`choose`]: the kernel that is meant, and its instance
//! - [`compile`]: NVRTC, its messages as a person needs them

pub mod choose;
pub mod compile;
pub mod headers;

use cuda_source::Program;

/// Reads a file and the headers of its own. The options are the compiler's: macros and folders stand there.
pub fn read(path: &str, text: &str, options: &[String]) -> Program {
    let defines: Vec<String> =
        options.iter().filter_map(|option| option.strip_prefix("-D")).map(str::to_string).collect();
    let mut search = headers::Search::new(options);
    Program::read(path, text, &defines, &mut |include| search.find(include))
}
