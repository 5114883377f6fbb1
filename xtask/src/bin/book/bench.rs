//! What the bench of each lesson loads: the module, compressed, its JavaScript, the PTX that the levels ship, and the exercises'
//! kernels: their list, their PTX, and the changes of the levels' kernels that they are.

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use archive::Texts;
use flate2::Compression;
use flate2::write::GzEncoder;

/// Puts it into `bench/` of the built book. Without a module, the page says that there is none.
pub fn put(book: &Path) -> Result<()> {
    let (root, to) = (book.join(".."), book.join("book/bench"));
    fs::create_dir_all(&to).with_context(|| format!("cannot make {}", to.display()))?;
    for name in ["ladder.mjs", "worker.mjs"] {
        copy(&root.join("crates/page").join(name), &to.join(name))?;
    }
    for entry in fs::read_dir(&root)?.chain(fs::read_dir(root.join("further"))?) {
        let level = entry?.path();
        let Some(name) = level.file_name().filter(|_| level.join("kernel.cu").is_file()) else { continue };
        unpack(&level.join("kernel.ptx.zst"), &to.join(name))?;
    }
    unpack(&book.join("variants/kernels.ptx.zst"), &to.join("variants"))?;
    for folder in ["variants", "exercises", "checks/nearly"] {
        fs::create_dir_all(to.join(folder))?;
        for file in fs::read_dir(book.join(folder))? {
            let file = file?;
            if file.path().extension().is_none_or(|ending| ending != "zst") {
                copy(&file.path(), &to.join(folder).join(file.file_name()))?;
            }
        }
    }
    fs::create_dir_all(to.join("switches"))?;
    for (name, text) in Texts::read(&book.join("switches/levels.zst"))?.iter() {
        // Its lines end where those of PTX do: see `crates/page/tests/switches.rs`.
        pack(text.replace('\n', "").as_bytes(), &to.join(format!("switches/{name}.gz")))?;
    }
    let module = root.join("target/page/page.wasm");
    let Ok(module) = fs::read(&module) else {
        println!("note: no module for the lessons' benches: `cargo x wasm` makes it");
        return Ok(());
    };
    println!("book/book/bench/page.wasm.gz: {} bytes", pack(&module, &to.join("page.wasm.gz"))?);
    Ok(())
}

/// Writes it compressed, and returns how long it is then.
fn pack(bytes: &[u8], to: &Path) -> Result<usize> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(bytes)?;
    let packed = packed.finish()?;
    fs::write(to, &packed).with_context(|| format!("cannot write {}", to.display()))?;
    Ok(packed.len())
}

fn unpack(archive: &Path, to: &Path) -> Result<()> {
    Texts::read(archive)?.write_below(to).with_context(|| format!("cannot write into {}", to.display()))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).map(drop).with_context(|| format!("cannot copy {}", from.display()))
}
