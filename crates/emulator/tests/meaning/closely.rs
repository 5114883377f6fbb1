//! Single lanes, bytes and places where an account may be off by one: who is named, what is counted, and where memory ends.

use emulator::{AccessKind, Argument, Device, FaultKind, Launch, Memory, Module, Schedule};

use crate::run::Kernel;

fn fault(threads: u32, body: &str) -> Box<emulator::Fault> {
    Kernel { zeros: 4096, ..Kernel::new(threads, body) }.fault()
}

#[test]
fn the_first_lane_outside_is_named_though_others_reach_the_very_end() {
    // Lanes 0 to 3 have the last word, or the last eight bytes, of all shared memory.
    for (kind, register, bytes) in [("u32", "%r1", 4), ("u64", "%d1", 8), ("u8", "%r1", 1)] {
        let body = format!(
            "mov.u32 %r100, tile;\nadd.u32 %r101, %r100, {};\nsetp.ge.u32 %p1, %t, 4;\n@%p1 add.u32 %r101, %r101, 8;\nmov.u32 %r1, 0;\nmov.u64 %d1, 0;\nst.shared.{kind} [%r101], {register};",
            4096 - bytes
        );
        let fault = fault(32, &body);
        assert_eq!((fault.kind, fault.site.lane), (FaultKind::OutOfBounds, 4), "{kind}: {fault}");
    }
}

#[test]
fn an_access_larger_than_its_memory_ends_behind_it() {
    let text = ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u32 a)\n{\n.reg .b64 %d<4>; .local .align 8 .b32 small;\nTEXT\nret;\n}\n";
    for (load, name) in [
        ("ld.local.u64 %d1, [small];", "local memory"),
        ("st.local.u64 [small], 0;", "local memory"),
        ("ld.param.u64 %d1, [a];", "the kernel's parameters"),
    ] {
        let module = Module::parse(&text.replace("TEXT", load)).and_then(|module| module.kernel("k"));
        let kernel = module.unwrap_or_else(|error| panic!("{load}: {error}"));
        let Err(emulator::LaunchError::Fault(fault)) =
            Device::new().launch(&kernel, Launch::new(1, 1), &[Argument::U32(1)])
        else {
            panic!("{load}: it is wrong");
        };
        assert_eq!(fault.kind, FaultKind::OutOfBounds, "{fault}");
        assert!(
            fault.message.contains("past the end of") && fault.message.contains("(4 bytes) at offset 0"),
            "{name}: {fault}"
        );
    }
}

#[test]
fn two_lanes_of_a_store_are_both_named() {
    // Lanes 3 and 9 of the second warp store different values to one place, in shared and in global memory.
    for address in ["shared.u32 [tile+8]", "global.u32 [%out+8]"] {
        let body = format!(
            "setp.eq.u32 %p1, %t, 35;\nsetp.eq.u32 %p2, %t, 41;\nor.pred %p1, %p1, %p2;\n@%p1 st.{address}, %t;"
        );
        let fault = fault(64, &body);
        assert_eq!((fault.kind, fault.site.thread.x), (FaultKind::Race, 41), "{fault}");
        assert_eq!(fault.other.as_ref().expect("two parties").1.thread.x, 35, "{fault}");
    }
}

#[test]
fn a_lane_that_is_not_there_is_missed_by_whoever_asks_for_it() {
    // Lane `away` has left; one lane alone takes its value, by an index of its own.
    for (away, asks) in [(0u32, 5u32), (7, 0), (7, 31), (31, 1), (0, 1)] {
        let body = |asks: &str| {
            format!(
                "setp.eq.u32 %p1, %t, {away};\n@%p1 bra END;\nsetp.eq.u32 %p2, %t, {asks};\nselp.u32 %r1, {away}, %t, %p2;\nshfl.sync.idx.b32 %r2, %t, %r1, 31, {};\n\
                 setp.eq.u32 %p3, %r2, 99;\n@%p3 trap;\nEND:",
                !(1u32 << away)
            )
        };
        let fault = fault(32, &body(&asks.to_string()));
        assert_eq!(fault.site.lane, asks, "{away} {asks}: {fault}");
        assert!(Kernel::new(32, &body("77")).run().is_ok(), "nobody asks for it");
    }
    // Those who vote without lane 0 are of one mind, and the lowest of them is elected.
    let vote = "setp.eq.u32 %p1, %t, 0;\nmov.u32 %r1, 0;\n@%p1 bra END;\nsetp.gt.u32 %p2, %t, 0;\nvote.sync.all.pred %p3, %p2, 0xfffffffe;\nvote.sync.uni.pred %p4, %p2, 0xfffffffe;\nselp.u32 %r1, 1, 0, %p3;\n@%p4 add.u32 %r1, %r1, 2;\n\
        vote.sync.ballot.b32 %r2, %p2, 0xfffffffe;\nsetp.eq.u32 %p5, %r2, 0xfffffffe;\n@%p5 add.u32 %r1, %r1, 4;\nEND: mad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r1;";
    let wanted: Vec<u32> = (0..32).map(|t| if t == 0 { 0 } else { 7 }).collect();
    assert_eq!(Kernel::new(32, vote).words(32), wanted);
}

#[test]
fn vectors_and_bytes_come_from_several_buffers_at_once() {
    for (kind, bytes, words) in
        [("u8", 1usize, 1usize), ("u16", 2, 1), ("u64", 8, 2), ("v2.u64", 16, 4), ("v2.u32", 8, 2), ("v4.u32", 16, 4)]
    {
        let list = match kind {
            "v2.u64" => "{%d10, %d11}",
            "v2.u32" => "{%r10, %r11}",
            "v4.u32" => "{%r10, %r11, %r12, %r13}",
            "u64" => "%d10",
            _ => "%r10",
        };
        let spread = match kind {
            "v2.u64" => "mov.b64 {%r10, %r11}, %d10;\nmov.b64 {%r12, %r13}, %d11;\n",
            "u64" => "mov.b64 {%r10, %r11}, %d10;\n",
            _ => "",
        };
        // Every third lane reads the end of `in`, the others the beginning of `out`, which has the same bytes.
        let stores: String = (0..words).map(|n| format!("st.global.u32 [%d5+{}], %r{};\n", 4 * n, 10 + n)).collect();
        let body = format!(
            "mul.wide.u32 %d9, %t, 16;\nadd.u64 %d4, %in, %d9;\nld.global.v4.u32 {{%r20, %r21, %r22, %r23}}, [%d4+3584];\nadd.u64 %d6, %out, %d9;\nst.global.v4.u32 [%d6+2048], {{%r20, %r21, %r22, %r23}};\n\
             rem.u32 %r1, %t, 3;\nsetp.eq.u32 %p1, %r1, 0;\nadd.u64 %d4, %d4, 3584;\nadd.u64 %d6, %d6, 2048;\nselp.b64 %d7, %d4, %d6, %p1;\nbar.sync 0;\nld.global.{kind} {list}, [%d7];\n{spread}add.u64 %d5, %out, %d9;\n{stores}"
        );
        let input: Vec<u8> = (0..4096u32).map(|n| (n * 7 + n / 256) as u8).collect();
        let kernel = Kernel { zeros: 4096, ..Kernel::new(32, &body).input(input.clone()) };
        let outcome = kernel.run().unwrap_or_else(|fault| panic!("{kind}: {fault}"));
        for lane in 0..32 {
            let got: Vec<u8> = (0..4 * words).map(|n| outcome.bytes[16 * lane + n].expect("it is written")).collect();
            let mut wanted = input[3584 + 16 * lane..][..bytes].to_vec();
            wanted.resize(4 * words, 0);
            assert_eq!(got, wanted, "{kind}, lane {lane}");
        }
    }
}

#[test]
fn each_sector_of_several_buffers_is_counted_once() {
    // Lanes go in turns to `in` and `out`; sectors in a row, and every other one.
    for (stride, sectors) in [(32, 32), (64, 32), (16, 18), (4, 8)] {
        let body = format!(
            "and.b32 %r1, %t, 1;\nsetp.eq.u32 %p1, %r1, 0;\nselp.b64 %d1, %in, %out, %p1;\nmad.wide.u32 %d2, %t, {stride}, %d1;\nld.global.u32 %r2, [%d2];"
        );
        let kernel = Kernel { zeros: 4096, ..Kernel::new(32, &body) };
        let footprint = kernel.run().expect("it is right").report.footprint_bytes;
        let touched: std::collections::HashSet<(u32, u32)> = (0..32u32).map(|t| (t % 2, t * stride / 32)).collect();
        assert_eq!(footprint, 32 * touched.len() as u64, "{stride} {sectors}");
    }
}

#[test]
fn copies_past_the_first_cache_are_counted_wherever_they_begin() {
    // The same instruction from several places costs what each costs alone.
    let sectors = |places: &[u32]| {
        let list: String = places
            .iter()
            .enumerate()
            .map(|(n, at)| format!("setp.eq.u32 %p2, %r9, {n};\nselp.u32 %r10, {at}, %r10, %p2;\n"))
            .collect();
        let body = format!(
            "mov.u32 %r100, tile;\nmad.lo.u32 %r101, %t, 16, %r100;\nmov.u32 %r9, 0;\nmov.u32 %r10, 0;\nL: {list}cvt.u64.u32 %d1, %r10;\nadd.u64 %d1, %d1, %in;\nmad.wide.u32 %d1, %t, 48, %d1;\n\
             cp.async.cg.shared.global [%r101], [%d1], 16;\ncp.async.wait_all;\nadd.u32 %r9, %r9, 1;\nsetp.lt.u32 %p1, %r9, {};\n@%p1 bra L;",
            places.len()
        );
        let total = Kernel::new(32, &body).run().unwrap_or_else(|fault| panic!("{fault}")).report.total;
        total.global_load.sectors
    };
    let places = [0, 16, 32, 64, 112, 128, 144, 208, 16, 0];
    assert_eq!(sectors(&places), places.iter().map(|at| sectors(&[*at])).sum::<u64>());
}

#[test]
fn an_exchange_writes_what_nobody_wrote_and_an_addition_does_not() {
    for (place, load) in [("shared", "tile"), ("global", "%out+256")] {
        for (operation, written) in [("exch.b32", true), ("add.u32", false), ("max.u32", false)] {
            let body = format!(
                "atom.{place}.{operation} %r1, [{load}], 5;\nbar.sync 0;\nld.{place}.u32 %r2, [{load}];\nsetp.eq.u32 %p1, %r2, 77;\n@%p1 trap;\nst.global.u32 [%out], %r2;"
            );
            match Kernel::new(1, &body).run() {
                Ok(outcome) => {
                    assert!(written, "{place} {operation}");
                    assert_eq!(outcome.words(1), [5], "{place} {operation}");
                    assert_eq!(outcome.bytes[256].is_some(), place == "global", "{place} {operation}");
                }
                Err(fault) => {
                    assert!(!written && fault.kind == FaultKind::Uninitialised, "{place} {operation}: {fault}")
                }
            }
        }
    }
}

#[test]
fn a_store_meets_the_one_copy_that_is_under_way() {
    // By one lane, of 4 bytes or 16, at some place; by `st`, and by `stmatrix` where a row holds it.
    for (size, at) in [(4, 48), (16, 64), (8, 136)] {
        let copy = format!(
            "setp.eq.u32 %p1, %t, 0;\nmov.u32 %r1, 0;\n@%p1 cp.async.ca.shared.global [tile+{at}], [%in], {size};\n"
        );
        let store = format!("{copy}@%p1 st.shared.u32 [tile+{at}], %r1;\ncp.async.wait_all;");
        let fault = fault(32, &store);
        assert!(fault.message.contains(&format!("tile (shared memory) at offset {at}")), "{fault}");
        let row = at / 16 * 16;
        let matrix = format!(
            "{copy}and.b32 %r2, %t, 7;\nmad.lo.u32 %r2, %r2, 256, {row};\nmov.u32 %r3, tile;\nadd.u32 %r2, %r2, %r3;\nbar.warp.sync -1;\nstmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {{%r1}};\ncp.async.wait_all;"
        );
        let fault = self::fault(32, &matrix);
        assert!(fault.message.contains(&format!("tile (shared memory) at offset {at}")), "{fault}");
    }
}

#[test]
fn all_who_read_are_remembered_though_a_neighbour_reads_again() {
    // In short turns: a lane reads, another party does, then the lane's neighbour. Behind a barrier of the warp the lane
    // writes: that is ordered behind the neighbour's reading, and not behind the other party's.
    let wait = |name: &str, rounds: u32| {
        format!("mov.u32 %r9, 0;\n{name}: add.u32 %r9, %r9, 1;\nsetp.lt.u32 %p9, %r9, {rounds};\n@%p9 bra {name};\n")
    };
    for by_blocks in [true, false] {
        let party = if by_blocks { "mov.u32 %r8, %block;" } else { "shr.u32 %r8, %t, 5;" };
        let body = format!(
            "{party}\nand.b32 %r6, %t, 31;\nsetp.eq.u32 %p3, %r6, 0;\nsetp.eq.u32 %p4, %r6, 1;\nsetp.ne.u32 %p1, %r8, 0;\n@%p1 bra OTHER;\n@%p3 ld.global.u32 %r1, [%out];\n{}@%p4 ld.global.u32 %r2, [%out];\n\
             bar.warp.sync -1;\n@%p3 st.global.u32 [%out], %r9;\nbra END;\nOTHER: @%p3 ld.global.u32 %r1, [%out];\n{}END:",
            wait("A", 3000),
            wait("B", 9000)
        );
        let launch = if by_blocks { Launch::new(2, 32) } else { Launch::new(1, 64) };
        for schedule in Schedule::ALL {
            let kernel = Kernel { zeros: 4096, ..Kernel::new(1, &body) }.launch(launch.schedule(schedule));
            assert_eq!(kernel.fault().kind, FaultKind::Race, "{by_blocks}, {schedule}");
        }
    }
}

#[test]
fn a_trace_is_of_what_lanes_do_in_shared_and_global_memory() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"a.cu\"\n.visible .entry k(.param .u64 a)\n{\n.reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %d<9>;\n.local .align 4 .b32 mine; .const .align 4 .b32 c = 3;\n.shared .align 16 .b8 tile[512];\n\
        ld.param.u64 %d1, [a];\nmov.u32 %r1, %tid.x;\nst.local.u32 [mine], %r1;\nld.local.u32 %r2, [mine];\nsetp.gt.u32 %p1, %r1, 99;\n@%p1 st.global.u32 [%d1], %r1;\n@%p1 st.shared.u32 [tile], %r1;\n\
        mad.wide.u32 %d2, %r1, 4, %d1;\nst.global.u32 [%d2+16], %r1;\n.loc 1 3 0\nst.global.u32 [%d2], %r1;\nret;\n}";
    let kernel = Module::parse(&text.replace(" .const .align 4 .b32 c = 3;", ""))
        .and_then(|module| module.kernel("k"))
        .expect("it is right");
    let mut device = Device::new();
    let out = device.alloc("out", 64);
    let trace = device.trace(&kernel, Launch::new(1, 3), &[Argument::Buffer(out)], |_| true).expect("it is right");
    let notes: Vec<_> = trace
        .accesses
        .iter()
        .map(|a| (a.source.as_ref().map(|(_, line)| *line), a.kind, a.memory, a.lanes.len()))
        .collect();
    assert_eq!(notes, [(None, AccessKind::Store, Memory::Global, 3), (Some(3), AccessKind::Store, Memory::Global, 3)]);
}

#[test]
fn a_number_may_be_told_to_the_very_mebibyte() {
    // 1023 lines of 1024 bytes, one of 1022, and two of a single byte: all of it, and no byte more.
    let text = |more: u32| {
        let bytes = |text: &str| text.bytes().chain([0]).map(|byte| byte.to_string()).collect::<Vec<_>>().join(", ");
        let print = |name: &str| {
            format!(
                "mov.u64 %d1, {name};\ncvta.global.u64 %d1, %d1;\n{{ .param .b64 x; .param .b64 y; .param .b32 z; st.param.b64 [x], %d1; st.param.b64 [y], %d2; call.uni (z), vprintf, (x, y); ld.param.b32 %r4, [z]; }}\n"
            )
        };
        format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n\
             .global .align 1 .b8 line[1025] = {{{}}};\n.global .align 1 .b8 short[1023] = {{{}}};\n.global .align 1 .b8 one[2] = {{{}}};\n.visible .entry k()\n{{\n.reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %d<9>;\nmov.u64 %d2, 0;\nmov.u32 %r1, 0;\n\
             L: {}add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 1023;\n@%p1 bra L;\n{}mov.u32 %r1, 0;\nM: {}add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, {};\n@%p1 bra M;\nret;\n}}\n",
            bytes(&"x".repeat(1024)),
            bytes(&"y".repeat(1022)),
            bytes("z"),
            print("line"),
            print("short"),
            print("one"),
            2 + more
        )
    };
    for more in [0, 1] {
        let kernel = Module::parse(&text(more)).and_then(|module| module.kernel("k")).expect("the text is right");
        let printed = Device::new().launch(&kernel, Launch::new(1, 1), &[]).expect("it is right").printed;
        assert_eq!(printed.len(), 1026, "{more} more");
        assert_eq!(printed.iter().map(|printed| printed.text.len()).sum::<usize>(), 1 << 20, "{more} more");
    }
}

#[test]
fn a_nan_is_the_same_among_negative_numbers_as_among_positive_ones() {
    // Lane 7 adds two NaNs, or subtracts infinities; all others add numbers of one sign.
    for (a, b) in [
        ("0dFFF8000000000001", "0dFFF8000000000002"),
        ("0dFFF0000000000000", "0d7FF0000000000000"),
        ("0d7FF8000000000001", "0dFFF8000000000002"),
    ] {
        let run = |number: &str| {
            let body = format!(
                "mov.f64 %e1, {number};\nmov.f64 %e2, {number};\nsetp.eq.u32 %p1, %t, 7;\n@%p1 mov.f64 %e1, {a};\n@%p1 mov.f64 %e2, {b};\nadd.f64 %e3, %e1, %e2;\nmul.f64 %e4, %e1, %e2;\nfma.rn.f64 %e5, %e1, %e2, %e1;\n\
                 mul.wide.u32 %d1, %t, 32;\nadd.u64 %d1, %d1, %out;\nst.global.f64 [%d1], %e3;\nst.global.f64 [%d1+8], %e4;\nst.global.f64 [%d1+16], %e5;\nst.global.f64 [%d1+24], %e5;"
            );
            Kernel::new(32, &body).words(256)[56..64].to_vec()
        };
        assert_eq!(run("0dC000000000000000"), run("0d4000000000000000"), "{a} {b}");
    }
}

#[test]
fn a_group_of_copies_lands_whole_at_the_last_place_of_shared_memory() {
    // 16 bytes at an odd multiple of 16, which are the last there are: to shared memory, and back to global memory.
    let body = "mov.u32 %r1, tile;\nadd.u32 %r2, %r1, 4080;\nmov.u32 %r3, 1;\nmbarrier.init.shared.b64 [%r1], %r3;\nfence.mbarrier_init.release.cluster;\nfence.proxy.async;\nmbarrier.arrive.expect_tx.shared.b64 %d1, [%r1], 16;\n\
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%in], 16, [%r1];\nW: mbarrier.try_wait.shared.b64 %p1, [%r1], %d1;\n@!%p1 bra W;\n\
        cp.async.bulk.global.shared::cta.bulk_group [%out+16], [%r2], 16;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r2];\nst.global.v4.u32 [%out], {%r10, %r11, %r12, %r13};";
    let input: Vec<u8> = (0..4096).map(|n| n as u8).collect();
    let words = Kernel::new(1, body).input(input).words(8);
    let wanted = [0x0302_0100, 0x0706_0504, 0x0b0a_0908, 0x0f0e_0d0c];
    assert_eq!((&words[..4], &words[4..]), (&wanted[..], &wanted[..]));
}

#[test]
fn a_reduction_of_many_bytes_goes_with_atomics_on_its_elements() {
    // Two blocks add to the same words, one by a bulk copy, one by `red` on words of as many bits.
    let body = |kind: &str, red: &str| {
        format!(
            "setp.ne.u32 %p1, %block, 0;\n@%p1 bra OTHER;\nmov.u32 %r1, 1;\nst.shared.v4.u32 [tile], {{%r1, %r1, %r1, %r1}};\nfence.proxy.async;\nmov.u32 %r2, tile;\ncp.reduce.async.bulk.global.shared::cta.bulk_group.add.{kind} [%out], [%r2], 16;\n\
             cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nbra END;\nOTHER: {red}\nEND:"
        )
    };
    for schedule in Schedule::ALL {
        for (kind, red) in
            [("u32", "red.global.add.u32 [%out+4], 1;"), ("u64", "mov.u64 %d5, 1;\nred.global.add.u64 [%out+8], %d5;")]
        {
            let kernel = Kernel { zeros: 4096, ..Kernel::new(1, &body(kind, red)) };
            let outcome = kernel.launch(Launch::new(2, 1).schedule(schedule)).run();
            assert!(outcome.is_ok(), "{kind}: {}", outcome.err().map_or(String::new(), |fault| fault.to_string()));
        }
    }
}

#[test]
fn lanes_that_wait_for_others_of_their_warp_let_them_go_ahead() {
    // Lane 0 asks until another lane has set the flag, behind the place where the two would meet.
    for (space, flag) in [("shared", "tile"), ("global", "%out+64")] {
        for (kind, value, zero) in [("u32", "%r1", "%r3"), ("u64", "%d1", "%d3"), ("u8", "%r1", "%r3")] {
            for sanitize in [true, false] {
                let wide = if kind == "u64" { "u64" } else { "u32" };
                let body = format!(
                    "mov.u32 %r1, 0;\nmov.u64 %d1, 0;\nmov.u32 %r3, 0;\nmov.u64 %d3, 0;\nsetp.eq.u32 %p1, %t, 0;\n@%p1 st.volatile.{space}.{kind} [{flag}], {zero};\nbar.warp.sync -1;\n@!%p1 bra JOIN;\n\
                     L: ld.volatile.{space}.{kind} {value}, [{flag}];\nsetp.eq.{wide} %p2, {value}, 0;\n@%p2 bra L;\n\
                     JOIN: setp.eq.u32 %p3, %t, 1;\nmov.u32 %r3, 9;\nmov.u64 %d3, 9;\n@%p3 st.volatile.{space}.{kind} [{flag}], {zero};\n@%p1 st.global.u32 [%out], %r3;"
                );
                let kernel = Kernel { zeros: 4096, ..Kernel::new(32, &body) };
                for schedule in Schedule::ALL {
                    let kernel = kernel.clone().launch(Launch::new(1, 32).sanitize(sanitize).schedule(schedule));
                    assert_eq!(kernel.words(1), [9], "{space} {kind} {sanitize} {schedule}");
                }
            }
        }
    }
}
