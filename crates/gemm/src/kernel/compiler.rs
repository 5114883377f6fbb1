//! What makes PTX of a source: NVRTC, on a machine that has it. Here is what is asked of it, and what its words mean.

use std::fmt::Debug;

use super::Resources;
use crate::error::Error;
use crate::source::Source;

/// A compiler of CUDA C++.
pub trait Compiler: Debug + Sync {
    /// Its version, for instance `13.0`.
    fn version(&self) -> String;

    /// The kernel as PTX, with the source's path relative. `Err` holds the compiler's log.
    fn ptx(&self, source: &Source, options: &[String]) -> Result<String, String>;

    /// What the kernel of this name, or the first one, needs on a real architecture by ptxas; nothing if this compiler does not
    /// know the architecture, or there is no such kernel.
    fn resources(
        &self,
        source: &Source,
        options: &[String],
        architecture: u32,
        entry: Option<&str>,
    ) -> Option<Resources>;

    /// The kernel as machine code for an architecture, by the ptxas inside. `Err` holds the compiler's log.
    fn machine_code(&self, source: &Source, options: &[String], architecture: u32) -> Result<Vec<u8>, String>;
}

/// Where to look for a compiler, when one is needed. `Err` says where it was looked for.
pub type FindCompiler = fn() -> Result<&'static dyn Compiler, String>;

/// Finds nothing: a machine without a compiler.
pub fn nowhere() -> Result<&'static dyn Compiler, String> {
    Err("not looked for".into())
}

/// The compiler's full version, as it writes it into PTX: `… release 13.0, V13.0.88`.
pub fn version_in(ptx: &str) -> Option<String> {
    let line = ptx.lines().find(|l| l.starts_with("// Cuda compilation tools"))?;
    Some(line.rsplit_once(", V")?.1.trim().to_string())
}

/// The first error of a compiler's log, as one line with file and line.
pub(super) fn explain(log: &str, hint: String) -> Error {
    let first = log.lines().find(|l| l.contains("error")).or_else(|| log.lines().find(|l| !l.trim().is_empty()));
    let line = first.unwrap_or("the compiler failed and says nothing").trim();
    let message = match line.split_once("): error: ") {
        Some((place, what)) => format!("{}: {}", place.replace('(', ":"), static_assertion(what)),
        None => line.to_string(),
    };
    Error::usage(message, hint)
}

/// The message of a failed `static_assert` alone.
fn static_assertion(what: &str) -> &str {
    what.strip_prefix("static assertion failed with \"").map_or(what, |message| message.trim_end_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(log: &str) -> String {
        explain(log, "what to do".to_string()).to_string()
    }

    #[test]
    fn a_failed_static_assert_is_its_message_with_file_and_line() {
        let log = "\nl/kernel.cu(7): warning #39-D: division by zero\n\nl/kernel.cu(15): error: static assertion failed with \
                   \"at most 1024\"\n  static_assert(…);\n  ^\n\n1 error detected in the compilation of \"l/kernel.cu\".\n";
        assert_eq!(explained(log), "l/kernel.cu:15: at most 1024\nhint: what to do");
    }

    #[test]
    fn any_log_gives_one_line() {
        let first = |log: &str| explained(log).lines().next().map(str::to_string);
        let syntax = "l/kernel.cu(3): error: expected a \";\"\n\nl/kernel.cu(9): error: more\n";
        assert_eq!(first(syntax).as_deref(), Some("l/kernel.cu:3: expected a \";\""));
        assert_eq!(first("nvrtc: error: no builtins\n").as_deref(), Some("nvrtc: error: no builtins"));
        assert_eq!(first("\n \n").as_deref(), Some("the compiler failed and says nothing"));
    }

    #[test]
    fn the_version_stands_in_the_ptx() {
        let ptx = "//\n// Cuda compilation tools, release 13.0, V13.0.88\n// Based on NVVM 7.0.1\n";
        assert_eq!(version_in(ptx).as_deref(), Some("13.0.88"));
        assert_eq!(version_in("// nothing\n"), None);
    }
}
