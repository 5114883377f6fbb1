//! Makes the list of levels from the dependencies in this crate's manifest.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=Cargo.toml");
    let manifest = fs::read_to_string("Cargo.toml")?;
    let name = |line: &str| line.split_once([' ', '.', '=']).map(|(name, _)| name.replace('-', "_"));
    let is_level =
        |line: &str| line.strip_prefix("level").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let mut levels: Vec<String> = manifest.lines().filter(|line| is_level(line)).filter_map(name).collect();
    // By number, then name: level10 comes after level9.
    levels.sort_by_key(|name| (name.split('_').next().map(str::len), name.clone()));
    let uses: String = levels.iter().map(|level| format!("pub use {level};\n")).collect();
    let list: String = levels.iter().map(|level| format!("    &{level}::LEVEL,\n")).collect();
    let text = format!(
        "{uses}\n/// Every level, in order.\npub static LEVELS: [&gemm::Level; {}] = [\n{list}];\n",
        levels.len()
    );
    let folder = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&folder).join("levels.rs"), text)
}
