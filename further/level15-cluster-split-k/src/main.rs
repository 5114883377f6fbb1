//! Runs level 15.

fn main() -> std::process::ExitCode {
    common::run(&level15_cluster_split_k::LEVEL)
}
