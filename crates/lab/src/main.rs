//! The lab, as a program.

#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    lab::run()
}
