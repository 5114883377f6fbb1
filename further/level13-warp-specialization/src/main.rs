//! Runs level 13.

fn main() -> std::process::ExitCode {
    common::run(&level13_warp_specialization::LEVEL)
}
