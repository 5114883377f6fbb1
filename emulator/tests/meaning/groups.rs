//! Registers of a warpgroup's products, through plain moves: a move costs nothing on the card, and hides nothing.

use emulator::{Fault, FaultKind};

use crate::run::{Kernel, Outcome};

/// A product of zeros is added to four sums, of which the first comes by so many moves from where it is set, and goes by as many to
/// where it is stored from. `between` is done where it is set, behind the fence; `after` where it is stored, before the wait.
fn product(moves: usize, between: &str, after: &str) -> Result<Outcome, Box<Fault>> {
    let descriptor = 8u64 << 16 | 16 << 32;
    let chain = |from: usize, to: usize| -> String {
        let names = [vec![from], (0..moves).map(|n| from + 1 + n).collect(), vec![to]].concat();
        names.windows(2).map(|pair| format!("mov.f32 %f{}, %f{};\n", pair[1], pair[0])).collect()
    };
    let body = format!(
        "mov.u32 %r1, tile;\nmad.lo.u32 %r1, %t, 32, %r1;\nmov.u32 %r2, 0;\nst.shared.v4.u32 [%r1], {{%r2, %r2, %r2, %r2}};\nst.shared.v4.u32 [%r1+16], {{%r2, %r2, %r2, %r2}};\n\
         fence.proxy.async;\nbar.sync 0;\nmov.b64 %d1, {descriptor};\nsetp.ne.u32 %p1, %r2, 1;\nmov.f32 %f10, 0f40000000;\nmov.f32 %f1, 0f3F800000;\nmov.f32 %f2, %f1;\nmov.f32 %f3, %f1;\n\
         wgmma.fence.sync.aligned;\n{}\n{}\
         wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{%f0, %f1, %f2, %f3}}, %d1, %d1, %p1, 1, 1, 0, 0;\nwgmma.commit_group.sync.aligned;\n\
         {}{}\nwgmma.wait_group.sync.aligned 0;\nmad.wide.u32 %d2, %t, 4, %out;\nst.global.f32 [%d2], %f30;",
        between.replace("IT", "%f10"),
        chain(10, 0),
        chain(0, 30),
        after.replace("IT", "%f30"),
    );
    let kernel = Kernel::new(128, &body);
    Kernel { text: kernel.text.replace("sm_90", "sm_90a"), ..kernel }.run()
}

#[test]
fn a_move_hides_no_use_of_a_sum() {
    for moves in 0..4 {
        let outcome = product(moves, "", "").unwrap_or_else(|fault| panic!("{moves} moves: {fault}"));
        assert_eq!(outcome.words(128), [2f32.to_bits(); 128], "{moves} moves");
        for (between, after, why) in [
            ("add.f32 IT, IT, IT;", "", "with no `wgmma.fence` between"),
            ("", "add.f32 IT, IT, IT;", "no `wgmma.wait_group` between"),
        ] {
            let fault = product(moves, between, after).map(drop).expect_err("it is too late, or too soon");
            assert_eq!(fault.kind, FaultKind::Race, "{moves} moves: {fault}");
            assert!(fault.message.contains(why), "{moves} moves: {fault}");
        }
    }
}
