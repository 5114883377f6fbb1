//! Runs level 21.

fn main() -> std::process::ExitCode {
    common::run(&level21_f32_from_halves::LEVEL)
}
