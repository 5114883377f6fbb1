//! Makes the list of lessons that have exercises from the tables and skeletons in `book/checks`.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?).join("../../book/checks");
    let (tables, skeletons) = (folder.canonicalize()?, folder.join("skeletons").canonicalize()?);
    println!("cargo::rerun-if-changed={}", tables.display());
    println!("cargo::rerun-if-changed={}", skeletons.display());
    // From 0 up, without a gap: a lesson's place is its number.
    let files = (0..).map(|n| (tables.join(format!("lesson{n}.json")), skeletons.join(format!("lesson{n}.cu"))));
    let pairs: String = files
        .take_while(|(table, _)| table.exists())
        .map(|(table, skeleton)| format!("    (include_str!({table:?}), include_str!({skeleton:?})),\n"))
        .collect();
    let text = format!(
        "/// The tables, lesson by lesson, each with the skeleton of its kernel.\nstatic LESSONS: &[(&str, &str)] = &[\n{pairs}];\n"
    );
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("lessons.rs"), text)
}
