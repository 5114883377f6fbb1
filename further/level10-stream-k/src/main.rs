//! Runs level 10.

fn main() -> std::process::ExitCode {
    common::run(&level10_stream_k::LEVEL)
}
