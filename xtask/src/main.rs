//! The repository's own commands: `cargo x …`.

fn main() {}
