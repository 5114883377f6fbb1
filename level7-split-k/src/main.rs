//! Runs level 7.

fn main() -> std::process::ExitCode {
    common::run(&level7_split_k::LEVEL)
}
