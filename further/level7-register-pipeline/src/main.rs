//! Runs level 7.

fn main() -> std::process::ExitCode {
    common::run(&level7_register_pipeline::LEVEL)
}
