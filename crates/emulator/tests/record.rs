//! A recorded stream is what warps executed: held against a kernel that is plain to see, and against the counters.

use archive::Texts;
use emulator::stream::{Executed, Stream};
use emulator::{Argument, Class, Device, Dim3, Launch, Module};

/// Each of 64 threads of a block loads `in[64 * block + t]`; the first 4 of each warp store it, two words apart and those of warp 1
/// eight times the same bank; behind a barrier the words are loaded in two turns, and warp 0 alone stores to `out[64 * block + t]`.
const KERNEL: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b)
{
.shared .align 128 .b8 tile[4096];
.reg .b32 %t, %n, %block, %lane, %turn, %r<6>;
.reg .b64 %in, %out, %d<3>;
.reg .pred %few, %none, %more, %first;
ld.param.u64 %in, [a];
ld.param.u64 %out, [b];
mov.u32 %t, %tid.x;
mov.u32 %block, %ctaid.x;
mad.lo.u32 %n, %block, 64, %t;
mul.wide.u32 %d0, %n, 4;
add.u64 %d1, %in, %d0;
add.u64 %d2, %out, %d0;
ld.global.u32 %r0, [%d1];
and.b32 %lane, %t, 31;
setp.lt.u32 %few, %lane, 4;
setp.gt.u32 %none, %lane, 40;
setp.lt.u32 %first, %t, 32;
mov.u32 %r1, tile;
selp.u32 %r2, 8, 128, %first;
mad.lo.u32 %r1, %lane, %r2, %r1;
@%few st.shared.u32 [%r1], %r0;
@%none st.shared.u32 [%r1], %r0;
bar.sync 0;
mov.u32 %turn, 0;
again:
ld.shared.u32 %r3, [tile];
add.u32 %turn, %turn, 1;
setp.lt.u32 %more, %turn, 2;
@%more bra again;
@!%first bra end;
st.global.u32 [%d2], %r3;
end:
bar.sync 3, 64;
ret;
}";

fn recorded(text: &str, blocks: u32, wanted: fn(Dim3) -> bool) -> Stream {
    let kernel = Module::parse(text).and_then(|module| module.kernel("k")).expect("the kernel is right");
    let mut device = Device::new();
    let (from, to) = (device.alloc("in", 1024), device.alloc("out", 1024));
    device.write(from, &[1; 1024]).expect("it has this size");
    let launch = Launch::new(Dim3::xy(blocks, 1), Dim3::xy(64, 1));
    device.record(&kernel, launch, &[Argument::Buffer(from), Argument::Buffer(to)], wanted).expect("no fault")
}

/// The loads, stores, barriers and branches of a warp: what they touch, sectors from the first one of this stream on.
fn in_words(stream: &Stream, warp: &[Executed]) -> Vec<String> {
    let first = |opcode: &str| {
        let like = stream.blocks.iter().flat_map(|block| block.warps.iter().flatten());
        let like = like.filter(|executed| *stream.code[executed.code as usize].opcode == *opcode);
        like.filter_map(|executed| stream.touches[executed.touch as usize].sectors.first()).min().copied()
    };
    let word = |executed: &Executed| {
        let code = &stream.code[executed.code as usize];
        let opcode = &*code.opcode;
        Some(match code.class? {
            Class::GlobalLoad | Class::GlobalStore => {
                let (touch, first) = (&stream.touches[executed.touch as usize], first(opcode)?);
                let sectors: Vec<u64> = touch.sectors.iter().map(|sector| sector - first).collect();
                format!("{opcode} {sectors:?}")
            }
            Class::SharedLoad | Class::SharedStore if executed.touch == Executed::NOTHING => format!("{opcode} -"),
            Class::SharedLoad | Class::SharedStore => {
                format!("{opcode} {}", stream.touches[executed.touch as usize].wavefronts)
            }
            Class::Barrier => format!("{opcode} {} of {}", executed.touch & 0xff, executed.touch >> 8),
            Class::Branch => format!("{opcode}{}", if code.back { " back" } else { "" }),
            _ => return None,
        })
    };
    warp.iter().filter_map(word).collect()
}

#[test]
fn a_stream_has_each_warps_instructions_in_order_with_what_they_touch() {
    let stream = recorded(KERNEL, 2, |block| block.x == 1);
    let [block] = &stream.blocks[..] else { panic!("one block was asked for") };
    assert_eq!((block.block.x, block.warps.len()), (1, 2));
    let mut first = vec![
        "ld.global.u32 [0, 1, 2, 3]",
        "st.shared.u32 1",
        "st.shared.u32 -",
        "bar.sync 0 of 0",
        "ld.shared.u32 1",
        "bra back",
        "ld.shared.u32 1",
        "bra back",
        "bra",
        "st.global.u32 [0, 1, 2, 3]",
        "bar.sync 3 of 64",
        "ret",
    ];
    assert_eq!(in_words(&stream, &block.warps[0]), first);
    // The other warp's words are all in one bank, and it stores nothing in the end.
    first[0] = "ld.global.u32 [4, 5, 6, 7]";
    first[1] = "st.shared.u32 4";
    first.remove(9);
    assert_eq!(in_words(&stream, &block.warps[1]), first);
}

#[test]
fn registers_lead_from_what_writes_them_to_what_reads_them() {
    let stream = recorded(KERNEL, 1, |_| true);
    let code = |opcode: &str| stream.code.iter().find(|code| &*code.opcode == opcode).expect("it is there");
    let (load, store) = (code("ld.global.u32"), code("st.shared.u32"));
    assert_eq!((load.writes.len(), load.addresses), (1, 1));
    // Guard and address come first, then the value.
    assert_eq!((store.addresses, store.writes.len()), (2, 0));
    assert_eq!(store.reads[2..], load.writes);
}

/// Every block of a kernel with tiles, divergence at the edges and copies: what warps executed is what the report counts.
#[test]
fn what_is_recorded_adds_up_to_what_is_counted() {
    for (archive, file, name, tile, threads) in [
        (
            include_bytes!("../../../level2-register/kernel.ptx.zst").as_slice(),
            "64x64x8x8x4-f32.ptx",
            "gemm_register",
            64,
            128,
        ),
        (include_bytes!("../../../level1-tiling/kernel.ptx.zst").as_slice(), "32-f32.ptx", "gemm_tiled", 32, 1024),
    ] {
        let texts = Texts::unpack(archive).expect("it is one");
        let text = texts.get(file).expect("the level ships it");
        let kernel = Module::parse(text).and_then(|module| module.kernel(name)).expect("the kernel is right");
        let (m, n, k) = (70u32, 50u32, 20u32);
        let mut device = Device::new();
        let mut buffer = |name: &str, elements: u32| {
            let buffer = device.alloc(name, 4 * elements as usize);
            device.write(buffer, &vec![0; 4 * elements as usize]).expect("it has this size");
            Argument::Buffer(buffer)
        };
        let mut arguments = vec![buffer("A", m * k), buffer("B", k * n), buffer("C", m * n)];
        arguments.extend([m, n, k].map(Argument::U32));
        let block = if name == "gemm_tiled" { Dim3::xy(tile, tile) } else { Dim3::xy(threads, 1) };
        let launch = Launch::new(Dim3::xy(n.div_ceil(tile), m.div_ceil(tile)), block);
        let stream = device.record(&kernel, launch, &arguments, |_| true).expect("the kernel is right");
        let counted = device.launch(&kernel, launch, &arguments).expect("the kernel is right");
        assert_eq!(stream.report.as_deref(), Some(&counted));
        let executed: Vec<&Executed> = stream.blocks.iter().flat_map(|block| block.warps.iter().flatten()).collect();
        for class in Class::ALL {
            let here = executed.iter().filter(|e| stream.code[e.code as usize].class == Some(class)).count() as u64;
            assert_eq!(here, counted.total.class(class).warp, "{name}: {class:?}");
        }
        let touched = |class: Class| {
            let here = executed.iter().filter(|e| stream.code[e.code as usize].class == Some(class));
            let touches: Vec<_> = here.filter_map(|e| stream.touches.get(e.touch as usize)).collect();
            (
                touches.iter().map(|touch| touch.sectors.len() as u64).sum::<u64>(),
                touches.iter().map(|touch| u64::from(touch.wavefronts)).sum::<u64>(),
            )
        };
        let total = &counted.total;
        assert!(total.global_load.sectors > 0 && total.shared_load.wavefronts > 0);
        assert_eq!(touched(Class::GlobalLoad), (total.global_load.sectors, 0));
        assert_eq!(touched(Class::GlobalStore), (total.global_store.sectors, 0));
        assert_eq!(touched(Class::SharedLoad), (0, total.shared_load.wavefronts));
        assert_eq!(touched(Class::SharedStore), (0, total.shared_store.wavefronts));
    }
}

/// What else touches memory: atomics, generic addresses, copies of less than they write, matrices, and vectors from the last lane on.
const OTHERS: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b)
{
.shared .align 128 .b8 tile[1024];
.reg .b32 %t, %tile, %size, %back, %r<16>;
.reg .b64 %in, %out, %generic, %d<6>;
.reg .pred %some;
ld.param.u64 %in, [a];
ld.param.u64 %out, [b];
mov.u32 %t, %tid.x;
setp.lt.u32 %some, %t, 8;
selp.u32 %size, 16, 0, %some;
mov.u32 %tile, tile;
mad.lo.u32 %tile, %t, 16, %tile;
mul.wide.u32 %d0, %t, 16;
add.u64 %d1, %in, %d0;
atom.global.add.u32 %r0, [%in], 1;
cp.async.ca.shared.global [%tile], [%d1], 16, %size;
cp.async.commit_group;
cp.async.wait_group 1;
cp.async.wait_all;
bar.warp.sync 0xffffffff;
cvt.u64.u32 %generic, %tile;
cvta.shared.u64 %generic, %generic;
selp.b64 %d2, %generic, %d1, %some;
ld.u32 %r1, [%d2];
ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r2, %r3}, [%tile];
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%tile];
stmatrix.sync.aligned.m8n8.x1.shared.b16 [%tile], {%r2};
mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%r8, %r9, %r10, %r11}, {%r4, %r5}, {%r2}, {%r4, %r5, %r6, %r7};
sub.u32 %back, 31, %t;
mul.wide.u32 %d3, %back, 16;
add.u64 %d3, %out, %d3;
st.global.v4.u32 [%d3], {%r1, %r1, %r1, %r1};
@%some ld.global.v2.u32 {%r12, %r13}, [%d1+8];
ret;
}";

#[test]
fn whatever_touches_memory_is_recorded_with_its_cost() {
    let kernel = Module::parse(OTHERS).and_then(|module| module.kernel("k")).expect("the kernel is right");
    let mut device = Device::new();
    let buffers = ["in", "out"].map(|name| device.alloc(name, 1024));
    buffers.iter().for_each(|buffer| device.write(*buffer, &[0; 1024]).expect("it has this size"));
    let [from, to] = buffers.map(|buffer| device.address(buffer).expect("it is there") / 32);
    let arguments = buffers.map(Argument::Buffer);
    let stream = device.record(&kernel, Launch::new(1, 32), &arguments, |_| true).expect("no fault");
    let executed = |opcode: &str| {
        let of = |executed: &&Executed| stream.code[executed.code as usize].opcode.starts_with(opcode);
        let [executed] = stream.blocks[0].warps[0].iter().filter(of).collect::<Vec<_>>()[..] else {
            panic!("there is one {opcode}")
        };
        (&stream.code[executed.code as usize], executed.touch)
    };
    let all = |first: u64, count: u64| (first..first + count).collect::<Vec<u64>>();
    for (opcode, sectors, wavefronts) in [
        ("atom.global", all(from, 1), 0),
        // Eight lanes read, and all write 16 bytes: 128 bytes a wavefront.
        ("cp.async.ca", all(from, 4), 4),
        // Eight lanes, of 16 bytes each, are in shared memory, and the others in global memory.
        ("ld.u32", all(from + 4, 12), 1),
        ("ldmatrix.sync.aligned.m8n8.x2", Vec::new(), 2),
        ("ldmatrix.sync.aligned.m8n8.x4", Vec::new(), 4),
        ("stmatrix", Vec::new(), 1),
        ("st.global.v4", all(to, 16), 0),
        ("ld.global.v2", all(from, 4), 0),
    ] {
        let touch = &stream.touches[executed(opcode).1 as usize];
        assert_eq!((&touch.sectors, touch.wavefronts), (&sectors, wavefronts), "{opcode}");
    }
    for (opcode, pending) in [("cp.async.wait_group", Some(1)), ("cp.async.wait_all", Some(0)), ("mma", None)] {
        let (code, touch) = executed(opcode);
        assert_eq!((code.pending, touch), (pending, Executed::NOTHING), "{opcode}");
    }
    assert_eq!(executed("mma").0.multiply_adds, 16 * 8 * 8);
    assert_eq!(executed("ld.u32").0.multiply_adds, 0);
}
