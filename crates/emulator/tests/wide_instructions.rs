//! Instructions that a whole warp, or memory behind its back, takes part in: what they count and what they convict.

use emulator::{Argument, Class, Device, Dim3, FaultKind, Launch, LaunchError, Module, Report};

/// Runs the body of a kernel with `%in` and `%out` (4096 bytes each), a thread's number in `%t`, 512 bytes of
/// shared memory `tile`, of which the thread's 16 lie at `%row`.
fn run(threads: u32, body: &str) -> Result<Report, LaunchError> {
    launch(Launch::new(Dim3::xy(1, 1), Dim3::xy(threads, 1)), body)
}

fn launch(launch: Launch, body: &str) -> Result<Report, LaunchError> {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 16 .b8 tile[512];\n\
         .visible .entry k(.param .u64 a, .param .u64 b)\n{{\n.reg .b32 %t, %row, %r<20>;\n.reg .b64 %in, %out, %d<4>;\n\
         .reg .pred %p, %q;\n.reg .f32 %f<20>;\nld.param.u64 %in, [a];\nld.param.u64 %out, [b];\nmov.u32 %t, %tid.x;\n\
         mad.wide.u32 %in, %t, 16, %in;\nmad.wide.u32 %out, %t, 16, %out;\nmov.u32 %row, tile;\n\
         mad.lo.u32 %row, %t, 16, %row;\n{body}\nret;\n}}"
    );
    let kernel = Module::parse(&text).and_then(|module| module.kernel("k")).expect("the body is right");
    let mut device = Device::new();
    let (from, to) = (device.alloc("in", 4096), device.alloc("out", 4096));
    device.write(from, &[1; 4096]).expect("it has this size");
    device.launch(&kernel, launch, &[Argument::Buffer(from), Argument::Buffer(to)])
}

fn convicted(threads: u32, body: &str) -> FaultKind {
    match run(threads, body) {
        Err(LaunchError::Fault(fault)) => fault.kind,
        other => panic!("{other:?}"),
    }
}

const COPY: &str = "cp.async.cg.shared.global [%row], [%in], 16;\ncp.async.commit_group;\n";

#[test]
fn a_copy_may_be_read_after_its_wait_and_by_others_after_a_barrier() {
    let own = format!("{COPY} cp.async.wait_group 0;\nld.shared.u32 %r0, [%row];\nst.global.u32 [%out], %r0;");
    let report = run(32, &own).expect("a thread waits for its own copies");
    assert_eq!((report.total.global_load.requests, report.total.global_load.sectors), (1, 16));
    assert_eq!((report.total.shared_store.requests, report.total.shared_store.bytes), (1, 512));
    let others = "xor.b32 %row, %row, 16;\nld.shared.u32 %r0, [%row];\nst.global.u32 [%out], %r0;";
    assert!(run(32, &format!("{COPY} cp.async.wait_all;\nbar.sync 0;\n{others}")).is_ok());
    assert_eq!(convicted(32, &format!("{COPY} cp.async.wait_all;\n{others}")), FaultKind::Race);
}

#[test]
fn a_copy_read_before_its_wait_is_unwritten_memory() {
    let read = "bar.sync 0;\nld.shared.f32 %f0, [%row];\nadd.f32 %f0, %f0, %f0;\nst.global.f32 [%out], %f0;";
    assert_eq!(convicted(32, &format!("{COPY}{read}")), FaultKind::Uninitialised);
    let Err(LaunchError::Fault(fault)) = run(32, &format!("{COPY}{read}")) else { panic!("it was convicted above") };
    assert!(fault.message.ends_with("tile (shared memory) at offset 0, to which a copy is still under way"), "{fault}");
    let before = format!("st.shared.v4.u32 [%row], {{%t, %t, %t, %t}};\nbar.sync 0;\n{COPY}{read}");
    assert_eq!(convicted(32, &before), FaultKind::Uninitialised, "what was there before is gone");
    let one_late = format!("{COPY} cp.async.wait_group 1;\n{read}");
    assert_eq!(convicted(32, &one_late), FaultKind::Uninitialised, "the last group may still be under way");
}

#[test]
fn a_copy_over_what_others_still_read_is_a_race() {
    let body = format!(
        "st.shared.u32 [%row], %t;\nbar.sync 0;\nxor.b32 %r1, %row, 16;\nld.shared.u32 %r0, [%r1];\n\
         st.global.u32 [%out], %r0;\n{COPY} cp.async.wait_all;"
    );
    assert_eq!(convicted(32, &body), FaultKind::Race);
}

/// The message of a race.
fn race(threads: u32, body: &str) -> String {
    match run(threads, body) {
        Err(LaunchError::Fault(fault)) if fault.kind == FaultKind::Race => fault.message,
        other => panic!("{body}\n{other:?}"),
    }
}

#[test]
fn nothing_may_be_written_where_a_copy_is_under_way() {
    for write in [
        "st.shared.u32 [%row], %t;",
        "st.shared.u8 [%row+15], %t;",
        "st.shared.v4.u32 [%row], {%t, %t, %t, %t};",
        "st.volatile.shared.u32 [%row+4], %t;",
        "cvt.u64.u32 %d0, %row;\ncvta.shared.u64 %d0, %d0;\nst.u32 [%d0], %t;",
        "atom.shared.add.u32 %r0, [%row], 1;",
        "red.shared.max.u32 [%row+8], 1;",
        "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%row], {%t, %t, %t, %t};",
        COPY,
    ] {
        let message = race(32, &format!("{COPY}{write}"));
        assert!(message.starts_with("race on tile (shared memory) at offset "), "{message}");
        assert!(message.ends_with(", the copy is still under way"), "{message}");
        assert!(run(32, &format!("{COPY} cp.async.wait_all;\n{write}")).is_ok(), "{write}");
        let unchecked = Launch::new(1, 32).sanitize(false);
        assert!(launch(unchecked, &format!("{COPY}{write}")).is_ok(), "{write}");
    }
}

#[test]
fn a_copy_is_under_way_until_its_own_thread_has_waited_for_its_group() {
    let second = COPY.replace("[%row]", "[%row+256]");
    let one_late = format!("{COPY}{second} cp.async.wait_group 1;\n");
    assert!(run(16, &format!("{one_late} st.shared.u32 [%row], %t;")).is_ok(), "the first group has landed");
    let message = race(16, &format!("{one_late} st.shared.u32 [%row+256], %t;"));
    assert!(message.starts_with("race on tile (shared memory) at offset 256: copy by thread (0,0)"), "{message}");
    // The first warp copies and ends; the second can only wait for its own copies.
    let ended = format!(
        "setp.ge.u32 %p, %t, 32;\n@%p bra SECOND;\n{COPY} ret;\nSECOND:\ncp.async.wait_all;\nst.shared.u32 [%row+-512], %t;"
    );
    let message = race(64, &ended);
    assert!(message.contains("copy by thread (0,0)") && message.contains("store by thread (32,0)"), "{message}");
}

#[test]
fn a_copy_of_no_byte_and_two_copies_of_the_same_are_copies() {
    let zeros = COPY.replace("16;", "16, %r1;");
    let message = race(32, &format!("mov.u32 %r1, 0;\n{zeros} st.shared.u32 [%row+12], %t;"));
    assert!(message.ends_with(", the copy is still under way"), "{message}");
    let message = race(32, &COPY.replace("[%row]", "[tile]"));
    assert!(message.contains("copy by thread (0,0)") && message.contains("copy by thread (1,0)"), "{message}");
}

#[test]
fn what_is_not_copied_may_lie_outside_and_becomes_zero() {
    let far = "add.u64 %in, %in, 100000;\nmov.u32 %r1, 0;\n";
    let copy = "cp.async.cg.shared.global [%row], [%in], 16, %r1;\ncp.async.wait_all;\nld.shared.u32 %r0, [%row];";
    let report = run(32, &format!("{far}{copy}")).expect("no byte is copied");
    assert_eq!(report.total.global_load.requests, 0);
    let some = copy.replace("16, %r1", "16, 4");
    assert_eq!(convicted(32, &format!("{far}{some}")), FaultKind::OutOfBounds);
}

#[test]
fn matrices_count_their_rows_and_their_flops() {
    let body = "st.shared.v4.b32 [%row], {%t, %t, %t, %t};\nbar.sync 0;\n\
         ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%row];\n\
         mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r0, %r1},\n\
         {0f00000000, 0f00000000, 0f00000000, 0f00000000};\nst.global.f32 [%out], %f0;";
    let total = run(32, body).expect("it is right").total;
    assert_eq!((total.shared_load.requests, total.shared_load.wavefronts, total.shared_load.unique_bytes), (1, 4, 512));
    assert_eq!(total.class(Class::Tensor).warp, 1);
    assert_eq!(total.flops_f32, 2 * 16 * 8 * 16);
}

#[test]
fn a_matrix_of_which_a_row_is_unwritten_is_convicted_only_where_it_matters() {
    let load = "bar.sync 0;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%row];\n\
                cvt.rn.f32.u32 %f0, %r0;\n@%q st.global.f32 [%out], %f0;";
    // Rows 0 to 6 are written; row 7 goes to lanes 28 to 31.
    let start = "setp.lt.u32 %p, %t, 7;\n@%p st.shared.v4.b32 [%row], {%t, %t, %t, %t};\n";
    assert!(run(32, &format!("{start}setp.lt.u32 %q, %t, 28;\n{load}")).is_ok());
    assert_eq!(convicted(32, &format!("{start}setp.lt.u32 %q, %t, 29;\n{load}")), FaultKind::Uninitialised);
}

#[test]
fn instructions_of_a_whole_warp_need_all_its_lanes() {
    let half = "setp.lt.u32 %p, %t, 16;\n@!%p bra AFTER;\n";
    let after = "\nAFTER: bar.sync 0;";
    for body in [
        "shfl.sync.bfly.b32 %r0, %t, 1, 0x1f, 0xffffffff;",
        "vote.sync.ballot.b32 %r0, %p, 0xffffffff;",
        "redux.sync.add.u32 %r0, %t, 0xffffffff;",
        "match.any.sync.b32 %r0, %t, 0xffffffff;",
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%row];",
    ] {
        assert_eq!(convicted(32, &format!("{half}{body}{after}")), FaultKind::Barrier, "{body}");
    }
    assert!(run(32, &format!("{half}shfl.sync.bfly.b32 %r0, %t, 1, 0x1f, 0xffff;{after}")).is_ok());
}

#[test]
fn atomics_race_with_nobody_and_start_from_written_memory() {
    let start = "mov.u32 %r0, 0;\nsetp.eq.u32 %p, %t, 0;\n@%p st.shared.u32 [tile], %r0;\nbar.sync 0;\n";
    let add = "atom.shared.add.u32 %r1, [tile], 1;\n";
    let total =
        run(64, &format!("{start}{add}bar.sync 0;\n@%p st.global.u32 [%out], %r1;")).expect("it is right").total;
    assert_eq!((total.class(Class::Atomic).warp, total.class(Class::Atomic).thread), (2, 64));
    let report = "add.u32 %r1, %r1, 1;\nst.global.u32 [%out], %r1;";
    assert_eq!(convicted(64, &format!("{add}{report}")), FaultKind::Uninitialised, "nobody set the counter");
}

#[test]
fn a_branch_to_one_of_several_places_counts_once() {
    let body = "and.b32 %r0, %t, 3;\nLIST: .branchtargets A, B, C, D;\nbrx.idx %r0, LIST;\nA: mov.u32 %r1, 1;\nbra E;\n\
                B: mov.u32 %r1, 2;\nbra E;\nC: mov.u32 %r1, 3;\nbra E;\nD: mov.u32 %r1, 4;\nE: st.global.u32 [%out], %r1;";
    assert_eq!(run(32, body).expect("it is right").total.branches, 1);
}

#[test]
fn what_a_load_overwrites_is_no_longer_uninitialised() {
    // `in` was written whole, so nothing is known of its bytes but that they are; the register held what nobody wrote.
    let body =
        "ld.shared.u32 %r0, [%row];\nld.global.u32 %r0, [%in];\nadd.u32 %r0, %r0, 1;\nst.global.u32 [%out], %r0;";
    assert!(run(32, body).is_ok());
    let kept =
        "ld.shared.u32 %r0, [%row];\nld.global.u32 %r1, [%in];\nadd.u32 %r0, %r0, %r1;\nst.global.u32 [%out], %r0;";
    assert_eq!(convicted(32, kept), FaultKind::Uninitialised);
}
