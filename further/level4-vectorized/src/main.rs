//! Runs level 4.

fn main() -> std::process::ExitCode {
    common::run(&level4_vectorized::LEVEL)
}
