//! A race is found, and what nobody wrote is known, whichever way the pointer came; and a load whose value nobody looks at is
//! no wait.

use emulator::{Argument, Device, Fault, FaultKind, Launch, LaunchError, Module};

use crate::run::Kernel;

/// Two blocks store their numbers through `%d9`, which `find` gets somehow: `in` holds the address of `out`; `b` is `out`.
fn both_store(find: &str, after: &str) -> Result<(), Box<Fault>> {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.global .align 8 .u64 variable = 3;\n.global .align 8 .u64 pointer = variable;\n\
         .visible .entry k(.param .u64 a, .param .u64 b, .param .align 8 .b8 s[16])\n{{\n.reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %d<19>; .shared .align 8 .b8 tile[64]; .local .align 8 .b8 mine[16];\n\
         mov.u32 %r1, %ctaid.x;\nadd.u32 %r1, %r1, 5;\nsetp.gt.u32 %p1, %r1, 2;\n{find}\n{after}\nret;\n}}\n"
    );
    let kernel =
        Module::parse(&text).and_then(|module| module.kernel("k")).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut device = Device::new();
    let (from, to) = (device.alloc("in", 16), device.alloc("out", 16));
    device.write(to, &[0; 16]).expect("it has this size");
    let address = device.address(to).expect("it is there");
    device.write(from, &[address.to_le_bytes(), address.to_le_bytes()].concat()).expect("it has this size");
    let structure = Argument::Bytes([0u64.to_le_bytes(), address.to_le_bytes()].concat());
    match device.launch(&kernel, Launch::new(2, 1), &[Argument::Buffer(from), Argument::Buffer(to), structure]) {
        Ok(_) => Ok(()),
        Err(LaunchError::Fault(fault)) => Err(fault),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn blocks_race_whichever_way_the_pointer_came() {
    for (find, place) in [
        ("ld.param.u64 %d9, [b];", "out"),
        ("ld.param.u64 %d1, [b];\nadd.u64 %d9, %d1, 0;", "out"),
        ("ld.param.u64 %d1, [b];\ncvta.to.global.u64 %d9, %d1;", "out"),
        ("ld.param.u64 %d1, [b];\nmov.b64 {%r2, %r3}, %d1;\nmov.b64 %d9, {%r2, %r3};", "out"),
        ("ld.param.u64 %d1, [b];\nselp.b64 %d9, %d1, 0, %p1;", "out"),
        ("ld.param.u64 %d1, [b];\nmov.u64 %d9, 0;\n@%p1 mov.u64 %d9, %d1;", "out"),
        ("ld.param.u64 %d1, [a];\nld.global.u64 %d9, [%d1];", "out"),
        ("ld.param.u64 %d1, [a];\nld.global.v2.u64 {%d2, %d9}, [%d1];", "out"),
        ("ld.param.u64 %d9, [s+8];", "out"),
        ("ld.param.u64 %d1, [b];\nst.shared.u64 [tile], %d1;\nld.shared.u64 %d9, [tile];", "out"),
        ("ld.param.u64 %d1, [b];\nst.local.u64 [mine], %d1;\nld.local.u64 %d9, [mine];", "out"),
        ("mov.u64 %d9, variable;", "variable"),
        ("mov.u64 %d1, variable;\ncvta.global.u64 %d9, %d1;", "variable"),
        ("ld.global.u64 %d9, [pointer];", "variable"),
    ] {
        for (store, race) in [
            ("st.global.u32 [%d9], %r1;", true),
            ("st.u32 [%d9], %r1;", true),
            ("ld.global.u32 %r2, [%d9];\nadd.u32 %r2, %r2, %r1;\nst.global.u32 [%d9], %r2;", true),
            ("ld.global.u32 %r2, [%d9];", false),
            ("red.global.add.u32 [%d9], %r1;", false),
            ("red.global.add.u32 [%d9], %r1;\nld.global.u32 %r2, [%d9];", true),
            ("mov.u32 %r4, %ctaid.x;\nmad.wide.u32 %d9, %r4, 4, %d9;\nst.global.u32 [%d9], %r1;", false),
        ] {
            let name = format!("{find} {store}");
            match both_store(find, store) {
                Ok(()) => assert!(!race, "{name}"),
                Err(fault) => {
                    assert!(race && fault.kind == FaultKind::Race, "{name}: {fault}");
                    assert!(fault.message.starts_with(&format!("race on {place} at offset 0:")), "{name}: {fault}");
                    assert_eq!((fault.site.block.x, fault.other.expect("two parties").1.block.x), (1, 0), "{name}");
                }
            }
        }
    }
}

#[test]
fn a_volatile_load_that_nobody_looks_at_is_no_wait() {
    // Thread 0 stores, thread 40 loads and passes on what it finds, with nothing between.
    for (what, race) in [
        ("st.global.u32 [%out+64], %r2;", true),
        ("mov.u32 %r3, %r2;\nst.global.u32 [%out+64], %r3;", true),
        ("add.u32 %r3, %r2, 1;\nst.global.u32 [%out+64], %r3;", true),
        ("st.shared.u32 [tile+64], %r2;", true),
        ("shfl.sync.idx.b32 %r3, %r2, 0, 31, 0x100;", true),
        ("setp.eq.u32 %p3, %r2, 9;\n@%p3 bra END;\nst.global.u32 [%out+64], %r2;", false),
        ("add.u32 %r3, %r2, 1;\nsetp.eq.u32 %p3, %r3, 9;\nst.global.u32 [%out+64], %r2;", false),
        (
            "and.b32 %r3, %r2, 4;\nmul.wide.u32 %d1, %r3, 4;\nadd.u64 %d1, %d1, %out;\nst.global.u32 [%d1+64], %r2;",
            false,
        ),
        ("mov.u32 %r3, 1;", false),
    ] {
        for space in ["shared", "global"] {
            let base = if space == "shared" { "tile" } else { "%out" };
            let body = format!(
                "mov.u32 %r1, 9;\nsetp.lt.u32 %p4, %t, 1;\n@%p4 st.{space}.u32 [{base}], %r1;\nbar.sync 0;\nmov.u32 %r1, 3;\nsetp.ne.u32 %p1, %t, 0;\n@%p1 bra READ;\nst.volatile.{space}.u32 [{base}], %r1;\nbra END;\n\
                 READ: setp.ne.u32 %p2, %t, 40;\n@%p2 bra END;\nld.volatile.{space}.u32 %r2, [{base}];\n{what}\nEND: ret;"
            );
            let name = format!("{space}: {what}");
            match Kernel::new(64, &body).run() {
                Ok(_) => assert!(!race, "{name}"),
                Err(fault) => {
                    assert!(race && fault.kind == FaultKind::Race, "{name}: {fault}");
                    assert_eq!((fault.site.thread.x, fault.other.expect("two parties").1.thread.x), (40, 0), "{name}");
                }
            }
        }
    }
}
