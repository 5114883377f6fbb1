//! Who read a place of global memory before another thread writes it: two readers are kept of each, and that is enough.

use emulator::{FaultKind, Launch, Schedule};

use crate::run::Kernel;

/// Threads of two blocks, each of two warps, by block, warp and lane. The first writes what the others read, behind a barrier of its
/// own warp.
fn outcome(writer: [u32; 3], readers: &[[u32; 3]], schedule: Schedule) -> Option<FaultKind> {
    let is = |[block, warp, lane]: [u32; 3]| 64 * block + 32 * warp + lane;
    let mut body = String::from("mad.lo.u32 %r1, %block, 64, %t;\nmov.u32 %r9, 0;\nsetp.ne.u32 %p2, %t, %t;\n");
    for reader in readers {
        body += &format!("setp.eq.or.u32 %p2, %r1, {}, %p2;\n", is(*reader));
    }
    // Whoever writes comes late, wherever turns are short.
    body += &format!(
        "@%p2 ld.global.u32 %r2, [%out+64];\nshr.u32 %r3, %r1, 5;\nsetp.ne.u32 %p3, %r3, {};\n@%p3 bra END;\n\
         L: add.u32 %r9, %r9, 1;\nsetp.lt.u32 %p4, %r9, 40;\n@%p4 bra L;\nbar.warp.sync -1;\n\
         setp.eq.u32 %p5, %r1, {};\n@%p5 st.global.u32 [%out+64], %r9;\nEND:",
        is(writer) / 32,
        is(writer)
    );
    let launch = Launch::new(2, 64).schedule(schedule);
    let kernel = Kernel { zeros: 4096, ..Kernel::new(64, &body) }.launch(launch);
    kernel.run().map_err(|fault| fault.kind).err()
}

#[test]
fn a_writer_races_with_whoever_read_elsewhere() {
    let threads = [[0, 0, 0], [0, 0, 1], [0, 0, 9], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 3], [1, 1, 1]];
    for writer in [[0, 0, 0], [0, 1, 1], [1, 0, 3]] {
        for missing in 0..1u32 << threads.len() {
            // Three or four readers in each of some ways.
            let readers: Vec<[u32; 3]> =
                threads.iter().enumerate().filter(|(n, _)| missing >> n & 1 == 1).map(|(_, thread)| *thread).collect();
            if readers.len() != 3 {
                continue;
            }
            let apart = readers.iter().any(|reader| reader[..2] != writer[..2]);
            for schedule in [Schedule::ShortTurns, Schedule::LastFirst] {
                let wanted = apart.then_some(FaultKind::Race);
                assert_eq!(outcome(writer, &readers, schedule), wanted, "{readers:?}, then {writer:?}, {schedule}");
            }
        }
    }
}
