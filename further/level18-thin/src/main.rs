//! Runs level 18.

fn main() -> std::process::ExitCode {
    common::run(&level18_thin::LEVEL)
}
