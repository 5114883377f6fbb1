//! Who has his turn when, and who waits for whom: tickets show the order, messages who never gets on.

use emulator::{Fault, FaultKind, Launch, Schedule};

use crate::run::Kernel;

fn kernel(threads: u32, body: &str) -> Kernel {
    Kernel { zeros: 4096, ..Kernel::new(threads, body) }
}

fn fault(threads: u32, body: &str) -> Box<Fault> {
    kernel(threads, body).fault()
}

/// Lane 0 of a warp, or of a block, takes the next ticket and writes it to its own word.
const TICKET: &str = "and.b32 %r90, %t, 31;\nsetp.ne.u32 %p15, %r90, 0;\nshr.u32 %r90, %t, 5;\nadd.u32 %r90, %r90, %block;\n\
    mad.wide.u32 %d90, %r90, 4, %out;\n@!%p15 atom.global.add.u32 %r91, [%out+2048], 1;\n@!%p15 st.global.u32 [%d90], %r91;\n";

#[test]
fn a_warp_runs_until_it_waits() {
    // Warp 0 does one of these, and has its ticket before warp 1 all the same.
    let nobody = "setp.gt.u32 %p9, %t, 999;\n";
    let halves = "setp.lt.u32 %p1, %t, 16;\n@%p1 bra A;\n";
    for what in [
        format!("{nobody}@%p9 bar.warp.sync -1;"),
        format!("{nobody}@%p9 bar.sync 5;"),
        format!("{nobody}@%p9 barrier.sync 5;"),
        format!("{nobody}@%p9 shfl.sync.idx.b32 %r2, %r2, 0, 31, -1;"),
        "bar.warp.sync -1;".to_string(),
        "bar.arrive 5, 96;".to_string(),
        format!("{halves}bar.warp.sync -1;\nbra B;\nA: bar.warp.sync -1;\nB:"),
        format!("{halves}bar.warp.sync 0xffff0000;\nbra B;\nA: bar.warp.sync 0xffff;\nB:"),
        format!("{halves}barrier.arrive 5, 96;\nbra B;\nA: barrier.arrive 5, 96;\nB:"),
        "mov.u32 %r1, 0;\nA: ld.volatile.global.u32 %r2, [%out+3000];\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 12;\n@%p1 bra A;".to_string(),
        "mov.u64 %d1, %in;\nmov.u32 %r1, 0;\nA: ld.volatile.global.u32 %r2, [%d1];\nadd.u64 %d1, %d1, 4;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 200;\n@%p1 bra A;".to_string(),
    ] {
        let body = format!("setp.ge.u32 %p2, %t, 32;\n@%p2 bra OTHER;\n{what}\nOTHER: {TICKET}");
        let input: Vec<u8> = (0..1024u32).flat_map(u32::to_le_bytes).collect();
        assert_eq!(kernel(64, &body).input(input).words(2), [0, 1], "{what}");
    }
}

#[test]
fn who_asks_seventeen_times_and_hears_the_same_waits() {
    for (looks, tickets) in [(16, [0, 1]), (17, [1, 0])] {
        let body = format!(
            "setp.ge.u32 %p2, %t, 32;\n@%p2 bra OTHER;\nmov.u32 %r1, 0;\nA: ld.volatile.global.u32 %r2, [%out+3000];\nadd.u32 %r1, %r1, 1;\n\
             setp.lt.u32 %p1, %r1, {looks};\n@%p1 bra A;\nOTHER: {TICKET}"
        );
        assert_eq!(kernel(64, &body).words(2), tickets, "{looks} looks");
    }
}

#[test]
fn a_block_runs_until_it_asks_in_vain() {
    // For longer than a turn of a warp.
    let body = format!(
        "setp.ne.u32 %p1, %block, 0;\n@%p1 bra OTHER;\nmov.u32 %r1, 0;\nL: add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p2, %r1, 200000;\n@%p2 bra L;\nOTHER: {TICKET}"
    );
    assert_eq!(kernel(1, &body).launch(Launch::new(3, 1)).words(3), [0, 1, 2]);
    // The first waits for the second, and that for an answer: then the first goes on, before a third starts.
    let wait = |label: &str, at: u32| {
        format!("{label}: ld.volatile.global.u32 %r2, [%out+{at}];\nsetp.eq.u32 %p4, %r2, 0;\n@%p4 bra {label};\n")
    };
    let body = format!(
        "mov.u32 %r1, 1;\nsetp.eq.u32 %p1, %block, 1;\n@%p1 bra SECOND;\nsetp.eq.u32 %p1, %block, 2;\n@%p1 bra THIRD;\n\
         {}st.volatile.global.u32 [%out+1028], %r1;\nbra THIRD;\nSECOND: st.volatile.global.u32 [%out+1024], %r1;\n{}THIRD: {TICKET}",
        wait("L0", 1024),
        wait("L1", 1028)
    );
    assert_eq!(kernel(1, &body).launch(Launch::new(3, 1)).words(3), [0, 1, 2]);
}

#[test]
fn short_turns_show_an_update_that_is_lost() {
    let body = "ld.volatile.global.u32 %r1, [%out];\nadd.u32 %r1, %r1, 1;\nNEXT:\nst.volatile.global.u32 [%out], %r1;";
    let words = |blocks, schedule| kernel(1, body).launch(Launch::new(blocks, 1).schedule(schedule)).words(1)[0];
    // Four blocks take turns; another one starts when one of them has ended.
    for (blocks, wanted) in [(2, 1), (4, 1), (5, 2)] {
        assert_eq!(words(blocks, Schedule::FirstFirst), blocks);
        assert_eq!(words(blocks, Schedule::ShortTurns), wanted, "{blocks} blocks");
    }
}

#[test]
fn a_wait_for_other_blocks_is_named_before_one_within_the_block() {
    // Two warps ask for ever, for a word of the buffer or of the block's own memory.
    let body = |first: &str, second: &str| {
        format!(
            "mov.u32 %r1, 0;\nsetp.eq.u32 %p1, %t, 0;\n@%p1 st.shared.u32 [tile], %r1;\nbar.sync 0;\nsetp.ge.u32 %p1, %t, 32;\n@%p1 bra B;\n\
             A: ld.volatile.{first};\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra A;\nB: ld.volatile.{second};\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra B;"
        )
    };
    let (buffer, own) = ("global.u32 %r2, [%out]", "shared.u32 %r2, [tile]");
    for (first, second, warp) in [(own, own, 0), (buffer, buffer, 0), (buffer, own, 0), (own, buffer, 1)] {
        let fault = fault(64, &body(first, second));
        assert_eq!((fault.kind, fault.site.warp), (FaultKind::NoProgress, warp), "{first}, {second}: {fault}");
    }
}

#[test]
fn a_block_that_waits_for_ever_is_named_with_its_own_place() {
    // Block b's thread b waits for word b.
    let body = "setp.ne.u32 %p1, %t, %block;\n@%p1 bra END;\nmad.wide.u32 %d1, %t, 4, %out;\nL: ld.volatile.global.u32 %r2, [%d1+64];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra L;\nEND:";
    for schedule in Schedule::ALL {
        for blocks in [1, 2, 3] {
            let fault = kernel(4, body).launch(Launch::new(blocks, 4).schedule(schedule)).fault();
            let block = fault.site.block.x;
            assert_eq!((fault.kind, fault.site.thread.x), (FaultKind::NoProgress, block), "{fault}");
            assert!(
                fault.message.contains(&format!("a change of out at offset {}, and nobody", 64 + 4 * block)),
                "{fault}"
            );
        }
    }
}

#[test]
fn a_wait_within_a_block_says_no_more_than_it_knows() {
    let body = "mov.u32 %r1, 0;\nst.shared.u32 [tile+12], %r1;\nL: ld.volatile.shared.u32 %r2, [tile+12];\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra L;";
    let fault = fault(1, body);
    let said = "no progress: thread (0,0) waits for a change of tile (shared memory) at offset 12, and nobody is left who could make it";
    assert_eq!(fault.message, said, "{fault}");
    assert!(
        fault.hint.as_deref().is_some_and(|hint| hint.starts_with("who sets it, and does he get there?")),
        "{fault}"
    );
}

#[test]
fn blocks_that_wait_for_a_while_and_then_for_ever_are_found() {
    // One counts first, and looks at the flag now and then; then nobody sets it. Or somebody does, who counts longer still.
    let body = |counts: u32, sets: &str| {
        format!(
            "mov.u32 %r1, 1;\nsetp.eq.u32 %p1, %block, 0;\n@%p1 bra WAIT;\nsetp.eq.u32 %p2, %block, 2;\n@%p2 bra WAIT;\nmov.u32 %r3, 0;\n\
             COUNT: ld.volatile.global.u32 %r2, [%out+64];\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p2, %r3, {counts};\n@%p2 bra COUNT;\n{sets}\n\
             WAIT: ld.volatile.global.u32 %r2, [%out+64];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra WAIT;\nst.global.u32 [%out], %r1;"
        )
    };
    for schedule in Schedule::ALL {
        // (A close look goes on for some thousand looks.)
        for counts in [40, 1000, 9000] {
            let launch = |blocks| Launch::new(blocks, 1).schedule(schedule).instruction_limit(20_000_000);
            for blocks in [2, 3] {
                let fault = kernel(1, &body(counts, "")).launch(launch(blocks)).fault();
                assert!(
                    fault.kind == FaultKind::NoProgress
                        && fault.message.contains("waits for a change of out at offset 64"),
                    "{schedule}, {counts}: {fault}"
                );
                let one =
                    body(counts, "st.volatile.global.u32 [%out+64], %r1;").replace("st.global.u32 [%out], %r1;", "");
                if let Err(fault) = kernel(1, &one).launch(launch(blocks)).run() {
                    panic!("{schedule}, {counts}, {blocks} blocks: {fault}");
                }
            }
        }
    }
}

#[test]
fn a_block_that_waits_for_one_of_others_is_not_given_up() {
    // One block waits; one writes now and then; one asks for long; one of these two sets the flag at last, the other ends.
    let ask = |label: &str, rounds: u32, work: &str| {
        format!(
            "mov.u32 %r3, 0;\n{label}: ld.volatile.global.u32 %r2, [%out+64];\nadd.u32 %r3, %r3, 1;\n{work}setp.lt.u32 %p2, %r3, {rounds};\n@%p2 bra {label};\n"
        )
    };
    let write = "rem.u32 %r4, %r3, 37;\nsetp.eq.u32 %p3, %r4, 0;\n@%p3 st.volatile.global.u32 [%out+128], %r3;\n";
    for (writes, asks) in [(100, 400), (400, 100), (5000, 9000), (9000, 5000)] {
        let set = |does: bool| if does { "st.volatile.global.u32 [%out+64], %r1;\n" } else { "" };
        let roles = [
            "W: ld.volatile.global.u32 %r2, [%out+64];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra W;\n".to_string(),
            format!("{}{}", ask("A", writes, write), set(writes > asks)),
            format!("{}{}", ask("B", asks, ""), set(asks > writes)),
        ];
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut body = String::from("mov.u32 %r1, 1;\n");
            for (block, role) in order.iter().enumerate() {
                body += &format!("setp.eq.u32 %p1, %block, {block};\n@%p1 bra R{role};\n");
            }
            for (n, role) in roles.iter().enumerate() {
                body += &format!("R{n}:\n{role}bra END;\n");
            }
            // (A close look goes on for some thousand looks.)
            for schedule in if asks < 1000 { &Schedule::ALL[..] } else { &[Schedule::FirstFirst] } {
                let launch = Launch::new(3, 1).schedule(*schedule);
                if let Err(fault) = kernel(1, &format!("{body}END:")).launch(launch).run() {
                    panic!("{schedule}, {order:?}, {writes}, {asks}: {fault}");
                }
            }
        }
    }
}

#[test]
fn a_block_that_ends_says_nothing_of_those_that_wait() {
    // The first counts and sets the flag at last, the second ends after some looks at it, the third waits for it.
    // (Close looks take some thousand at a time: the second may end just behind one of the third.)
    let late = (12_306..12_309).map(|looks| (looks, 20_000));
    for (looks, counts) in (10..30).map(|looks| (looks, 1000)).chain(late) {
        let body = format!(
            "mov.u32 %r1, 1;\nmov.u32 %r3, 0;\nsetp.eq.u32 %p1, %block, 2;\n@%p1 bra W;\nsetp.eq.u32 %p1, %block, 1;\nselp.u32 %r4, {looks}, {counts}, %p1;\n\
             A: ld.volatile.global.u32 %r2, [%out+64];\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p2, %r3, %r4;\n@%p2 bra A;\n@%p1 bra END;\n\
             st.volatile.global.u32 [%out+64], %r1;\nbra END;\nW: ld.volatile.global.u32 %r2, [%out+64];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra W;\nEND:"
        );
        if let Err(fault) = kernel(1, &body).launch(Launch::new(3, 1)).run() {
            panic!("{looks}: {fault}");
        }
    }
}

#[test]
fn who_waits_elsewhere_is_named_with_his_instruction() {
    // Some lanes wait for their warp; the others ask for ever, or wait at a barrier of the block.
    let body = |away: &str, mask: &str| {
        format!(
            "mov.u32 %r1, 0;\nand.b32 %r2, %t, 24;\nsetp.eq.u32 %p1, %r2, 8;\n@%p1 bra M;\n{away}\nbra END;\nM: add.u32 %r1, %r1, 1;\nbar.warp.sync {mask};\nadd.u32 %r1, %r1, 1;\nEND: mov.u32 %r3, 1;"
        )
    };
    let asks = "L: ld.volatile.global.u32 %r4, [%out];\nsetp.eq.u32 %p2, %r4, 0;\n@%p2 bra L;";
    let fault_of_asks = fault(32, &body(asks, "-1"));
    let other = fault_of_asks.other.as_ref().map(|(what, site)| (what.as_str(), site.lane, site.opcode.as_str()));
    assert_eq!(other, Some(("another warp waits here:", 8, "bar.warp.sync")), "{fault_of_asks}");
    let fault_of_waits =
        fault(32, &body("barrier.sync 3;", "0xff00ff00").replace("and.b32 %r2, %t, 24", "and.b32 %r2, %t, 28"));
    let said = "lanes 0x00000f00 alone reach `bar.warp.sync` of lanes 0xff00ff00: 0xff00f000 are missing";
    assert!(fault_of_waits.message.starts_with(said), "{fault_of_waits}");
    assert_eq!(
        (fault_of_waits.site.lane, fault_of_waits.site.opcode.as_str()),
        (8, "bar.warp.sync"),
        "{fault_of_waits}"
    );
}

#[test]
fn lanes_that_went_ahead_wait_for_none_that_ended_since() {
    // The lower lanes are at the meeting point and go ahead, tell the upper ones, and wait for all; the upper ones end.
    let body = "mov.u32 %r1, 0;\nmov.u32 %r3, 6;\nsetp.lt.u32 %p1, %t, 16;\nst.shared.u32 [tile], %r1;\nbar.warp.sync -1;\n@%p1 bra M;\n\
        L: ld.volatile.shared.u32 %r2, [tile];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra L;\nM: @%p1 st.volatile.shared.u32 [tile], %r3;\n@!%p1 ret;\n\
        bar.warp.sync -1;\nmad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r3;";
    let body = body.replace("st.shared.u32 [tile], %r1;", "setp.eq.u32 %p3, %t, 0;\n@%p3 st.shared.u32 [tile], %r1;");
    for schedule in Schedule::ALL {
        assert_eq!(kernel(32, &body).launch(Launch::new(1, 32).schedule(schedule)).words(16), [6; 16], "{schedule}");
    }
}

#[test]
fn lanes_that_wait_for_each_other_at_two_places_are_named() {
    let halves = "setp.lt.u32 %p1, %t, 16;\n@%p1 bra A;\n";
    for (a, b) in [
        ("barrier.sync 3;", "bar.warp.sync -1;"),
        ("bar.warp.sync -1;", "barrier.sync 3;"),
        ("match.any.sync.b32 %r2, %t, -1;", "redux.sync.add.u32 %r2, %t, -1;"),
        ("match.any.sync.b32 %r2, %t, -1;", "match.any.sync.b64 %r2, %d1, -1;"),
        ("redux.sync.min.u32 %r2, %t, -1;", "redux.sync.add.u32 %r2, %t, -1;"),
    ] {
        for schedule in Schedule::ALL {
            let body = format!(
                "mov.u64 %d1, 0;\n{halves}{b}\nbra END;\nA: {a}\nEND:\nmov.u32 %r5, 1;\nst.global.u32 [%out], %r5;"
            );
            let body = body.replace("END:\nmov", "END: mov.u32 %r6, 1;\nbar.sync 0;\nmov");
            let fault = kernel(32, &body).launch(Launch::new(1, 32).schedule(schedule)).fault();
            assert_eq!(fault.kind, FaultKind::Barrier, "{a} {b}: {fault}");
        }
    }
}

#[test]
fn lanes_that_left_a_function_meet_those_that_wait_in_it() {
    // The lower lanes wait within the function, the upper ones behind their return: each does so once.
    let body = "mov.u32 %r1, 100;\nsetp.lt.u32 %p1, %t, 16;\n{\n.param .b32 x;\nst.param.b32 [x], %t;\n.param .b32 y;\ncall.uni (y), f, (x);\nld.param.b32 %r2, [y];\n}\n\
        @%p1 bra END;\nadd.u32 %r2, %r2, 1;\nbar.warp.sync -1;\nEND: add.u32 %r2, %r2, %r1;\nmad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r2;";
    let function = ".func (.param .b32 y) f(.param .b32 x)\n{\n.reg .b32 %r<9>;\n.reg .pred %p<9>;\nld.param.b32 %r1, [x];\nmov.u32 %r2, 0;\n\
        setp.ge.u32 %p1, %r1, 16;\n@%p1 bra OUT;\nadd.u32 %r2, %r2, 1;\nbar.warp.sync -1;\nadd.u32 %r2, %r2, 10;\nOUT: st.param.b32 [y], %r2;\nret;\n}\n";
    let wanted: Vec<u32> = (0..32).map(|t| if t < 16 { 111 } else { 101 }).collect();
    for schedule in Schedule::ALL {
        let kernel = kernel(32, body).launch(Launch::new(1, 32).schedule(schedule));
        let text = kernel.text.replacen(".visible", &format!("{function}.visible"), 1);
        assert_eq!(Kernel { text, ..kernel }.words(32), wanted, "{schedule}");
    }
}

#[test]
fn who_only_arrives_learns_nothing() {
    // Warp 1 stores and waits; the lanes of warp 0 arrive by parts, or at once, and load.
    let arrive = |how: &str| {
        format!(
            "setp.ge.u32 %p1, %t, 32;\nmov.u32 %r100, tile;\nmad.lo.u32 %r101, %t, 4, %r100;\n@%p1 bra STORE;\nsetp.lt.u32 %p2, %t, 16;\n@%p2 bra A;\n\
             barrier.{how} 2, 64;\nbra B;\nA: barrier.{how} 2, 64;\nB: ld.shared.u32 %r2, [%r101+128];\nmad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1], %r2;\nbra END;\n\
             STORE: st.shared.u32 [%r101], %t;\nbarrier.sync 2, 64;\nEND:"
        )
    };
    let kernel = |how: &str| kernel(64, &arrive(how)).launch(Launch::new(1, 64).schedule(Schedule::LastFirst));
    assert_eq!(kernel("sync").words(32), (32..64).collect::<Vec<u32>>());
    assert_eq!(kernel("arrive").fault().kind, FaultKind::Race);
}

#[test]
fn a_part_of_a_warp_names_its_barrier_by_its_own_registers() {
    let body = |even: u32, count: u32| {
        format!(
            "and.b32 %r1, %t, 1;\nsetp.eq.u32 %p1, %r1, 0;\nselp.u32 %r2, 2, 9, %p1;\nselp.u32 %r3, 7, 2, %p1;\nmov.u32 %r4, {even};\nmov.u32 %r5, {count};\n\
             @%p1 bra EVEN;\nbarrier.sync %r3, %r5;\nbra JOIN;\nEVEN: barrier.sync %r2, %r4;\nJOIN: mov.u32 %r6, 1;\nst.global.u32 [%out], %r6;"
        )
    };
    assert_eq!(kernel(64, &body(64, 64)).words(1), [1]);
    let fault = fault(64, &body(64, 96));
    assert!(fault.message.starts_with("barrier 2 is for different counts of threads in one warp"), "{fault}");
    let count = if fault.site.lane == 0 { 64 } else { 96 };
    assert!(fault.site.lane < 2, "the first lane of either: {fault}");
    assert!(fault.message.ends_with(&format!("one of them {count}")), "{fault}");
}

#[test]
fn what_a_block_left_at_a_barrier_is_gone_in_the_next() {
    // The arrival that is left is no reduction, and names a count; both warps reduce there in the next block.
    let body = "setp.lt.u32 %p1, %t, 40;\nbar.red.popc.u32 %r1, 4, %p1;\nsetp.ge.u32 %p2, %t, 32;\n@%p2 bra END;\nbar.arrive 4, 96;\n\
        END: mad.lo.u32 %r2, %block, 64, %t;\nmad.wide.u32 %d1, %r2, 4, %out;\nst.global.u32 [%d1], %r1;";
    assert_eq!(kernel(64, body).launch(Launch::new(3, 64)).words(192), [40; 192]);
}

#[test]
fn a_lane_alone_that_a_guard_lets_by_goes_on() {
    let body = "setp.ne.u32 %p1, %t, 0;\n@%p1 barrier.sync 2, 64;\nmov.u32 %r1, 5;\n@!%p1 st.global.u32 [%out], %r1;\n@!%p1 barrier.sync 2, 64;\n\
        mad.wide.u32 %d1, %t, 4, %out;\nst.global.u32 [%d1+4], %r1;";
    assert_eq!(kernel(64, body).words(65), [5; 65]);
}

#[test]
fn lanes_that_ended_did_not_come_to_the_barrier() {
    // A way leads there for all, and the upper lanes do not take it.
    let body = "setp.lt.u32 %p1, %t, 16;\n@%p1 bra B;\nsetp.gt.u32 %p2, %t, 99;\n@%p2 bra B;\nmov.u32 %r1, 1;\nst.global.u32 [%out], %r1;\nret;\nB: bar.sync 0;";
    for schedule in [Schedule::FirstFirst, Schedule::ShortTurns] {
        let fault = kernel(32, body).launch(Launch::new(1, 32).schedule(schedule)).fault();
        let said = "barrier reached by only 16 of the 32 live threads of warp 0; thread (16,0) is elsewhere";
        assert!(fault.kind == FaultKind::Barrier && fault.message.starts_with(said), "{schedule}: {fault}");
    }
}

#[test]
fn an_arrival_that_fits_no_other_is_named_with_its_first_lane() {
    // Of warp 1, lane 0 has ended.
    let body = "setp.eq.u32 %p1, %t, 32;\n@%p1 ret;\nsetp.lt.u32 %p1, %t, 64;\n@%p1 bra ONE;\nbar.sync 1, 96;\nbra END;\n\
        ONE: setp.lt.u32 %p1, %t, 32;\n@%p1 bra END;\nbar.sync 1, 64;\nEND:";
    let fault = fault(96, body);
    assert!(fault.message.contains("barrier 1 is for 64 threads at "), "{fault}");
    let other = fault.other.as_ref().map(|(what, site)| (what.as_str(), site.thread.x));
    assert_eq!(other, Some(("the arrival before it:", 33)), "{fault}");
}

#[test]
fn a_warp_counts_its_instructions() {
    // A round of four, the branch among them.
    let body = "mov.u32 %r1, 0;\nmov.u32 %r2, %clock;\nL: add.u32 %r1, %r1, 1;\nadd.u32 %r4, %r4, %r1;\nsetp.lt.u32 %p1, %r1, 100;\n@%p1 bra L;\n\
        mov.u32 %r3, %clock;\nsub.u32 %r3, %r3, %r2;\nst.global.u32 [%out], %r3;";
    let passed = kernel(1, &format!("mov.u32 %r4, 0;\n{body}")).words(1)[0];
    assert!((400..420).contains(&passed), "{passed}");
    // The clock counts a block of code as it begins, this one with its end; behind that comes the kernel's.
    let body = "mov.u32 %r1, 7;\nbra NEXT;\nNEXT: mov.u32 %r2, %clock;\nst.global.u32 [%out], %r2;";
    let limit = u64::from(kernel(1, body).words(1)[0]);
    let with = |limit| kernel(1, body).launch(Launch::new(1, 1).instruction_limit(limit)).run();
    let Err(fault) = with(limit) else { panic!("it executed {limit} before its end, and that is the limit") };
    assert!(fault.message.ends_with(&format!("executed more than {limit} warp instructions")), "{fault}");
    assert_eq!(fault.site.opcode, "st.global.u32", "the last instruction: {fault}");
    assert!(with(limit + 1).is_ok());
}

#[test]
fn where_a_loop_is_stands_in_the_message() {
    // A label alone, a branch to itself, and a loop of branches alone: none of it is the kernel's first instruction.
    for text in [
        "L: bra L;",
        "setp.eq.u32 %p1, %t, 0;\nL: @%p1 bra L;\nadd.u32 %r1, %r1, 1;",
        "setp.ne.u32 %p1, %t, 0;\nL: @%p1 bra END;\nM: bra L;\nEND:",
        "setp.ne.u32 %p1, %t, 0;\nL: @%p1 bra END;\nM:\nN: @%p1 bra END;\nO: bra L;\nEND:",
    ] {
        for limit in [u64::MAX, 100, 101, 102, 103, 104, 105, 106] {
            let limit = if limit == u64::MAX { Launch::INSTRUCTION_LIMIT } else { limit };
            let fault = kernel(1, text).launch(Launch::new(1, 1).instruction_limit(limit)).fault();
            assert_eq!(
                (fault.kind, fault.site.opcode.as_str()),
                (FaultKind::NoProgress, "bra"),
                "{text}, {limit}: {fault}"
            );
        }
    }
}

#[test]
fn an_endless_loop_is_that_of_the_lanes_that_are_in_it() {
    // The lower lanes wait where the others would come.
    let body = "mov.u32 %r1, 1;\nsetp.lt.u32 %p1, %t, 16;\n@%p1 bra M;\nL: xor.b32 %r1, %r1, 1;\nsetp.ne.u32 %p2, %r1, 9;\n@%p2 bra L;\nM: bar.warp.sync -1;";
    let fault = fault(32, body);
    assert_eq!((fault.kind, fault.site.lane), (FaultKind::NoProgress, 16), "{fault}");
    assert!(fault.message.starts_with("endless loop: thread (16,0)"), "{fault}");
    // What a lane has for itself alone, nobody changes.
    for load in ["ld.local.u32 %r2, [mine];", "ld.param.u64 %d1, [a];", "mov.u32 %r2, 0;\nst.shared.u32 [tile], %r2;"] {
        let body =
            format!("mov.u32 %r2, 0;\nst.local.u32 [mine], %r2;\nL: {load}\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra L;");
        let kernel = kernel(1, &body);
        let fault = kernel.launch(Launch::new(1, 1).instruction_limit(50_000_000)).fault();
        assert!(fault.kind == FaultKind::NoProgress && fault.message.starts_with("endless loop"), "{load}: {fault}");
    }
    // The last word of a buffer is one like the others.
    for at in [0, 2048, 4092] {
        let body = format!("L: atom.global.or.b32 %r2, [%out+{at}], 0;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra L;");
        let kernel = kernel(1, &body);
        let fault = kernel.launch(Launch::new(1, 1).instruction_limit(50_000_000)).fault();
        assert!(fault.message.contains(&format!("waits for a change of out at offset {at}, and")), "{at}: {fault}");
    }
}

#[test]
fn who_looks_at_the_clock_gets_on_whoever_waits_beside_him() {
    // The lower lanes wait until it is late, and then tell the upper ones.
    let body = |late: u32| {
        format!(
            "mov.u32 %r1, 0;\nmov.u32 %r3, 6;\nsetp.eq.u32 %p3, %t, 0;\n@%p3 st.shared.u32 [tile], %r1;\nbar.warp.sync -1;\nsetp.lt.u32 %p1, %t, 16;\n@%p1 bra CLOCK;\n\
             L: ld.volatile.shared.u32 %r2, [tile];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra L;\nbra END;\nCLOCK: mov.u32 %r4, %clock;\nsetp.lt.u32 %p2, %r4, {late};\n\
             mov.u32 %r4, 0;\n@%p2 bra CLOCK;\n@%p3 st.volatile.shared.u32 [tile], %r3;\nEND: mov.u32 %r5, 1;\nst.global.u32 [%out], %r5;"
        )
    };
    let kernel = kernel(32, &body(600_000)).launch(Launch::new(1, 32).schedule(Schedule::ShortTurns));
    assert_eq!(kernel.words(1), [1]);
    let alone = "L: mov.u32 %r4, %clock;\nsetp.lt.u32 %p2, %r4, 600000;\nmov.u32 %r4, 0;\n@%p2 bra L;\nmov.u32 %r5, 1;\nst.global.u32 [%out], %r5;";
    let kernel = self::kernel(1, alone).launch(Launch::new(1, 1).schedule(Schedule::ShortTurns));
    assert_eq!(kernel.words(1), [1]);
}

/// A barrier in shared memory for two threads, to which one comes.
const HALF: &str = "setp.eq.u32 %p9, %t, 0;\n@%p9 mbarrier.init.shared.b64 [tile+64], 2;\nmov.u32 %r9, 0;\n@%p9 st.shared.u32 [tile], %r9;\nbar.sync 0;\n";

#[test]
fn a_wait_for_a_barrier_in_shared_memory_is_what_the_message_is_about() {
    let wait = "W: mbarrier.test_wait.parity.shared.b64 %p8, [tile+64], 0;\n@!%p8 bra W;\n";
    let poll = "L: ld.volatile.shared.u32 %r2, [tile];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra L;\n";
    let said = "waits for phase 0 of the mbarrier tile (shared memory) at offset 64: 0 of 2 arrivals have come";
    // A warp polls what another one would set behind the barrier; lanes of one warp do; with a look at the clock between.
    let clock = wait.replacen("W: ", "W: mov.u32 %r4, %clock;\nadd.u32 %r4, %r4, 1;\nmov.u32 %r4, 0;\n", 1);
    for (split, threads) in [(32, 64), (16, 32)] {
        for (first, second) in [(wait, poll), (poll, wait), (&clock, poll), (poll, &clock)] {
            let body =
                format!("{HALF}setp.ge.u32 %p1, %t, {split};\n@%p1 bra SECOND;\n{first}bra END;\nSECOND: {second}END:");
            let fault = fault(threads, &body);
            assert!(fault.kind != FaultKind::Race && fault.message.contains(said), "{body}: {fault}");
        }
    }
    // Two warps wait there while a third one counts for long: they are named once.
    let body = format!(
        "{HALF}mov.u32 %r1, 0;\nsetp.lt.u32 %p1, %t, 64;\n@%p1 bra W;\nC: add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p2, %r1, 300000;\n@%p2 bra C;\n{wait}"
    );
    let fault = fault(96, &body);
    let others = "; warps 1 to 2 wait for phase 0 of tile (shared memory) at offset 64 at PTX line";
    assert!(fault.message.contains(said) && fault.message.matches(others).count() == 1, "{fault}");
}

#[test]
fn any_number_of_warp_barriers_keeps_lanes_apart() {
    for rounds in [1u32, 1023, 1024, 1025, 2048] {
        for space in ["shared", "global"] {
            let base = if space == "shared" { "tile" } else { "%out+256" };
            let body = format!(
                "mov.u32 %r1, 0;\nsetp.eq.u32 %p1, %t, 0;\n@%p1 st.{space}.u32 [{base}], %t;\nL: bar.warp.sync -1;\nadd.u32 %r1, %r1, 1;\n\
                 setp.lt.u32 %p2, %r1, {rounds};\n@%p2 bra L;\nsetp.eq.u32 %p1, %t, 1;\n@%p1 ld.{space}.u32 %r2, [{base}];\n@%p1 st.global.u32 [%out], %r2;"
            );
            assert_eq!(kernel(32, &body).words(1), [0], "{rounds}, {space}");
            // The barriers of the block begin the count anew, for each of its warps.
            for first in [3, 33] {
                let racing = format!(
                    "mov.u32 %r7, 0;\nB: {body}\nbar.sync 0;\nadd.u32 %r7, %r7, 1;\nsetp.lt.u32 %p3, %r7, 2;\n@%p3 bra B;\n\
                     setp.eq.u32 %p1, %t, {first};\n@%p1 st.{space}.u32 [{base}], %r1;\nsetp.eq.u32 %p1, %t, {};\n@%p1 st.{space}.u32 [{base}], %t;",
                    first + 1
                );
                let racing = racing.replace("st.global.u32 [%out], %r2", "st.global.u32 [%out+512], %r2");
                if rounds < 1024 {
                    let fault = fault(64, &racing);
                    assert_eq!(
                        (fault.kind, fault.site.thread.x),
                        (FaultKind::Race, first + 1),
                        "{rounds}, {space}: {fault}"
                    );
                }
            }
            let other = format!("{body}\nsetp.eq.u32 %p1, %t, 40;\n@%p1 st.{space}.u32 [{base}], %r1;");
            assert_eq!(fault(64, &other).kind, FaultKind::Race, "{rounds}, {space}: another warp");
        }
    }
}

#[test]
fn a_kernel_of_nothing_may_execute_nothing() {
    for (body, limit) in [("", 0), ("", 9), ("ret;", 0), ("L:", 0)] {
        let text = format!(".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n{body}\n}}\n");
        let kernel = emulator::Module::parse(&text).and_then(|module| module.kernel("k")).expect("it is right");
        let outcome = emulator::Device::new().launch(&kernel, Launch::new(1, 1).instruction_limit(limit), &[]);
        assert_eq!(outcome.is_err(), limit == 0, "`{body}`, {limit}");
    }
}
