//! A trace shows what the kernel accesses: held against a kernel whose accesses are plain to see, and against the counters.

use archive::Texts;
use emulator::{
    AccessKind, Argument, Counters, Device, Dim3, FaultKind, Launch, LaunchError, Memory, Module, TensorElement,
    TensorMapDescription, Trace, TracedAccess,
};

/// Each of 32 threads of a block moves the word `in[32 * block + t]` to `tile[t]`, and `tile[31 - t]` to
/// `out[32 * block + t]`; then the odd ones copy 16 bytes asynchronously, lane 3 none of them, and lane 0 adds to `out[0]`.
const KERNEL: &str = "
.version 8.0
.target sm_80
.address_size 64
.file 1 \"reverse.cu\"
.visible .entry k(.param .u64 a, .param .u64 b)
{
.shared .align 16 .b8 pad[16];
.shared .align 16 .b8 tile[512];
.reg .b32 %t, %n, %block, %row, %size, %r<8>;
.reg .b64 %in, %out, %to, %d<4>;
.reg .pred %odd, %first, %third;
ld.param.u64 %in, [a];
ld.param.u64 %out, [b];
mov.u32 %t, %tid.x;
mov.u32 %block, %ctaid.x;
mad.lo.u32 %n, %block, 32, %t;
mul.wide.u32 %d0, %n, 4;
add.u64 %d1, %in, %d0;
add.u64 %d2, %out, %d0;
mov.u32 %r0, tile;
mad.lo.u32 %r1, %t, 4, %r0;
mov.u32 %r2, pad;
st.shared.u32 [%r2], 1;
.loc 1 7 0
ld.global.u32 %r3, [%d1];
.loc 1 8 0
st.shared.u32 [%r1], %r3;
bar.sync 0;
.loc 1 9 0
sub.u32 %r4, %r0, %r1;
add.u32 %r4, %r4, %r0;
add.u32 %r4, %r4, 124;
ld.shared.u32 %r5, [%r4];
st.global.u32 [%d2], %r5;
bar.sync 0;
.loc 1 10 0
and.b32 %r6, %t, 1;
setp.eq.u32 %odd, %r6, 1;
setp.eq.u32 %third, %t, 3;
selp.u32 %size, 0, 16, %third;
mad.lo.u32 %row, %t, 12, %r1;
mov.u64 %to, %in;
@%odd cp.async.ca.shared.global [%row], [%to], 16, %size;
cp.async.wait_all;
.loc 1 11 0
setp.eq.u32 %first, %n, 0;
@%first red.global.add.u32 [%out], 1;
ret;
}";

fn traced(text: &str, buffers: [usize; 2], blocks: u32, wanted: fn(Dim3) -> bool) -> Result<Trace, LaunchError> {
    let kernel = Module::parse(text).and_then(|module| module.kernel("k")).expect("the kernel is right");
    let mut device = Device::new();
    let (from, to) = (device.alloc("in", buffers[0]), device.alloc("out", buffers[1]));
    device.write(from, &vec![1; buffers[0]]).expect("it has this size");
    let launch = Launch::new(Dim3::xy(blocks, 1), Dim3::xy(32, 1));
    device.trace(&kernel, launch, &[Argument::Buffer(from), Argument::Buffer(to)], wanted)
}

fn in_words(access: &TracedAccess) -> String {
    let lanes: Vec<String> = [access.lanes.first(), access.lanes.get(1), access.lanes.last()]
        .into_iter()
        .flatten()
        .map(|lane| format!("{}:{}+{}", lane.lane, lane.array, lane.offset))
        .collect();
    let (line, kind, phase, bytes) = (access.line(), access.kind, access.phase, access.bytes);
    format!("line {line}, phase {phase}: {kind} {bytes} x {} {}", access.lanes.len(), lanes.join(" "))
}

#[test]
fn a_trace_names_line_lane_array_and_offset() {
    let trace = traced(KERNEL, [256, 256], 2, |block| block.x == 1).expect("the kernel is right");
    let words: Vec<String> = trace.accesses.iter().map(in_words).collect();
    assert_eq!(
        words,
        [
            "line 0, phase 0: store 4 x 32 0:pad+0 1:pad+0 31:pad+0",
            "line 7, phase 0: load 4 x 32 0:in+128 1:in+132 31:in+252",
            "line 8, phase 0: store 4 x 32 0:tile+0 1:tile+4 31:tile+124",
            "line 9, phase 1: load 4 x 32 0:tile+124 1:tile+120 31:tile+0",
            "line 9, phase 1: store 4 x 32 0:out+128 1:out+132 31:out+252",
            "line 10, phase 2: load 16 x 15 1:in+0 5:in+0 31:in+0",
            "line 10, phase 2: store 16 x 16 1:tile+16 3:tile+48 31:tile+496",
        ]
    );
    let access = &trace.accesses[3];
    assert_eq!((&*access.opcode, access.memory, access.warp), ("ld.shared.u32", Memory::Shared, 0));
    assert_eq!(access.source.as_ref().map(|(file, _)| &**file), Some("reverse.cu"));
    assert_eq!(access.block, Dim3 { x: 1, y: 0, z: 0 });
    assert_eq!(access.lanes[5].thread, Dim3 { x: 5, y: 0, z: 0 });
    assert_eq!(access.lanes[0].address, 16 + 124, "pad comes before tile");
}

#[test]
fn an_atomic_is_one_access() {
    let trace = traced(KERNEL, [256, 256], 2, |block| block.x == 0).expect("the kernel is right");
    let last = trace.accesses.last().expect("there are accesses");
    assert_eq!(in_words(last), "line 11, phase 2: atomic 4 x 1 0:out+0 0:out+0");
    assert_eq!((last.kind, last.shared_cost()), (AccessKind::Atomic, None));
}

/// Who stored to an element: thread 0 does, and adds to it; of the other elements, and of what is read, nothing is noted.
#[test]
fn the_stores_to_an_element_are_found() {
    let kernel = Module::parse(KERNEL).and_then(|module| module.kernel("k")).expect("the kernel is right");
    let mut device = Device::new();
    let [input, out] = ["in", "out"].map(|name| device.alloc(name, 256));
    device.write(input, &[0; 256]).expect("it has this size");
    device.write(out, &[0; 256]).expect("it has this size");
    let arguments = [Argument::Buffer(input), Argument::Buffer(out)];
    let mut stores = |bytes| {
        let trace = device.stores(&kernel, Launch::new(2, 32), &arguments, (out, bytes)).expect("it is right");
        let of = |access: &TracedAccess| (access.kind, access.line(), access.block.x, access.lanes[0].thread.x);
        trace.accesses.iter().inspect(|access| assert_eq!(access.lanes.len(), 1)).map(of).collect::<Vec<_>>()
    };
    assert_eq!(stores(0..4), [(AccessKind::Store, 9, 0, 0), (AccessKind::Atomic, 11, 0, 0)]);
    assert_eq!(stores(135..136), [(AccessKind::Store, 9, 1, 1)]);
}

#[test]
fn a_fault_ends_a_trace() {
    let Err(LaunchError::Fault(fault)) = traced(KERNEL, [256, 252], 2, |_| true) else { panic!("`out` is too short") };
    assert_eq!((fault.kind, fault.site.lane), (FaultKind::OutOfBounds, 31));
}

/// A kernel with tiles, divergence at the edges and vector accesses: 70 x 50 x 20 on 64 x 64 tiles.
#[test]
fn what_is_traced_adds_up_to_what_is_counted() {
    let texts = Texts::unpack(include_bytes!("../../../level2-register/kernel.ptx.zst")).expect("it is an archive");
    let module = Module::parse(texts.get("64x64x8x8x4-f32.ptx").expect("it is shipped")).expect("it parses");
    let kernel = module.kernel("gemm_register").expect("it decodes");
    let (m, n, k) = (70, 50, 20);
    let mut device = Device::new();
    let buffers = [("A", m * k), ("B", k * n), ("C", m * n)].map(|(name, elements)| {
        let buffer = device.alloc(name, 4 * elements as usize);
        device.write(buffer, &vec![0; 4 * elements as usize]).expect("it has this size");
        buffer
    });
    let mut arguments: Vec<Argument> = buffers.map(Argument::Buffer).to_vec();
    arguments.extend([m, n, k].map(Argument::U32));
    let launch = Launch::new(Dim3::xy(n.div_ceil(64), m.div_ceil(64)), Dim3::xy(128, 1));
    let trace = device.trace(&kernel, launch, &arguments, |_| true).expect("the kernel is right");
    let untraced = device.launch(&kernel, launch, &arguments).expect("the kernel is right");
    assert_eq!(trace.report, untraced);

    let mut sum = Counters::default();
    for access in &trace.accesses {
        let bytes = u64::from(access.bytes) * access.lanes.len() as u64;
        if let Some(cost) = access.global_cost() {
            let load = access.kind == AccessKind::Load;
            let into = if load { &mut sum.global_load } else { &mut sum.global_store };
            into.requests += 1;
            into.sectors += u64::from(cost.sectors);
            into.ideal_sectors += u64::from(cost.ideal_sectors);
            into.bytes += bytes;
        }
        if let Some(cost) = access.shared_cost() {
            let load = access.kind == AccessKind::Load;
            let into = if load { &mut sum.shared_load } else { &mut sum.shared_store };
            into.requests += 1;
            into.wavefronts += u64::from(cost.wavefronts);
            into.ideal_wavefronts += u64::from(cost.ideal_wavefronts);
            into.unique_bytes += u64::from(cost.unique_bytes);
            into.bytes += bytes;
        }
    }
    let total = &untraced.total;
    assert!(total.shared_load.wavefronts > 0 && total.global_store.sectors > 0);
    assert_eq!(sum.global_load, total.global_load);
    assert_eq!(sum.global_store, total.global_store);
    assert_eq!(sum.shared_load, total.shared_load);
    assert_eq!(sum.shared_store, total.shared_store);
}

#[test]
fn a_generic_access_is_traced_where_it_goes() {
    // Even lanes to shared memory, odd ones to the buffer.
    let body = "mov.u64 %d1, tile;\ncvta.shared.u64 %d1, %d1;\nmul.wide.u32 %d2, %t, 4;\nadd.u64 %d1, %d1, %d2;\nadd.u64 %d2, %out, %d2;\n\
        and.b32 %r1, %t, 1;\nsetp.eq.u32 %odd, %r1, 1;\nselp.b64 %d1, %d2, %d1, %odd;\n.loc 1 5 0\nst.u32 [%d1], %t;\nret;\n}";
    let start = KERNEL.find("ld.param.u64 %in").expect("it begins so");
    let text =
        format!("{}ld.param.u64 %in, [a];\nld.param.u64 %out, [b];\nmov.u32 %t, %tid.x;\n{body}", &KERNEL[..start]);
    let trace = traced(&text, [256, 256], 1, |_| true).expect("the kernel is right");
    let [shared, global] = &trace.accesses[..] else { panic!("two accesses: {:?}", trace.accesses) };
    assert_eq!(in_words(shared), "line 5, phase 0: store 4 x 16 0:tile+0 2:tile+8 30:tile+120");
    assert_eq!(in_words(global), "line 5, phase 0: store 4 x 16 1:out+4 3:out+12 31:out+124");
    assert_eq!((shared.memory, global.memory), (Memory::Shared, Memory::Global));
    assert_eq!((shared.lanes[1].lane, shared.lanes[1].address), (2, 16 + 8), "pad comes before tile");
    assert_eq!(global.lanes[1].address, global.lanes[0].address + 8);
}

/// Two clusters of two blocks. Each block copies 32 words to both blocks of its cluster, waits for its own and for those of the
/// other, and reads from the other block what came from there.
const CLUSTERS: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128]) .explicitcluster .reqnctapercluster 2, 1, 1
{
.shared .align 128 .b8 tile[256];
.shared .align 8 .b8 full[8];
.reg .b32 %rank, %other, %col, %to, %bar, %t, %r<4>;
.reg .b64 %map;
.reg .b16 %both;
.reg .pred %first, %done;
mov.b64 %map, map;
cvta.param.u64 %map, %map;
mov.u32 %t, %tid.x;
mov.u32 %rank, %cluster_ctarank;
xor.b32 %other, %rank, 1;
mov.u32 %col, %ctaid.x;
shl.b32 %col, %col, 5;
mov.u32 %to, tile;
mov.u32 %bar, full;
setp.eq.u32 %first, %t, 0;
@%first mbarrier.init.shared.b64 [%bar], 1;
@%first fence.mbarrier_init.release.cluster;
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
@!%first bra WAIT;
mov.u16 %both, 3;
shl.b32 %r0, %rank, 7;
add.u32 %r0, %r0, %to;
mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 256;
cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%r0], [%map, {%col}], [%bar], %both;
WAIT:
mbarrier.try_wait.parity.shared.b64 %done, [%bar], 0;
@!%done bra WAIT;
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
and.b32 %r1, %t, 31;
shl.b32 %r1, %r1, 2;
add.u32 %r1, %r1, %to;
shl.b32 %r2, %other, 7;
add.u32 %r1, %r1, %r2;
mapa.shared::cluster.u32 %r1, %r1, %other;
ld.shared::cluster.u32 %r3, [%r1];
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
ret;
}";

/// A warp that waits for its cluster is stepped on by a look whether it ever will go on: what it accesses then is traced, too.
#[test]
fn every_block_of_a_cluster_is_traced() {
    let kernel = Module::parse(CLUSTERS).and_then(|module| module.kernel("k")).expect("the kernel is right");
    for warps in [1, 2, 5] {
        let mut device = Device::new();
        let data = device.alloc("data", 4 * 128);
        device.write(data, &[0; 4 * 128]).expect("it has this size");
        let address = device.address(data).expect("it is there");
        let map =
            TensorMapDescription::new(TensorElement::U32, address, &[128], &[], &[32]).encode().expect("it is right");
        let launch = Launch::new(4, 32 * warps);
        for wanted in [&[0, 1, 2, 3][..], &[0], &[3]] {
            let trace =
                device.trace(&kernel, launch, &[map.into()], |block| wanted.contains(&block.x)).expect("it is right");
            let mut found: Vec<String> = trace.accesses.iter().map(of_cluster).collect();
            found.sort();
            let copy = |block: u32| {
                let at = 128 * (block % 2);
                format!("block {block}, warp 0: multicast, 1 lanes from tile+{at} of rank {}", block % 2)
            };
            let load = |block: u32, warp: u32| {
                let (other, at) = (1 - block % 2, 128 * (1 - block % 2));
                format!("block {block}, warp {warp}: load, 32 lanes from tile+{at} of rank {other}")
            };
            let of_block = |block: &u32| {
                let block = *block;
                std::iter::once(copy(block)).chain((0..warps).map(move |warp| load(block, warp)))
            };
            let mut expected: Vec<String> = wanted.iter().flat_map(of_block).collect();
            expected.sort();
            assert_eq!(found, expected, "{warps} warps, blocks {wanted:?}");
        }
    }
}

fn of_cluster(access: &TracedAccess) -> String {
    let what = if access.opcode.contains("multicast") { "multicast".into() } else { access.kind.to_string() };
    let (block, warp, count, first) = (access.block.x, access.warp, access.lanes.len(), &access.lanes[0]);
    format!(
        "block {block}, warp {warp}: {what}, {count} lanes from {}+{} of rank {}",
        first.array, first.offset, first.rank
    )
}
