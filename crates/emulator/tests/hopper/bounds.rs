//! The bounds of kernels that use tensor cores and bulk copies, each unit's time computed by hand.

use emulator::bound::{Assumptions, Bound, Unit, bound};
use emulator::gpu::H200;
use emulator::{Argument, Device, Dim3, Launch, Module, Report};

use crate::product::{Product, all};

const EQUAL: Assumptions = Assumptions { equal_blocks: true, cold_l2: false };

fn product(form: &str, of: &str) -> (Product, Report) {
    let wanted = |product: &Product| (product.form.name, product.of.0, product.shape[0]) == (form, of, 256);
    let product = all().find(wanted).expect("a product of this name");
    let (_, report) = product.run(product.ptx(), None).unwrap_or_else(|error| panic!("{form} {of}: {error}"));
    (product, report)
}

fn clocks(bound: &Bound, unit: Unit) -> f64 {
    let of_unit = bound.units.iter().find(|time| time.unit == unit).expect("every unit has a time");
    (of_unit.seconds * H200.boost_hz).round()
}

#[test]
fn small_tiles_are_bound_by_tma() {
    // A tile of 64 x 128 and 512 along K: 192 rows of copies, half as many multiply-adds as a tile of 128 x 128.
    for (of, bytes, rate) in [("bf16", 2.0, 2048.0), ("f16", 2.0, 2048.0), ("tf32", 4.0, 1024.0), ("e4m3", 1.0, 4096.0)]
    {
        let (_, report) = product("warpgroup", of);
        let bound = bound(&report, &H200, EQUAL);
        assert_eq!(bound.bottleneck, Unit::Tma, "{of}");
        assert_eq!(clocks(&bound, Unit::Tma), 192.0 * 512.0 * bytes / 64.0, "{of}");
        assert_eq!(clocks(&bound, Unit::Tensor), 64.0 * 128.0 * 512.0 / rate, "{of}");
        assert_eq!(bound.seconds, bound.units.iter().map(|time| time.seconds).fold(0.0, f64::max));
    }
}

#[test]
fn larger_tiles_are_bound_by_wgmma() {
    let (_, report) = product("ring", "bf16");
    let bound = bound(&report, &H200, EQUAL);
    // Copies of a tile of 128 x 128 take as long as its products: of two, the first is named.
    assert_eq!((bound.bottleneck, clocks(&bound, Unit::Tensor)), (Unit::Tensor, 128.0 * 128.0 * 512.0 / 2048.0));
    assert_eq!(clocks(&bound, Unit::Tma), 4096.0);
    // A product of 64 x 128 x 16 reads 16 wavefronts of A and 32 of B.
    let operands = 32.0 * 2.0 * 48.0;
    let shared = clocks(&bound, Unit::Shared);
    assert!(operands <= shared && shared < 1.1 * operands, "{shared}: with the stores of C");
}

#[test]
fn a_multicast_is_one_read_of_l2() {
    let (_, alone) = product("ring", "bf16");
    let (_, report) = product("cluster", "bf16");
    let (bulk, each) = (report.total.bulk, alone.total.bulk);
    assert_eq!((alone.cluster, report.cluster), (Dim3::ONE, Dim3::xy(2, 1)));
    assert_eq!(each.l2_bytes_read, each.bytes_read);
    // Each block asks for its rows of A, and for half of the columns of B, for both.
    assert_eq!((bulk.bytes_read, bulk.l2_bytes_read), (each.bytes_read, each.bytes_read / 4 * 3));
    let bound = bound(&report, &H200, EQUAL);
    assert_eq!((clocks(&bound, Unit::Tma), clocks(&bound, Unit::L2)), (4096.0, 3072.0));
}

#[test]
fn what_bulk_copies_store_counts_for_l2_and_may_stay_there() {
    let (product, report) = product("persistent", "bf16");
    let [m, n, k] = product.shape.map(u64::from);
    let stored = m * n * 2;
    assert_eq!((report.total.global_store.sectors, report.total.bulk.bytes_written), (0, stored));
    assert_eq!(report.footprint_bytes, (m * k + k * n) * 2 + stored, "what they touch is counted");
    let cold = bound(&report, &H200, Assumptions { cold_l2: true, ..EQUAL });
    let of_dram = cold.units.iter().find(|time| time.unit == Unit::Dram).expect("every unit has a time");
    assert_eq!(of_dram.seconds, ((m * k + k * n) * 2) as f64 / H200.dram_bytes_per_s);
}

#[test]
fn nothing_but_mma_is_bound_by_two_thirds_of_the_tensor_cores() {
    const MMA: &str = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, \
         {%r0, %r0, %r0, %r0}, {%r0, %r0}, {%f0, %f1, %f2, %f3};\n";
    let ptx = format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n.reg .b32 %r<1>;\n.reg .f32 %f<4>;\n\
         .reg .b64 %d<1>;\nmov.b32 %r0, 0;\nmov.f32 %f0, 0f00000000;\nmov.f32 %f1, %f0;\nmov.f32 %f2, %f0;\nmov.f32 %f3, %f0;\n\
         {}ld.param.u64 %d0, [p];\nst.global.f32 [%d0], %f0;\nret;\n}}",
        MMA.repeat(100)
    );
    let kernel = Module::parse(&ptx).and_then(|module| module.kernel("k")).unwrap_or_else(|error| panic!("{error}"));
    let mut device = Device::new();
    let out = device.alloc("out", 4);
    let launch = Launch::new(1, 128).sanitize(false);
    let report = device.launch(&kernel, launch, &[Argument::Buffer(out)]).unwrap_or_else(|error| panic!("{error}"));
    let bound = bound(&report, &H200, EQUAL);
    let multiply_adds = 4.0 * 100.0 * 2048.0;
    assert_eq!((bound.bottleneck, clocks(&bound, Unit::Tensor)), (Unit::Tensor, f64::round(multiply_adds / 1366.0)));
    assert!(clocks(&bound, Unit::Issue) < 0.2 * clocks(&bound, Unit::Tensor));
}
