//! Runs level 6.

fn main() -> std::process::ExitCode {
    common::run(&level6_async_copy::LEVEL)
}
