//! Runs level 19.

fn main() -> std::process::ExitCode {
    common::run(&level19_ping_pong::LEVEL)
}
