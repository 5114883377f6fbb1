//! The table itself.

use super::{Isa, Needed, Row};

const fn row(words: &'static [&'static str], isa: Isa, sm: u32, example: &'static str) -> Row {
    Row { words, needed: Needed { isa, sm, suffix: "" }, example }
}

/// The same, for an instruction of this one architecture.
const fn only(words: &'static [&'static str], isa: Isa, sm: u32, example: &'static str) -> Row {
    Row { words, needed: Needed { isa, sm, suffix: "a" }, example }
}

/// What needs more than the floor, by architecture. A later instruction is one more row.
#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    // Maxwell
    row(&["lop3"], Isa(7, 0), 50, ""),
    row(&["alloca|stacksave|stackrestore"], Isa(7, 3), 52, ""),
    row(&["add|sub|mul|fma|abs|neg|set|setp", "f16|f16x2"], Isa(7, 0), 53, ""),
    // Pascal
    row(&["atom|red", "f64|f16x2|cta|sys"], Isa(7, 0), 60, ""),
    row(&["dp4a|dp2a"], Isa(7, 0), 61, "dp4a.s32.s32 r0, r1, r2, r3;"),
    // Volta
    row(&["acquire|release|relaxed|acq_rel", "ld|st|atom|red|fence"], Isa(7, 0), 70, "ld.acquire.gpu.global.u32 r0, [g0];"),
    row(&["mmio"], Isa(8, 2), 70, "ld.mmio.relaxed.sys.global.u32 r0, [g0];"),
    row(&["fence"], Isa(7, 0), 70, "fence.sc.gpu;"),
    row(&["fence", "alias"], Isa(7, 5), 70, "fence.proxy.alias;"),
    row(&["membar", "alias"], Isa(7, 5), 0, "membar.proxy.alias;"),
    row(&["match"], Isa(7, 0), 70, "match.any.sync.b32 r0, r1, 0xffffffff;"),
    row(&["nanosleep"], Isa(7, 0), 70, "nanosleep.u32 100;"),
    row(&["wmma"], Isa(7, 0), 70, ""),
    row(&["mma", "m8n8k4"], Isa(7, 0), 70, ""),
    row(&["lop3", "and|or|xor"], Isa(8, 2), 70, "lop3.or.b32 r0|p0, r1, r2, r3, 0x3f, p1;"),
    row(&["L1::no_allocate|L1::evict_first|L1::evict_last|L1::evict_unchanged|L1::evict_normal"], Isa(7, 4), 70, "ld.global.L1::no_allocate.u32 r0, [g0];"),
    row(&["atom|red", "f16|b16"], Isa(7, 0), 70, "atom.global.add.noftz.f16 h0, [g0], h1;"),
    row(&["cvt", "satfinite"], Isa(8, 1), 70, "cvt.rn.satfinite.f16.f32 h0, f0;"),
    // Turing
    row(&["cvt", "pack"], Isa(7, 0), 75, "cvt.pack.sat.u8.s32.b32 r0, r1, r2, r3;"),
    row(&["mma", "m16n8k8|m8n8k16|m8n8k32|m8n8k128"], Isa(7, 0), 75,
        "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {r0, r1}, {r2}, {r3}, {r0, r1};"),
    row(&["ldmatrix"], Isa(7, 0), 75, "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r0}, [a0];"),
    row(&["tanh"], Isa(7, 0), 75, "tanh.approx.f32 f0, f1;"),
    row(&["ex2", "f16|f16x2"], Isa(7, 0), 75, "ex2.approx.f16 h0, h1;"),
    row(&["L2::64B|L2::128B"], Isa(7, 4), 75, "ld.global.L2::128B.u32 r0, [g0];"),
    row(&["movmatrix"], Isa(7, 8), 75, "movmatrix.sync.aligned.m8n8.trans.b16 r0, r1;"),
    // Ampere
    row(&["cp", "async"], Isa(7, 0), 80, "cp.async.ca.shared.global [a0], [g0], 16;"),
    row(&["mma", "m16n8k4|m16n8k16|m16n8k32|m16n8k64|m16n8k128|m16n8k256"], Isa(7, 0), 80,
        "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {r0, r1, r2, r3}, {r4, r5}, {r6}, {r0, r1, r2, r3};"),
    row(&["mma", "f64|bf16|tf32"], Isa(7, 0), 80,
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {d0, d1}, {d2}, {d3}, {d0, d1};"),
    row(&["mma", "sp"], Isa(7, 1), 80, ""),
    row(&["mma", "sp::ordered_metadata"], Isa(8, 5), 80, ""),
    row(&["mma", "b1", "and"], Isa(7, 1), 80,
        "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.and.popc {r0, r1}, {r2}, {r3}, {r0, r1};"),
    row(&["wmma", "f64|bf16|tf32"], Isa(7, 0), 80, ""),
    row(&["redux"], Isa(7, 0), 80, "redux.sync.add.s32 r0, r1, 0xffffffff;"),
    row(&["mbarrier"], Isa(7, 0), 80, "mbarrier.init.shared.b64 [a0], 1;"),
    row(&["mbarrier", "test_wait", "parity"], Isa(7, 1), 80, "mbarrier.test_wait.parity.shared.b64 p0, [a0], r0;"),
    row(&["tf32"], Isa(7, 0), 80, "cvt.rna.tf32.f32 r0, f0;"),
    row(&["bf16|bf16x2"], Isa(7, 0), 80, "cvt.rn.bf16x2.f32 r0, f0, f1;"),
    row(&["min|max", "f16|f16x2|NaN"], Isa(7, 0), 80, "max.NaN.f32 f0, f1, f2;"),
    row(&["relu"], Isa(7, 0), 80, "cvt.rn.relu.f16.f32 h0, f0;"),
    row(&["cvt", "f16x2"], Isa(7, 0), 80, "cvt.rn.f16x2.f32 r0, f0, f1;"),
    row(&["xorsign"], Isa(7, 2), 86, "max.xorsign.abs.f32 f0, f1, f2;"),
    row(&["cvt", "f32", "bf16"], Isa(7, 1), 80, "cvt.f32.bf16 f0, h0;"),
    row(&["createpolicy"], Isa(7, 4), 80, "createpolicy.fractional.L2::evict_last.b64 x0, 1.0;"),
    row(&["L2::cache_hint"], Isa(7, 4), 80, "ld.global.L2::cache_hint.u32 r0, [g0], x0;"),
    row(&["L2::256B"], Isa(7, 4), 80, "ld.global.L2::256B.u32 r0, [g0];"),
    row(&["discard|applypriority"], Isa(7, 4), 80, "discard.global.L2 [g0], 128;"),
    row(&["prefetch", "L2::evict_last|L2::evict_normal"], Isa(7, 4), 80, "prefetch.global.L2::evict_last [g0];"),
    row(&["noinc"], Isa(7, 0), 80, ""),
    // Ada
    row(&["e4m3x2|e5m2x2"], Isa(8, 1), 89, "cvt.rn.satfinite.e4m3x2.f32 h0, f0, f1;"),
    row(&["mma", "e4m3|e5m2"], Isa(8, 4), 89,
        "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {f0, f1, f2, f3}, {r0, r1, r2, r3}, {r4, r5}, {f0, f1, f2, f3};"),
    row(&["mma", "e4m3|e5m2", "f16|m16n8k16"], Isa(8, 7), 89,
        "mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e4m3.f32 {f0, f1, f2, f3}, {r0, r1}, {r2}, {f0, f1, f2, f3};"),
    // Hopper
    row(&["mma", "f64", "m16n8k4|m16n8k8|m16n8k16"], Isa(7, 8), 90,
        "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {d0, d1, d2, d3}, {d0, d1}, {d2}, {d0, d1, d2, d3};"),
    row(&["add|sub|mul|set|setp|atom|red|tanh|ex2", "bf16|bf16x2"], Isa(7, 8), 90, "add.bf16x2 r0, r1, r2;"),
    row(&["atom|red", "v2|v4|v8"], Isa(8, 1), 90, "red.global.add.v2.f32 [g0], {f0, f1};"),
    row(&["atom", "b128"], Isa(8, 3), 90, ""),
    row(&["add|min|max", "u16x2|s16x2"], Isa(8, 0), 90, "add.u16x2 r0, r1, r2;"),
    row(&["min|max", "relu", "s32|s16x2"], Isa(8, 0), 90, "max.relu.s32 r0, r1, r2;"),
    row(&["fma", "oob"], Isa(8, 1), 90, "fma.rn.oob.f16x2 r0, r1, r2, r3;"),
    row(&["cvt", "tf32", "rn|rz"], Isa(7, 8), 90, "cvt.rn.tf32.f32 r0, f0;"),
    row(&["cvt", "bf16", "f16|s8|u8|s16|u16|s32|u32|s64|u64|f64"], Isa(7, 8), 90, "cvt.rn.bf16.s32 h0, r0;"),
    row(&["stmatrix"], Isa(7, 8), 90, "stmatrix.sync.aligned.m8n8.x1.shared.b16 [a0], {r0};"),
    row(&["mapa|getctarank"], Isa(7, 8), 90, "mapa.shared::cluster.u32 r0, a0, r1;"),
    row(&["shared::cta"], Isa(7, 8), 0, "ld.shared::cta.u32 r0, [a0];"),
    row(&["shared::cluster|cluster"], Isa(7, 8), 90, "ld.shared::cluster.u32 r0, [a0];"),
    row(&["barrier", "cluster"], Isa(7, 8), 90, "barrier.cluster.arrive.aligned;"),
    row(&["barrier", "cluster", "release|acquire|relaxed"], Isa(8, 0), 90, "barrier.cluster.arrive.release.aligned;"),
    row(&["mbarrier", "try_wait"], Isa(7, 8), 90, "mbarrier.try_wait.shared.b64 p0, [a0], x0;"),
    row(&["mbarrier", "expect_tx|complete_tx"], Isa(8, 0), 90, "mbarrier.arrive.expect_tx.shared.b64 x0, [a0], 64;"),
    row(&["griddepcontrol"], Isa(7, 8), 90, "griddepcontrol.wait;"),
    row(&["%clusterid|%nclusterid|%cluster_ctaid|%cluster_nctaid|%cluster_ctarank|%cluster_nctarank|%is_explicit_cluster"],
        Isa(7, 8), 90, "mov.u32 r0, %cluster_ctarank;"),
    row(&[".reqnctapercluster|.explicitcluster|.maxclusterrank"], Isa(7, 8), 90, ""),
    row(&["elect"], Isa(8, 0), 90, "elect.sync r0|p0, 0xffffffff;"),
    row(&["cp", "async", "bulk"], Isa(8, 0), 90, "cp.async.bulk.commit_group;"),
    row(&["cp", "bulk", "shared::cta", "mbarrier::complete_tx::bytes"], Isa(8, 6), 90,
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [a0], [g0], 16, [a1];"),
    row(&["tensormap", "cp_fenceproxy"], Isa(8, 3), 90,
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [g0], [a0], 128;"),
    row(&["fence", "async|mbarrier_init"], Isa(8, 0), 90, "fence.proxy.async;"),
    row(&["fence", "tensormap::generic"], Isa(8, 3), 90, "fence.proxy.tensormap::generic.release.gpu;"),
    row(&["fence", "sync_restrict::shared::cluster|sync_restrict::shared::cta"], Isa(8, 6), 90,
        "fence.acquire.sync_restrict::shared::cluster.cluster;"),
    row(&["fence", "async::generic"], Isa(8, 6), 90,
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;"),
    row(&["prefetch", "tensormap"], Isa(8, 0), 90, "prefetch.tensormap [g0];"),
    row(&["st|red", "async"], Isa(8, 1), 90, ""),
    row(&["multimem"], Isa(8, 1), 90, "multimem.ld_reduce.relaxed.gpu.global.add.u32 r0, [g0];"),
    only(&["setmaxnreg"], Isa(8, 0), 90, "setmaxnreg.inc.sync.aligned.u32 240;"),
    only(&["wgmma"], Isa(8, 0), 90, "wgmma.fence.sync.aligned;"),
    only(&["wgmma", "s8", "u8"], Isa(8, 4), 90, "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8 {r0, r1, r2, r3}, x0, x1, p0;"),
    only(&["wgmma", "sp"], Isa(8, 2), 90, ""),
    only(&["tensormap", "replace"], Isa(8, 3), 90, "tensormap.replace.tile.rank.shared::cta.b1024.b32 [a0], r0;"),
    // Blackwell
    row(&["f32x2"], Isa(8, 6), 100, "add.f32x2 x0, x1, x2;"),
    row(&["add|sub|fma", "f32", "f16|bf16"], Isa(8, 6), 100, "add.f32.bf16 f0, h0, f1;"),
    row(&["ld|st", "v8"], Isa(8, 8), 100, "ld.global.v8.b32 {r0, r1, r2, r3, r4, r5, r6, r7}, [g0];"),
    row(&["st", "bulk"], Isa(8, 6), 100, ""),
    only(&["e2m1x2|e2m3x2|e3m2x2|ue8m0x2"], Isa(8, 6), 100, ""),
    row(&["clusterlaunchcontrol"], Isa(8, 6), 100, ""),
    row(&["cp", "cp_mask"], Isa(8, 6), 100, "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [g0], [a0], 16, h0;"),
    row(&["tensor", "tile::gather4|tile::scatter4"], Isa(8, 6), 100, ""),
    only(&["tensor", "im2col::w|im2col::w::128|cta_group::1|cta_group::2"], Isa(8, 6), 100, ""),
    only(&["ldmatrix|stmatrix", "m16n16|m8n16|m16n8"], Isa(8, 6), 100,
        "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {r0, r1}, [a0];"),
    only(&["redux", "f32"], Isa(8, 6), 100, "redux.sync.min.f32 f0, f1, 0xffffffff;"),
    only(&["cvt", "rs"], Isa(8, 7), 100, "cvt.rs.f16x2.f32 r0, f0, f1, r1;"),
    only(&["mma", "kind::f8f6f4|block_scale"], Isa(8, 7), 120, ""),
    only(&["tcgen05"], Isa(8, 6), 100, "tcgen05.wait::ld.sync.aligned;"),
    // Any architecture
    row(&["bmsk|szext"], Isa(7, 6), 70, "szext.wrap.s32 r0, r1, r2;"),
    row(&["isspacep", "param"], Isa(7, 7), 70, "isspacep.param p0, x0;"),
    row(&["cvta", "param"], Isa(7, 7), 70, "cvta.param.u64 x0, x1;"),
    row(&["param::entry|param::func"], Isa(8, 3), 0, "ld.param::entry.u64 x0, [p];"),
    row(&["b128"], Isa(8, 3), 70, ""),
];

/// First words of what [`super::FLOOR`] has already, as far as no row says more, here or of the emulator's own for what a lane does alone.
#[rustfmt::skip]
pub const KNOWN: &[&str] = &[
    "abs", "activemask", "add", "addc", "and", "atom", "bar", "barrier", "bfe", "bfi", "bfind", "bra", "brev",
    "brkpt", "brx", "call", "clz", "cnot", "copysign", "cos", "cvt", "cvta", "div", "ex2", "exit", "fma",
    "isspacep", "istypep", "ld", "ldu", "lg2", "lop3", "mad", "mad24", "madc", "max", "membar", "min", "mov", "mul",
    "mul24", "neg", "not", "or", "pmevent", "popc", "prefetch", "prefetchu", "prmt", "rcp", "red", "rem", "ret",
    "rsqrt", "selp", "set", "setp", "shf", "shfl", "shl", "shr", "sin", "slct", "sqrt", "st", "sub", "subc",
    "testp", "trap", "vote", "xor", "tex", "tld4", "txq", "suld", "sust", "sured", "suq",
    "vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vmad", "vset", "vadd2", "vsub2", "vavrg2", "vabsdiff2",
    "vmin2", "vmax2", "vset2", "vadd4", "vsub4", "vavrg4", "vmin4", "vmax4", "vset4",
];
