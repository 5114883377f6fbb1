//! Corners that kernels by chance do not come to.

use emulator::{Argument, Device, Fault, FaultKind, Launch, LaunchError, Module};

use crate::dice::Dice;
use crate::run::Kernel;

fn fault(threads: u32, body: &str) -> Box<Fault> {
    Kernel { zeros: 4096, ..Kernel::new(threads, body) }.fault()
}

#[test]
fn an_address_of_local_memory_may_be_a_number() {
    let body = "mov.u32 %r1, 77;\nst.local.u32 [8], %r1;\nld.local.u32 %r2, [mine+8];\nst.global.u32 [%out], %r2;";
    assert_eq!(Kernel::new(1, body).words(1), [77]);
    let far = fault(32, "ld.local.u32 %r1, [4096];");
    assert!(far.message.ends_with("past the end of local memory (64 bytes) at offset 4096"), "{far}");
}

#[test]
fn an_address_in_no_buffer_is_named() {
    for text in [
        "ld.global.u32 %r1, [%d1];",
        "st.global.u32 [%d1], %t;",
        "ld.u32 %r1, [%d1];",
        "atom.global.add.u32 %r1, [%d1], 1;",
    ] {
        let fault = fault(32, &format!("mov.u64 %d1, 64;\n{text}"));
        assert_eq!((fault.kind, fault.site.lane), (FaultKind::OutOfBounds, 0), "{text}: {fault}");
        assert!(fault.message.contains("at address 0x40, which lies in no buffer"), "{text}: {fault}");
    }
}

#[test]
fn a_vector_longer_than_its_array_leaves_it_at_the_end() {
    let kernel = |text: &str| Kernel::new(32, &format!(".shared .align 16 .b8 small[8];\n{text}")).fault();
    for text in ["ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [small];", "st.shared.v2.u64 [small], {%d1, %d1};"] {
        let fault = kernel(&format!("mov.u64 %d1, 0;\n{text}"));
        assert_eq!(fault.kind, FaultKind::OutOfBounds, "{text}: {fault}");
        assert!(
            fault.message.ends_with("past the end of small (shared memory, 8 bytes) at offset 0"),
            "{text}: {fault}"
        );
    }
    let before = kernel("mov.u32 %r1, small;\nld.shared.u32 %r2, [%r1+-4];");
    assert!(before.message.ends_with("before the start of small (shared memory, 8 bytes) at offset -4"), "{before}");
}

#[test]
fn a_warp_multiplies_with_all_its_lanes() {
    let zero = "mov.u32 %r1, 0;\nmov.f32 %f1, 0f00000000;\n";
    for text in [
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f2, %f3, %f4, %f5}, {%r1, %r1}, {%r1}, {%f1, %f1, %f1, %f1};",
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [tile];",
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [tile], {%r1};",
        "movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1;",
    ] {
        for (condition, lanes) in
            [("setp.eq.u32 %p1, %t, 31;", "0x7fffffff"), ("setp.lt.u32 %p1, %t, 4;", "0xfffffff0")]
        {
            let fault = fault(32, &format!("{zero}{condition}\n@%p1 bra END;\n{text}\nEND: bar.sync 0;"));
            assert_eq!(fault.kind, FaultKind::Barrier, "{text}: {fault}");
            assert!(fault.message.starts_with(&format!("lanes {lanes} alone reach `")), "{text}: {fault}");
        }
        // Half a warp is no warp.
        if !text.starts_with("st") {
            assert_eq!(fault(48, &format!("{zero}{text}")).site.warp, 1, "{text}");
        }
    }
}

#[test]
fn twenty_four_bits_are_multiplied_and_saturated() {
    let signed = |x: i32| i64::from(x << 8 >> 8);
    let unsigned = |x: i32| i64::from(x as u32 & 0xff_ffff);
    let mut dice = Dice::new(24);
    let edges = [0, 1, -1, 0x7f_ffff, 0x80_0000, 0xff_ffff, i32::MAX, i32::MIN, 0x123_4567];
    for _ in 0..40 {
        let [a, b, c] = [0; 3].map(|_| dice.pick(&edges));
        let body = format!(
            "mov.u32 %r1, {a};\nmov.u32 %r2, {b};\nmov.u32 %r3, {c};\nmul24.lo.s32 %r10, %r1, %r2;\nmul24.hi.s32 %r11, %r1, %r2;\nmul24.lo.u32 %r12, %r1, %r2;\n\
             mul24.hi.u32 %r13, %r1, %r2;\nmad24.lo.s32 %r14, %r1, %r2, %r3;\nmad24.hi.s32 %r15, %r1, %r2, %r3;\nmad24.hi.sat.s32 %r16, %r1, %r2, %r3;\nmad24.hi.u32 %r17, %r1, %r2, %r3;\n\
             mad.hi.sat.s32 %r18, %r1, %r2, %r3;\nadd.sat.s32 %r19, %r1, %r3;\nsub.sat.s32 %r20, %r1, %r3;\n{}",
            (10..21).map(|n| format!("st.global.u32 [%out+{}], %r{n};\n", 4 * (n - 10))).collect::<String>()
        );
        let (s, u) = (signed(a) * signed(b), unsigned(a) * unsigned(b));
        let clamp = |x: i64| x.clamp(i32::MIN.into(), i32::MAX.into()) as u32;
        let c = i64::from(c);
        let high = (i64::from(a) * i64::from(b)) >> 32;
        let wanted = [
            s as u32,
            (s >> 16) as u32,
            u as u32,
            (u >> 16) as u32,
            (s + c) as u32,
            ((s >> 16) + c) as u32,
            clamp((s >> 16) + c),
            ((u >> 16) + c) as u32,
            clamp(high + c),
            clamp(i64::from(a) + c),
            clamp(i64::from(a) - c),
        ];
        assert_eq!(Kernel::new(1, &body).words(11), wanted, "{a:#x} {b:#x} {c:#x}");
    }
}

#[test]
fn a_copy_of_a_part_reads_that_part_only() {
    // `in` has 256 bytes; the copy is of 16 bytes, of which `read` are read, the others become zeros.
    let copy_by = |lane: u32, at: u32, read: u32| {
        let body = format!(
            "mov.u32 %r1, {read};\nsetp.ne.u32 %p1, %t, {lane};\n@%p1 bra END;\ncp.async.ca.shared.global [tile+16], [%in+{at}], 16, %r1;\ncp.async.wait_all;\nEND: bar.sync 0;\n\
             @%p1 ret;\nld.shared.v4.u32 {{%r2, %r3, %r4, %r5}}, [tile+16];\nst.global.v4.u32 [%out], {{%r2, %r3, %r4, %r5}};"
        );
        Kernel::new(32, &body).input((0..=255).collect()).run()
    };
    let copy = |at: u32, read: u32| copy_by(3, at, read);
    for (at, read) in [(256, 16), (256, 1), (512, 16)] {
        let Err(fault) = copy_by(0, at, read) else { panic!("{read} at {at}") };
        assert_eq!((fault.kind, fault.site.lane), (FaultKind::OutOfBounds, 0), "{read} at {at}: {fault}");
    }
    for (at, read) in [(0, 16), (0, 5), (240, 16), (240, 3), (16, 0), (32, 1), (48, 15), (240, 0)] {
        let outcome = copy(at, read).unwrap_or_else(|fault| panic!("{read} at {at}: {fault}"));
        for n in 0..16 {
            let wanted = if n < read { (at + n) as u8 } else { 0 };
            assert_eq!(outcome.bytes[n as usize], Some(wanted), "{read} at {at}: byte {n}");
        }
    }
    assert!(copy(256, 0).is_ok(), "nothing is read");
    for (at, read) in [(256, 1), (256, 16), (272, 4)] {
        let Err(fault) = copy(at, read) else { panic!("{read} at {at}") };
        assert_eq!((fault.kind, fault.site.lane), (FaultKind::OutOfBounds, 3), "{read} at {at}: {fault}");
    }
    let Err(fault) = copy(0, 17) else { panic!("more than there is") };
    assert!(fault.message.contains("is to read 17 bytes"), "{fault}");
}

#[test]
fn bytes_that_are_moved_by_any_bit_may_all_be_copies() {
    let body = |operation: &str| {
        format!(
            "ld.shared.u32 %r10, [tile];\nmov.u32 %r11, 5;\nmov.u32 %r12, 9;\n{operation}\nst.global.u32 [%out], %r0;"
        )
    };
    for operation in [
        "bfi.b32 %r0, %r10, %r11, 8, 8;",
        "shf.l.clamp.b32 %r0, %r11, %r10, 3;",
        "shf.r.wrap.b32 %r0, %r10, %r11, 3;",
        "prmt.b32.f4e %r0, %r10, %r11, 1;",
    ] {
        let outcome = Kernel::new(1, &body(operation)).run().unwrap_or_else(|fault| panic!("{operation}: {fault}"));
        assert_eq!(outcome.bytes[..4], [None; 4], "{operation}");
        let written = operation.replace("%r10", "%r12");
        let outcome = Kernel::new(1, &body(&written)).run().unwrap_or_else(|fault| panic!("{written}: {fault}"));
        assert!(outcome.bytes[..4].iter().all(Option::is_some), "{written}");
    }
    let computed = Kernel::new(1, &body("add.u32 %r9, %r10, 1;\nbfi.b32 %r0, %r9, %r11, 8, 8;")).fault();
    assert_eq!(computed.kind, FaultKind::Uninitialised);
}

/// A kernel with a buffer that the host freed, and one that it did not.
fn with_freed(body: &str) -> Result<(), Box<Fault>> {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n\
         .visible .entry k(.param .u64 a, .param .u64 b)\n{{\n.reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .shared .align 16 .b8 tile[64];\n\
         ld.param.u64 %d1, [a];\nld.param.u64 %d2, [b];\nmov.u32 %r1, %tid.x;\n{body}\nret;\n}}\n"
    );
    let kernel =
        Module::parse(&text).and_then(|module| module.kernel("k")).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut device = Device::new();
    let (gone, there) = (device.alloc("gone", 64), device.alloc("there", 64));
    device.write(gone, &[65; 64]).expect("it has this size");
    device.write(there, &[0; 64]).expect("it has this size");
    device.free(gone).expect("it is there");
    match device.launch(&kernel, Launch::new(1, 32), &[Argument::Buffer(gone), Argument::Buffer(there)]) {
        Ok(_) => Ok(()),
        Err(LaunchError::Fault(fault)) => Err(fault),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn what_is_freed_is_used_in_no_way() {
    for text in [
        "ld.global.u32 %r2, [%d1+4];",
        "st.global.u32 [%d1+4], %r1;",
        "ld.u32 %r2, [%d1+4];",
        "atom.global.add.u32 %r2, [%d1+4], 1;",
        "cp.async.ca.shared.global [tile], [%d1+4], 4;\ncp.async.wait_all;",
        "mov.u32 %r3, 2;\ncp.async.ca.shared.global [tile], [%d1+4], 4, %r3;\ncp.async.wait_all;",
    ] {
        let fault = with_freed(&format!("setp.ne.u32 %p1, %r1, 6;\n@%p1 ret;\n{text}")).expect_err(text);
        assert_eq!((fault.kind, fault.site.lane), (FaultKind::UseAfterFree, 6), "{text}: {fault}");
    }
    let print = "{ .param .b64 x; .param .b64 y; .param .b32 z; st.param.b64 [x], %dN; st.param.b64 [y], %d2; call.uni (z), vprintf, (x, y); ld.param.b32 %r4, [z]; }";
    assert!(with_freed(&print.replace("%dN", "%d1")).is_err(), "the format is gone");
    assert!(with_freed(&print.replace("%dN", "%d2")).is_ok(), "an empty one is there");
}

#[test]
fn groups_of_copies_land_in_their_order() {
    // Three groups; after each wait, so many have landed, and the others may not be read.
    for pending in 0..4u32 {
        for read in 0..3u32 {
            let body = format!(
                "mov.u32 %r100, tile;\nmad.lo.u32 %r100, %t, 16, %r100;\nmad.wide.u32 %d1, %t, 4, %in;\n\
                 cp.async.ca.shared.global [%r100], [%d1], 4;\ncp.async.commit_group;\ncp.async.ca.shared.global [%r100+4], [%d1+128], 4;\ncp.async.commit_group;\n\
                 cp.async.ca.shared.global [%r100+8], [%d1+256], 4;\ncp.async.commit_group;\ncp.async.wait_group {pending};\nld.shared.u32 %r1, [%r100+{}];\nadd.u32 %r1, %r1, 1;\n\
                 mad.wide.u32 %d2, %t, 4, %out;\nst.global.u32 [%d2], %r1;\ncp.async.wait_all;",
                4 * read
            );
            let input: Vec<u8> = (0..96u32).flat_map(|n| (n * 3).to_le_bytes()).collect();
            match Kernel::new(32, &body).input(input).run() {
                Ok(outcome) => {
                    assert!(read + pending < 3, "group {read} with {pending} pending");
                    assert_eq!(outcome.words(32), (0..32).map(|lane| (lane + 32 * read) * 3 + 1).collect::<Vec<u32>>());
                }
                Err(fault) => {
                    assert!(read + pending >= 3, "group {read} with {pending} pending: {fault}");
                    assert!(fault.message.ends_with("to which a copy is still under way"), "{fault}");
                }
            }
        }
    }
}

#[test]
fn a_source_is_read_until_its_copy_has_landed() {
    // `out` is written by the launch, and copied from.
    for (before, race) in [("", true), ("cp.async.wait_all;\n", false)] {
        for store in [
            "st.global.u32 [%d2], %t;",
            "red.global.add.u32 [%d2], 1;",
            "st.global.u8 [%d2+3], %t;",
            "st.global.v4.u32 [%d3], {%t, %t, %t, %t};",
        ] {
            let body = format!(
                "mov.u32 %r100, tile;\nmad.lo.u32 %r100, %t, 4, %r100;\nmad.wide.u32 %d2, %t, 4, %out;\nmad.wide.u32 %d3, %t, 16, %out;\n\
                 cp.async.ca.shared.global [%r100], [%d2], 4;\n{before}bar.sync 0;\n{store}\ncp.async.wait_all;"
            );
            let kernel = Kernel { zeros: 4096, ..Kernel::new(32, &body) };
            match kernel.run() {
                Ok(_) => assert!(!race, "{store}"),
                Err(fault) => assert!(race && fault.kind == FaultKind::Race, "{store}: {fault}"),
            }
            assert!(kernel.clone().launch(Launch::new(1, 32).sanitize(false)).run().is_ok(), "{store}");
        }
    }
}

#[test]
fn all_lanes_that_read_are_parties_though_not_at_once() {
    // In the first round the lower lanes read the word, in the second the upper ones; then a lane of each half writes it.
    for (writer, partial) in [(3, ""), (20, ""), (3, "bar.sync 3, 32;"), (20, "bar.sync 3, 32;")] {
        for readers in ["setp.lt.u32 %p2, %t, 16;", "setp.eq.u32 %p2, %t, 9;"] {
            let body = format!(
                "mov.u32 %r1, 0;\nst.shared.u32 [tile+8], %r1;\nbar.sync 0;\nAGAIN: {readers}\nsetp.eq.u32 %p3, %r1, 1;\nxor.pred %p2, %p2, %p3;\n@%p2 ld.shared.u32 %r2, [tile+8];\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 2;\n@%p1 bra AGAIN;\n\
                 setp.eq.u32 %p1, %t, {writer};\n@%p1 st.shared.u32 [tile+8], %r1;\n{partial}"
            );
            let body = body.replacen(
                "st.shared.u32 [tile+8], %r1;",
                "setp.eq.u32 %p1, %t, 0;\n@%p1 st.shared.u32 [tile+8], %r1;",
                1,
            );
            let fault = Kernel::new(32, &body).fault();
            let other = fault.other.as_ref().expect("two parties").1.lane;
            assert_eq!((fault.kind, fault.site.lane), (FaultKind::Race, writer), "{fault}");
            assert!(
                other != writer && fault.message.contains("tile (shared memory) at offset 8: load by thread"),
                "{fault}"
            );
        }
    }
}

#[test]
fn dynamic_shared_memory_has_its_name_and_place() {
    let run = |text: &str| {
        let kernel = Kernel::new(32, text).launch(Launch::new(1, 32).dynamic_shared(64));
        let text = kernel.text.replacen(".visible", ".extern .shared .align 16 .b8 more[];\n.visible", 1);
        Kernel { text, ..kernel }.run()
    };
    let Err(race) = run("mov.u32 %r1, more;\nst.shared.u32 [%r1+12], %t;") else { panic!("it is a race") };
    assert!(race.message.starts_with("race on more (shared memory) at offset 12:"), "{race}");
    let Err(far) = run("mov.u32 %r1, more;\nld.shared.u32 %r2, [%r1+64];") else { panic!("it is too far") };
    assert!(far.kind == FaultKind::OutOfBounds && far.message.contains("at offset"), "{far}");
    let Err(unwritten) =
        run("mov.u32 %r1, more;\nld.shared.u32 %r2, [%r1+20];\nadd.u32 %r2, %r2, 1;\nst.global.u32 [%out], %r2;")
    else {
        panic!("nobody wrote it")
    };
    assert!(unwritten.message.contains("it comes from more (shared memory) at offset 20"), "{unwritten}");
    assert!(
        run("mov.u32 %r1, more;\nmov.u32 %r2, tile;\nsub.u32 %r3, %r1, %r2;\nst.global.u32 [%out], %r3;")
            .is_ok_and(|outcome| outcome.words(1) == [4096])
    );
}

#[test]
fn the_last_lane_of_a_row_races_as_the_first_one_does() {
    // Warp 0 accesses a row, each lane `bytes`; thread 40 touches what one of its lanes has.
    let access = |kind: &str, space: &str, bytes: u32, address: &str| {
        let (vector, list) = match bytes {
            16 => (".v4", "{%r10, %r11, %r12, %r13}"),
            8 => (".v2", "{%r10, %r11}"),
            _ => ("", "%r10"),
        };
        match kind {
            "ld" => format!("ld.{space}{vector}.u32 {list}, [{address}];\n"),
            _ => format!("st.{space}{vector}.u32 [{address}], {list};\n"),
        }
    };
    for space in ["shared", "global"] {
        for bytes in [4u32, 8, 16] {
            for (row, other) in [("st", "ld"), ("ld", "st"), ("st", "st")] {
                for lane in [0u32, 1, 9, 30, 31] {
                    for first in [0, 1] {
                        let (base, register) = if space == "shared" {
                            ("mov.u64 %d1, tile;\n", "%d2")
                        } else {
                            ("mov.u64 %d1, %out;\n", "%d2")
                        };
                        let fill = "mov.u32 %r10, %t;\nmov.u32 %r11, %t;\nmov.u32 %r12, %t;\nmov.u32 %r13, %t;\n";
                        let at = format!("{register}+{}", bytes - 4);
                        let (mine, theirs) = (access(row, space, bytes, register), access(other, space, 4, &at));
                        let zero = if space == "shared" {
                            "mov.u32 %r1, 0;\nmov.u32 %r2, %t;\nZERO: mad.lo.u32 %r3, %r2, 4, 0;\nst.shared.u32 [%r3], %r1;\nadd.u32 %r2, %r2, 64;\nsetp.lt.u32 %p1, %r2, 200;\n@%p1 bra ZERO;\nbar.sync 0;\n"
                        } else {
                            ""
                        };
                        // The warp with the smaller number goes first.
                        let who = if first == 0 {
                            "setp.lt.u32 %p1, %t, 32;\nand.b32 %r5, %t, 31;\nsetp.eq.u32 %p2, %t, 40;"
                        } else {
                            "setp.ge.u32 %p1, %t, 32;\nand.b32 %r5, %t, 31;\nsetp.eq.u32 %p2, %t, 8;"
                        };
                        let body = format!(
                            "{zero}{fill}{who}\n{base}mad.wide.u32 %d2, %r5, {bytes}, %d1;\n@%p1 bra ROW;\nadd.u64 %d2, %d1, {};\n@!%p2 bra END;\n{theirs}bra END;\nROW: {mine}END:",
                            bytes * lane
                        );
                        let kernel = Kernel { zeros: 4096, ..Kernel::new(64, &body) };
                        let fault = match kernel.run() {
                            Err(fault) => fault,
                            Ok(_) => panic!("{space} {bytes} {row} {other} lane {lane} {first}"),
                        };
                        let lanes = [fault.site.lane, fault.other.as_ref().expect("two parties").1.lane];
                        let wanted = if first == 0 { [8, lane] } else { [lane, 8] };
                        assert_eq!((fault.kind, lanes), (FaultKind::Race, wanted), "{fault}");
                        assert!(fault.message.contains(&format!("at offset {}:", bytes * lane + bytes - 4)), "{fault}");
                    }
                }
            }
        }
    }
}

#[test]
fn lanes_that_ended_came_to_every_barrier_of_their_warp() {
    for partial in ["", "bar.sync 5, 32;\n"] {
        let body = format!(
            "{partial}mov.u32 %r5, 0xffffffff;\nmov.u32 %r100, tile;\nmad.lo.u32 %r101, %t, 4, %r100;\nst.shared.u32 [%r101], %t;\nsetp.ge.u32 %p1, %t, 20;\n@%p1 ret;\n\
             bar.warp.sync %r5;\nld.shared.u32 %r2, [%r101+48];\nmad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r2;"
        );
        assert_eq!(Kernel::new(32, &body).words(20), (12..32).collect::<Vec<u32>>(), "`{partial}`");
        let without = body.replace("bar.warp.sync %r5;", "");
        assert_eq!(Kernel::new(32, &without).fault().kind, FaultKind::Race, "`{partial}`");
    }
}

#[test]
fn a_copy_may_read_less_than_it_writes_or_nothing() {
    for (bytes, cache) in [(4, "ca"), (8, "ca"), (16, "ca"), (16, "cg")] {
        for size in 0..=bytes {
            let body = format!(
                "cp.async.{cache}.shared.global [tile+16], [%in+32], {bytes}, {size};\ncp.async.wait_all;\nld.shared.u32 %r1, [tile+16];\nst.global.u32 [%out], %r1;\n\
                 ld.shared.u32 %r1, [tile+{}];\nst.global.u32 [%out+4], %r1;",
                12 + bytes
            );
            let input: Vec<u8> = (0..4096).map(|n| n as u8).collect();
            let words = Kernel::new(1, &body).input(input).words(2);
            let word = |at: u32| (0..4).map(|n| if at + n < size { (32 + at + n) << (8 * n) } else { 0 }).sum::<u32>();
            assert_eq!(words, [word(0), word(bytes - 4)], "{bytes}, {size}");
        }
        let body = format!("cp.async.{cache}.shared.global [tile+16], [%in+32], {bytes}, {};", bytes + 1);
        let text = Kernel::new(1, &body).text;
        let error =
            emulator::Module::parse(&text).and_then(|module| module.kernel("k").map(drop)).expect_err("too many");
        assert!(error.to_string().contains(&format!("takes a size of at most {bytes}")), "{error}");
    }
}
