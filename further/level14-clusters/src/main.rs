//! Runs level 14.

fn main() -> std::process::ExitCode {
    common::run(&level14_clusters::LEVEL)
}
