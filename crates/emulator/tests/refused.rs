//! What the emulator does not run says by its name what it is, and what to do instead; only an instruction that nobody
//! thought of asks for a report.

use emulator::{Module, PtxError};

fn refusal(statement: &str) -> PtxError {
    let text = format!(
        ".version 9.0\n.target sm_90a\n.address_size 64\n.extern .func (.param .b64 r) malloc (.param .b64 n);\n\
         .extern .func (.param .b32 r) cudaLaunchDeviceV2 (.param .b64 a, .param .b64 b);\n.extern .func other;\n\
         .visible .entry k(.param .u64 in)\n{{\n.reg .b32 r<8>; .reg .b64 x<8>; .reg .f32 f<8>;\n\
         {{ .param .b64 a; .param .b64 b; .param .b64 p; .param .b32 q;\n{statement}\n}}\nret;\n}}\n"
    );
    Module::parse(&text).and_then(|module| module.kernel("k").map(drop)).expect_err(statement)
}

#[test]
fn each_refusal_says_what_to_do_instead() {
    for (statement, what, instead) in [
        ("tex.2d.v4.f32.f32 {f0, f1, f2, f3}, [x0, {f4, f5}];", "textures", "plain pointer"),
        ("suld.b.2d.b32.trap {r0}, [x0, {r1, r2}];", "surfaces", "plain pointer"),
        (
            "call.uni (q), cudaLaunchDeviceV2, (a, b);",
            "`cudaLaunchDeviceV2` is not run: kernels that launch kernels",
            "from the host",
        ),
        ("call.uni (p), malloc, (a);", "`malloc` is not run: memory from the heap", "a buffer"),
        ("mov.u32 r0, %envreg3;", "`mov.u32` of `%envreg3` is not run", "grid.sync()"),
        ("brkpt;", "stops for a debugger", "printf"),
        ("vadd4.u32.u32.u32 r0, r1, r2, r3;", "instructions for video", "__vadd2()"),
        ("multimem.ld_reduce.relaxed.gpu.global.add.u32 r0, [x0];", "memory of several GPUs", "one GPU"),
    ] {
        let PtxError { message, hint, line, .. } = refusal(statement);
        assert!(message.contains(what) && !message.contains('\n') && line > 0, "{statement}: {message}");
        assert!(hint.is_some_and(|hint| hint.contains(instead) && !hint.contains("report")), "{statement}: {hint:?}");
    }
}

#[test]
fn only_what_nobody_thought_of_asks_for_a_report() {
    let asks = |statement: &str| refusal(statement).hint.is_some_and(|hint| hint.contains("report"));
    assert!(asks("frobnicate.u32 r0, r1;") && asks("add.wide.u32 r0, r1, r2;"));
    // What ptxas refuses as well.
    for statement in ["add.u32 r0, x1, r2;", "add.u32 r0, r1;", "mov.u32 r0, %nonesuch;", "call.uni other;"] {
        assert_eq!(refusal(statement).hint, None, "{statement}");
    }
}
