//! Runs level 1.

fn main() -> std::process::ExitCode {
    common::run(&level1_tiling::LEVEL)
}
