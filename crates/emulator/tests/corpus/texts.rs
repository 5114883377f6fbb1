//! The PTX of the kernels below `crates/emulator/tests`, as NVRTC makes it: one archive, by their paths from there.

use std::path::Path;
use std::sync::LazyLock;

use archive::Texts;

/// The PTX at a path, for instance `faults/race/missing_barrier.ptx`.
pub fn ptx(path: &str) -> &'static str {
    static TEXTS: LazyLock<Texts> = LazyLock::new(|| {
        let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("../emulator/tests/corpus/kernels.ptx.zst");
        Texts::read(&archive).expect("the corpus has an archive")
    });
    TEXTS.get(path).unwrap_or_else(|| panic!("the corpus has no {path}: its test in `common` makes it"))
}
