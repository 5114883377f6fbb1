//! Runs level 3.

fn main() -> std::process::ExitCode {
    common::run(&level3_double_buffer::LEVEL)
}
