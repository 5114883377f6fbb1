//! Runs level 16.

fn main() -> std::process::ExitCode {
    common::run(&level16_tf32_warpgroup::LEVEL)
}
