//! Runs level 2.

fn main() -> std::process::ExitCode {
    common::run(&level2_register::LEVEL)
}
