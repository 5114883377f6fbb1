//! Runs level 9.

fn main() -> std::process::ExitCode {
    common::run(&level9_split_k::LEVEL)
}
