//! The book's pictures. Where one shows what a kernel accesses, the kernel runs on the emulator and its accesses are drawn;
//! sizes of GPUs are those that the emulator models. `cargo x figures` writes them, and a test of [`crate::figures`] holds the
//! written ones to this.
//!
//! They are drawn on a [`Sheet`]. [`traced`]: the kernels' accesses; then a file for each picture.

mod banks;
mod bits;
mod grid;
mod lesson0;
mod lesson10;
mod lesson11;
mod lesson12;
mod lesson13;
mod lesson14;
mod lesson15;
mod lesson16;
mod lesson17;
mod lesson18;
mod lesson19;
mod lesson1_reuse;
mod lesson1_tiles;
mod lesson2;
mod lesson20;
mod lesson21;
mod lesson22;
mod lesson23;
mod lesson3;
mod lesson4;
mod lesson5;
mod lesson6;
mod lesson7;
mod lesson8;
mod lesson9;
mod memory;
mod schemes;
mod traced;

use gemm::Error;

use lab::sheet::Sheet;

/// A picture: its file's name without `.svg`, and how it is drawn.
type Picture = (&'static str, fn() -> Result<Sheet, Error>);

const PICTURES: [Picture; 32] = [
    ("grid-block-warp", grid::draw),
    ("memory-hierarchy", memory::draw),
    ("banks", banks::draw),
    ("lesson0-mapping", lesson0::draw),
    ("lesson1-reuse", lesson1_reuse::draw),
    ("lesson1-tiles", lesson1_tiles::draw),
    ("lesson2-thread-tile", lesson2::draw),
    ("lesson3-timeline", lesson3::draw),
    ("lesson4-banks", lesson4::draw),
    ("lesson5-warp-tile", lesson5::draw),
    ("lesson6-stages", lesson6::draw),
    ("lesson7-registers", lesson7::draw),
    ("lesson8-bands", lesson8::draw),
    ("lesson9-split", lesson9::draw),
    ("lesson10-shares", lesson10::draw),
    ("lesson11-fragments", lesson11::fragments),
    ("lesson11-ldmatrix", lesson11::load_matrix),
    ("lesson12-swizzle", lesson12::swizzle),
    ("lesson12-descriptors", lesson12::descriptors),
    ("lesson13-ring", lesson13::draw),
    ("lesson14-cluster", lesson14::draw),
    ("lesson15-sums", lesson15::draw),
    ("lesson16-banks", lesson16::draw),
    ("lesson17-promotion", lesson17::draw),
    ("lesson18-rows", lesson18::draw),
    ("lesson19-turns", lesson19::draw),
    ("lesson20-tiles", lesson20::draw),
    ("lesson21-parts", lesson21::draw),
    ("lesson21-schemes", schemes::halves),
    ("lesson22-bits", lesson22::draw),
    ("lesson23-remainders", lesson23::draw),
    ("lesson23-schemes", schemes::bytes),
];

/// Every picture's path in the repository, and its text.
pub fn all() -> Result<Vec<(String, String)>, Error> {
    PICTURES.iter().map(|(name, draw)| Ok((format!("book/src/figures/{name}.svg"), draw()?.finish()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_room() {
        for (name, draw) in PICTURES {
            assert_eq!(draw().unwrap().crowded(), Vec::<String>::new(), "{name}");
        }
    }
}
