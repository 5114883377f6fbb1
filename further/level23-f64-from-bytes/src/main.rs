//! Runs level 23.

fn main() -> std::process::ExitCode {
    common::run(&level23_f64_from_bytes::LEVEL)
}
