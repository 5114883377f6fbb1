//! A kernel that was renamed in `kernel.cu`: the program says which name it looks for.

use std::sync::LazyLock;

use device::nvrtc;
use gemm::kernel::Kernel;
use gemm::{Dtype, Level};
use level_tests::skipped;

#[test]
fn the_missing_name_is_named() {
    let Ok(compiler) = nvrtc::find() else { return skipped("no NVRTC") };
    static RENAMED: LazyLock<Level> = LazyLock::new(|| Level { entry: "gemm_renamed", ..levels::level1_tiling::LEVEL });
    let message = match Kernel::compile(&RENAMED.default_build(Dtype::F32), &[], compiler) {
        Ok(_) => panic!("the source has no such kernel"),
        Err(error) => error.to_string(),
    };
    assert!(message.contains("level1-tiling/kernel.cu has no kernel `gemm_renamed`"), "{message}");
}
