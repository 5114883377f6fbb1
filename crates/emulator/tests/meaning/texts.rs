//! Texts that are no PTX, by one word, beside those that are: what is refused, on which line, and why.

use std::collections::HashSet;

use crate::table;

use emulator::Module;

/// The error of a kernel with this body, or with these declarations before it.
fn parse(declared: &str, body: &str) -> Result<(), (u32, String)> {
    let text = format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n{declared}\n.visible .entry k(.param .u64 a)\n{{\n\
         .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<20>; .reg .f32 %f<9>; .reg .b64 %d<20>; .reg .f64 %e<9>; .reg .u32 %u<9>; .reg .s32 %s<9>;\n\
         .shared .align 16 .b8 tile[64]; .local .align 16 .b8 mine[64];\n{body}\nret;\n}}\n"
    );
    let kernel = Module::parse(&text).and_then(|module| module.kernel("k").map(drop));
    kernel.map_err(|error| (error.line, error.message))
}

/// The right text passes; the wrong one is refused on line 9, for a reason that has these words.
fn refused(right: &str, wrong: &str, why: &str) {
    if let Err((line, message)) = parse("", right) {
        panic!("`{right}` is right: line {line}: {message}");
    }
    match parse("", wrong) {
        Ok(()) => panic!("`{wrong}` is wrong"),
        Err((line, message)) => {
            assert!(message.contains(why), "`{wrong}`: {message}");
            assert_eq!(line, 9, "`{wrong}`: {message}");
        }
    }
}

#[test]
fn operands_are_of_the_number_and_kind_that_the_form_has() {
    for (right, wrong, why) in [
        ("add.u32 %r1, %r2, %r3;", "add.u32 %r1, %r2;", "takes 3 operands, here are 2"),
        ("add.u32 %r1, %r2, %r3;", "add.u32 %r1, %r2, %r3, %r4;", "takes 3 operands, here are 4"),
        ("add.u32 %r1, %r2, 7;", "add.u32 %r1, %r2, %f1;", "operand 3 of `add.u32` must be of type .u32"),
        ("add.f32 %f1, %f2, 0f3F800000;", "add.f32 %f1, %f2, 7;", "is an integer constant, and must be of type .f32"),
        (
            "add.u32 %r1, %r2, 7;",
            "add.u32 %r1, %r2, 0f3F800000;",
            "is a floating-point constant, and must be of type .u32",
        ),
        ("add.u32 %r1, %r2, %r3;", "add.u32 7, %r2, %r3;", "operand 1 of `add.u32` must be a register"),
        ("add.u32 %u1, %u2, %r3;", "add.u32 %s1, %u2, %f1;", "must be of type .u32"),
        (
            "add.u64 %d1, %d2, 1;",
            "add.u64 %d1, %r2, 1;",
            "operand 2 of `add.u64` must be of type .u64, and `%r2` is declared as .b32",
        ),
        (
            "mul.wide.u32 %d1, %r2, %r3;",
            "mul.wide.u32 %r1, %r2, %r3;",
            "operand 1 of `mul.wide.u32` must be of type .u64",
        ),
        ("mul.wide.s16 %r1, %h2, %h3;", "mul.wide.s16 %d1, %h2, %h3;", "must be of type .s32"),
        ("and.pred %p1, %p2, !%p3;", "and.pred %p1, %p2, %r3;", "must be of type .pred"),
        ("setp.lt.u32 %p1|%p2, %r1, 4;", "setp.lt.u32 %p1|%r2, %r1, 4;", "must be of type .pred"),
        ("setp.lt.u32 %p1|_, %r1, 4;", "setp.lt.u32 %r1|_, %r1, 4;", "must be of type .pred"),
        ("setp.lt.u32 _|%p1, %r1, 4;", "setp.lt.u32 _, %r1, 4;", "must be a register of type .pred"),
        (
            "shfl.sync.up.b32 %r1|%p1, %r2, 1, 0, -1;",
            "shfl.sync.up.b32 %r1|%r3, %r2, 1, 0, -1;",
            "must be of type .pred",
        ),
        ("lop3.b32 %r1, %r2, %r3, %r4, 255;", "lop3.b32 %r1, %r2, %r3, %r4, %r5;", "must be an integer constant"),
        ("ld.global.u32 %r1, [%d1];", "ld.global.u32 %r1, %d1;", "must be an address in [ ]"),
        ("ld.global.v2.u32 {%r1, %r2}, [%d1];", "ld.global.v2.u32 {%r1, %r2, %r3}, [%d1];", "registers"),
        ("ld.global.v2.u32 {%r1, _}, [%d1];", "ld.global.v2.u32 {%r1, %f1}, [%d1];", "must be of type .u32"),
        ("ld.global.u8 %d1, [%d1];", "ld.global.u64 %r1, [%d1];", "must be of type .u64"),
        ("ld.global.f32 %f1, [%d1];", "ld.global.f32 %e1, [%d1];", "must be of type .f32"),
        ("st.global.f64 [%d1], %e1;", "st.global.f64 [%d1], %f1;", "must be of type .f64"),
        (
            "st.global.v4.u32 [%d1], {%r1, %r2, %r3, 4};",
            "st.global.v4.u64 [%d1], {%d1, %d1, %d1, %d1};",
            "more than 128 bits",
        ),
        (
            "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [tile];",
            "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2}, [tile];",
            "must be a list of 4",
        ),
        (
            "cp.async.cg.shared.global [tile], [%d1], 16;",
            "cp.async.cg.shared.global [tile], [%d1], 8;",
            "is 8, and must be from 16 to 16",
        ),
        ("cp.async.wait_group 0;", "cp.async.wait_group -1;", "is -1, and must be from 0"),
        ("ld.global.v2.u32 {%r1, _}, [%d1];", "ld.global.v2.u32 {_, _}, [%d1];", "must be a register"),
        ("ld.global.v4.u32 {_, _, _, %r1}, [%d1];", "ld.global.v4.u32 {_, _, _, _}, [%d1];", "must be a register"),
        ("ld.global.u32 %r1, [%d1];", "ld.global.u32 _, [%d1];", "must be a register"),
        ("bfe.u32 %r1, %r2, 255, 255;", "bfe.u32 %r1, %r2, 256, 8;", "is 256, and must be from 0 to 255"),
        ("bfe.s64 %d1, %d2, 0, 0;", "bfe.s64 %d1, %d2, 0, 256;", "is 256, and must be from 0 to 255"),
        ("bfi.b32 %r1, %r2, %r3, 255, 0;", "bfi.b32 %r1, %r2, %r3, -1, 0;", "is -1, and must be from 0 to 255"),
        ("bfi.b64 %d1, %d2, %d3, 0, 255;", "bfi.b64 %d1, %d2, %d3, 0, 256;", "is 256, and must be from 0 to 255"),
        ("pmevent 15;", "pmevent 16;", "is 16, and must be from 0 to 15"),
        ("pmevent.mask 65535;", "pmevent.mask 65536;", "is 65536, and must be from 0 to 65535"),
        ("discard.L2 [%d1], 128;", "discard.L2 [%d1], 127;", "is 127, and must be from 128 to 128"),
        (
            "cp.async.ca.shared.global [tile], [%d1], 4;",
            "cp.async.ca.shared.global [tile], [%d1], 3;",
            "is 3, and must be from 4 to 16",
        ),
        (
            "cp.async.ca.shared.global [tile], [%d1], 16;",
            "cp.async.ca.shared.global [tile], [%d1], 17;",
            "is 17, and must be from 4 to 16",
        ),
        (
            "cp.async.ca.shared.global [tile], [%d1], 16, 16;",
            "cp.async.ca.shared.global [tile], [%d1], 16, 17;",
            "a size of at most 16",
        ),
        ("bar.sync 15;", "bar.sync 16;", "barrier 16 of `bar.sync` is none of 0 to 15"),
        ("bar.sync 1, 96;", "bar.sync 1, 97;", "`bar.sync` is for 97 threads, which are no whole warps"),
        ("barrier.sync 1, 64;", "barrier.sync 1, 63;", "`barrier.sync` is for 63 threads, which are no whole warps"),
        ("bar.red.popc.u32 %r1, 1, 64, %p1;", "bar.red.popc.u32 %r1, 1, 65, %p1;", "is for 65 threads"),
        ("bar.red.popc.u32 %r1, 1, %p1;", "bar.red.popc.u32 %r1, 17, %p1;", "barrier 17 of"),
        (
            "wmma.load.a.sync.aligned.row.m16n16k16.global.bf16 {%r0, %r1, %r2, %r3}, [%d1];",
            "wmma.load.a.sync.aligned.row.m16n16k16.global.bf16 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%d1];",
            "takes 4 registers here, and gets 8",
        ),
        (
            "wmma.mma.sync.aligned.row.row.m16n16k16.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, {%r0, %r1, %r2, %r3}, {%r0, %r1, %r2, %r3}, {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7};",
            "wmma.mma.sync.aligned.row.row.m16n16k16.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, {%r0, %r1, %r2, %r3}, {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7};",
            "takes 4 registers here, and gets 8",
        ),
        ("bar.arrive 1, 64;", "bar.arrive 1;", "takes 2 operands, here are 1"),
    ] {
        refused(right, wrong, why);
    }
}

#[test]
fn moves_take_what_fits() {
    for (right, wrong, why) in [
        ("mov.u32 %r1, %tid.x;", "mov.u64 %d1, %tid.x;", "cannot take this as .u64"),
        ("mov.u64 %d1, %clock64;", "mov.u32 %r1, %clock64;", "cannot take this as .u32"),
        ("mov.u32 %r1, %gridid;", "mov.f32 %f1, %gridid;", "cannot take this as .f32"),
        ("mov.u16 %h1, %tid.x;", "mov.f32 %f1, %tid.x;", "cannot take this as .f32"),
        ("mov.pred %p1, %is_explicit_cluster;", "mov.u32 %r1, %is_explicit_cluster;", "cannot take this as .u32"),
        ("mov.u64 %d1, tile;", "mov.f64 %e1, tile;", "cannot take this as .f64"),
        ("mov.u32 %r1, tile;", "mov.pred %p1, tile;", "cannot take this as .pred"),
        ("mov.f32 %f1, 0f3F800000;", "mov.f32 %f1, 1;", "must be a register of type .f32"),
        ("mov.b32 %r1, 0f3F800000;", "mov.u32 %r1, 0f3F800000;", "must be a register of type .u32"),
        ("mov.b64 %d1, 0d3FF0000000000000;", "mov.b64 %d1, 0f3F800000;", "must be a register of type .b64"),
        ("mov.u32 %r1, WARP_SZ;", "mov.f32 %f1, WARP_SZ;", "takes `WARP_SZ`"),
        (
            "mov.u32 %r1, %r2;",
            "mov.u32 %r1, %unknown;",
            "`%unknown`, which is neither a register nor a variable nor a special register",
        ),
        ("mov.u32 %r1, %r2;", "mov.u32 %r1, %r20;", "`%r20`, which is neither a register"),
        ("mov.u32 %r1, %r2;", "mov.u32 %r1;", "takes 2 operands, here are 1"),
        ("mov.b64 %d1, {%r1, %r2};", "mov.b64 %d1, {%r1, %d2};", "must be of type .b32"),
        ("mov.b64 {%r1, %r2}, %d1;", "mov.b64 {%r1, %h2}, %d1;", "must be of type .b32"),
        ("mov.b64 {%r1, _}, %d1;", "mov.b64 {_, _}, %d1;", "keeps nothing"),
        ("mov.b64 {%r1, %r2}, %d1;", "mov.b64 {%r1, %r2}, %r3;", "must be of type .b64"),
        ("mov.b32 {%h1, %h2}, %r1;", "mov.b32 {%h1, %h2}, %d1;", "must be of type .b32"),
        ("mov.b64 %d1, {%r1, %r2};", "mov.b64 %d1, {%r1, _};", "must be a register of type .b32"),
        ("mov.b32 %r1, {%h1, 5};", "mov.b32 %d1, {%h1, 5};", "must be of type .b32"),
        ("mov.b64 {%h1, %h2, %h3, %h4}, %d1;", "mov.b64 {%h1, %h2, %h3}, %d1;", ""),
        ("cvt.rn.f32.u32 %f1, %r1;", "cvt.f32.u32 %f1, %r1;", "no form of `cvt`"),
        ("cvt.rzi.u32.f32 %r1, %f1;", "cvt.rn.u32.f32 %r1, %f1;", "no form of `cvt`"),
        ("cvt.u32.u64 %r1, %d1;", "cvt.rn.u32.u64 %r1, %d1;", "no form of `cvt`"),
        ("cvt.f64.f32 %e1, %f1;", "cvt.rn.f64.f32 %e1, %f1;", "no form of `cvt`"),
        ("cvt.rn.f32.f64 %f1, %e1;", "cvt.f32.f64 %f1, %e1;", "no form of `cvt`"),
        ("add.u32 %r1, %r2, 1;", "add.u33 %r1, %r2, 1;", "`add.u33` is no form of `add`"),
        ("add.u32 %r1, %r2, 1;", "plus.u32 %r1, %r2, 1;", "instruction `plus.u32` is not one that the emulator runs"),
        ("add.rn.f32 %f1, %f2, %f3;", "add.u32.rn %r1, %r2, %r3;", "is no form of `add`"),
    ] {
        refused(right, wrong, why);
    }
}

#[test]
fn names_lead_to_what_they_name() {
    for (right, wrong, why) in [
        ("bra END;\nEND:", "bra END, END;\nEND:", "takes 1 operands, here are 2"),
        ("bra END;\nEND:", "bra NOWHERE;\nEND:", "a label that is not defined"),
        (
            "T: .branchtargets A;\nbrx.idx %r1, T;\nA:",
            "T: .branchtargets A;\nbrx.idx %r1, U;\nA:",
            "`U` names no `.branchtargets`",
        ),
        (
            "T: .branchtargets A;\nbrx.idx %r1, T;\nA:",
            "T: .branchtargets A;\nbrx.idx %r1, T, 1;\nA:",
            "takes 2 operands, here are 3",
        ),
        ("ld.shared.u32 %r1, [tile+4];", "ld.shared.u32 %r1, [nothing+4];", "nothing"),
        ("ld.local.u32 %r1, [mine];", "ld.shared.u32 %r1, [mine];", ""),
        ("ld.param.u64 %d1, [a];", "ld.param.u64 %d1, [b];", "b"),
        ("ld.global.u32 %r1, [%d1];", "ld.global.u32 %r1, [%p1];", ""),
    ] {
        if let Err((line, message)) = parse("", right) {
            panic!("`{right}` is right: line {line}: {message}");
        }
        let Err((_, message)) = parse("", wrong) else { panic!("`{wrong}` is wrong") };
        assert!(message.contains(why), "`{wrong}`: {message}");
    }
    let function = ".func (.param .b32 r) twice (.param .b32 x)\n{ .reg .b32 %q<3>; ld.param.b32 %q1, [x]; add.u32 %q2, %q1, %q1; st.param.b32 [r], %q2; ret; }";
    let call = |text: &str| {
        parse(
            function,
            &format!("{{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; {text} ld.param.b32 %r2, [y]; }}"),
        )
    };
    assert_eq!(call("call (y), twice, (x);"), Ok(()));
    assert_eq!(call("call (y), twice, (%r1);"), Ok(()));
    for (text, why) in [
        ("call (y), thrice, (x);", "`call` of `thrice`"),
        ("call (y), twice, (x, x);", "with other arguments than it takes"),
        ("call twice, (x);", "with other arguments than it takes"),
        ("call (y), vprintf, (x);", "takes 2 arguments, here are 1"),
    ] {
        let (_, message) = call(text).expect_err("it is wrong");
        assert!(message.contains(why), "{text}: {message}");
    }
}

#[test]
fn variables_have_sizes_within_limits() {
    for (right, wrong, why) in [
        (".shared .align 4 .b8 s[1048448];", ".shared .align 4 .b8 s[1048577];", "at most 1048576"),
        (".shared .align 1048576 .b8 s[4];", ".shared .align 2097152 .b8 s[4];", "at most 1048576"),
        (".const .align 4 .b8 c[65536];", ".const .align 4 .b8 c[65537];", "at most 65536"),
        (".global .align 4 .b8 g[70000];", ".global .align 4 .b8 g[4294967297];", "at most 4294967296"),
        (".extern .shared .align 4 .b8 s[];", ".const .align 4 .b8 c[];", "has no size"),
        (".global .u64 g = 5; .global .u64 h = g;", ".global .u64 g = 5; .global .u64 h = i;", "`i` is not known here"),
        (".global .u64 g = 5; .global .u64 h = g;", ".global .u64 g = 5; .const .u64 h = g;", "begins with an address"),
    ] {
        assert_eq!(parse(right, ""), Ok(()), "`{right}`");
        let Err((line, message)) = parse(wrong, "") else { panic!("`{wrong}` is wrong") };
        assert!(message.contains(why), "`{wrong}`: {message}");
        if why.starts_with("at most") || why.starts_with("begins") {
            assert_eq!(line, 0, "the text as a whole: `{wrong}`");
        }
    }
}

#[test]
fn a_kernel_has_so_many_bytes_of_parameters_and_no_more() {
    let parse = |parameters: &str| {
        let text =
            format!(".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k({parameters})\n{{ ret; }}\n");
        Module::parse(&text)
            .and_then(|module| module.kernel("k").map(drop))
            .map_err(|error| (error.line, error.message))
    };
    assert_eq!(parse(".param .align 4 .b8 a[32764]"), Ok(()));
    let (line, message) = parse(".param .align 4 .b8 a[32768]").expect_err("there is no room");
    assert!(line == 0 && message.contains("parameter a has 32768 bytes, of at most 32764"), "{line}: {message}");
}

#[test]
fn a_parameter_that_a_body_declares_has_no_address() {
    let declared = "{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r1;";
    for (text, taken) in [
        ("ld.param.b32 %r2, [x];", true),
        ("mov.u64 %d1, a;", true),
        ("cvta.param.u64 %d1, a;", true),
        ("mov.u64 %d1, x;", false),
        ("mov.u32 %r2, x;", false),
        ("mov.b64 %d1, y;", false),
        ("cvta.param.u64 %d1, y;", false),
    ] {
        let parsed = parse("", &format!("{declared} {text} }}"));
        assert_eq!(parsed.is_ok(), taken, "{text}: {parsed:?}");
    }
    let (_, why) = parse("", &format!("{declared} mov.u64 %d1, x; }}")).expect_err("it has none");
    assert!(why.contains("the address of `x`"), "{why}");
    // Those of the function itself have one.
    let function = ".func (.param .b64 r) f (.param .b64 x)\n{ .reg .b64 %q; mov.u64 %q, x; mov.u64 %q, r; ret; }";
    let call = "{ .param .b64 x; .param .b64 y; st.param.b64 [x], %d1; call (y), f, (x); }";
    assert_eq!(parse(function, call), Ok(()));
}

#[test]
fn pragmas_are_texts_and_of_a_module_known_ones() {
    for (declared, body, taken) in [
        (".pragma \"nounroll\";", "", true),
        (".pragma \"nounroll\", \"nounroll\";", "", true),
        (".pragma \"\";", "", false),
        (".pragma \"frequency 3\";", "", false),
        (".pragma \"nounroll\", \"x\";", "", false),
        (".pragma nounroll;", "", false),
        (".pragma \"nounroll\" \"nounroll\";", "", false),
        ("", ".pragma \"\";", true),
        ("", ".pragma \"frequency 3\", \"x\";", true),
        ("", ".pragma nounroll;", false),
        ("", ".pragma;", false),
    ] {
        let parsed = parse(declared, body);
        assert_eq!(parsed.is_ok(), taken, "`{declared}` `{body}`: {parsed:?}");
    }
}

#[test]
fn sections_of_debuggers_hold_numbers_and_names() {
    for (data, taken) in [
        (".b8 95,90,0x7f", true),
        (".b32 .debug_str", true),
        (".b32 .debug_str+7", true),
        (".b32 .debug_str+7, mark", false),
        (".b8 mark", false),
        (".b8 1,mark", false),
        (".b64 .debug_loc", true),
        (".b8 95,.global,54", false),
        (".b32 .entry", false),
        (".b32 .u32", false),
        (".b32 %r1", false),
        (".b8 256", false),
        (".b16 65536", false),
        (".f32 0", false),
    ] {
        let parsed = parse(&format!(".section .debug_info {{ {data} }}"), "");
        assert_eq!(parsed.is_ok(), taken, "{data}: {parsed:?}");
    }
    for (name, taken) in [
        (".debug_str", true),
        (".nv_debug", true),
        (".shared", false),
        (".b8", false),
        (".cg", false),
        ("debug", false),
    ] {
        assert_eq!(parse(&format!(".section {name} {{ .b8 1 }}"), "").is_ok(), taken, "{name}");
    }
}

/// Every instruction of every form (`tests/ptx`), with a predicate where none was, and with an operand too many.
#[test]
fn no_form_takes_a_predicate_for_a_number_or_one_operand_more() {
    let (mut tried, mut taken, mut seen) = (0, Vec::new(), HashSet::new());
    for (name, text) in table::texts().iter() {
        let text = text.replacen("{", "{ .reg .pred %never; ", 1);
        let predicates: Vec<&str> = text
            .lines()
            .filter(|line| line.contains(".reg .pred"))
            .flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '%'))
            .filter(|word| word.starts_with('%'))
            .collect();
        for (n, line) in
            text.lines().enumerate().filter(|(_, line)| line.trim_end().ends_with(';') && !line.contains(".reg"))
        {
            let Some((opcode, operands)) = line.trim().split_once(' ') else { continue };
            if !opcode.starts_with(|c: char| c.is_ascii_lowercase())
                || !operands.contains('%')
                || operands.contains('{')
            {
                continue;
            }
            if !seen.insert(line.to_string()) {
                continue;
            }
            let operands: Vec<&str> = operands.trim_end_matches(';').split(',').map(str::trim).collect();
            let with = |operands: &[&str]| {
                let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
                lines[n] = format!("{opcode} {};", operands.join(", "));
                Module::parse(&lines.join("\n")).and_then(|module| module.kernel("form").map(drop))
            };
            let mut wrong = vec![[&operands[..], &["%never", "%never"]].concat()];
            for (at, operand) in operands.iter().enumerate() {
                let plain = operand.starts_with('%')
                    && !operand.contains('|')
                    && !predicates
                        .iter()
                        .any(|p| operand.trim_end_matches(|c: char| c.is_ascii_digit()) == *p || operand == p);
                if plain {
                    let mut changed = operands.clone();
                    changed[at] = "%never";
                    wrong.push(changed);
                }
            }
            for operands in wrong {
                tried += 1;
                // Whether a copy's source is ignored is a predicate.
                if with(&operands).is_ok() && !(opcode.starts_with("cp.async") && operands.len() == 4) {
                    taken.push(format!("{name}: {opcode} {}", operands.join(", ")));
                }
            }
        }
    }
    assert!(taken.is_empty() && tried > 3000, "{} of {tried} are taken:\n{}", taken.len(), taken.join("\n"));
}

/// What ptxas 13.0 says of each argument for a parameter of each type; `-` where it takes one that is refused here: numbers of
/// another width.
#[test]
fn arguments_are_of_the_type_that_the_function_takes() {
    const ARGUMENTS: [&str; 14] = [
        "7",
        "0f3F800000",
        "0d3FF0000000000000",
        "%r1",
        "%u1",
        "%f1",
        "%d1",
        "%e1",
        "v8",
        "v32",
        "vf",
        "va4",
        "va8",
        "val8",
    ];
    let own = ".param .b8 v8; .param .b32 v32; .param .f32 vf; .param .b8 va4[4]; .param .b8 va8[8]; .param .align 4 .b8 val8[8];";
    for (parameter, taken) in [
        ("b8 x", "---00000100000"),
        ("u16 x", "00000000000000"),
        ("b32 x", "11-11100011000"),
        ("s32 x", "10011000010000"),
        ("f32 x", "01-10100011000"),
        ("b64 x", "1-100011000000"),
        ("f64 x", "0-100011000000"),
        ("b8 x[4]", "00000000000100"),
        ("b8 x[8]", "00000000000010"),
    ] {
        let function = format!(".func f (.param .{parameter}) {{ ret; }}");
        let of = |argument: &str| parse(&function, &format!("{own}\ncall f, ({argument});")).is_ok();
        for (argument, says) in ARGUMENTS.iter().zip(taken.chars()) {
            assert_eq!(of(argument), says == '1', "`{argument}` for .{parameter}");
        }
    }
}
