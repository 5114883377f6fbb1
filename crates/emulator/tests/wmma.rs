//! What `wmma` asks of a warp and of its matrices: one place for all lanes, strides and addresses that are multiples; and what a
//! warp may do where it has loaded one.

use emulator::{Argument, Device, Fault, FaultKind, Launch, LaunchError, Module, Report, WarningKind};

/// One warp has two buffers of 4096 bytes, at `%in` and `%out`, as much shared memory, `tile`, filled from the former, and local
/// memory, `own`; `%t` is the thread's number.
fn launch(body: &str) -> Result<Report, Box<Fault>> {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{{\n\
         .shared .align 128 .b8 tile[4096];\n.local .align 128 .b8 own[1024];\n\
         .reg .pred %p<9>;\n.reg .b32 %t, %n, %r<99>, %a<8>, %b<8>;\n.reg .b64 %in, %out, %d<9>;\n.reg .f32 %c<8>, %f<9>;\n\
         ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nmov.u32 %t, %tid.x;\nmov.u32 %r1, tile;\nmov.u32 %n, %t;\n\
         FILL: mul.lo.u32 %r2, %n, 4;\nadd.u32 %r3, %r1, %r2;\ncvt.u64.u32 %d1, %r2;\nadd.u64 %d1, %in, %d1;\n\
         ld.global.u32 %r4, [%d1];\nst.shared.u32 [%r3], %r4;\nadd.u32 %n, %n, 32;\nsetp.lt.u32 %p1, %n, 1024;\n@%p1 bra FILL;\n\
         bar.sync 0;\n{body}\nret;\n}}\n"
    );
    let kernel = Module::parse(&text).and_then(|module| module.kernel("k"));
    let kernel = kernel.unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut device = Device::new();
    let [from, to] = ["in", "out"].map(|name| device.alloc(name, 4096));
    device.write(from, &[0x3c; 4096]).expect("it has this size");
    match device.launch(&kernel, Launch::new(1, 32), &[Argument::Buffer(from), Argument::Buffer(to)]) {
        Ok(report) => Ok(report),
        Err(LaunchError::Fault(fault)) => Err(fault),
        Err(other) => panic!("{other}"),
    }
}

fn list(letter: char) -> String {
    format!("{{{}}}", (0..8).map(|n| format!("%{letter}{n}")).collect::<Vec<_>>().join(", "))
}

fn load(space: &str, place: &str, stride: &str) -> String {
    format!("wmma.load.a.sync.aligned.row.m16n16k16{space}.f16 {}, [{place}], {stride};\n", list('a'))
}

fn store(space: &str, place: &str, stride: &str) -> String {
    format!("wmma.store.d.sync.aligned.row.m16n16k16{space}.f32 [{place}], {}, {stride};\n", list('c'))
}

/// `C = A · B`, of what is loaded.
fn product() -> String {
    let [a, b, c] = ['a', 'b', 'c'].map(list);
    let zeros: String = (0..8).map(|n| format!("mov.f32 %c{n}, 0f00000000;\nmov.b32 %b{n}, 0x3c003c00;\n")).collect();
    format!("{zeros}wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {c}, {a}, {b}, {c};\n")
}

#[test]
fn rows_lie_apart_by_multiples_of_16_bytes_and_a_matrix_begins_at_one_of_32() {
    let zeros: String = (0..8).map(|n| format!("mov.f32 %c{n}, 0f00000000;\n")).collect();
    for (body, said) in [
        (load(".global", "%in", "24"), None),
        (load(".shared", "tile+32", "40"), None),
        (store(".global", "%out", "20"), None),
        // Eight columns of a transposed matrix have 16 bytes: there the next tile begins.
        (format!("wmma.load.a.sync.aligned.col.m8n32k16.global.f16 {}, [%in+16], 8;", list('a')), None),
        ("wmma.load.b.sync.aligned.row.m16n16k16.shared.u8 {%b0, %b1}, [tile+16], 16;".to_string(), None),
        (
            load(".global", "%in", "50"),
            Some((
                "load of a matrix with a stride of 50 elements, 100 bytes, which is no multiple of 16 bytes",
                "to 56",
            )),
        ),
        (
            store(".shared", "tile", "18"),
            Some((
                "store of a matrix with a stride of 18 elements, 72 bytes, which is no multiple of 16 bytes",
                "to 20",
            )),
        ),
        (
            load(".global", "%in+16", "16"),
            Some(("load of a matrix that begins at in at offset 16, which is no multiple of 32 bytes", "16 elements")),
        ),
        (
            store(".shared", "tile+16", "16"),
            Some((
                "store of a matrix that begins at tile (shared memory) at offset 16, which is no multiple of 32 bytes",
                "8 elements",
            )),
        ),
        (
            "wmma.load.b.sync.aligned.row.m16n16k16.global.u8 {%b0, %b1}, [%in+8], 16;".to_string(),
            Some(("begins at in at offset 8, which is no multiple of 16 bytes", "16 elements")),
        ),
    ] {
        let fault = launch(&format!("{zeros}{body}")).err();
        match said {
            None => assert!(fault.is_none(), "{body}{fault:?}"),
            Some((message, hint)) => {
                let fault = fault.unwrap_or_else(|| panic!("{body}"));
                assert_eq!(fault.kind, FaultKind::Misaligned, "{body}{fault}");
                assert!(fault.message.contains(message) && fault.to_string().contains(hint), "{body}{fault}");
            }
        }
    }
}

#[test]
fn all_lanes_have_one_matrix_which_is_no_threads_own() {
    let of_each = "mad.wide.u32 %d2, %t, 32, %in;\n".to_string();
    let own = "mov.u64 %d2, own;\ncvta.local.u64 %d2, %d2;\n".to_string();
    let half = "setp.lt.u32 %p2, %t, 16;\n@%p2 bra DONE;\n".to_string();
    for (body, kind, said) in [
        (of_each + &load(".global", "%d2", "16"), FaultKind::Trap, "whose lanes 0 and 1 pass different pointers"),
        (load(".global", "%in", "%t"), FaultKind::Trap, "whose lanes 0 and 1 pass different pointers or strides"),
        (own + &load("", "%d2", "16"), FaultKind::Trap, "load of a matrix in local memory"),
        (half + &load(".global", "%in", "16") + "DONE:", FaultKind::Barrier, "lanes"),
    ] {
        let fault = launch(&body).expect_err(&body);
        assert_eq!(fault.kind, kind, "{body}{fault}");
        assert!(fault.message.contains(said), "{body}{fault}");
    }
}

#[test]
fn a_warp_may_store_where_it_has_loaded_and_is_warned_of_it() {
    let read = "mul.lo.u32 %r5, %t, 4;\nadd.u32 %r5, %r5, %r1;\nld.shared.f32 %f1, [%r5+64];\n";
    let (load, store) = (load(".shared", "tile", "16"), store(".shared", "tile", "16"));
    let reused = format!("{load}{}{store}", product());
    // Whole barriers alone are watched otherwise than those of a warp.
    for sync in ["bar.warp.sync -1;\n", "bar.sync 0;\n"] {
        let report = launch(&format!("{reused}{sync}{read}")).expect("it is doubtful, and no fault");
        let kinds: Vec<WarningKind> = report.warnings.iter().map(|warning| warning.kind).collect();
        assert_eq!(kinds, [WarningKind::UnorderedReuse]);
        let text = report.warnings[0].to_string();
        assert!(
            text.starts_with("unordered reuse of tile (shared memory) at offset ") && text.contains("__syncwarp()"),
            "{text}"
        );
        // With a barrier nothing is doubtful.
        let report = launch(&format!("{load}{}{sync}{store}{sync}{read}", product())).expect("it is right");
        assert!(report.warnings.is_empty());
    }
    // The race behind it shows, as does one with plain accesses.
    for (body, parties) in [
        (format!("{reused}{read}"), ("store by thread", "load by thread")),
        (format!("{read}{}{store}", product()), ("load by thread", "store by thread")),
        (format!("{load}st.shared.f32 [%r1+64], %f1;\n"), ("load by thread", "store by thread")),
    ] {
        let fault = launch(&body).expect_err(&body);
        assert_eq!(fault.kind, FaultKind::Race, "{fault}");
        let (first, second) = parties;
        assert!(fault.message.find(first) < fault.message.find(second), "{fault}");
    }
}
