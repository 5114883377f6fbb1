//! Runs level 17.

fn main() -> std::process::ExitCode {
    common::run(&level17_fp8_promotion::LEVEL)
}
