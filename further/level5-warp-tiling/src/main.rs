//! Runs level 5.

fn main() -> std::process::ExitCode {
    common::run(&level5_warp_tiling::LEVEL)
}
