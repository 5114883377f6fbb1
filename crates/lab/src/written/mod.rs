//! A CUDA C++ file as people write it, with host code, headers and templates: read, and compiled without what is not the device's.
//!
//! - [`headers`]: where headers are looked for; [`includer`]: who includes a file of kernels, and launches them
//! - [`choose`]: the kernel that is meant, and its instance
//! - [`flat`]: matrices that are structures
//! - [`compile`]: NVRTC, its messages as a person needs them

pub mod choose;
pub mod compile;
pub mod flat;
pub mod headers;
mod includer;

use choose::Choice;
use cuda_source::{Kernel, Launch, Program};

/// Reads a file and the headers of its own. The options are the compiler's: macros and folders stand there.
pub fn read(path: &str, text: &str, options: &[String]) -> Program {
    let defines: Vec<String> =
        options.iter().filter_map(|option| option.strip_prefix("-D")).map(str::to_string).collect();
    let mut search = headers::Search::new(options);
    let program = Program::read(path, text, &defines, &mut |include| search.find(include));
    // A header has no context of its own.
    let is_header = !path.ends_with(".cu");
    match (program.launches().is_empty() || is_header) && !program.kernels().is_empty() {
        true => includer::of(path, &defines, options).unwrap_or(program),
        false => program,
    }
}

/// The launch by `<<<…>>>` of a kernel that host code never launches as a cooperative grid.
pub fn ordinary<'a>(program: &'a Program, kernel: &Kernel) -> Option<&'a Launch> {
    let mut launches = program.launches().iter().filter(|launch| program.is_of(launch, kernel));
    launches.next().filter(|_| !program.launches_cooperatively())
}

/// Where a launch of a kernel stands, as messages say it.
pub fn place(choice: &Choice, Launch { path, line, .. }: &Launch) -> String {
    if *path == choice.kernel.path { format!("line {line}") } else { format!("{path}:{line}") }
}
