//! What every kernel of the summit must hold: right for every shape, type and form, with fresh PTX and honest tile sizes.

/// The shared tests of one kernel, in a module of its name.
macro_rules! kernel {
    ($name:ident) => {
        mod $name {
            level_tests::kernel_tests!(summit::kernels::$name::KERNEL);
            level_tests::form_tests!(summit::kernels::$name::KERNEL);
        }
    };
    ($name:ident, persistent) => {
        mod $name {
            level_tests::kernel_tests!(summit::kernels::$name::KERNEL);
            level_tests::form_tests!(summit::kernels::$name::KERNEL);
            level_tests::persistent_tests!(summit::kernels::$name::KERNEL);
        }
    };
}

kernel!(fma_direct);
kernel!(fma_tiles);
kernel!(fma_vectors);
kernel!(fma_pipeline);
kernel!(fma_split_k);
kernel!(fma_stream_k);
kernel!(fma_rows);
kernel!(mma_sync);
kernel!(wgmma_clusters, persistent);
kernel!(wgmma_split_k);
kernel!(wgmma_thin);
kernel!(wgmma_tf32, persistent);
kernel!(wgmma_fp8, persistent);
kernel!(thin);
kernel!(wgmma_ping_pong, persistent);
kernel!(wgmma_halves);
kernel!(wgmma_bytes, persistent);

#[test]
fn every_kernel_is_found_by_its_name_and_lies_where_it_says() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    for kernel in summit::KERNELS {
        let name = summit::kernels::short(kernel);
        assert_eq!(kernel.name, format!("summit {name}"));
        assert_eq!(kernel.path, format!("crates/summit/kernels/{name}.cu"));
        assert_eq!(std::fs::read_to_string(root.join(kernel.path)).unwrap(), kernel.source);
        assert_eq!(kernel.number(), None);
        for word in [name, kernel.name] {
            assert_eq!(summit::kernels::named(word).map(|found| found.name), Some(kernel.name));
        }
    }
    assert!(summit::kernels::named("level9-split-k").is_none());
}
