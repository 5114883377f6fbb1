//! Runs level 8.

fn main() -> std::process::ExitCode {
    common::run(&level8_rasterization::LEVEL)
}
