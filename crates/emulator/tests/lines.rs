//! Where an instruction stands: at the kernel's own line, though a header's function is inlined there, and with the calls that
//! lead to it; in faults, in counters, and in traces.

use emulator::{Argument, Device, Fault, Launch, LaunchError, Module, Report, Trace};

/// The name `_ZN3lib4loadEPKf`, and `_Z4pickPKf`, as compilers write them down.
const NAMES: &str = ".section .debug_str\n{\n\
    $L__info_string0:\n.b8 95,90,78,51,108,105,98,52,108,111,97,100,69,80\n.b8 75,102,0\n\
    $L__info_string1:\n.b8 95,90,52,112,105,99,107,80,75,102,0\n}\n";

const LOAD: &str = "function_name $L__info_string0";
const PICK: &str = "function_name $L__info_string1";

/// A kernel of the file `kernel.cu`, with a header `lib/load.h`: `%d1` is the address of a buffer of 128 bytes, for 32 threads.
fn module(functions: &str, body: &str) -> Module {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"kernel.cu\"\n.file 2 \"lib/load.h\"\n{functions}\
         .visible .entry k(.param .u64 a)\n{{\n.reg .b32 %r<9>;\n.reg .b64 %d<9>;\n.loc 1 3 0\nld.param.u64 %d1, [a];\n\
         {body}\n.loc 1 9 1\nret;\n}}\n{NAMES}"
    );
    Module::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn launch(module: &Module) -> Result<Report, Box<Fault>> {
    let mut device = Device::new();
    let buffer = device.alloc("a", 128);
    device.write(buffer, &[1; 128]).expect("it has this size");
    let kernel = module.kernel("k").expect("it is there");
    match device.launch(&kernel, Launch::new(1, 32), &[Argument::Buffer(buffer)]) {
        Ok(report) => Ok(report),
        Err(LaunchError::Fault(fault)) => Err(fault),
        Err(other) => panic!("{other}"),
    }
}

/// The lines of a fault's message that say where it is, without the one that names the thread.
fn told(functions: &str, body: &str) -> Vec<String> {
    let fault = launch(&module(functions, body)).expect_err("it reads beyond the end");
    let text = fault.render(&|file, line| Some(format!("code of {file} {line}")));
    let lines = text.lines().skip(1).map(str::to_string);
    lines.take_while(|line| !line.contains("block (0,0)")).collect()
}

#[test]
fn what_is_inlined_from_a_header_is_told_at_the_line_that_calls_it() {
    let body = format!(".loc 1 5 7\n.loc 2 40 3, {LOAD}, inlined_at 1 5 7\nld.global.u32 %r1, [%d1+128];");
    assert_eq!(
        told("", &body),
        ["  --> kernel.cu:5   code of kernel.cu 5", "   |  in load, load.h:40   code of lib/load.h 40"]
    );
    // The header's function calls one that has no line.
    let body = format!(
        ".loc 1 5 7\n.loc 2 40 3, {LOAD}, inlined_at 1 5 7\n.loc 2 0 9, {PICK}, inlined_at 2 40 3\nld.global.u32 %r1, [%d1+128];"
    );
    assert_eq!(
        told("", &body)[..2],
        ["  --> kernel.cu:5   code of kernel.cu 5", "   |  in load, load.h:40   code of lib/load.h 40"]
    );
}

#[test]
fn what_is_inlined_from_the_kernels_own_file_is_told_at_its_line_with_the_calls() {
    let body = format!(
        ".loc 1 6 7\n.loc 1 2 3, {PICK}, inlined_at 1 6 7\n.loc 2 40 3, {LOAD}, inlined_at 1 2 3\nld.global.u32 %r1, [%d1+128];"
    );
    let calls = [
        "  --> kernel.cu:2   code of kernel.cu 2",
        "   |  in load, load.h:40   code of lib/load.h 40",
        "   |  in pick, called at kernel.cu:6   code of kernel.cu 6",
    ];
    assert_eq!(told("", &body), calls);
    // The same where the calls are none that the compiler has inlined.
    let functions = format!(
        ".func load(.param .b64 p)\n{{\n.reg .b32 %r<3>;\n.reg .b64 %d<3>;\n.loc 2 40 3\nld.param.u64 %d1, [p];\nld.global.u32 %r1, [%d1+128];\nret;\n}}\n\
         .func _Z4pickPKf(.param .b64 p)\n{{\n.reg .b64 %d<3>;\n.loc 1 2 3\nld.param.u64 %d1, [p];\n{}\nret;\n}}\n",
        call("load")
    );
    assert_eq!(told(&functions, &format!(".loc 1 6 7\n{}", call("_Z4pickPKf"))), calls);
}

fn call(function: &str) -> String {
    format!("{{\n.param .b64 q;\nst.param.b64 [q], %d1;\ncall.uni {function}, (q);\n}}")
}

#[test]
fn a_recursive_function_is_told_with_the_calls_of_the_thread() {
    let function = format!(
        ".func _Z4pickPKf(.param .b64 p)\n{{\n.reg .pred %q;\n.reg .b32 %r<3>;\n.reg .b64 %d<3>;\n.loc 1 2 3\nld.param.u64 %d1, [p];\n\
         ld.global.u32 %r1, [%d1];\nadd.u64 %d1, %d1, 64;\nsetp.eq.u32 %q, %r1, 0;\n@%q bra DONE;\n.loc 1 3 3\n{}\nDONE: ret;\n}}\n",
        call("_Z4pickPKf")
    );
    let again = "   |  in pick, called at kernel.cu:3   code of kernel.cu 3";
    assert_eq!(
        told(&function, &format!(".loc 1 6 7\n{}", call("_Z4pickPKf"))),
        [
            "  --> kernel.cu:2   code of kernel.cu 2",
            again,
            again,
            "   |  in pick, called at kernel.cu:6   code of kernel.cu 6"
        ]
    );
}

#[test]
fn an_instruction_of_the_kernel_itself_has_no_calls() {
    let fault = launch(&module("", ".loc 1 5 7\nld.global.u32 %r1, [%d1+128];")).expect_err("it reads beyond the end");
    assert!(fault.site.calls.is_empty(), "{fault}");
}

#[test]
fn counters_and_traces_are_of_the_kernels_own_lines() {
    let module = module(
        "",
        &format!(
            ".loc 1 5 7\n.loc 2 40 3, {LOAD}, inlined_at 1 5 7\nld.global.u32 %r1, [%d1];\n\
             .loc 1 6 7\n.loc 2 40 3, {LOAD}, inlined_at 1 6 7\nld.global.u32 %r1, [%d1+4];\nld.global.u32 %r1, [%d1+8];"
        ),
    );
    let report = launch(&module).expect("it is right");
    let counted = report.lines.iter().map(|line| (&*line.file, line.line, line.counters.global_load.requests));
    let counted: Vec<_> = counted.filter(|(_, _, requests)| *requests > 0).collect();
    assert_eq!(counted, [("kernel.cu", 5, 1), ("kernel.cu", 6, 2)]);
    let mut device = Device::new();
    let buffer = device.alloc("a", 128);
    device.write(buffer, &[1; 128]).expect("it has this size");
    let kernel = module.kernel("k").expect("it is there");
    let traced = device.trace(&kernel, Launch::new(1, 32), &[Argument::Buffer(buffer)], |_| true);
    let Trace { accesses, .. } = traced.expect("it is right");
    assert_eq!(accesses.iter().map(|access| access.line()).collect::<Vec<_>>(), [5, 6, 6]);
}
