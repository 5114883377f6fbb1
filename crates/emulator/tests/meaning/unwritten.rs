//! Bytes that nobody wrote, on their way through registers and memory: which bytes of a copy are as good as unwritten, and which
//! values were computed from such.

use emulator::{Fault, FaultKind};

use crate::run::{Kernel, Outcome};

/// The first lane whose bytes 1, 2 and 7 of its 16 nobody writes; the lanes before it write all.
const FIRST: usize = 7;
/// The unwritten bytes of the words at 0 and 4, and of the long at 0.
const LOW: u8 = 0b0110;
const HIGH: u8 = 0b1000;

/// What comes of the bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Becomes {
    /// The result is stored; these bytes of it are unwritten.
    Bytes(u8),
    /// The result may not be stored.
    Computed,
}

use Becomes::{Bytes, Computed};

/// Each of 32 lanes has 16 bytes of `tile` at `%r100`; `%r10`, `%r11` and `%d10` are the words and the long there. `%p10` holds, `%p11`
/// does not; `%p12` comes from the low word.
fn kernel(body: &str) -> Kernel {
    let mut text = format!(
        "mov.u32 %r101, tile;\nmad.lo.u32 %r100, %t, 16, %r101;\nsetp.lt.u32 %p1, %t, {FIRST};\nsetp.eq.u32 %p10, %t, %t;\nsetp.ne.u32 %p11, %t, %t;\n"
    );
    for byte in 0..8 {
        let guard = if [1, 2, 7].contains(&byte) { "@%p1 " } else { "" };
        text += &format!("mov.u32 %r1, {};\n{guard}st.shared.u8 [%r100+{byte}], %r1;\n", 0x10 + byte);
    }
    text += "bar.sync 0;\nld.shared.u32 %r10, [%r100];\nld.shared.u32 %r11, [%r100+4];\nld.shared.u64 %d10, [%r100];\n\
             setp.gt.u32 %p12, %r10, 5;\nmad.wide.u32 %d101, %t, 8, %out;\n";
    Kernel::new(32, &format!("{text}{body}"))
}

fn becomes(body: &str, wide: bool) -> Becomes {
    let store = if wide { "st.global.u64 [%d101], %d0;" } else { "st.global.u32 [%d101], %r0;" };
    match kernel(&format!("{body}\n{store}")).run() {
        Ok(Outcome { bytes, .. }) => {
            let unwritten = |lane: usize| {
                (0..if wide { 8 } else { 4 }).fold(0, |all, n| all | u8::from(bytes[8 * lane + n].is_none()) << n)
            };
            assert!((0..FIRST).all(|lane| unwritten(lane) == 0), "{body}: those lanes have written all");
            assert!((FIRST..32).all(|lane| unwritten(lane) == unwritten(FIRST)), "{body}: those lanes are all alike");
            Bytes(unwritten(FIRST))
        }
        Err(fault) => {
            check(&fault, body);
            assert!(fault.message.starts_with("uninitialised value reaches a result, out: "), "{body}: {fault}");
            Computed
        }
    }
}

/// The fault is that of the first lane that has not written, and names where it loaded what.
fn check(fault: &Fault, body: &str) {
    assert_eq!(fault.kind, FaultKind::Uninitialised, "{body}: {fault}");
    assert_eq!(fault.site.lane as usize, FIRST, "{body}: {fault}");
    let other = fault.other.as_ref().unwrap_or_else(|| panic!("{body}: it was loaded somewhere: {fault}"));
    assert_eq!((other.0.as_str(), other.1.lane as usize), ("it was loaded here:", FIRST), "{body}: {fault}");
    assert!(other.1.opcode.starts_with("ld."), "{body}: {fault}");
}

#[test]
fn copies_keep_their_bytes() {
    for (body, expected) in [
        ("mov.b32 %r0, %r10;", Bytes(LOW)),
        ("mov.b64 {%r0, %r1}, %d10;", Bytes(LOW)),
        ("mov.b64 {%r1, %r0}, %d10;", Bytes(HIGH)),
        ("cvt.u32.u64 %r0, %d10;", Bytes(LOW)),
        ("mov.b32 {%h0, %h1}, %r10;\nmov.b32 %r0, {%h1, %h0};", Bytes(0b1001)),
        ("mov.b32 {%h0, %h1}, %r10;\ncvt.u32.u16 %r0, %h0;", Bytes(0b0010)),
        ("mov.b32 {%h0, %h1}, %r10;\ncvt.u32.u16 %r0, %h1;", Bytes(0b0001)),
        ("mov.b32 {%h0, %h1}, %r11;\nmov.b32 %r0, {%h1, %h0};", Bytes(0b0010)),
        ("cvt.u32.u8 %r0, %r10;", Bytes(0)),
        ("cvt.s32.s8 %r0, %r10;", Bytes(0)),
        ("shr.u32 %r1, %r10, 8;\ncvt.s32.s8 %r0, %r1;", Bytes(0b1111)),
        ("mov.b32 {%h0, %h1}, %r10;\ncvt.s32.s16 %r0, %h0;", Bytes(0b1110)),
        ("mov.b32 {%h0, %h1}, %r10;\ncvt.s32.s16 %r0, %h1;", Bytes(0b0001)),
        ("shl.b32 %r0, %r10, 8;", Bytes(0b1100)),
        ("shl.b32 %r0, %r10, 16;", Bytes(0b1000)),
        ("shl.b32 %r0, %r10, 24;", Bytes(0)),
        ("shl.b32 %r0, %r10, 3;", Bytes(0b1111)),
        ("shr.u32 %r0, %r10, 8;", Bytes(0b0011)),
        ("shr.u32 %r0, %r10, 16;", Bytes(0b0001)),
        ("shr.u32 %r0, %r10, 24;", Bytes(0)),
        ("shr.u32 %r0, %r10, 4;", Bytes(0b1111)),
        ("and.b32 %r0, %r10, 0xff;", Bytes(0)),
        ("and.b32 %r0, %r10, 0xff00;", Bytes(0b0010)),
        ("and.b32 %r0, 0xff0000ff, %r10;", Bytes(0)),
        ("and.b32 %r0, 0xff0000, %r10;", Bytes(0b0100)),
        ("and.b32 %r0, %r10, 0xffffffff;", Bytes(LOW)),
        ("and.b32 %r0, %r10, %r11;", Bytes(LOW | HIGH)),
        ("or.b32 %r0, %r10, 5;", Bytes(LOW)),
        ("or.b32 %r0, 5, %r11;", Bytes(HIGH)),
        ("or.b32 %r0, %r10, %r11;", Bytes(LOW | HIGH)),
        ("bfe.u32 %r0, %r10, 0, 8;", Bytes(0)),
        ("bfe.u32 %r0, %r10, 8, 8;", Bytes(0b0001)),
        ("bfe.u32 %r0, %r10, 8, 16;", Bytes(0b0011)),
        ("bfe.u32 %r0, %r10, 16, 16;", Bytes(0b0001)),
        ("bfe.u32 %r0, %r10, 24, 8;", Bytes(0)),
        ("bfe.u32 %r0, %r10, 4, 8;", Bytes(0b1111)),
        ("bfe.u32 %r0, %r10, 8, 4;", Bytes(0b1111)),
        ("bfe.u32 %r0, %r10, 0, 32;", Bytes(LOW)),
        ("bfe.u32 %r0, %r10, 0, 64;", Bytes(LOW)),
        ("bfe.u32 %r0, %r11, 8, 72;", Bytes(0b0100)),
        ("prmt.b32 %r0, %r10, %r11, 0x3210;", Bytes(LOW)),
        ("prmt.b32 %r0, %r10, %r11, 0x7654;", Bytes(HIGH)),
        ("prmt.b32 %r0, %r10, %r11, 0x3201;", Bytes(0b0101)),
        ("prmt.b32 %r0, %r10, %r11, 0x1111;", Bytes(0b1111)),
        ("prmt.b32 %r0, %r10, %r11, 0x7070;", Bytes(0b1010)),
        ("prmt.b32 %r0, %r10, %r11, 0x6543;", Bytes(0)),
        ("prmt.b32 %r0, %r10, %r11, 0x9bf0;", Bytes(0b1010)),
        ("selp.b32 %r0, %r10, %r11, %p10;", Bytes(LOW)),
        ("selp.b32 %r0, %r10, %r11, %p11;", Bytes(HIGH)),
        ("selp.b32 %r0, %r10, 5, %p11;", Bytes(0)),
        ("mov.b32 %f0, %r10;\nmov.b32 %r0, %f0;", Bytes(LOW)),
        ("shfl.sync.bfly.b32 %r0, %r10, 0, 31, 0xffffffff;", Bytes(LOW)),
        ("mov.u32 %r0, 5;\n@%p11 mov.u32 %r0, %r10;", Bytes(0)),
        ("mov.u32 %r0, %r10;\n@%p10 mov.u32 %r0, 5;", Bytes(0)),
        ("mov.u32 %r0, 5;\n@%p10 mov.u32 %r0, %r10;", Bytes(LOW)),
    ] {
        assert_eq!(becomes(body, false), expected, "{body}");
    }
    for (body, expected) in [
        ("mov.b64 %d0, %d10;", Bytes(LOW | HIGH << 4)),
        ("mov.b64 %d0, {%r10, %r11};", Bytes(LOW | HIGH << 4)),
        ("mov.b64 %d0, {%r11, %r10};", Bytes(HIGH | LOW << 4)),
        ("cvt.u64.u32 %d0, %r10;", Bytes(LOW)),
        ("cvt.s64.s32 %d0, %r10;", Bytes(LOW)),
        ("cvt.s64.s32 %d0, %r11;", Bytes(0xf0 | HIGH)),
        ("shl.b64 %d0, %d10, 8;", Bytes(0b0000_1100)),
        ("shl.b64 %d0, %d10, 40;", Bytes(0b1100_0000)),
        ("shr.u64 %d0, %d10, 16;", Bytes(0b0010_0001)),
        ("shr.u64 %d0, %d10, 32;", Bytes(0b0000_1000)),
        ("bfe.u64 %d0, %d10, 0, 64;", Bytes(0xff)),
        ("shr.u64 %d0, %d10, 56;", Bytes(0b0000_0001)),
        ("shr.u64 %d0, %d10, 57;", Bytes(0xff)),
        ("and.b64 %d0, %d10, 0xffffffffffff00ff;", Bytes(0b1000_0100)),
        ("or.b64 %d0, %d10, 1;", Bytes(LOW | HIGH << 4)),
        ("selp.b64 %d0, %d10, 1, %p10;", Bytes(LOW | HIGH << 4)),
        ("selp.b64 %d0, %d10, 1, %p11;", Bytes(0)),
    ] {
        assert_eq!(becomes(body, true), expected, "{body}");
    }
}

#[test]
fn results_that_depend_on_more_than_a_copy_are_computed() {
    for body in [
        "add.u32 %r0, %r10, 1;",
        "add.u32 %r0, 1, %r11;",
        "sub.u32 %r0, %r10, %r10;",
        "mul.lo.u32 %r0, %r10, 3;",
        "mad.lo.u32 %r0, 3, 4, %r10;",
        "mul.hi.u32 %r0, %r10, %r11;",
        "popc.b32 %r0, %r10;",
        "cvt.rn.f32.u32 %f0, %r10;\nmov.b32 %r0, %f0;",
        "setp.lt.u32 %p1, %r10, 4;\nselp.b32 %r0, 1, 2, %p1;",
        "selp.b32 %r0, 1, 2, %p12;",
        "prmt.b32 %r0, 1, 2, %r10;",
        "shl.b32 %r0, 1, %r10;",
        "shr.u32 %r0, 1, %r10;",
        "bfe.u32 %r0, 1, %r10, 4;",
        "bfe.u32 %r0, 1, 4, %r10;",
        "and.pred %p1, %p12, %p10;\nselp.b32 %r0, 1, 2, %p1;",
        "and.pred %p1, %p10, %p12;\nselp.b32 %r0, 1, 2, %p1;",
        "or.pred %p1, %p12, %p11;\nselp.b32 %r0, 1, 2, %p1;",
        "or.pred %p1, %p11, %p12;\nselp.b32 %r0, 1, 2, %p1;",
        "xor.pred %p1, %p11, %p12;\nselp.b32 %r0, 1, 2, %p1;",
        "not.pred %p1, %p12;\nselp.b32 %r0, 1, 2, %p1;",
        "add.u32 %r1, %r10, 1;\nshfl.sync.bfly.b32 %r0, %r1, 0, 31, 0xffffffff;",
        "add.u32 %r1, %r10, 1;\nshl.b32 %r0, %r1, 24;",
        "add.u32 %r1, %r10, 1;\nand.b32 %r0, %r1, 0xff;",
        "add.u32 %r1, %r10, 1;\nmov.b32 {%h0, %h1}, %r1;\nmov.b32 %r0, {%h1, %h0};",
        "add.u32 %r1, %r10, 1;\nselp.b32 %r0, %r1, 1, %p10;",
        "sad.u32 %r0, 1, 2, %r10;",
        "fma.rn.f32 %f0, 0f3F800000, 0f3F800000, 0f00000000;\nmov.b32 %f1, %r10;\nfma.rn.f32 %f0, %f0, %f1, %f0;\nmov.b32 %r0, %f0;",
        "max.u32 %r0, %r10, 1;",
        "lop3.b32 %r0, %r10, 1, 2, 0x96;",
        "cvt.u64.u32 %d1, %r10;\nadd.u64 %d1, %d1, 1;\ncvt.u32.u64 %r0, %d1;",
    ] {
        assert_eq!(becomes(body, false), Computed, "{body}");
    }
}

#[test]
fn one_side_may_settle_a_choice_alone() {
    for body in [
        "and.pred %p1, %p12, %p11;\nselp.b32 %r0, 1, 2, %p1;",
        "and.pred %p1, %p11, %p12;\nselp.b32 %r0, 1, 2, %p1;",
        "or.pred %p1, %p12, %p10;\nselp.b32 %r0, 1, 2, %p1;",
        "or.pred %p1, %p10, %p12;\nselp.b32 %r0, 1, 2, %p1;",
        "add.u32 %r1, %r10, 1;\nselp.b32 %r0, %r1, 1, %p11;",
        "mov.u32 %r1, %r10;\nadd.u32 %r1, %t, 1;\nadd.u32 %r0, %r1, 1;",
        "mov.u32 %r1, %r10;\nst.local.u32 [mine], %t;\nld.local.u32 %r1, [mine];\nadd.u32 %r0, %r1, 1;",
        "mov.u32 %r1, %r10;\nst.shared.u32 [%r100+8], %t;\nld.shared.u32 %r1, [%r100+8];\nadd.u32 %r0, %r1, 1;",
        "mov.u32 %r1, %r10;\nld.global.u32 %r1, [%in];\nadd.u32 %r0, %r1, 1;",
        "mov.u32 %r1, %r10;\nld.param.u32 %r1, [a];\nadd.u32 %r0, %r1, 1;",
        "mov.u32 %r1, %r10;\nst.shared.u32 [%r100+8], %t;\natom.shared.add.u32 %r1, [%r100+8], 1;\nadd.u32 %r0, %r1, 1;",
    ] {
        assert_eq!(becomes(body, false), Bytes(0), "{body}");
    }
}

#[test]
fn memory_keeps_which_bytes_were_written() {
    for (body, expected) in [
        ("ld.shared.u8 %r0, [%r100+1];", Bytes(0b0001)),
        ("ld.shared.u8 %r0, [%r100+3];", Bytes(0)),
        ("ld.shared.s8 %r0, [%r100+2];", Bytes(0b1111)),
        ("ld.shared.s16 %r0, [%r100];", Bytes(0b1110)),
        ("ld.shared.s16 %r0, [%r100+2];", Bytes(0b0001)),
        ("ld.shared.u16 %r0, [%r100];", Bytes(0b0010)),
        ("ld.shared.v2.u32 {%r1, %r0}, [%r100];", Bytes(HIGH)),
        ("ld.shared.v4.u8 {%r1, %r0, %r2, %r3}, [%r100];", Bytes(0b0001)),
        ("ld.shared.v4.u8 {%r0, %r1, %r2, %r3}, [%r100];", Bytes(0)),
        ("st.shared.u32 [%r100+8], %r10;\nld.shared.u32 %r0, [%r100+8];", Bytes(LOW)),
        ("st.shared.u64 [%r100+8], %d10;\nld.shared.u32 %r0, [%r100+12];", Bytes(HIGH)),
        ("st.shared.v2.u32 [%r100+8], {%r11, %r10};\nld.shared.u32 %r0, [%r100+12];", Bytes(LOW)),
        ("st.shared.u16 [%r100+8], %r10;\nst.shared.u16 [%r100+10], %t;\nld.shared.u32 %r0, [%r100+8];", Bytes(0b0010)),
        ("st.shared.u32 [%r100], %t;\nld.shared.u32 %r0, [%r100];", Bytes(0)),
        ("st.local.u32 [mine], %r10;\nld.local.u32 %r0, [mine];", Bytes(LOW)),
        ("st.local.u64 [mine+8], %d10;\nld.local.u32 %r0, [mine+12];", Bytes(HIGH)),
        ("st.local.v2.u32 [mine], {%r11, %r10};\nld.local.v2.u32 {%r1, %r0}, [mine];", Bytes(LOW)),
        ("st.local.u32 [mine], %t;\nst.local.u16 [mine+2], %r10;\nld.local.u32 %r0, [mine];", Bytes(0b1000)),
        ("st.local.u32 [mine], %r10;\nst.local.u16 [mine], %t;\nld.local.u32 %r0, [mine];", Bytes(0b0100)),
        ("st.local.u8 [mine+5], %t;\nld.local.s8 %r0, [mine+5];", Bytes(0)),
        ("mov.u64 %d1, mine;\ncvta.local.u64 %d1, %d1;\nst.u32 [%d1], %r10;\nld.u32 %r0, [%d1];", Bytes(LOW)),
        ("st.global.u32 [%d101], %r10;\nld.global.u32 %r0, [%d101];", Bytes(LOW)),
        ("st.global.u64 [%d101], %d10;\nld.global.u32 %r0, [%d101+4];", Bytes(HIGH)),
        ("st.global.u32 [%d101], %r10;\nst.global.u8 [%d101+1], %t;\nld.global.u32 %r0, [%d101];", Bytes(0b0100)),
        ("st.global.u32 [%d101], %r10;\nld.global.s16 %r0, [%d101];", Bytes(0b1110)),
    ] {
        assert_eq!(becomes(body, false), expected, "{body}");
    }
}

fn fault(body: &str) -> Box<Fault> {
    let fault = kernel(body).fault();
    check(&fault, body);
    fault
}

#[test]
fn what_nobody_wrote_may_neither_lead_nor_decide() {
    for body in [
        "ld.shared.u32 %r0, [%r10];",
        "st.shared.u32 [%r10], %t;",
        "ld.global.u32 %r0, [%d10];",
        "st.global.u32 [%d10], %t;",
        "atom.global.add.u32 %r0, [%d10], 1;",
        "st.local.u32 [%r10], %t;",
        "cvt.u64.u32 %d1, %r10;\nadd.u64 %d1, %d1, %in;\nld.u32 %r0, [%d1];",
    ] {
        let fault = fault(body);
        assert!(
            fault
                .message
                .starts_with("uninitialised value reaches an address: it comes from tile (shared memory) at offset "),
            "{fault}"
        );
    }
    for body in [
        "@%p12 bra END;\nmov.u32 %r0, 5;\nEND:",
        "@!%p12 bra END;\nmov.u32 %r0, 5;\nEND:",
        "@%p12 mov.u32 %r0, 5;",
        "@%p12 st.global.u32 [%d101], %t;",
        "@!%p12 ld.global.u32 %r0, [%in];",
        "@%p12 ret;",
    ] {
        let fault = fault(body);
        assert!(
            fault
                .message
                .starts_with("uninitialised value reaches a branch: it comes from tile (shared memory) at offset "),
            "{fault}"
        );
    }
    // Byte 1 of the word of lane 7.
    let offset = 16 * FIRST + 1;
    assert!(fault("ld.shared.u32 %r0, [%r10];").message.contains(&format!("at offset {offset}, which nobody wrote")));
    let local = kernel("ld.local.u32 %r1, [mine+8];\nadd.u32 %r1, %r1, 1;\nst.global.u32 [%d101], %r1;").fault();
    assert!(local.message.ends_with("it comes from local memory at offset 8, which nobody wrote"), "{local}");
    assert_eq!(local.site.lane, 0);
    let global = kernel("ld.global.u32 %r1, [%d101+2048];\nadd.u32 %r1, %r1, 1;\nst.global.u32 [%d101], %r1;").fault();
    assert!(global.message.ends_with("it comes from out at offset 2048, which nobody wrote"), "{global}");
    let register = kernel("add.u32 %r1, %r90, 1;\nst.global.u32 [%d101], %r1;").fault();
    assert!(register.message.ends_with("it comes from a register, which no instruction has set"), "{register}");
}

#[test]
fn a_reduction_over_a_warp_takes_what_any_lane_brings() {
    for body in [
        "redux.sync.add.u32 %r0, %r10, 0xffffffff;\nst.global.u32 [%d101], %r0;",
        "match.any.sync.b32 %r0, %r10, 0xffffffff;\nst.global.u32 [%d101], %r0;",
        "vote.sync.ballot.b32 %r0, %p12, 0xffffffff;\nst.global.u32 [%d101], %r0;",
    ] {
        let fault = kernel(body).fault();
        assert_eq!(
            (fault.kind, fault.site.lane),
            (FaultKind::Uninitialised, 0),
            "{body}: all lanes have the result: {fault}"
        );
        assert_eq!(fault.other.as_ref().expect("a load").1.lane as usize, FIRST, "{body}: {fault}");
    }
    // Lane 31 reads from lane 3, which has written all; and lane 3 from lane 31.
    let shuffle =
        "xor.b32 %r1, %t, 28;\nshfl.sync.idx.b32 %r0, %r10, %r1, 31, 0xffffffff;\nst.global.u32 [%d101], %r0;";
    let bytes = kernel(shuffle).run().expect("copies may be stored").bytes;
    for lane in 0..32 {
        let unwritten = (0..4).fold(0, |all, n| all | u8::from(bytes[8 * lane + n].is_none()) << n);
        assert_eq!(unwritten, if lane ^ 28 < FIRST { 0 } else { LOW }, "lane {lane}");
    }
}

#[test]
fn a_tensor_core_and_an_atomic_compute() {
    let product = "mov.b32 %f1, 0f00000000;\nmma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f2, %f3, %f4, %f5}, {%r10, %r11}, {%r11}, {%f1, %f1, %f1, %f1};\n\
                   st.global.f32 [%d101], %f2;";
    assert_eq!(kernel(product).fault().kind, FaultKind::Uninitialised);
    for operation in [
        "red.global.add.u32 [%d101], %r10;",
        "atom.global.max.u32 %r2, [%d101], %r10;",
        "atom.global.exch.b32 %r2, [%d101], %r3;",
        "atom.global.cas.b32 %r2, [%d101], %t, %r3;",
    ] {
        let start = "mov.u32 %r1, 0;\nst.global.u32 [%d101], %r1;\nadd.u32 %r3, %r10, 1;\n";
        let fault = fault(&format!("{start}{operation}"));
        assert!(fault.message.starts_with("uninitialised value reaches a result, out: it comes from tile"), "{fault}");
    }
    assert!(kernel("atom.global.exch.b32 %r2, [%d101], %r10;").run().is_ok(), "a copy");
    let shared = "mov.u32 %r1, 0;\nst.shared.u32 [%r100+8], %r1;\nred.shared.add.u32 [%r100+8], %r10;\nld.shared.u32 %r2, [%r100+8];\nadd.u32 %r0, %r2, 1;";
    assert_eq!(becomes(shared, false), Computed);
    let right = "mov.u32 %r1, 0;\nst.shared.u32 [%r100+8], %r1;\nred.shared.add.u32 [%r100+8], %t;\nld.shared.u32 %r2, [%r100+8];\nadd.u32 %r0, %r2, 1;";
    assert_eq!(becomes(right, false), Bytes(0));
}

#[test]
fn what_an_atomic_finds_is_unwritten_lane_by_lane() {
    // The words of all lanes but one have been written.
    for (space, place) in [("shared", "%r100"), ("global", "%d100")] {
        for lane in [0, 1, 5, 30, 31] {
            let body = format!(
                "mov.u32 %r100, tile;\nmad.lo.u32 %r100, %t, 4, %r100;\nmad.wide.u32 %d100, %t, 4, %out;\nmov.u32 %r1, 9;\n\
                 setp.ne.u32 %p1, %t, {lane};\n@%p1 st.{space}.u32 [{place}], %r1;\natom.{space}.add.u32 %r2, [{place}], 1;\nGUARD\n\
                 setp.eq.u32 %p2, %r2, 3;\n@%p2 st.global.u32 [%out+1024], %r1;\nEND:"
            );
            let fault = Kernel::new(32, &body.replace("GUARD", "")).fault();
            assert_eq!((fault.kind, fault.site.lane), (FaultKind::Uninitialised, lane), "{space}: {fault}");
            let guarded = Kernel::new(32, &body.replace("GUARD", "@!%p1 bra END;"));
            guarded.run().unwrap_or_else(|fault| panic!("{space}, {lane}: {fault}"));
        }
    }
}

#[test]
fn a_copy_brings_what_nobody_wrote_byte_by_byte() {
    for missing in 0..8 {
        let written: String =
            (0..8).filter(|n| *n != missing).map(|n| format!("st.global.u8 [%out+{n}], %t;\n")).collect();
        for byte in 0..8 {
            let body = format!(
                "{written}cp.async.ca.shared.global [tile], [%out], 8;\ncp.async.wait_all;\nld.shared.u8 %r1, [tile+{byte}];\n\
                 setp.eq.u32 %p1, %r1, 3;\n@%p1 st.global.u32 [%out+64], %t;"
            );
            match Kernel::new(1, &body).run() {
                Ok(_) => assert_ne!(byte, missing),
                Err(fault) => assert_eq!((fault.kind, byte), (FaultKind::Uninitialised, missing), "{fault}"),
            }
        }
    }
}

#[test]
fn a_conversion_moves_what_is_unwritten_and_no_more() {
    for (body, expected) in [
        ("shr.u32 %r1, %r10, 8;\ncvt.s32.s8 %r2, %r1;\ncvt.u64.u32 %d0, %r2;", Bytes(0x0f)),
        ("cvt.s32.s16 %r2, %r10;\ncvt.u64.u32 %d0, %r2;", Bytes(0x0e)),
        ("cvta.to.global.u64 %d0, %d10;", Bytes(0x86)),
        ("cvta.global.u64 %d0, %d10;", Bytes(0x86)),
    ] {
        assert_eq!(becomes(body, true), expected, "{body}");
    }
    // One that is narrowed is a copy still, as a whole; what is computed with it is none.
    let narrowed = becomes("cvt.u16.u32 %h1, %r10;\ncvt.u32.u16 %r0, %h1;", false);
    assert!(matches!(narrowed, Bytes(bytes) if bytes != 0), "{narrowed:?}");
    assert_eq!(becomes("mov.b32 %f1, %r10;\nadd.rz.f32 %f2, %f1, %f1;\nmov.b32 %r0, %f2;", false), Computed);
}

#[test]
fn an_instruction_reads_no_register_that_it_does_not_name() {
    for instruction in [
        "cvt.pack.sat.u16.s32 %r3, %r1, %r2;",
        "cvt.pack.sat.s8.s32.b32 %r3, %r1, %r2, %r2;",
        "cvt.rn.f16x2.f32 %r3, %f1, %f2;",
        "cvt.rna.tf32.f32 %r3, %f1;",
        "bfind.u32 %r3, %r1;",
        "brev.b32 %r3, %r1;",
        "clz.b32 %r3, %r1;",
        "popc.b64 %r3, %d1;",
        "sad.s32 %r3, %r1, %r2, %r1;",
        "mul24.lo.u32 %r3, %r1, %r2;",
        "bfi.b32 %r3, %r1, %r2, 3, 4;",
        "bfe.s32 %r3, %r1, 3, 4;",
        "lop3.b32 %r3, %r1, %r2, %r1, 0x96;",
        "dp4a.u32.u32 %r3, %r1, %r2, %r1;",
        "dp2a.lo.s32.s32 %r3, %r1, %r2, %r1;",
        "fma.rn.f16x2 %r3, %r1, %r2, %r1;",
        "add.f16x2 %r3, %r1, %r2;",
        "neg.f16x2 %r3, %r1;",
        "tanh.approx.f32 %f3, %f1;\nmov.b32 %r3, %f3;",
        "sqrt.rn.f32 %f3, %f1;\nmov.b32 %r3, %f3;",
        "copysign.f32 %f3, %f1, %f2;\nmov.b32 %r3, %f3;",
        "testp.finite.f32 %p1, %f1;\nselp.u32 %r3, 1, 0, %p1;",
        "slct.u32.s32 %r3, %r1, %r2, %r1;",
        "set.lt.u32.f32 %r3, %f1, %f2;",
        "setp.lt.and.u32 %p2|%p3, %r1, %r2, %p1;\nselp.u32 %r3, 1, 0, %p3;",
        "fns.b32 %r3, %r1, %r2, 1;",
        "szext.wrap.u32 %r3, %r1, %r2;",
        "bmsk.clamp.b32 %r3, %r1, %r2;",
        "shf.l.wrap.b32 %r3, %r1, %r2, %r1;",
        "prmt.b32.f4e %r3, %r1, %r2, %r1;",
    ] {
        // Those that come first in their files, and one of each that comes last, nobody set.
        let body = format!(
            "mov.u32 %r1, 9;\nmov.u32 %r2, 5;\nmov.f32 %f1, 0f3F800000;\nmov.f32 %f2, 0f40000000;\nmov.u64 %d1, 77;\nsetp.eq.u32 %p1, %t, 0;\n\
             {instruction}\nst.global.u32 [%out], %r3;\nmov.u32 %r103, %r102;\nmov.u64 %d103, %d102;"
        );
        let kernel = Kernel::new(1, &body);
        let first = "mov.u32 %r101, %r100;\nmov.u64 %d101, %d100;\nmov.pred %p15, %p14;\nld.param.u64 %in, [a];";
        let text = kernel.text.replacen("ld.param.u64 %in, [a];", first, 1);
        Kernel { text, ..kernel }.run().map(drop).unwrap_or_else(|fault| panic!("{instruction}: {fault}"));
    }
}

#[test]
fn what_is_sent_keeps_its_bytes() {
    // To the block's own memory, which may be a peer's; from there it is loaded again, from so many bytes on.
    let sent = |before: &str, kind: &str, bytes: u32, value: &str, from: u32, wide: bool| {
        format!(
            "{before}setp.eq.u32 %p2, %t, 0;\n@%p2 mbarrier.init.shared.b64 [tile+2048], 1;\n@%p2 fence.mbarrier_init.release.cluster;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n\
             mapa.shared::cluster.u32 %r103, %r101, 0;\nmad.lo.u32 %r104, %t, 16, %r103;\n@%p2 mbarrier.arrive.expect_tx.shared.b64 %d20, [tile+2048], {};\n\
             st.async.shared::cluster.mbarrier::complete_tx::bytes.{kind} [%r104+1024], {value}, [%r103+2048];\nW: mbarrier.try_wait.parity.shared.b64 %p3, [tile+2048], 0;\n@!%p3 bra W;\n\
             ld.shared.{} [%r100+{}];",
            32 * bytes,
            if wide { "u64 %d0," } else { "u32 %r0," },
            1024 + from
        )
    };
    for (before, kind, bytes, value, from, expected) in [
        ("", "u32", 4, "%r10", 0, LOW),
        ("", "u32", 4, "%r11", 0, HIGH),
        ("", "u64", 8, "%d10", 0, LOW | HIGH << 4),
        ("", "v2.u32", 8, "{%r11, %r10}", 0, HIGH | LOW << 4),
        ("", "v4.u32", 16, "{%r11, %t, %r10, %r11}", 0, HIGH),
        ("", "v4.u32", 16, "{%r11, %t, %r10, %r11}", 8, LOW | HIGH << 4),
        ("", "v2.u64", 16, "{%d101, %d10}", 0, 0),
        ("", "v2.u64", 16, "{%d101, %d10}", 8, LOW | HIGH << 4),
        ("add.u32 %r9, %r10, 1;\n", "u32", 4, "%r9", 0, 0b1111),
        ("add.u32 %r9, %r10, 1;\n", "v2.u32", 8, "{%t, %r9}", 0, 0b1111_0000),
    ] {
        let wide = bytes > 4;
        assert_eq!(
            becomes(&sent(before, kind, bytes, value, from, wide), wide),
            Bytes(expected),
            "{kind}, {value}, {from}"
        );
    }
}
