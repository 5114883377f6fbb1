//! `printf` whose format, arguments and texts lie in any memory.

use emulator::{Argument, Device, Fault, FaultKind, Launch, LaunchError, Module};

fn bytes(text: &str) -> String {
    let list: Vec<String> = text.bytes().chain([0]).map(|byte| byte.to_string()).collect();
    list.join(", ")
}

/// One thread prints `FORMAT` from the format's generic address in `%d1` and the arguments' in `%d2`, after `body`.
fn print(format: &str, body: &str) -> Result<Vec<String>, Box<Fault>> {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n\
         .global .align 1 .b8 global_format[64] = {{{0}}};\n.const .align 1 .b8 const_format[64] = {{{0}}};\n.global .align 1 .b8 word[4] = {{{1}}};\n\
         .const .align 8 .u64 const_arguments[3] = {{7, 0x0102030405060708, 9}};\n.global .align 8 .u64 global_arguments[3] = {{7, 0x0102030405060708, 9}};\n\
         .visible .entry k(.param .u64 out)\n{{\n.reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %d<19>; .shared .align 8 .b8 tile[64]; .local .align 8 .b8 mine[64];\n\
         ld.param.u64 %d9, [out];\n{body}\n\
         {{ .param .b64 x; .param .b64 y; .param .b32 z; st.param.b64 [x], %d1; st.param.b64 [y], %d2; call.uni (z), vprintf, (x, y); ld.param.b32 %r4, [z]; }}\n\
         st.global.u32 [%d9], %r4;\nret;\n}}\n",
        bytes(format),
        bytes("abc")
    );
    let kernel =
        Module::parse(&text).and_then(|module| module.kernel("k")).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut device = Device::new();
    let out = device.alloc("out", 4);
    match device.launch(&kernel, Launch::new(1, 1), &[Argument::Buffer(out)]) {
        Ok(report) => {
            let mut count = [0; 4];
            device.read(out, &mut count).expect("it was written");
            let mut said: Vec<String> = report.printed.into_iter().map(|printed| printed.text).collect();
            said.push(u32::from_le_bytes(count).to_string());
            Ok(said)
        }
        Err(LaunchError::Fault(fault)) => Err(fault),
        Err(error) => panic!("{error}"),
    }
}

const GLOBAL: &str = "mov.u64 %d1, global_format;\ncvta.global.u64 %d1, %d1;\n";

#[test]
fn formats_and_arguments_may_lie_in_any_memory() {
    let constant = "mov.u64 %d1, const_format;\ncvta.const.u64 %d1, %d1;\n";
    // The format, copied byte by byte, begins at an odd place.
    let copy = |space: &str, name: &str| {
        format!(
            "{GLOBAL}mov.u64 %d3, {name};\nmov.u32 %r1, 0;\nCOPY: cvt.u64.u32 %d4, %r1;\nadd.u64 %d5, %d1, %d4;\nld.u8 %r2, [%d5];\nadd.u64 %d6, %d3, %d4;\n\
             st.{space}.u8 [%d6+3], %r2;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 30;\n@%p1 bra COPY;\nadd.u64 %d1, %d3, 3;\ncvta.{space}.u64 %d1, %d1;\n"
        )
    };
    let list = |space: &str, name: &str| {
        format!(
            "mov.u64 %d2, {name};\nmov.u64 %d7, 7;\nst.{space}.u64 [%d2+40], %d7;\nmov.u64 %d7, 0x0102030405060708;\nst.{space}.u64 [%d2+48], %d7;\nadd.u64 %d2, %d2, 40;\ncvta.{space}.u64 %d2, %d2;\n"
        )
    };
    for format in [GLOBAL, constant, &copy("shared", "tile"), &copy("local", "mine")] {
        for arguments in [
            "mov.u64 %d2, const_arguments;\ncvta.const.u64 %d2, %d2;\n",
            "mov.u64 %d2, global_arguments;\ncvta.global.u64 %d2, %d2;\n",
            &list("shared", "tile"),
            &list("local", "mine"),
        ] {
            let said = print("a%d, b%lld%%\n", &format!("{format}{arguments}"))
                .unwrap_or_else(|fault| panic!("{fault}\n{format}{arguments}"));
            assert_eq!(said, ["a7, b72623859790382856%\n", "2"], "{format}{arguments}");
        }
    }
}

#[test]
fn arguments_stand_at_multiples_of_their_size() {
    let body = format!(
        "{GLOBAL}mov.u64 %d2, mine;\nmov.u32 %r1, -5;\nst.local.u32 [mine], %r1;\nmov.u64 %d3, 0x4008000000000000;\nst.local.u64 [mine+8], %d3;\nmov.u32 %r1, 65;\nst.local.u32 [mine+16], %r1;\n\
         mov.u64 %d3, word;\ncvta.global.u64 %d3, %d3;\nst.local.u64 [mine+24], %d3;\nmov.u64 %d3, 0;\nst.local.u64 [mine+32], %d3;\ncvta.local.u64 %d2, %d2;\n"
    );
    assert_eq!(print("%d|%.2f|%c|%s|%s", &body), Ok(vec!["-5|3.00|A|abc|(null)".to_string(), "5".to_string()]));
}

#[test]
fn a_format_asks_for_no_more_than_there_is() {
    let fill = "mov.u64 %d3, 3;\nst.shared.u64 [tile+56], %d3;\nmov.u64 %d2, tile;\nadd.u64 %d2, %d2, 56;\ncvta.shared.u64 %d2, %d2;\n";
    assert_eq!(print("%lld", &format!("{GLOBAL}{fill}")), Ok(vec!["3".to_string(), "1".to_string()]));
    let fault = print("%lld %d", &format!("{GLOBAL}{fill}")).expect_err("there is one");
    let said = "`printf` with fewer arguments than its format asks for";
    assert!(fault.kind == FaultKind::OutOfBounds && fault.message.contains(said), "{fault}");
    // The arguments are nowhere; a format without any needs none.
    for address in ["0", "0xffffffffffffffff", "0x7f00000000001000", "0x7e00000000000400", "0x7d00000000010000"] {
        let body = format!("{GLOBAL}mov.u64 %d2, {address};\n");
        assert_eq!(print("plain", &body), Ok(vec!["plain".to_string(), "0".to_string()]), "{address}");
        assert!(print("%d", &body).is_err(), "{address}");
        let nowhere = format!("mov.u64 %d1, {address};\nmov.u64 %d2, 0;\n");
        let fault = print("", &nowhere).expect_err("there is no format");
        assert!(fault.message.contains("`printf` of a format that lies in no memory"), "{address}: {fault}");
    }
}

#[test]
fn what_is_printed_beyond_a_mebibyte_is_dropped() {
    // One thread prints 3000 characters 360 times; then so do eight blocks, on several cores.
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n\
         .global .align 1 .b8 line[3001] = {{{}}};\n.visible .entry k()\n{{\n.reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %d<9>;\n\
         mov.u64 %d1, line;\ncvta.global.u64 %d1, %d1;\nmov.u64 %d2, 0;\nmov.u32 %r1, 0;\nL:\n\
         {{ .param .b64 x; .param .b64 y; .param .b32 z; st.param.b64 [x], %d1; st.param.b64 [y], %d2; call.uni (z), vprintf, (x, y); ld.param.b32 %r4, [z]; }}\n\
         add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 360;\n@%p1 bra L;\nret;\n}}\n",
        bytes(&"x".repeat(3000))
    );
    let kernel = Module::parse(&text).and_then(|module| module.kernel("k")).expect("the text is right");
    for blocks in [1, 8] {
        for threads in [1, 3] {
            let mut device = Device::new();
            device.set_threads(Some(threads));
            let printed = device.launch(&kernel, Launch::new(blocks, 1), &[]).expect("it is right").printed;
            assert_eq!(printed.len(), (1 << 20) / 3000, "{blocks} blocks, {threads} cores");
        }
    }
}
