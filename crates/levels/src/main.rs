//! What `cargo run` alone runs: it says which programs there are.

fn main() {
    print!("{}", levels::programs());
}
