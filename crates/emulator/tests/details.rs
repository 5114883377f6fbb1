//! Details that nothing else would notice: carries, signs of zeros, votes, barriers that count, counts by line, local memory.

use emulator::{Argument, Class, Device, Dim3, FaultKind, Launch, LaunchError, Module, Report};

const THREADS: u32 = 64;

/// Runs a body by 64 threads; each writes what it leaves in `%r0` to its word of the result.
fn run(body: &str) -> Result<(Vec<u32>, Report), LaunchError> {
    let text = format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n.shared .align 128 .b8 tile[4096];\n\
         .visible .entry k(.param .u64 out) {{\n.reg .pred %p<9>; .reg .b32 %r<99>; .reg .f32 %f<99>; .reg .b64 %d<99>; .reg .f64 %e<9>;\n\
         .local .align 16 .b8 mine[32];\n.reg .b32 %t; .reg .b64 %out;\nmov.u32 %t, %tid.x;\nld.param.u64 %out, [out];\n\
         mad.wide.u32 %out, %t, 4, %out;\n{body}\nst.global.u32 [%out], %r0;\nret;\n}}\n.file 1 \"k.cu\"\n"
    );
    let kernel = Module::parse(&text).and_then(|module| module.kernel("k")).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut device = Device::new();
    let out = device.alloc("out", THREADS as usize * 4);
    let report = device.launch(&kernel, Launch::new(Dim3::xy(1, 1), Dim3::xy(THREADS, 1)), &[Argument::Buffer(out)])?;
    let mut bytes = vec![0; THREADS as usize * 4];
    device.read(out, &mut bytes).expect("it has this size");
    let word = |word: &[u8]| u32::from_le_bytes(word.try_into().expect("4 bytes"));
    Ok((bytes.chunks_exact(4).map(word).collect(), report))
}

fn results(body: &str) -> Vec<u32> {
    run(body).unwrap_or_else(|error| panic!("{error}\n{body}")).0
}

#[test]
fn a_carry_goes_from_word_to_word_and_no_further() {
    // 2^96 - 1 + 1: every word overflows into the next.
    let add = "mov.u32 %r1, 0xffffffff;\nadd.cc.u32 %r2, %r1, 1;\naddc.cc.u32 %r3, %r1, 0;\naddc.cc.u32 %r4, %r1, 0;\naddc.u32 %r0, 5, 0;";
    assert_eq!(results(add)[0], 6);
    let kept = "mov.u32 %r1, 0xffffffff;\nadd.cc.u32 %r2, %r1, 1;\nadd.u32 %r3, 1, 1;\naddc.u32 %r4, 5, 0;\naddc.u32 %r0, %r4, 0;";
    assert_eq!(results(kept)[0], 7, "what has no .cc leaves the carry as it is");
    let none = "add.cc.u32 %r2, 7, 1;\naddc.u32 %r0, 5, 0;";
    assert_eq!(results(none)[0], 5);
    let borrow = "sub.cc.u32 %r2, 0, 1;\nsubc.cc.u32 %r3, 0, 0;\nsubc.u32 %r0, 5, 0;";
    assert_eq!(results(borrow)[0], 4);
    // 0xffffffff × 0xffffffff + 0xffffffff: the high word takes the carry of the low one.
    let mad = "mov.u32 %r1, -1;\nmad.lo.cc.u32 %r2, %r1, %r1, %r1;\nmadc.hi.u32 %r0, %r1, %r1, 0;";
    assert_eq!(results(mad)[0], 0xffff_ffff);
    let both = "mov.u32 %r1, -1;\nadd.cc.u32 %r2, %r1, 1;\naddc.cc.u32 %r3, %r1, %r1;\naddc.u32 %r0, 0, 0;";
    assert_eq!(results(both)[0], 1, "-1 + -1 + 1 carries");
}

#[test]
fn an_exact_cancel_is_a_zero_whose_sign_the_rounding_says() {
    for (rounding, wanted) in [("rn", 0), ("rz", 0), ("rp", 0), ("rm", 0x8000_0000u32)] {
        let add = format!(
            "mov.f32 %f1, 0f3FC00000;\nneg.f32 %f2, %f1;\nadd.{rounding}.f32 %f3, %f1, %f2;\nmov.b32 %r0, %f3;"
        );
        assert_eq!(results(&add)[0], wanted, "add.{rounding}");
        let sub = format!("mov.f32 %f1, 0f3FC00000;\nsub.{rounding}.f32 %f3, %f1, %f1;\nmov.b32 %r0, %f3;");
        assert_eq!(results(&sub)[0], wanted, "sub.{rounding}");
        let fma = format!(
            "mov.f32 %f1, 0f3FC00000;\nmov.f32 %f2, 0f40000000;\nmov.f32 %f3, 0fC0400000;\n\
             fma.{rounding}.f32 %f4, %f1, %f2, %f3;\nmov.b32 %r0, %f4;"
        );
        assert_eq!(results(&fma)[0], wanted, "fma.{rounding}");
        let double = format!(
            "mov.f64 %e1, 0d3FF8000000000000;\nsub.{rounding}.f64 %e2, %e1, %e1;\nmov.b64 %d1, %e2;\nshr.u64 %d1, %d1, 32;\ncvt.u32.u64 %r0, %d1;"
        );
        assert_eq!(results(&double)[0], wanted, "sub.{rounding}.f64");
    }
    let zeros = "mov.f32 %f1, 0f80000000;\nadd.rm.f32 %f2, %f1, 0f00000000;\nmov.b32 %r0, %f2;";
    assert_eq!(results(zeros)[0], 0x8000_0000, "-0 + 0 downwards");
}

#[test]
fn a_barrier_counts_and_joins_over_the_whole_block() {
    let count = "setp.lt.u32 %p1, %t, 40;\nbar.red.popc.u32 %r0, 0, %p1;";
    assert_eq!(results(count), [40; THREADS as usize]);
    let negated = "setp.lt.u32 %p1, %t, 40;\nbar.red.popc.u32 %r0, 0, !%p1;";
    assert_eq!(results(negated), [24; THREADS as usize]);
    for (operation, below, wanted) in [("and", 64, 1), ("and", 63, 0), ("or", 1, 1), ("or", 0, 0)] {
        let body =
            format!("setp.lt.u32 %p1, %t, {below};\nbar.red.{operation}.pred %p2, 0, %p1;\nselp.u32 %r0, 1, 0, %p2;");
        assert_eq!(results(&body), [wanted; THREADS as usize], "{operation} of the first {below}");
    }
}

#[test]
fn a_vote_is_of_its_warp() {
    for (below, uniform) in [(0, [1, 1]), (16, [0, 1]), (32, [1, 1]), (33, [1, 0]), (64, [1, 1])] {
        let body = format!("setp.lt.u32 %p1, %t, {below};\nvote.sync.uni.pred %p2, %p1, -1;\nselp.u32 %r0, 1, 0, %p2;");
        let got = results(&body);
        assert_eq!([got[0], got[32]], uniform, "the first {below}");
    }
    let ballot = results("setp.lt.u32 %p1, %t, 33;\nvote.sync.ballot.b32 %r0, !%p1, -1;");
    assert_eq!((ballot[0], ballot[63]), (0, 0xffff_fffe));
}

#[test]
fn counts_stand_at_their_lines() {
    let body =
        ".loc 1 7 0\nsetp.lt.u32 %p1, %t, 5;\n.loc 1 8 0\n@%p1 add.u32 %r1, %t, 1;\nadd.u32 %r0, %t, 2;\n.loc 1 9 0";
    let report = run(body).expect("it is right").1;
    let line = |number: u32| report.lines.iter().find(|l| l.line == number).unwrap_or_else(|| panic!("line {number}"));
    let (compare, add) = (line(7).counters.class(Class::Compare), line(8).counters.class(Class::Integer));
    assert_eq!((compare.warp, compare.thread), (2, 64));
    // The guard lets 5 threads of the first warp through, and none of the second, which issues it all the same.
    assert_eq!(add.thread, 5 + 64);
    assert_eq!(line(9).counters.global_store.requests, 2);
    assert_eq!(line(8).counters.global_store.requests, 0);
}

fn fault(body: &str) -> (FaultKind, String) {
    match run(body) {
        Err(LaunchError::Fault(fault)) => (fault.kind, fault.message),
        other => panic!("{body}\n{other:?}"),
    }
}

#[test]
fn local_memory_has_a_start_an_end_and_an_alignment() {
    let store = |address: &str| format!("mov.u32 %r1, mine;\nmov.u64 %d1, mine;\nmov.u32 %r0, 3;\n{address}");
    for (width, right, wrong) in [("u16", 30, 1), ("u32", 28, 2), ("u64", 24, 4), ("u64", 16, 12)] {
        let value = if width == "u64" { "%d1" } else { "%r0" };
        let at = |place: u32| store(&format!("st.local.{width} [mine+{place}], {value};"));
        assert!(run(&at(right)).is_ok(), "{width} at {right}");
        let (kind, message) = fault(&at(wrong));
        assert_eq!(kind, FaultKind::Misaligned, "{message}");
    }
    let (kind, message) = fault(&store("st.local.v4.u32 [mine+8], {%r0, %r0, %r0, %r0};"));
    assert_eq!(kind, FaultKind::Misaligned, "{message}");
    for before in [
        "st.local.u32 [%d1+-16], %r0;",
        "st.local.u32 [%r1+-16], %r0;",
        "add.u32 %r1, %r1, -16;\nst.local.u32 [%r1], %r0;",
    ] {
        let (kind, message) = fault(&store(before));
        assert_eq!(kind, FaultKind::OutOfBounds);
        assert!(message.contains("before the start of local memory (32 bytes) at offset -16"), "{message}");
    }
    let (_, message) = fault(&store("st.local.u32 [mine+32], %r0;"));
    assert!(message.contains("past the end of local memory (32 bytes) at offset 32"), "{message}");
}

#[test]
fn halves_are_added_without_a_carry_between_them() {
    let add = "mov.u32 %r1, 0x0001ffff;\nmov.u32 %r2, 0x00020001;\nadd.u16x2 %r0, %r1, %r2;";
    assert_eq!(results(add)[0], 0x0003_0000);
    let min = "mov.u32 %r1, 0x8000ffff;\nmov.u32 %r2, 0x00010001;\nmin.s16x2 %r0, %r1, %r2;";
    assert_eq!(results(min)[0], 0x8000_ffff);
    let max = "mov.u32 %r1, 0x8000ffff;\nmov.u32 %r2, 0x00010001;\nmax.u16x2 %r0, %r1, %r2;";
    assert_eq!(results(max)[0], 0x8000_ffff);
    let relu = "mov.u32 %r1, 0x8000ffff;\nmov.u32 %r2, 0xfff00007;\nmax.relu.s16x2 %r0, %r1, %r2;";
    assert_eq!(results(relu)[0], 0x0000_0007);
}

#[test]
fn a_table_of_many_targets_takes_little() {
    let count = 100_000;
    let targets: Vec<String> = (0..count).map(|n| format!("L{n}")).collect();
    let places: String = targets.iter().map(|label| format!("{label}:\n")).collect();
    let table = targets.join(", ");
    let body = format!(
        "mov.u32 %r0, 1;\nmad.lo.u32 %r1, %t, 1000, 7;\nTABLE: .branchtargets {table};\nbrx.idx %r1, TABLE;\n{places}bra.uni END;\nEND:"
    );
    assert_eq!(results(&body)[0], 1);
    let few = "mov.u32 %r0, 0;\nTABLE: .branchtargets A, B, C;\nrem.u32 %r1, %t, 3;\nbrx.idx %r1, TABLE;\n\
        A: add.u32 %r0, %r0, 1;\nB: add.u32 %r0, %r0, 10;\nC: add.u32 %r0, %r0, 100;";
    assert_eq!(results(few)[..4], [111, 110, 100, 111]);
}

#[test]
fn wmma_multiplies_what_it_loads_in_any_layout() {
    // A[i][k] = i + k, B[k][j] = k - j, both exact in f16; C = 0.5.
    for (shape, m, n) in [("m16n16k16", 16, 16), ("m32n8k16", 32, 8), ("m8n32k16", 8, 32)] {
        for (a_layout, b_layout, d_layout) in [("row", "col", "row"), ("col", "row", "col"), ("row", "row", "col")] {
            let (a_stride, b_stride) = (if a_layout == "row" { 16 } else { m }, if b_layout == "row" { n } else { 16 });
            let d_stride = if d_layout == "row" { n } else { m };
            let fill = |rows: u32, columns: u32, by_rows: bool, sign: &str, at: u32| {
                let (row, column) = match by_rows {
                    true => (format!("div.u32 %r11, %r10, {columns};"), format!("rem.u32 %r12, %r10, {columns};")),
                    false => (format!("rem.u32 %r11, %r10, {rows};"), format!("div.u32 %r12, %r10, {rows};")),
                };
                format!(
                    "mov.u32 %r10, %t;\nF{at}: {row} {column} {sign}.s32 %r13, %r11, %r12;\ncvt.rn.f16.s32 %h1, %r13;\n\
                     mad.lo.u32 %r14, %r10, 2, {at};\nmov.u32 %r15, tile;\nadd.u32 %r14, %r14, %r15;\nst.shared.b16 [%r14], %h1;\n\
                     add.u32 %r10, %r10, {THREADS};\nsetp.lt.u32 %p3, %r10, {};\n@%p3 bra F{at};\n",
                    rows * columns
                )
            };
            let list = |letter: char, from: u32| {
                (from..from + 8).map(|n| format!("%{letter}{n}")).collect::<Vec<_>>().join(", ")
            };
            let (a, b, c) = (list('r', 20), list('r', 30), list('f', 40));
            let body = format!(
                ".reg .b16 %h<3>;\n{}{}bar.sync 0;\nmov.u32 %r0, 0;\nsetp.gt.u32 %p4, %t, 31;\n@%p4 bra WAIT;\n\
                 wmma.load.a.sync.aligned.{a_layout}.{shape}.shared.f16 {{{a}}}, [tile], {a_stride};\n\
                 wmma.load.b.sync.aligned.{b_layout}.{shape}.shared.f16 {{{b}}}, [tile+1024], {b_stride};\n{}\n\
                 wmma.mma.sync.aligned.{a_layout}.{b_layout}.{shape}.f32.f32 {{{c}}}, {{{a}}}, {{{b}}}, {{{c}}};\n\
                 mov.u32 %r60, {d_stride};\nwmma.store.d.sync.aligned.{d_layout}.{shape}.shared.f32 [tile+2048], {{{c}}}, %r60;\n\
                 WAIT: bar.sync 0;\nmov.u32 %r1, tile;\nmad.lo.u32 %r2, %t, 16, %r1;\nld.shared.f32 %f1, [%r2+2048];\n\
                 ld.shared.f32 %f2, [%r2+2060];\nfma.rn.f32 %f1, %f2, 0f45800000, %f1;\nmov.b32 %r0, %f1;",
                fill(m, 16, a_layout == "row", "add", 0),
                fill(16, n, b_layout == "row", "sub", 1024),
                (40..48).map(|n| format!("mov.f32 %f{n}, 0f3F000000;")).collect::<String>(),
            );
            let got = results(&body);
            let element = |place: u32| {
                let (i, j) = match d_layout {
                    "row" => (place / n, place % n),
                    _ => (place % m, place / m),
                };
                (0..16).map(|k| f64::from(i + k) * (f64::from(k) - f64::from(j))).sum::<f64>() + 0.5
            };
            for (thread, bits) in got.iter().enumerate() {
                let place = 4 * thread as u32;
                let wanted = (element(place + 3) * 4096.0 + element(place)) as f32;
                assert_eq!(f32::from_bits(*bits), wanted, "{shape} {a_layout} {b_layout} {d_layout}, place {place}");
            }
        }
    }
}
