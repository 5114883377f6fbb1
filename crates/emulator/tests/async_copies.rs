//! Copies by `cp.async` against what an H200 counts for them: requests and sectors of one warp, with copies of all, of a part and
//! of none of their bytes. `data/async-copies.py` makes the record, on a GPU.

use emulator::{Argument, Device, Dim3, Launch, Module};

const PATTERNS: &str = include_str!("data/h200-async-copies.csv");
const MEASURED: usize = 363;
/// What the kernel below asks for besides the copies: two loads of 4 bytes per lane, side by side.
const OTHER_REQUESTS: u64 = 2;
const OTHER_SECTORS: u64 = 8;
/// The largest offset of a copy that reads, and 16 bytes.
const SOURCE_BYTES: usize = (1 << 20) + 16;

#[test]
fn copies_cost_what_an_h200_counts() {
    let lines: Vec<&str> = PATTERNS.lines().filter(|line| !line.starts_with('#')).skip(1).collect();
    assert_eq!(lines.len(), MEASURED, "the record is not whole");
    let mut device = Device::new();
    let source = device.alloc("source", SOURCE_BYTES);
    device.write(source, &vec![1; SOURCE_BYTES]).expect("it fits");
    let (offsets, reads) = (device.alloc("offsets", 128), device.alloc("reads", 128));
    let mut wrong = Vec::new();
    for line in &lines {
        let fields: Vec<&str> = line.split(',').collect();
        let [cache, bytes, given, active, at, read, requests, sectors] = fields[..] else {
            panic!("not eight: {line}")
        };
        device.write(offsets, &words(at)).expect("it fits");
        device.write(reads, &words(read)).expect("it fits");
        let module = Module::parse(&kernel(cache, bytes, given)).expect("it is right");
        let kernel = module.kernel("k").expect("it is there");
        let active = u32::from_str_radix(active, 16).expect("a mask");
        let arguments = [source, offsets, reads].map(Argument::Buffer);
        let arguments = [&arguments[..], &[Argument::U32(active)]].concat();
        let launch = Launch::new(Dim3::xy(1, 1), Dim3::xy(32, 1));
        let report = device.launch(&kernel, launch, &arguments).unwrap_or_else(|fault| panic!("{line}: {fault}"));
        let counted = report.total.global_load;
        let counted = (counted.requests - OTHER_REQUESTS, counted.sectors - OTHER_SECTORS);
        let measured = (requests.parse().expect("a number"), sectors.parse().expect("a number"));
        if counted != measured {
            wrong.push(format!("{counted:?}, not {measured:?}: {line}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), lines.len(), wrong.join("\n"));
}

/// Numbers with spaces between them, as 32-bit words.
fn words(text: &str) -> Vec<u8> {
    text.split(' ').flat_map(|word| word.parse::<u32>().expect("a number").to_le_bytes()).collect()
}

/// Each active lane copies from its offset; what it reads is given by the source size, by ignore-src, or not at all.
fn kernel(cache: &str, bytes: &str, given: &str) -> String {
    let size = match given {
        "s" => ", %size",
        "i" => ", %ignored",
        _ => "",
    };
    format!(
        ".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 source, .param .u64 offsets, .param .u64 reads, .param .u32 active)
{{
    .reg .b64 %from, %at, %wide;
    .reg .b32 %lane, %offset, %size, %to, %mask;
    .reg .pred %off, %ignored;
    .shared .align 16 .b8 tile[512];
    mov.u32 %lane, %tid.x;
    mul.wide.u32 %wide, %lane, 4;
    ld.param.u64 %at, [offsets];
    add.s64 %at, %at, %wide;
    ld.global.u32 %offset, [%at];
    ld.param.u64 %at, [reads];
    add.s64 %at, %at, %wide;
    ld.global.u32 %size, [%at];
    setp.eq.u32 %ignored, %size, 0;
    ld.param.u64 %from, [source];
    cvt.u64.u32 %wide, %offset;
    add.s64 %from, %from, %wide;
    mov.u32 %to, tile;
    mad.lo.u32 %to, %lane, {bytes}, %to;
    ld.param.u32 %mask, [active];
    shr.u32 %mask, %mask, %lane;
    and.b32 %mask, %mask, 1;
    setp.eq.u32 %off, %mask, 0;
    @%off bra done;
    cp.async.{cache}.shared.global [%to], [%from], {bytes}{size};
done:
    cp.async.wait_all;
    ret;
}}
"
    )
}
