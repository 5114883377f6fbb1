//! `printf` and `assert`, as the compiler calls them, and addresses among a variable's initial values.

use emulator::{Argument, Device, Dim3, Fault, Launch, LaunchError, Module, Report, Schedule};

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n\
    .extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n\
    .extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n\
    .global .align 1 .b8 format[14] = {116, 32, 37, 100, 32, 37, 46, 49, 102, 32, 37, 115, 10, 0};\n\
    .global .align 1 .b8 word[4] = {97, 98, 99, 0};\n\
    .global .align 4 .u32 number = 42;\n\
    .global .align 8 .u64 pointers[2] = {number, generic(pointers) + 8};\n";

fn launch(module: &str, grid: u32, last_first: bool) -> Result<Report, LaunchError> {
    let kernel = Module::parse(module).and_then(|module| module.kernel("k")).expect("the text is right");
    let mut device = Device::new();
    let out = device.alloc("out", 64);
    let launch = Launch::new(grid, 2).schedule(if last_first { Schedule::LastFirst } else { Schedule::FirstFirst });
    device.launch(&kernel, launch, &[Argument::Buffer(out)])
}

fn kernel(body: &str) -> String {
    format!(
        "{HEAD}.visible .entry k(.param .u64 out) {{\n.reg .pred %p; .reg .b32 %r<9>; .reg .b64 %d<9>; .local .align 8 .b8 buffer[24];\n\
         mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nsetp.eq.u32 %p, %r1, 1;\nld.param.u64 %d1, [out];\n{body}\nret;\n}}\n"
    )
}

const PRINT: &str = "mad.lo.u32 %r3, %r2, 10, %r1;\nst.local.u32 [buffer], %r3;\nmov.f64 %d2, 0d3FF8000000000000;\n\
    st.local.b64 [buffer+8], %d2;\nmov.u64 %d3, word;\ncvta.global.u64 %d3, %d3;\nst.local.u64 [buffer+16], %d3;\n\
    mov.u64 %d4, buffer;\ncvta.local.u64 %d4, %d4;\nmov.u64 %d5, format;\ncvta.global.u64 %d5, %d5;\n\
    { .param .b64 x; .param .b64 y; .param .b32 z; st.param.b64 [x], %d5; st.param.b64 [y], %d4;\n\
    call.uni (z), vprintf, (x, y);\nld.param.b32 %r4, [z]; }";

#[test]
fn printf_shows_what_each_thread_says_in_the_order_of_the_blocks() {
    let report = launch(&kernel(PRINT), 3, false).expect("it is right");
    let said: Vec<&str> = report.printed.iter().map(|printed| printed.text.as_str()).collect();
    assert_eq!(
        said,
        ["t 0 1.5 abc\n", "t 1 1.5 abc\n", "t 10 1.5 abc\n", "t 11 1.5 abc\n", "t 20 1.5 abc\n", "t 21 1.5 abc\n"]
    );
    let site = &report.printed[3].site;
    assert_eq!(
        (site.block, site.thread, site.opcode.as_str()),
        (Dim3 { x: 1, y: 0, z: 0 }, Dim3 { x: 1, y: 0, z: 0 }, "call.uni")
    );
    let backwards = launch(&kernel(PRINT), 3, true).expect("it is right");
    assert_eq!(backwards.printed[0].text, "t 20 1.5 abc\n");
}

#[test]
fn printf_of_no_format_is_a_fault() {
    let nothing = PRINT.replace("st.param.b64 [x], %d5", "mov.u64 %d5, 16; st.param.b64 [x], %d5");
    let Err(LaunchError::Fault(fault)) = launch(&kernel(&nothing), 1, false) else { panic!("there is no format") };
    assert!(fault.message.contains("lies in no memory"), "{fault}");
}

#[test]
fn an_assertion_names_itself_its_line_and_the_thread() {
    let body = "@!%p bra END;\nmov.u64 %d2, word;\ncvta.global.u64 %d2, %d2;\n\
        { .param .b64 m; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 s;\n\
        st.param.b64 [m], %d2; st.param.b64 [f], %d2; st.param.b32 [l], 7; st.param.b64 [n], %d2; st.param.b64 [s], 1;\n\
        call.uni __assertfail, (m, f, l, n, s); }\nEND:";
    let Err(LaunchError::Fault(fault)) = launch(&kernel(body), 1, false) else { panic!("the assertion fails") };
    let Fault { message, site, .. } = *fault;
    assert_eq!(message, "assertion `abc` failed in abc, abc:7");
    assert_eq!((site.thread, site.opcode.as_str()), (Dim3 { x: 1, y: 0, z: 0 }, "call.uni"));
}

#[test]
fn a_variable_may_begin_with_addresses() {
    // The second is the address of itself.
    let body = "ld.global.u64 %d2, [pointers];\nld.u32 %r3, [%d2];\nld.global.u64 %d3, [pointers+8];\nld.u64 %d4, [%d3];\n\
        sub.u64 %d4, %d4, %d3;\ncvt.u32.u64 %r4, %d4;\nadd.u32 %r3, %r3, %r4;\n@%p bra END;\nst.global.u32 [%d1], %r3;\nEND:";
    let module = kernel(body);
    let kernel = Module::parse(&module).and_then(|module| module.kernel("k")).expect("the text is right");
    let mut device = Device::new();
    let out = device.alloc("out", 4);
    device.launch(&kernel, Launch::new(Dim3::xy(1, 1), Dim3::xy(2, 1)), &[Argument::Buffer(out)]).expect("it is right");
    let mut bytes = [0; 4];
    device.read(out, &mut bytes).expect("it was written");
    assert_eq!(u32::from_le_bytes(bytes), 42);
}

#[test]
fn a_function_that_nobody_has_is_an_error() {
    let text = format!(
        "{HEAD}.extern .func (.param .b64 r) malloc (.param .b64 n);\n.visible .entry k() {{ .reg .b64 %d<3>;\n\
         {{ .param .b64 n; .param .b64 r; st.param.b64 [n], 8; call.uni (r), malloc, (n); }} ret; }}"
    );
    let error = Module::parse(&text).and_then(|module| module.kernel("k").map(drop)).expect_err("there is no heap");
    assert!(error.message.contains("`call` of `malloc`"), "{error}");
}

#[test]
fn what_many_blocks_say_side_by_side_is_in_the_order_of_their_turns() {
    // Each block does some work first, so that several cores take part.
    let body = format!("mov.u32 %r5, 0;\nL: add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p, %r5, 2000;\n@%p bra L;\n{PRINT}");
    let kernel = Module::parse(&kernel(&body)).and_then(|module| module.kernel("k")).expect("the text is right");
    for (threads, last_first) in [(1, false), (4, false), (4, true)] {
        let mut device = Device::new();
        device.set_threads(Some(threads));
        let out = device.alloc("out", 64);
        let schedule = if last_first { Schedule::LastFirst } else { Schedule::FirstFirst };
        let report = device.launch(&kernel, Launch::new(64, 2).schedule(schedule), &[Argument::Buffer(out)]);
        let printed = report.expect("it is right").printed;
        let blocks: Vec<u32> = if last_first { (0..64).rev().collect() } else { (0..64).collect() };
        let wanted: Vec<String> = blocks
            .iter()
            .flat_map(|block| [0, 1].map(|thread| format!("t {} 1.5 abc\n", 10 * block + thread)))
            .collect();
        assert_eq!(printed.iter().map(|printed| &printed.text).collect::<Vec<_>>(), wanted.iter().collect::<Vec<_>>());
    }
}

#[test]
fn printf_gives_back_how_many_arguments_it_had() {
    for (format, count) in [
        ("116, 32, 37, 100, 32, 37, 46, 49, 102, 32, 37, 115", 3),
        ("116, 32, 37, 100, 32, 33, 46, 49, 102, 32, 33, 115", 1),
        ("116, 32, 33, 100, 32, 33, 46, 49, 102, 32, 33, 115", 0),
    ] {
        let body = format!("{PRINT}\nmul.wide.u32 %d6, %r1, 4;\nadd.u64 %d6, %d6, %d1;\nst.global.u32 [%d6], %r4;");
        let text = kernel(&body).replace("116, 32, 37, 100, 32, 37, 46, 49, 102, 32, 37, 115", format);
        let kernel = Module::parse(&text).and_then(|module| module.kernel("k")).expect("the text is right");
        let mut device = Device::new();
        let out = device.alloc("out", 8);
        device.launch(&kernel, Launch::new(1, 2), &[Argument::Buffer(out)]).expect("it is right");
        let mut bytes = [0; 8];
        device.read(out, &mut bytes).expect("both wrote");
        assert_eq!(bytes, [count, 0, 0, 0, count, 0, 0, 0], "{format}");
    }
}
