//! What is refused, beside what is taken: operands, opcodes and declarations, and the reasons.

use emulator::Module;

#[test]
fn an_opcode_of_many_words_is_none() {
    for count in [5, 23, 24, 30] {
        let text = format!(
            ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n.reg .b32 %r<4>;\nadd{} %r1, %r2, %r3;\nret;\n}}\n",
            ".u32".repeat(count)
        );
        let error = Module::parse(&text).and_then(|module| module.kernel("k").map(drop)).expect_err("it is none");
        assert!(error.message.contains("is no form of `add` that the emulator runs"), "{}", error.message);
        assert_eq!(error.line, 7);
    }
}

#[test]
fn a_table_has_places_up_to_its_limit() {
    let text = |count: usize| {
        let list = vec!["A"; count].join(", ");
        format!(
            ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n.reg .b32 %r<4>;\nT: .branchtargets {list};\nmov.u32 %r1, 1;\nbrx.idx %r1, T;\nA: ret;\n}}\n"
        )
    };
    // Something else is wrong behind it, which is seen sooner than the kernel is whole.
    let most = text(1 << 18).replace("A: ret;", "A: add.u32 %r1, _, %r1;");
    let error = Module::parse(&most).and_then(|module| module.kernel("k").map(drop)).expect_err("`_` is no source");
    assert!(error.message.contains("must be a register of type .u32"), "{}", error.message);
    let error =
        Module::parse(&text((1 << 18) + 1)).and_then(|module| module.kernel("k").map(drop)).expect_err("too many");
    assert!(error.message.contains("`T` has 262145 targets, of at most 262144"), "{}", error.message);
}

#[test]
fn what_no_source_is_is_refused() {
    // `_` is no source, and of a `mov` no destination either; a function's code is no memory; a fence is none of a copy's spaces.
    let parse = |body: &str| {
        let text = format!(
            ".version 8.6\n.target sm_90\n.address_size 64\n.func (.param .b32 r) f (.param .b32 x, .param .b64 y) {{ st.param.b32 [r], 0; ret; }}\n.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n.visible .entry k(.param .u64 a)\n{{ .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %d<9>; .shared .align 16 .b8 tile[64];\n\
             .param .b32 x; .param .b64 y; .param .b32 z; .param .b64 w;\n{body}\nret;\n}}\n"
        );
        let kernel = Module::parse(&text).and_then(|module| module.kernel("k").map(drop));
        kernel.map_err(|error| (error.line, error.message))
    };
    for (right, wrong, why) in [
        ("add.u32 %r1, %r2, %r3;", "add.u32 %r1, _, %r3;", "must be a register of type .u32"),
        ("and.pred %p1, %p2, !%p3;", "and.pred %p1, %p2, !_;", "must be a register of type .pred"),
        ("mov.u32 %r1, %r2;", "mov.u32 %r1, _;", "takes `_`, which is neither a register nor a variable"),
        ("mov.u32 %r1, %r2;", "mov.u32 _, %r2;", "must be a register of type .u32"),
        ("mov.pred %p1, !%p2;", "mov.pred %p1, !_;", "must be a register of type .pred"),
        ("mov.pred %p1, !%p2;", "mov.u32 %r1, !%p2;", "must be"),
        ("mov.b64 {%r1, _}, %d1;", "mov.b64 {%r1, _}, _;", "must be a register of type .b64"),
        ("mov.b32 {%h1, %h2}, %r1;", "mov.u32 {%h1, %h2}, %r1;", "must be a register of type .u32"),
        ("mov.b32 %r1, {%h1, %h2};", "mov.s32 %r1, {%h1, %h2};", "must be a register of type .s32"),
        ("mov.b64 {%r1, %r2}, %d1;", "mov.u64 {%r1, %r2}, %d1;", "must be a register of type .u64"),
        ("mov.b64 {%r1, %r2}, %d1;", "mov.b64 {%r1, %r2}, {%r3, %r4};", "must be a register of type .b64"),
        ("cvta.to.global.u64 %d1, %d2;", "cvta.to.global.u64 %d1, _;", "names `_`, which is no variable in .global"),
        ("ld.global.u32 %r1, [%d1];", "ld.global.u32 %r1, [f];", "names `f`, which lies in another space"),
        ("bar.sync 1, 0;", "bar.sync 1, -32;", "is for -32 threads"),
        ("bar.sync 15;", "bar.sync WARP_SZ;", "barrier 32 of `bar.sync` is none of 0 to 15"),
        ("cvt.rn.f32.s32 %f1, %r1;", "cvt.f32.s32 %f1, %r1;", "`cvt.f32.s32`"),
        ("cvt.rn.f32.s32 %f1, %r1;", "cvt.rzi.f32.s32 %f1, %r1;", "`cvt.rzi.f32.s32`"),
        (
            "cp.async.ca.shared.global [tile], [%d1], 4;",
            "cp.async.ca.global.shared [tile], [%d1], 4;",
            "is no form of `cp`",
        ),
        ("bfe.u32 %r1, %r2, WARP_SZ, 1;", "bfe.f32 %r1, %r2, WARP_SZ, 1;", "is no form of `bfe`"),
        ("lop3.b32 %r1, %r2, %r3, %r4, 96;", "lop3.b32 %r1, %r2, %r3, %r4, %laneid;", "must be an integer constant"),
        ("call (z), f, (x, y);", "call (z), f, (x, x);", "argument 2 of the `call` of `f`"),
        ("call (z), f, (x, y);", "call (z), f, (y, y);", "argument 1 of the `call` of `f`"),
        ("call (z), f, (x, y);", "call (w), f, (x, y);", "argument 3 of the `call` of `f`"),
        ("call (z), f, (5, y);", "call (5), f, (x, y);", "argument 3 of the `call` of `f` is neither a register nor"),
        ("call (z), vprintf, (y, w);", "call (z), vprintf, (x, w);", "argument 1 of the `call` of `vprintf`"),
        ("call (z), vprintf, (y, w);", "call (y), vprintf, (y, w);", "argument 3 of the `call` of `vprintf`"),
        ("T: .branchtargets A;\nA:", "T: .branchtargets A;\nT: .branchtargets A;\nA:", "twice"),
    ] {
        assert_eq!(parse(right), Ok(()), "`{right}`");
        let Err((_, message)) = parse(wrong) else { panic!("`{wrong}` is wrong") };
        assert!(message.contains(why), "`{wrong}`: {message}");
    }
}

#[test]
fn a_bulk_copy_is_of_a_multiple_of_16_bytes() {
    let parse = |copy: &str| {
        let text = format!(
            ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{{\n.reg .b32 %r<9>; .reg .b64 %d<9>;\n{copy}\nret;\n}}\n"
        );
        Module::parse(&text).and_then(|module| module.kernel("k").map(drop)).map_err(|error| error.message)
    };
    for bytes in [0, 8, 15, 16, 17, 24, 32, 4096] {
        for copy in [
            format!("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%d0], {bytes}, [%r1];"),
            format!(
                "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r0], [%r2], {bytes}, [%r1];"
            ),
            format!("cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r0], {bytes};"),
            format!("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d0], [%r0], {bytes};"),
            format!("cp.async.bulk.prefetch.L2.global [%d0], {bytes};"),
        ] {
            match parse(&copy) {
                Ok(()) => assert!(bytes % 16 == 0, "{copy}"),
                Err(why) => assert!(bytes % 16 != 0 && why.ends_with("which is no multiple of 16"), "{copy}: {why}"),
            }
        }
        // Coordinates are no sizes.
        let tensor = format!("cp.async.bulk.prefetch.tensor.1d.L2.global [%d0, {{{bytes}}}];");
        assert_eq!(parse(&tensor), Ok(()));
    }
}

#[test]
fn a_product_of_a_warpgroup_says_of_each_matrix_which_way_it_lies() {
    let parse = |kind: &str, operands: &str| {
        let text = format!(
            ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{{\n.reg .pred %p<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %d<9>;\n\
             wgmma.mma_async.sync.aligned.m64n8k{kind} {{%f0, %f1, %f2, %f3}}, {operands};\nret;\n}}\n"
        );
        Module::parse(&text).and_then(|module| module.kernel("k").map(drop)).map_err(|error| error.message)
    };
    let (sums, halves, bytes) = ("{%r0, %r1, %r2, %r3}", "16.f32.bf16.bf16", "32.f32.e4m3.e4m3");
    for (kind, a, flags, right) in [
        (halves, sums, "1, 1, 0", true),
        (halves, sums, "-1, 1, 1", true),
        (halves, sums, "1, 1, 2", false),
        (halves, sums, "1, 1, -1", false),
        (halves, sums, "1, 0, 1", false),
        (halves, sums, "2, 1, 1", false),
        (halves, "%d0", "1, -1, 0, 1", true),
        (halves, "%d0", "1, 1, 1, 0", true),
        (halves, "%d0", "1, 1, 2, 0", false),
        (halves, "%d0", "1, 1, 0, 2", false),
        (halves, "{%r0, _, %r2, %r3}", "1, 1, 0", false),
        (halves, "{%r0, %r1, %r2, %d3}", "1, 1, 0", false),
        (bytes, sums, "1, -1", true),
        (bytes, "%d0", "-1, 1", true),
        (bytes, "%d0", "0, 1", false),
    ] {
        let outcome = parse(kind, &format!("{a}, %d1, %p1, {flags}"));
        assert_eq!(outcome.is_ok(), right, "{kind} {a} {flags}: {outcome:?}");
    }
}

#[test]
fn what_has_no_elements_has_no_size() {
    let parse = |outside: &str, parameters: &str, within: &str| {
        let text = format!(
            ".version 8.6\n.target sm_90\n.address_size 64\n{outside}\n.visible .entry k({parameters})\n{{\n.reg .b32 %r<9>;\n{within}\nret;\n}}\n"
        );
        Module::parse(&text).and_then(|module| module.kernel("k").map(drop)).map_err(|error| error.message)
    };
    for right in [
        [".shared .b8 e[1];", "", "mov.u32 %r1, e;"],
        [".extern .shared .b8 e[0];", "", "mov.u32 %r1, e;"],
        [".extern .shared .b8 e[];", "", "mov.u32 %r1, e;"],
        ["", ".param .b8 a[1], .param .b32 b", "ld.param.u32 %r1, [b];"],
        [".func f(.param .b32 q, .param .b8 a[]) { ret; }", "", ""],
        [".func f(.param .b8 a[0]) { ret; }", "", ""],
    ] {
        let [outside, parameters, within] = right;
        assert_eq!(parse(outside, parameters, within), Ok(()), "{right:?}");
    }
    for wrong in [
        [".shared .b8 e[0];", "", "mov.u32 %r1, e;"],
        [".shared .b8 e[];", "", "mov.u32 %r1, e;"],
        ["", "", ".shared .b8 e[0];"],
        ["", "", ".local .b32 e[2][0];"],
        ["", ".param .b8 a[]", ""],
        ["", ".param .b32 b, .param .b8 a[0]", ""],
        ["", ".param .b8 a[0], .param .b32 b", ""],
    ] {
        let [outside, parameters, within] = wrong;
        let message = parse(outside, parameters, within).expect_err(outside);
        assert!(message.contains("has no size"), "{wrong:?}: {message}");
    }
}

#[test]
fn what_belongs_to_no_line_names_none() {
    let parse = |declared: &str, within: &str| {
        let text = format!(
            ".version 8.6\n.target sm_90\n.address_size 64\n{declared}\n.visible .entry k()\n{{\n{within}\nret;\n}}\n"
        );
        let kernel = Module::parse(&text).and_then(|module| module.kernel("k").map(drop));
        kernel.map_err(|error| (error.line, error.message))
    };
    for (declared, within, why) in [
        (".extern .const .align 4 .b8 c[];", "", "has no size"),
        (".extern .global .align 4 .b8 g[];", "", "has no size"),
        (
            ".const .u32 c = 5;\n.global .u64 g = c;",
            "",
            "begins with the address of `c`, which is no variable in global memory",
        ),
        (
            ".const .u32 c = 5;",
            ".global .u64 g = c;",
            "begins with the address of `c`, which is no variable in global memory",
        ),
    ] {
        let (line, message) = parse(declared, within).expect_err(declared);
        assert!(line == 0 && message.contains(why), "{declared} {within}: {line}: {message}");
    }
}

#[test]
fn a_form_of_a_later_gpu_says_of_which() {
    let parse = |target: &str, text: &str| {
        let text = format!(
            ".version 8.6\n.target {target}\n.address_size 64\n.visible .entry k()\n{{\n.reg .b32 %r<9>; .reg .b64 %d<4>; .reg .b16 %h<4>; .shared .align 16 .b8 tile[64];\n{text}\nret;\n}}\n"
        );
        Module::parse(&text).and_then(|module| module.kernel("k").map(drop)).map_err(|error| error.message)
    };
    for (since, before, text) in
        [("sm_90", "sm_80", "mul.bf16x2 %r1, %r2, %r3;"), ("sm_90", "sm_80", "set.lt.u32.bf16 %r1, %h1, %h2;")]
    {
        assert_eq!(parse(since, text), Ok(()), "{text}");
        let message = parse(before, text).expect_err(text);
        assert!(message.contains(&format!("needs .target {since}")), "{text}: {message}");
    }
}

#[test]
fn bits_may_be_given_as_a_float_of_their_width() {
    // As ptxas has it.
    for (text, right) in [
        ("and.b64 %d1, %d1, 0d3FF0000000000000;", true),
        ("and.b64 %d1, %d1, 0f3F800000;", false),
        ("and.b32 %r1, %r1, 0f3F800000;", true),
        ("and.b32 %r1, %r1, 0d3FF0000000000000;", false),
        ("mov.b64 %d1, 0d3FF0000000000000;", true),
        ("mov.b32 %r1, 0d3FF0000000000000;", false),
        ("selp.b64 %d1, %d1, 0d3FF0000000000000, %p1;", true),
    ] {
        let text = format!(
            ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n.reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %d<9>;\n{text}\nret;\n}}\n"
        );
        assert_eq!(Module::parse(&text).and_then(|module| module.kernel("k").map(drop)).is_ok(), right, "{text}");
    }
}
