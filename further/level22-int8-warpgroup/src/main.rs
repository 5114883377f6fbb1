//! Runs level 22.

fn main() -> std::process::ExitCode {
    common::run(&level22_int8_warpgroup::LEVEL)
}
