//! Runs level 12.

fn main() -> std::process::ExitCode {
    common::run(&level12_warpgroup::LEVEL)
}
