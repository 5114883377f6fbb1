//! Functions that are called for real: recursive ones, and those that pointers name.

use emulator::{Argument, Device, Fault, FaultKind, Launch, LaunchError, Module, PtxError, Schedule};

/// Functions of one number: the next, its square, 100 less it; and tables of them in global and in constant memory.
const FUNCTIONS: &str = "
    .func (.param .b32 r) next (.param .b32 x) {
        .reg .b32 %r<3>; ld.param.u32 %r1, [x]; add.s32 %r2, %r1, 1; st.param.b32 [r], %r2; ret; }
    .func (.param .b32 r) square (.param .b32 x) {
        .reg .b32 %r<3>; ld.param.u32 %r1, [x]; mul.lo.s32 %r2, %r1, %r1; st.param.b32 [r], %r2; ret; }
    .func (.param .b32 r) rest (.param .b32 x) {
        .reg .b32 %r<3>; ld.param.u32 %r1, [x]; mov.u32 %r2, 100; sub.s32 %r2, %r2, %r1; st.param.b32 [r], %r2; ret; }
    .func (.param .b32 r) wide (.param .b64 x) { st.param.b32 [r], 0; ret; }
    .const .align 8 .u64 constants[4] = {next, square, rest, wide};
    .global .align 8 .u64 table[3] = {next, square, rest};
";

/// A kernel of one parameter, `out`, with `%r1` the thread's number and `%d1` the address of its word; after `body` `%r9` goes
/// there.
fn text(functions: &str, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n{functions}\n.visible .entry k(.param .u64 out) {{\n\
         .reg .pred %p<5>; .reg .b32 %r<20>; .reg .b64 %d<20>;\nmov.u32 %r1, %tid.x;\nld.param.u64 %d1, [out];\n\
         mad.wide.u32 %d1, %r1, 4, %d1;\n{body}\nst.global.u32 [%d1], %r9;\nret;\n}}\n"
    )
}

/// A call with `%r1`, or another register, of what `target` says; the result goes to `%r9`.
fn call(target: &str, argument: &str) -> String {
    format!(
        "{{ .param .b32 a; .param .b32 b; st.param.b32 [a], {argument};\n\
         one: .callprototype (.param .b32 _) _ (.param .b32 _);\n\
         call (b), {target};\nld.param.b32 %r9, [b]; }}"
    )
}

fn module(text: &str) -> Result<Module, PtxError> {
    let module = Module::parse(text)?;
    module.kernel("k")?;
    Ok(module)
}

fn launch(text: &str, threads: u32, schedule: Schedule) -> Result<Vec<u32>, Box<Fault>> {
    let kernel = module(text).and_then(|module| module.kernel("k")).expect("the text is right");
    let mut device = Device::new();
    let out = device.alloc("out", 4 * threads as usize);
    match device.launch(&kernel, Launch::new(1, threads).schedule(schedule), &[Argument::Buffer(out)]) {
        Ok(_) => {}
        Err(LaunchError::Fault(fault)) => return Err(fault),
        Err(other) => panic!("{other}"),
    }
    let mut bytes = vec![0; 4 * threads as usize];
    device.read(out, &mut bytes).expect("all was written");
    Ok(bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))).collect())
}

/// In every order, each thread gives what `expected` says.
fn gives(text: &str, threads: u32, expected: impl Fn(u32) -> u32) {
    let expected: Vec<u32> = (0..threads).map(expected).collect();
    for schedule in Schedule::ALL {
        assert_eq!(launch(text, threads, schedule).expect("it is right"), expected, "{schedule}");
    }
}

fn convicted(text: &str) -> Box<Fault> {
    launch(text, 64, Schedule::FirstFirst).expect_err("it is wrong")
}

#[test]
fn functions_that_call_each_other_go_as_deep_as_each_thread_asks() {
    let step = |name: &str, other: &str, last: u32| {
        format!(
            ".func (.param .b32 r) {name} (.param .b32 x) {{ .reg .pred %p<2>; .reg .b32 %r<5>;\n\
             ld.param.u32 %r1, [x]; mov.u32 %r2, {last}; setp.eq.u32 %p1, %r1, 0; @%p1 bra END;\n\
             add.s32 %r3, %r1, -1;\n\
             {{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r3; call.uni (b), {other}, (a); ld.param.b32 %r2, [b]; }}\n\
             mad.lo.s32 %r2, %r1, 10, %r2;\nEND: st.param.b32 [r], %r2; ret; }}\n"
        )
    };
    let functions =
        ".func (.param .b32 r) odd (.param .b32 x);\n".to_string() + &step("even", "odd", 1) + &step("odd", "even", 0);
    gives(&text(&functions, &call("even, (a)", "%r1")), 64, |n| n * (n + 1) / 2 * 10 + u32::from(n % 2 == 0));
}

#[test]
fn each_lane_calls_what_its_pointer_names() {
    let of_table = |table: &str, space: &str| {
        format!(
            "rem.u32 %r2, %r1, 3; mov.u64 %d2, {table}; mad.wide.u32 %d2, %r2, 8, %d2; ld.{space}.u64 %d3, [%d2];\n{}",
            call("%d3, (a), one", "%r1")
        )
    };
    let expected = |n: u32| [n + 1, n.wrapping_mul(n), 100u32.wrapping_sub(n)][n as usize % 3];
    gives(&text(FUNCTIONS, &of_table("table", "global")), 70, expected);
    gives(&text(FUNCTIONS, &of_table("constants", "const")), 70, expected);
    // Where a guard holds; the argument and the result in registers.
    let body = "mov.u64 %d3, next; mov.u64 %d4, square; setp.lt.u32 %p2, %r1, 40; selp.b64 %d3, %d3, %d4, %p2;\n\
        setp.ne.u32 %p1, %r1, 7; mov.u32 %r9, 5; one: .callprototype (.param .b32 _) _ (.param .b32 _);\n\
        @%p1 call (%r9), %d3, (%r1), one;";
    gives(&text(FUNCTIONS, body), 64, |n| {
        if n == 7 {
            5
        } else if n < 40 {
            n + 1
        } else {
            n * n
        }
    });
}

#[test]
fn a_frame_is_the_calls_own_and_its_address_good_until_it_returns() {
    // Each call keeps its number in memory of its own, and adds it to that of its caller, of which it has the address.
    let functions = ".func (.param .b32 r) sum (.param .b32 x, .param .b64 outer) {\n\
        .local .align 4 .b32 mine[3]; .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %d<9>;\n\
        ld.param.u32 %r1, [x]; ld.param.u64 %d1, [outer]; st.local.u32 [mine+4], %r1;\n\
        ld.u32 %r2, [%d1]; add.u32 %r2, %r2, %r1; st.u32 [%d1], %r2;\n\
        mov.u64 %d2, mine; cvta.local.u64 %d2, %d2; add.u64 %d2, %d2, 4;\n\
        setp.eq.u32 %p1, %r1, 0; @%p1 bra END; add.s32 %r3, %r1, -1;\n\
        { .param .b32 a; .param .b64 b; .param .b32 c; st.param.b32 [a], %r3; st.param.b64 [b], %d2;\n\
        call.uni (c), sum, (a, b); ld.param.b32 %r4, [c]; }\n\
        END: ld.local.u32 %r5, [mine+4]; st.param.b32 [r], %r5; ret; }\n";
    let body = ".local .align 4 .b32 first; st.local.u32 [first], 1000; mov.u64 %d2, first; cvta.local.u64 %d2, %d2;\n\
        { .param .b32 a; .param .b64 b; .param .b32 c; st.param.b32 [a], %r1; st.param.b64 [b], %d2;\n\
        call.uni (c), sum, (a, b); ld.param.b32 %r4, [c]; }\n\
        ld.local.u32 %r5, [first]; mad.lo.u32 %r9, %r4, 10000, %r5;";
    // What a call has of its own is its number, and what its callee added: one less.
    let own = |n: u32| if n == 0 { 0 } else { 2 * n - 1 };
    gives(&text(functions, body), 64, |n| own(n) * 10000 + 1000 + n);
    let kept = functions.replace("ld.local.u32 %r5, [mine+4]", "cvt.u32.u64 %r5, %d2");
    let late = body.replace("ld.local.u32 %r5, [first];", "cvt.u64.u32 %d5, %r4; ld.local.u32 %r5, [%d5];");
    let fault = convicted(&text(&kept, &late));
    assert_eq!(fault.kind, FaultKind::OutOfBounds);
    assert!(fault.message.contains("past the end of local memory"), "{fault}");
}

#[test]
fn barriers_and_ends_within_called_functions() {
    let functions = ".shared .align 4 .b32 cells[64];\n\
        .func (.param .b32 r) turn (.param .b32 x) { .reg .pred %p<3>; .reg .b32 %r<9>;\n\
        ld.param.u32 %r1, [x]; mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r1, 0; @%p1 bra LAST;\n\
        mov.u32 %r3, cells; mad.lo.u32 %r4, %r2, 4, %r3; st.shared.u32 [%r4], %r1; bar.sync 0;\n\
        xor.b32 %r5, %r2, 63; mad.lo.u32 %r4, %r5, 4, %r3; ld.shared.u32 %r6, [%r4]; bar.sync 0; add.s32 %r1, %r1, -1;\n\
        { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), turn, (a); ld.param.b32 %r7, [b]; }\n\
        add.u32 %r7, %r7, %r6; st.param.b32 [r], %r7; ret;\n\
        LAST: st.param.b32 [r], 0; ret; }\n";
    gives(&text(functions, &format!("mov.u32 %r2, 5;\n{}", call("turn, (a)", "%r2"))), 64, |_| 15);
    // Lanes below 8 end at the third call, without a word of the others.
    let ends = functions.replace("LAST:", "LAST: setp.lt.u32 %p2, %r2, 8; @%p2 exit;");
    let body = format!("mov.u32 %r9, 1; st.global.u32 [%d1], %r9; mov.u32 %r2, 3;\n{}", call("turn, (a)", "%r2"));
    gives(&text(&ends, &body), 64, |n| if n < 8 { 1 } else { 6 });
}

#[test]
fn a_recursion_without_end_says_who_calls_whom_and_how_deep() {
    let functions = ".func (.param .b32 r) pong (.param .b32 x);\n\
        .func (.param .b32 r) ping (.param .b32 x) {\n\
        { .param .b32 a; .param .b32 b; st.param.b32 [a], 0;\ncall.uni (b), pong, (a); }\nst.param.b32 [r], 0; ret; }\n\
        .func (.param .b32 r) pong (.param .b32 x) {\n\
        { .param .b32 a; .param .b32 b; st.param.b32 [a], 0;\ncall.uni (b), ping, (a); }\nst.param.b32 [r], 0; ret; }\n";
    let fault = convicted(&text(functions, &call("ping, (a)", "%r1")));
    assert_eq!(fault.kind, FaultKind::OutOfBounds);
    let words = "the calls are 4096 deep (pong calls ping calls pong), and need more than 65536 bytes of stack";
    assert!(fault.message.starts_with(words), "{fault}");
    assert!(fault.hint.as_ref().is_some_and(|hint| hint.contains("cudaLimitStackSize")), "{fault}");
}

#[test]
fn a_pointer_that_is_no_function_names_the_line_and_the_thread() {
    let body = "mov.u64 %d3, next; setp.eq.u32 %p1, %r1, 37; selp.b64 %d3, %d1, %d3, %p1;\n".to_string()
        + &call("%d3, (a), one", "%r1");
    let text = text(FUNCTIONS, &body);
    let fault = convicted(&text);
    assert_eq!(fault.kind, FaultKind::OutOfBounds);
    assert!(fault.message.ends_with("which is the address of no function of the module"), "{fault}");
    let line = 1 + text.lines().position(|line| line.starts_with("call (b)")).expect("the call");
    assert_eq!((fault.site.thread.x, fault.site.ptx_line, fault.site.opcode.as_str()), (37, line as u32, "call"));
    // The middle of a function, and no address at all.
    for pointer in ["mov.u64 %d3, next; add.u64 %d3, %d3, 4;\n", "mov.u64 %d3, 0;\n"] {
        let fault = convicted(&self::text(FUNCTIONS, &(pointer.to_string() + &call("%d3, (a), one", "%r1"))));
        assert!(fault.message.ends_with("which is the address of no function of the module"), "{fault}");
    }
    // Nor may a function be read.
    let fault = convicted(&self::text(FUNCTIONS, "mov.u64 %d3, next; ld.u32 %r9, [%d3];"));
    assert_eq!(fault.kind, FaultKind::OutOfBounds);
}

#[test]
fn a_function_must_be_what_the_call_says() {
    let body = "ld.const.u64 %d3, [constants+24];\n".to_string() + &call("%d3, (a), one", "%r1");
    let fault = convicted(&text(FUNCTIONS, &body));
    assert_eq!(fault.kind, FaultKind::Trap);
    let words = "call of `wide`, which takes 8 bytes and gives back 4 bytes, as of a function that takes 4 bytes and gives \
                 back 4 bytes";
    assert_eq!(fault.message, words);
    let listed = |pointer: &str| {
        let list = call("%d3, (a), list", "%r1")
            .replace("one: .callprototype (.param .b32 _) _ (.param .b32 _);", "list: .calltargets next, square;");
        text(FUNCTIONS, &format!("mov.u64 %d3, {pointer};\n{list}"))
    };
    gives(&listed("square"), 40, |n| n * n);
    let fault = convicted(&listed("rest"));
    assert_eq!(fault.message, "call of `rest`, which is none of the targets that the call names");
}

#[test]
fn a_pointer_that_nobody_set_is_a_fault() {
    let fault = convicted(&text(FUNCTIONS, &("mov.u64 %d4, next;\n".to_string() + &call("%d3, (a), one", "%r1"))));
    assert_eq!(fault.kind, FaultKind::Uninitialised);
    assert!(fault.message.contains("the address of a call"), "{fault}");
}

#[test]
fn registers_that_a_function_never_set_are_nobodys() {
    // The caller's registers are not to be seen in those of the callee.
    let functions = ".func (.param .b32 r) dirty (.param .b32 x) { .reg .b32 %r<5>; .reg .pred %p<2>; ld.param.u32 %r1, [x];\n\
        setp.eq.u32 %p1, %r1, 99; @%p1 bra OWN;\nadd.u32 %r2, %r3, 1; st.param.b32 [r], %r2; ret;\n\
        OWN: { .param .b32 a; .param .b32 b; st.param.b32 [a], 0; call.uni (b), dirty, (a); } ret; }\n";
    let fault = convicted(&text(
        functions,
        &("mov.u32 %r5, 3;\n".to_string() + &call("dirty, (a)", "%r5") + "add.u32 %r9, %r9, 1;"),
    ));
    assert_eq!(fault.kind, FaultKind::Uninitialised);
}

#[test]
fn parameters_and_results_may_be_registers() {
    let functions = ".func (.reg .u32 r, .reg .b64 s) both (.reg .u32 a, .param .f64 x, .reg .b32 c) {\n\
        .reg .f64 %x; .reg .pred %p; add.u32 r, a, c; ld.param.f64 %x, [x]; mov.b64 s, %x;\n\
        setp.lt.u32 %p, a, 5; @%p ret; add.u32 r, r, 100; }\n\
        .func (.reg .u32 r) sum (.reg .u32 n) { .reg .pred %p; .reg .u32 %m; mov.u32 r, 0; setp.eq.u32 %p, n, 0; @%p ret;\n\
        sub.u32 %m, n, 1; call (r), sum, (%m); add.u32 r, r, n; }\n";
    let body = "call (%r2, %d3), both, (%r1, 0d3ff8000000000000, 7); cvt.rzi.u32.f64 %r3, 0d3ff8000000000000;\n\
        shr.u64 %d3, %d3, 51; cvt.u32.u64 %r4, %d3; mad.lo.u32 %r2, %r4, 1000, %r2;\n\
        call (%r5), sum, (%r1); mad.lo.u32 %r9, %r5, 10000000, %r2;";
    let body = body.replace("cvt.rzi.u32.f64 %r3, 0d3ff8000000000000;", "");
    let both = |n: u32| n + 7 + if n < 5 { 0 } else { 100 } + 1000 * (0x3ff8_0000_0000_0000u64 >> 51) as u32;
    gives(&text(functions, &body), 20, |n| n * (n + 1) / 2 * 10_000_000 + both(n));
}

#[test]
fn calls_that_cannot_be_are_refused() {
    let without = text(FUNCTIONS, &("mov.u64 %d3, next;\n".to_string() + &call("%d3, (a)", "%r1")));
    let error = module(&without).expect_err("no prototype");
    assert!(error.message.contains("without a prototype"), "{error}");
    let other = text(FUNCTIONS, &("mov.u64 %d3, next;\n".to_string() + &call("%d3, (a), two", "%r1")));
    let error = module(&other).expect_err("another prototype");
    assert!(error.message.contains("`two` is neither a prototype nor a list"), "{error}");
    let wide = text(FUNCTIONS, &call("wide, (a)", "%r1"));
    assert!(module(&wide).is_err(), "an argument of another size");
    let early = text("", "mov.u64 %d3, later; mov.u32 %r9, 0;") + ".func later () { ret; }";
    assert!(module(&early).is_err(), "a function that is not announced");
    let narrow = text(FUNCTIONS, "mov.u32 %r9, next;");
    assert!(module(&narrow).is_err(), "an address of 64 bits");
}

#[test]
fn what_a_call_hands_over_is_what_every_target_takes() {
    let body = |targets: &str, mine: &str, call: &str| {
        format!(
            "mov.u64 %d3, next; {{ .param .{mine} a; .param .b32 b; st.param.{mine} [a], 0;\n\
             one: .callprototype (.param .b32 _) _ (.param .b32 _);\ntwo: .callprototype (.param .b32 _) _ (.param .b64 _);\n\
             three: .calltargets {targets};\n{call}\nld.param.b32 %r9, [b]; }}"
        )
    };
    for (targets, mine, call, taken) in [
        ("next, square", "b32", "call (b), %d3, (a), one;", true),
        ("next, square", "b32", "call (b), %d3, (a), three;", true),
        ("next, square", "b64", "call (b), %d3, (a), two;", true),
        ("next, square", "b32", "call (b), %d3, (7), one;", true),
        ("next, square", "b64", "call (b), %d3, (a), one;", false),
        ("next, square", "b32", "call (b), %d3, (a), two;", false),
        ("next, square", "b64", "call (b), %d3, (a), three;", false),
        ("next, wide", "b32", "call (b), %d3, (a), three;", false),
        ("wide, next", "b64", "call (b), %d3, (a), three;", false),
        ("next, square", "b32", "call (b), %d3, (a, a), one;", false),
        ("next, square", "b32", "call %d3, (a), one;", false),
        ("next, square", "b32", "call (7), %d3, (a), one;", false),
        ("next, square", "b32", "call (0f3F800000), %d3, (a), one;", false),
        ("next, square", "b32", "call (b), next, (a);", true),
        ("next, square", "b32", "call (b), wide, (a);", false),
        ("next, square", "b64", "call (b), wide, (a);", true),
    ] {
        let parsed = module(&text(FUNCTIONS, &body(targets, mine, call))).map(drop);
        assert_eq!(parsed.is_ok(), taken, "{targets}, {mine}, {call}: {parsed:?}");
    }
}

#[test]
fn each_call_begins_with_memory_that_nobody_wrote() {
    // The first call writes its array, the second one, in the same place, reads it; so does one without a first call.
    let functions = ".func (.param .b32 r) f (.param .b32 x) {\n\
        .local .align 4 .b32 mine[2]; .reg .pred %p<3>; .reg .b32 %r<9>;\n\
        ld.param.u32 %r1, [x]; setp.lt.u32 %p1, %r1, 100; @%p1 bra SHORT;\n\
        { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), f, (a); ld.param.b32 %r2, [b]; }\n\
        SHORT: setp.eq.u32 %p2, %r1, 1; @!%p2 bra READ; st.local.u32 [mine+4], %r1;\n\
        READ: ld.local.u32 %r3, [mine+4]; add.u32 %r3, %r3, 1; st.param.b32 [r], %r3; ret; }\n";
    let one = |value: u32| {
        format!(
            "mov.u32 %r3, {value};\n{}\nadd.u32 %r4, %r4, %r9;\n",
            call("f, (a)", "%r3").replace("one:", &format!("one{value}:"))
        )
    };
    let body = |calls: &[u32]| {
        format!("mov.u32 %r4, 0;\n{}mov.u32 %r9, %r4;", calls.iter().map(|value| one(*value)).collect::<String>())
    };
    gives(&text(functions, &body(&[1])), 33, |_| 2);
    for calls in [&[2][..], &[1, 2]] {
        assert_eq!(convicted(&text(functions, &body(calls))).kind, FaultKind::Uninitialised, "{calls:?}");
    }
}

#[test]
fn predicates_and_registers_outlive_a_call() {
    let functions = ".func (.param .b32 r) sum (.param .b32 x) { .reg .pred %p<5>; .reg .b32 %r<9>; .reg .b64 %d<3>;\n\
        ld.param.u32 %r1, [x]; mov.u32 %r5, 0; setp.eq.u32 %p1, %r1, 0; @%p1 bra END;\n\
        and.b32 %r2, %r1, 1; setp.eq.u32 %p2, %r2, 1; and.b32 %r2, %r1, 2; setp.eq.u32 %p3, %r2, 2; cvt.u64.u32 %d1, %r1; add.s32 %r3, %r1, -1;\n\
        { .param .b32 a; .param .b32 b; st.param.b32 [a], %r3; call.uni (b), sum, (a); ld.param.b32 %r5, [b]; }\n\
        @%p2 add.u32 %r5, %r5, 1; @%p3 add.u32 %r5, %r5, 100; cvt.u32.u64 %r4, %d1; mad.lo.u32 %r5, %r4, 10000, %r5;\n\
        END: st.param.b32 [r], %r5; ret; }\n";
    let wanted = |n: u32| (1..=n).map(|k| (k & 1) + 100 * (k >> 1 & 1) + 10000 * k).sum();
    gives(&text(functions, &call("sum, (a)", "%r1")), 40, wanted);
}

#[test]
fn a_long_circle_of_calls_is_named_by_its_last_ones() {
    // Function n calls the next of seven; the kernel calls the first.
    let announced: String = (0..7).map(|n| format!(".func (.param .b32 r) f{n} (.param .b32 x);\n")).collect();
    let functions: String = (0..7)
        .map(|n| {
            format!(
                ".func (.param .b32 r) f{n} (.param .b32 x) {{\n{{ .param .b32 a; .param .b32 b; st.param.b32 [a], 0;\n\
                 call.uni (b), f{}, (a); }}\nst.param.b32 [r], 0; ret; }}\n",
                (n + 1) % 7
            )
        })
        .collect();
    let fault = convicted(&text(&(announced + &functions), &call("f0, (a)", "%r1")));
    let named = fault.message.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or("", |(named, _)| named);
    assert_eq!(named.matches(" calls ").count(), 4, "{fault}");
    assert!((0..7).any(|n| named == circle(n)), "{fault}");
}

/// Five functions of a circle of seven, from the nth on.
fn circle(n: u32) -> String {
    (n..n + 5).map(|n| format!("f{}", n % 7)).collect::<Vec<_>>().join(" calls ")
}

#[test]
fn lanes_in_different_calls_of_a_function_do_not_meet_at_its_barrier() {
    let functions = ".func (.param .b32 r) turn (.param .b32 x) { .reg .pred %p<3>; .reg .b32 %r<9>;\n\
        ld.param.u32 %r1, [x]; setp.eq.u32 %p1, %r1, 0; @%p1 bra LAST; sub.u32 %r1, %r1, 1;\n\
        { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), turn, (a); ld.param.b32 %r7, [b]; }\n\
        LAST: bar.sync 0; st.param.b32 [r], 0; ret; }\n";
    let once = |register: &str, n: u32| call("turn, (a)", register).replace("one:", &format!("one{n}:"));
    let body = format!(
        "mov.u32 %r2, 0; setp.lt.u32 %p1, %r1, 48;\n@%p1 bra A;\n{}\nbra END;\nA:\n{}\nEND:",
        once("%r2", 1),
        once("%r2", 2)
    );
    for schedule in Schedule::ALL {
        let fault = launch(&text(functions, &body), 64, schedule).expect_err("two calls");
        assert_eq!((fault.kind, fault.site.warp), (FaultKind::Barrier, 1), "{fault}");
        assert!(fault.message.starts_with("barrier reached by only 16 of the 32 live threads of warp 1"), "{fault}");
    }
    gives(&text(functions, &format!("mov.u32 %r2, 2;\n{}", once("%r2", 1))), 64, |_| 0);
}

#[test]
fn lanes_that_call_different_functions_go_in_either_order() {
    let function = |name: &str| {
        format!(
            ".func (.param .b32 r) {name} (.param .b32 x) {{ .reg .b32 %r<3>; .reg .b64 %d;\n\
             mov.u64 %d, counter; atom.global.add.u32 %r1, [%d], 1; st.param.b32 [r], %r1; ret; }}\n"
        )
    };
    let functions = format!(".global .align 4 .u32 counter;\n{}{}", function("one"), function("two"));
    let body = "mov.u64 %d3, one; mov.u64 %d4, two; setp.lt.u32 %p1, %r1, 16; selp.b64 %d3, %d3, %d4, %p1;\n"
        .to_string()
        + &call("%d3, (a), one", "%r1").replace("one:", "proto:").replace("(a), one", "(a), proto");
    let text = text(&functions, &body);
    let turns: Vec<Vec<u32>> =
        Schedule::ALL.iter().map(|schedule| launch(&text, 32, *schedule).expect("it is right")).collect();
    for lanes in &turns {
        let mut sorted = lanes.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..32).collect::<Vec<u32>>(), "each lane has a turn of its own");
    }
    // The order that has the last first has the other one first.
    let first: Vec<bool> = turns.iter().map(|lanes| lanes[0] < lanes[16]).collect();
    assert_eq!(first[..2], [false, true], "{turns:?}");
}

#[test]
fn a_call_counts_as_a_branch_and_what_it_moves_as_nothing() {
    // The same sum by a recursive function that is called once, and in place.
    let functions = ".func (.param .b32 r) sum (.param .b32 x) { .reg .pred %p<2>; .reg .b32 %r<5>; .local .align 8 .b8 mine[16]; .reg .b64 %d<3>;\n\
        ld.param.u32 %r1, [x]; mov.u64 %d1, mine; st.local.u32 [%d1], %r1; ld.local.u32 %r2, [mine];\n\
        setp.lt.u32 %p1, %r2, 1000; @%p1 bra END; { .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call.uni (b), sum, (a); ld.param.b32 %r2, [b]; }\n\
        END: add.u32 %r3, %r2, 1; st.param.b32 [r], %r3; ret; }\n";
    let module = module(&text(functions, &call("sum, (a)", "%r1"))).expect("the text is right");
    let kernel = module.kernel("k").expect("the text is right");
    let mut device = Device::new();
    let out = device.alloc("out", 4 * 32);
    let report = device.launch(&kernel, Launch::new(1, 32), &[Argument::Buffer(out)]).expect("it is right");
    let total = &report.total;
    assert_eq!((total.flops_f32, total.flops_f64), (0, 0));
    let count = |class| (total.class(class).warp, total.class(class).thread);
    // `mad.wide` and the function's `add`; its branch and its return, the call, and the kernel's return.
    assert_eq!(count(emulator::Class::Integer), (2, 64));
    assert_eq!(count(emulator::Class::Branch), (4, 4 * 32));
    assert_eq!((total.global_store.requests, total.global_load.requests), (1, 0));
    assert!(report.lines.iter().all(|line| line.line == 0), "{:?}", report.lines);
}

#[test]
fn memory_of_a_call_begins_unwritten_every_time() {
    // The first call leaves its number there, the second looks.
    let functions = ".func (.param .b32 r) look (.param .b32 x) { .reg .pred %p<3>; .reg .b32 %r<5>; .local .align 4 .b32 mine;\n\
        ld.param.u32 %r1, [x]; setp.eq.u32 %p1, %r1, 1; @%p1 st.local.u32 [mine], %r1; setp.gt.u32 %p2, %r1, 100; @!%p2 bra END;\n\
        { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), look, (a); ld.param.b32 %r2, [b]; }\n\
        END: ld.local.u32 %r2, [mine]; st.param.b32 [r], %r2; ret; }\n";
    let twice = format!("{}\nmov.u32 %r3, 2;\n{}", call("look, (a)", "1"), call("look, (a)", "%r3"));
    let twice = twice.replacen("one:", "other:", 1);
    let text = text(functions, &format!("{twice}\nadd.u32 %r9, %r9, 1;"));
    let fault = launch(&text, 32, Schedule::FirstFirst).expect_err("nobody wrote it in the second call");
    assert_eq!(fault.kind, FaultKind::Uninitialised, "{fault}");
    // Without checks it has all bits set, as all memory that nobody wrote.
    let kernel = module(&text).and_then(|module| module.kernel("k")).expect("the text is right");
    let mut device = Device::new();
    let out = device.alloc("out", 4 * 32);
    device.launch(&kernel, Launch::new(1, 32).sanitize(false), &[Argument::Buffer(out)]).expect("nobody asks");
    let mut bytes = [1; 4 * 32];
    device.read(out, &mut bytes).expect("all was written");
    assert_eq!(bytes, [0; 4 * 32]);
}

#[test]
fn lanes_that_part_in_a_called_function_meet_in_it() {
    // Two ways, and behind them three additions that all lanes do together.
    let functions = ".func (.param .b32 r) part (.param .b32 x) { .reg .pred %p<3>; .reg .b32 %r<9>;\n\
        ld.param.u32 %r1, [x]; setp.gt.u32 %p2, %r1, 5000; @%p2 bra DEEP; setp.lt.u32 %p1, %r1, 7; @%p1 bra LOW;\n\
        mul.lo.u32 %r2, %r1, 3; bra JOIN; LOW: sub.u32 %r2, 100, %r1;\n\
        JOIN: add.u32 %r2, %r2, 1; add.u32 %r2, %r2, 2; add.u32 %r2, %r2, 3; bra END;\n\
        DEEP: { .param .b32 a; .param .b32 b; st.param.b32 [a], 1; call.uni (b), part, (a); ld.param.b32 %r2, [b]; }\n\
        END: st.param.b32 [r], %r2; ret; }\n";
    let functions = functions.replace("sub.u32 %r2, 100, %r1;", "mov.u32 %r3, 100; sub.u32 %r2, %r3, %r1;");
    let text = text(&functions, &call("part, (a)", "%r1"));
    gives(&text, 32, |n| if n < 7 { 106 - n } else { 3 * n + 6 });
    let kernel = module(&text).and_then(|module| module.kernel("k")).expect("the text is right");
    let mut device = Device::new();
    let out = device.alloc("out", 4 * 32);
    let report = device.launch(&kernel, Launch::new(1, 32), &[Argument::Buffer(out)]).expect("it is right");
    // The kernel's `mad.wide`, `mul` and `sub` by some lanes each, and the three additions once.
    let count = report.total.class(emulator::Class::Integer);
    assert_eq!((count.warp, count.thread), (1 + 1 + 1 + 3, 32 + 25 + 7 + 3 * 32));
}

#[test]
fn a_function_stays_within_each_variable_of_its_local_memory() {
    // Beside the variable lie another one, what its caller has, and the parameters: all of it is local memory of the thread.
    let functions = |byte: i32| {
        format!(
            ".func (.param .b32 r) fill (.param .b32 x) {{ .local .align 4 .b32 first[2]; .local .align 4 .b32 mine[3];\n\
             .local .align 4 .b32 last[2]; .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %d<9>;\n\
             ld.param.u32 %r1, [x]; mov.u64 %d1, mine; mov.u32 %r2, {byte}; cvt.s64.s32 %d2, %r2; add.s64 %d3, %d1, %d2;\n\
             st.local.u32 [mine], %r1; setp.eq.u32 %p1, %r1, 0; @%p1 bra END; add.s32 %r3, %r1, -1;\n\
             {{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r3; call.uni (b), fill, (a); ld.param.b32 %r4, [b]; }}\n\
             st.local.u32 [%d3], %r4; ld.local.u32 %r5, [mine]; st.param.b32 [r], %r5; ret;\n\
             END: st.param.b32 [r], 7; ret; }}\n"
        )
    };
    let body = call("fill, (a)", "%r1");
    for byte in [4, 8] {
        gives(&text(&functions(byte), &body), 64, |n| if n == 0 { 7 } else { n });
    }
    for (byte, side) in [(-4, "before the start"), (12, "past the end"), (-400, "before the start")] {
        let fault = convicted(&text(&functions(byte), &body));
        assert_eq!(fault.kind, FaultKind::OutOfBounds, "{fault}");
        assert!(fault.message.starts_with(&format!("write of 4 bytes {side} of ")), "{fault}");
    }
    // In place of its call, and in the kernel itself.
    let plain = |byte: i32| {
        format!(
            ".local .align 4 .b32 first[2]; .local .align 4 .b32 mine[3]; .local .align 4 .b32 last[2];\n\
             mov.u64 %d2, mine; add.s64 %d3, %d2, {byte}; st.local.u32 [%d3], %r1; ld.local.u32 %r9, [%d3];"
        )
    };
    gives(&text("", &plain(8)), 64, |n| n);
    for (byte, side) in [(-4, "before the start"), (12, "past the end")] {
        let fault = convicted(&text("", &plain(byte)));
        let wanted = format!("write of 4 bytes {side} of the function's local memory (12 bytes) at offset {byte}");
        assert_eq!(fault.message, wanted);
    }
}
