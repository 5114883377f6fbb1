//! Runs this level.

fn main() {}
