//! Makes the list of lessons that have exercises from the tables in `book/checks`.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?).join("../../book/checks");
    let tables = folder.canonicalize()?;
    println!("cargo::rerun-if-changed={}", tables.display());
    // From 0 up, without a gap: a lesson's place is its number.
    let files = (0..).map(|n| tables.join(format!("lesson{n}.json"))).take_while(|table| table.exists());
    // Then the pages beside the lessons.
    let files = files.chain([tables.join("ranks.json")]);
    let tables: String = files.map(|table| format!("    include_str!({table:?}),\n")).collect();
    let text = format!("/// The tables, lesson by lesson.\nstatic LESSONS: &[&str] = &[\n{tables}];\n");
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("lessons.rs"), text)
}
