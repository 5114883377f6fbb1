//! Runs level 0.

fn main() -> std::process::ExitCode {
    common::run(&level0_naive::LEVEL)
}
