//! Runs level 14.

fn main() -> std::process::ExitCode {
    common::run(&level20_persistent::LEVEL)
}
