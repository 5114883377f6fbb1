//! Runs level 8.

fn main() -> std::process::ExitCode {
    common::run(&level8_stream_k::LEVEL)
}
