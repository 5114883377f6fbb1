//! The device part of a file, compiled by NVRTC; what it says, as a person needs it.

use cuda_source::{Cut, Program, headers, prelude};
use device::nvrtc::{self, WithHeaders};
use gemm::kernel::{INSTALL, Kernel};
use gemm::{Error, Source};

/// PTX, and what its kernels are called where people read.
#[derive(Debug)]
pub struct Compiled {
    /// The PTX, its entry still to be named.
    pub kernel: Kernel,
    /// Names in the PTX, and the expressions that they stand for.
    pub names: Vec<(String, String)>,
    /// Functions of the host that were left out.
    pub host: Vec<String>,
}

/// Compiles a file. `expressions` are the kernels that are wanted by name; `entry` is the one whose resources are.
pub fn compile(
    entry: &str,
    program: &Program,
    expressions: &[String],
    options: &[String],
    architectures: &[u32],
) -> Result<Compiled, Error> {
    let path = program.path();
    let wanted: Vec<String> = expressions.iter().flat_map(|expression| words(expression)).collect();
    let cut = program.cut(&wanted);
    let headers = all_headers(&cut);
    let compiler = WithHeaders::new(&headers, expressions)
        .map_err(|why| Error::usage(format!("{path} is CUDA C++, and there is no compiler: {why}"), INSTALL))?;
    let source = Source { path, text: &cut.text };
    let options = with_folders(options);
    let kernel = Kernel::from_source(&source, entry, &options, architectures, &compiler, String::new());
    let kernel = kernel.map_err(|error| explained(error, program, &cut, expressions))?;
    let names = compiler.lowered().into_iter().zip(expressions.iter().cloned()).collect();
    Ok(Compiled { kernel, names, host: cut.host })
}

fn words(expression: &str) -> Vec<String> {
    let split = expression.split(|c: char| !c.is_alphanumeric() && c != '_');
    split.filter(|word| !word.is_empty()).map(str::to_string).collect()
}

/// The prelude, the file's own headers, and empty ones that CUDA's include.
fn all_headers(cut: &Cut) -> Vec<(String, String)> {
    let prelude = (prelude::NAME.to_string(), prelude::text(&cut.std_names, &cut.brought));
    let own = cut.headers.iter().map(|header| (header.path.clone(), header.text.clone()));
    let empty = prelude::EMPTY.iter().map(|name| (name.to_string(), String::new()));
    std::iter::once(prelude).chain(own).chain(empty).collect()
}

/// The options, with what every file of a user's gets: CUDA's headers, the prelude, constant functions without a mark.
fn with_folders(options: &[String]) -> Vec<String> {
    let folders = nvrtc::header_folders().into_iter().map(|folder| format!("--include-path={}", folder.display()));
    let ours = [format!("--pre-include={}", prelude::NAME), "--device-as-default-execution-space".to_string()];
    options.iter().cloned().chain(folders).chain(ours).collect()
}

/// The compiler's error with the cause that is known of it.
fn explained(error: Error, program: &Program, cut: &Cut, expressions: &[String]) -> Error {
    let Error::Usage { message, .. } = error else { return error };
    // `a.cuh(1): catastrophic error: …`, which the compiler's other errors do not look like any more.
    let message = match message.split_once("): catastrophic error: ") {
        Some((place, what)) if !what.contains("open source file") => format!("{}: {what}", place.replacen('(', ":", 1)),
        _ => message,
    };
    if message.contains("open source file") {
        return missing(&message);
    }
    if message.contains("__nv_name_map") || message.contains("name expression") {
        let what = expressions.first().map(String::as_str).unwrap_or_default();
        let kernel = program.kernels().iter().find(|kernel| what.starts_with(&kernel.name));
        let signature = kernel.map_or_else(String::new, |kernel| format!(" of `{}`", kernel.signature()));
        let reason = message.split_once("error: ").map_or(message.as_str(), |(_, reason)| reason);
        return Error::usage(
            format!("`{what}` is no instance{signature}: {reason}"),
            "--entry takes the template's arguments as a launch writes them",
        );
    }
    if message.contains("not supported for this GPU architecture") || message.contains("requires .target") {
        return Error::usage(message, "`--arch compute_90a` compiles for Hopper, `--arch compute_80` for Ampere");
    }
    if message.contains("device-side kernel launch") {
        return Error::usage(
            message,
            "kernels that launch kernels (dynamic parallelism) are not run: launch the inner one from the host, as a launch of its own",
        );
    }
    if message.contains("unrecognized token") && !program.is_ascii() {
        return Error::usage(
            message,
            "NVRTC takes letters beyond ASCII in comments and strings alone: spell the name with others",
        );
    }
    let hint = match (unknown(&message), program.missing()) {
        (Some(name), _) if cut.host.iter().any(|host| host == name) => {
            format!("`{name}` is a function of the host: the kernel needs `__device__` before it")
        }
        (_, [first, rest @ ..]) => {
            let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
            format!("{first}{more} is included and was not found: `--include DIR` says where it lies")
        }
        _ => "fix the kernel; `--define NAME=VALUE` gives it macros, `--arch` another architecture".to_string(),
    };
    Error::usage(message, hint)
}

/// The name in `identifier "f" is undefined`.
fn unknown(message: &str) -> Option<&str> {
    message.split_once("identifier \"")?.1.split('"').next()
}

/// A header that the compiler does not find.
fn missing(message: &str) -> Error {
    let name = message.split('"').nth(1).unwrap_or_default();
    let place = message.split_once("): ").map_or("", |(place, _)| place).replace('(', ":");
    let message = match place.is_empty() {
        true => format!("the header {name} is not found"),
        false => format!("{place}: the header {name} is not found"),
    };
    let hint = match headers::package(name) {
        Some(package) => {
            format!(
                "`pip install {package}`, of the release of NVRTC and beside it, has it, and so has a toolkit that CUDA_HOME names"
            )
        }
        None => "`--include DIR` says where it lies".to_string(),
    };
    Error::usage(message, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_header_names_its_package() {
        let said = |message: &str| missing(message).to_string();
        let mma = said("k.cu(3): catastrophic error: cannot open source file \"mma.h\"");
        assert!(mma.starts_with("k.cu:3: the header mma.h is not found\nhint: `pip install nvidia-cuda-crt`"), "{mma}");
        let cccl = said("k.cu(3): catastrophic error: cannot open source file \"cuda/std/type_traits\"");
        assert!(cccl.contains("nvidia-cuda-cccl"), "{cccl}");
        assert!(
            said("k.cu(3): error: could not open source file \"x.h\" (no directories in search list)")
                .contains("--include")
        );
    }
}
