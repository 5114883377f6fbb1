//! `cargo x wasm`: the ladder as a WebAssembly module for a page, `target/page/page.wasm`.
//!
//! What is missing beside the compiler is a standard library for the target. rustup installs one. Where it cannot, Debian has a
//! compiler with the sources of its own library, `rustc-web` and `rust-web-src`; then cargo builds that first, which takes a minute.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::shell;

/// What is built for.
const TARGET: &str = "wasm32-unknown-unknown";
/// Below the root: a folder of its own, so that the host's builds and this one do not wait for each other.
const FOLDER: &str = "target/wasm";
/// Where the module comes to lie, below the root.
const MODULE: &str = "target/page/page.wasm";
/// Debian's compiler.
const DEBIAN: &str = "/usr/bin/rustc";

/// A way to a standard library for the target.
enum Toolchain {
    /// It is installed.
    Installed,
    /// Its sources are, beside Debian's compiler; and this links.
    Sources(PathBuf),
}

/// What is missing, and what installs it.
const MISSING: &str = "there is no standard library for wasm32-unknown-unknown\nhint: `rustup target add \
                       wasm32-unknown-unknown` installs it; without rustup's server, on Debian, `apt install rustc-web \
                       rust-web-src`";

/// Builds the module.
pub fn run() -> Result<ExitCode> {
    match find() {
        Some(toolchain) => Ok(shell::exit_code(build(&toolchain)?)),
        None => bail!(MISSING),
    }
}

/// The same for the book, which says that it is missing: a machine that cannot build it says so, and passes.
pub fn passes() -> Result<bool> {
    find().map_or_else(
        || {
            eprintln!("skipped: {MISSING}");
            Ok(true)
        },
        |toolchain| build(&toolchain),
    )
}

/// Whether a module can be made here, and run.
pub fn runs() -> bool {
    find().is_some() && Command::new("node").arg("--version").output().is_ok()
}

fn build(toolchain: &Toolchain) -> Result<bool> {
    let command = format!(
        "rustc --quiet --locked --package page --lib --crate-type cdylib --profile wasm --target {TARGET} --target-dir {FOLDER}"
    );
    let built = match toolchain {
        Toolchain::Installed => shell::cargo(&command)?,
        Toolchain::Sources(linker) => {
            let linker = linker.to_str().context("the linker's path is no UTF-8")?;
            // Cargo's option for building the library is not stable; Debian's compiler is, and takes it in this way.
            let environment =
                [("RUSTC", DEBIAN), ("RUSTC_BOOTSTRAP", "1"), ("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker)];
            shell::cargo_with(&format!("{command} -Zbuild-std=std,panic_abort"), &environment)?
        }
    };
    if built {
        let (from, to) = (shell::root().join(FOLDER).join(TARGET).join("wasm/page.wasm"), shell::root().join(MODULE));
        let folder = to.parent().unwrap_or(shell::root());
        let copied = std::fs::create_dir_all(folder).and_then(|()| std::fs::copy(&from, &to));
        eprintln!("{MODULE}: {} bytes", copied.with_context(|| format!("cannot write {}", to.display()))?);
    }
    Ok(built)
}

/// The first way that this machine has.
fn find() -> Option<Toolchain> {
    let library = rustc("rustc", &["--print", "target-libdir", "--target", TARGET])?;
    if has_std(&library) {
        return Some(Toolchain::Installed);
    }
    let sources = rustc(DEBIAN, &["--print", "sysroot"])?.join("lib/rustlib/src/rust/library/Cargo.lock");
    if !sources.is_file() {
        return None;
    }
    // rustup's compiler brings the linker along.
    let beside = rustc("rustc", &["--print", "target-libdir"])?.with_file_name("bin").join("rust-lld");
    let named =
        |name: &str| Some(PathBuf::from(name)).filter(|name| Command::new(name).arg("--version").output().is_ok());
    Some(beside).filter(|linker| linker.is_file()).or_else(|| named("wasm-ld")).map(Toolchain::Sources)
}

fn has_std(folder: &Path) -> bool {
    let is_std = |name: &str| name.starts_with("libstd-") && name.ends_with(".rlib");
    std::fs::read_dir(folder).into_iter().flatten().flatten().any(|file| is_std(&file.file_name().to_string_lossy()))
}

/// The path that a compiler prints.
fn rustc(program: &str, words: &[&str]) -> Option<PathBuf> {
    let output = Command::new(program).args(words).current_dir(shell::root()).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| PathBuf::from(path.trim()))
}
