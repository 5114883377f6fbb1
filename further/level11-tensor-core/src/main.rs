//! Runs level 11.

fn main() -> std::process::ExitCode {
    common::run(&level11_tensor_core::LEVEL)
}
