//! The order of threads of a cluster: messages in a scope that has both blocks or not, and what copies between blocks read.

use emulator::{FaultKind, Launch, Schedule};

use crate::run::Kernel;

/// Whether it is convicted, and then of a race.
fn is_race(kernel: &Kernel, what: &str) -> bool {
    match kernel.run() {
        Ok(_) => false,
        Err(fault) => {
            assert_eq!(fault.kind, FaultKind::Race, "{what}: {fault}");
            true
        }
    }
}

const SCOPES: [&str; 3] = ["cta", "cluster", "gpu"];
/// Ways to write a flag behind data, and to read it before them.
const WRITES: [&str; 4] = [
    "st.release.SCOPE.SPACE.u32 [FLAG], %r1;",
    "fence.acq_rel.SCOPE;\nst.relaxed.SCOPE.SPACE.u32 [FLAG], %r1;",
    "red.release.SCOPE.SPACE.add.u32 [FLAG], %r1;",
    "fence.sc.SCOPE;\natom.relaxed.SCOPE.SPACE.exch.b32 %r9, [FLAG], %r1;",
];
const READS: [&str; 4] = [
    "ld.acquire.SCOPE.SPACE.u32 %r2, [FLAG];",
    "ld.relaxed.SCOPE.SPACE.u32 %r2, [FLAG];\nfence.acq_rel.SCOPE;",
    "atom.acquire.SCOPE.SPACE.or.b32 %r2, [FLAG], 0;",
    "ld.relaxed.SCOPE.SPACE.u32 %r2, [FLAG];\nfence.sc.SCOPE;",
];

/// Four blocks of one thread, in clusters of two.
fn of_two(body: &str) -> Kernel {
    Kernel { zeros: 4096, ..Kernel::new(0, body).launch(Launch::new(4, 1).cluster(2, 1, 1)) }
}

/// One block writes data and a flag; another waits for that, and reads them.
fn message(write: &str, read: &str, (writer, reader): (u32, u32)) -> Kernel {
    let body = format!(
        "mov.u32 %r1, 1;\nmov.u32 %r7, 7;\nsetp.eq.u32 %p1, %block, {writer};\n@%p1 bra WRITE;\nsetp.eq.u32 %p1, %block, {reader};\n@%p1 bra READ;\nbra END;\n\
         WRITE: st.global.u32 [%out], %r7;\n{write}\nbra END;\nREAD: {read}\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra READ;\n\
         ld.global.u32 %r3, [%out];\nst.global.u32 [%out+128], %r3;\nEND:"
    );
    of_two(&body.replace("FLAG", "%out+64").replace("SPACE", "global"))
}

#[test]
fn a_message_reaches_who_is_in_the_scope_of_both_sides() {
    for (from, write) in SCOPES.iter().flat_map(|from| WRITES.map(|write| (from, write.replace("SCOPE", from)))) {
        for (to, read) in SCOPES.iter().flat_map(|to| READS.map(|read| (to, read.replace("SCOPE", to)))) {
            for (blocks, needed) in [((0, 1), "cluster"), ((3, 2), "cluster"), ((1, 2), "gpu")] {
                let wide = |scope: &str| scope == "gpu" || scope == needed;
                let race = is_race(&message(&write, &read, blocks), &format!("{write} {read} {blocks:?}"));
                assert_eq!(race, !(wide(from) && wide(to)), "{write} {read} {blocks:?}");
            }
        }
    }
}

#[test]
fn a_row_of_atomics_hands_on_within_each_cluster() {
    // All blocks count; a fence of the cluster lies before and behind.
    for (scope, distance, race) in [("cluster", 1, false), ("cluster", 2, true), ("gpu", 2, false), ("cta", 1, true)] {
        let body = format!(
            "mul.wide.u32 %d1, %block, 4;\nadd.u64 %d1, %d1, %out;\nst.global.u32 [%d1+256], %block;\nfence.acq_rel.{scope};\nred.relaxed.gpu.global.add.u32 [%out+64], 1;\n\
             W: ld.relaxed.gpu.global.u32 %r2, [%out+64];\nsetp.ne.u32 %p1, %r2, 4;\n@%p1 bra W;\nfence.acq_rel.{scope};\nxor.b32 %r3, %block, {distance};\n\
             mul.wide.u32 %d2, %r3, 4;\nadd.u64 %d2, %d2, %out;\nld.global.u32 %r4, [%d2+256];\nst.global.u32 [%d1], %r4;"
        );
        for schedule in Schedule::ALL {
            let kernel = of_two(&body);
            let launch = kernel.launch.schedule(schedule);
            let kernel = kernel.launch(launch);
            assert_eq!(is_race(&kernel, scope), race, "{scope}, {distance}, {schedule}");
            if !race {
                assert_eq!(kernel.words(4), [0, 1, 2, 3].map(|n| n ^ distance), "{scope}, {schedule}");
            }
        }
    }
}

/// The same by a flag in the reader's shared memory, by blocks of two clusters.
fn flag_of_the_peer(write: &str, read: &str, writer: u32) -> Kernel {
    let body = format!(
        "mov.u32 %r1, 1;\nmov.u32 %r7, 7;\nmov.u32 %r8, 0;\nst.shared.u32 [tile+64], %r8;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n\
         mul.wide.u32 %d1, %block, 4;\nadd.u64 %d1, %d1, %out;\nmov.u32 %r90, %cluster_ctarank;\nxor.b32 %r91, %r90, 1;\nmov.u32 %r92, tile;\nadd.u32 %r92, %r92, 64;\n\
         setp.ne.u32 %p1, %r90, {writer};\n@%p1 bra READ;\nst.global.u32 [%d1], %r7;\nmapa.shared::cluster.u32 %r93, %r92, %r91;\n{}\nbra END;\n\
         READ: {}\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra READ;\nld.global.u32 %r3, [%d1+{}];\nst.global.u32 [%d1+128], %r3;\nEND: barrier.cluster.arrive;\nbarrier.cluster.wait;",
        write.replace("FLAG", "%r93").replace("SPACE", "shared::cluster"),
        read.replace("FLAG", "%r92").replace("SPACE", "shared::cta"),
        if writer == 0 { -4 } else { 4 }
    );
    of_two(&body)
}

#[test]
fn a_flag_in_a_peers_memory_says_what_is_missing() {
    let (store, load) = (WRITES[0], READS[0]);
    let relaxed = |text: &str| text.replace("release", "relaxed").replace("acquire", "relaxed");
    let near = "fence.acq_rel.cta;\nst.relaxed.SCOPE.SPACE.u32 [FLAG], %r1;";
    for writer in [0, 1] {
        for scope in ["cluster", "gpu"] {
            let kernel = |write: &str, read: &str| {
                flag_of_the_peer(&write.replace("SCOPE", scope), &read.replace("SCOPE", scope), writer)
            };
            // A release in own memory is none of what is written there in the peer's.
            let elsewhere = format!("st.release.{scope}.shared::cta.u32 [%r92], %r1;\n{}", relaxed(store));
            assert!(is_race(&kernel(&elsewhere, load), "elsewhere"), "{writer}, {scope}");
            let there = format!("{store}\n{}", relaxed(store));
            assert!(!is_race(&kernel(&there, load), "there"), "{writer}, {scope}");
            for (write, read) in WRITES.into_iter().zip(READS) {
                assert!(!is_race(&kernel(write, read), write), "{write} {read}");
            }
            for (write, read, why, hint) in [
                (relaxed(store), load.to_string(), "no fence or release after the first", "(`.release.cluster`)"),
                (
                    near.to_string(),
                    load.to_string(),
                    "ordered for the threads of one block only",
                    "both sides name `.cluster`",
                ),
                (
                    store.to_string(),
                    relaxed(load),
                    "no fence or acquire after the read that tells of the first",
                    "__threadfence()",
                ),
            ] {
                let fault = kernel(&write, &read).fault();
                assert!(fault.kind == FaultKind::Race && fault.message.ends_with(why), "{writer}, {write}: {fault}");
                assert!(fault.hint.as_deref().is_some_and(|said| said.contains(hint)), "{writer}, {write}: {fault}");
            }
        }
    }
}

#[test]
fn a_copy_to_a_peer_reads_until_somebody_knows_that_it_is_done() {
    // Thread `asker` of one block copies a row to the other, and stores over it; or another thread of its block does.
    for (asker, from, over) in [(0, 1, 0), (5, 1, 5), (5, 0, 20), (31, 1, 0)] {
        let body = |waits: &str| {
            format!(
                "mov.u32 %r100, tile;\nmad.lo.u32 %r101, %t, 4, %r100;\nmov.u32 %r1, 1;\nsetp.eq.u32 %p1, %t, 0;\n@%p1 mbarrier.init.shared.b64 [%r100], %r1;\n\
                 @%p1 fence.mbarrier_init.release.cluster;\nst.shared.u32 [%r101+256], %t;\nfence.proxy.async;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n\
                 mov.u32 %r90, %cluster_ctarank;\nsetp.eq.u32 %p6, %r90, {from};\n@%p6 bra SEND;\n\
                 @%p1 mbarrier.arrive.expect_tx.shared.b64 %d1, [%r100], 128;\nW: mbarrier.try_wait.parity.shared.b64 %p5, [%r100], 0;\n@!%p5 bra W;\n\
                 ld.shared.u32 %r3, [%r101+1024];\nmad.wide.u32 %d3, %t, 4, %out;\nst.global.u32 [%d3], %r3;\nbra JOIN;\n\
                 SEND: mapa.shared::cluster.u32 %r102, %r100, {};\nadd.u32 %r103, %r102, 1024;\nadd.u32 %r104, %r100, 256;\nsetp.eq.u32 %p2, %t, {asker};\n\
                 @%p2 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r103], [%r104], 128, [%r102];\nbar.warp.sync -1;\n{waits}\n\
                 setp.eq.u32 %p3, %t, {over};\n@%p3 st.shared.u32 [tile+260], %r1;\nbra DONE;\nJOIN: barrier.cluster.arrive;\nbarrier.cluster.wait;\nbra END;\n\
                 DONE: {}END:",
                1 - from,
                if waits.is_empty() { "barrier.cluster.arrive;\nbarrier.cluster.wait;\n" } else { "" }
            )
        };
        let kernel = |waits: &str| {
            let kernel = Kernel::new(0, &body(waits)).launch(Launch::new(2, 32).cluster(2, 1, 1));
            Kernel { zeros: 4096, ..kernel }
        };
        // Behind the cluster's barrier, at which the other block comes when it has seen the bytes, it may.
        let right = kernel("barrier.cluster.arrive;\nbarrier.cluster.wait;");
        assert_eq!(right.words(32), (0..32).collect::<Vec<u32>>());
        let fault = kernel("").fault();
        let said =
            format!("race on tile (shared memory) at offset 260: bulk copy from there by thread ({asker},0) at ");
        assert!(fault.kind == FaultKind::Race && fault.message.starts_with(&said), "{fault}");
        assert!(
            fault.hint.as_deref().is_some_and(|hint| hint.starts_with("a copy to a peer reads until its mbarrier's"))
        );
        let (_, site) = fault.other.as_ref().expect("two parties");
        assert_eq!((site.block.x, site.thread.x, fault.site.thread.x), (from, asker, over), "{fault}");
    }
}

#[test]
fn a_value_that_is_sent_to_be_added_races_with_what_a_thread_does_there() {
    // Two threads send; a third one loads or stores a part of the place, or all of it, by whatever name.
    let body = |usage: &str| {
        format!(
            "mov.u32 %r100, tile;\nmov.u32 %r1, 1;\nmov.u16 %h1, 1;\nmov.u32 %r2, 0;\nsetp.eq.u32 %p1, %t, 0;\n@%p1 mbarrier.init.shared.b64 [%r100], %r1;\n\
             @%p1 fence.mbarrier_init.release.cluster;\n@%p1 st.shared.u32 [tile+64], %r2;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n\
             mapa.shared::cluster.u32 %r101, %r100, 0;\nadd.u32 %r102, %r101, 64;\nsetp.lt.u32 %p2, %t, 2;\n@%p1 mbarrier.arrive.expect_tx.shared.b64 %d1, [%r100], 8;\n\
             @%p2 red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r102], %r1, [%r101];\nsetp.eq.u32 %p3, %t, 40;\n@%p3 {usage}\n\
             W: mbarrier.try_wait.parity.shared.b64 %p5, [%r100], 0;\n@!%p5 bra W;\nld.shared.u32 %r3, [tile+64];\nst.global.u32 [%out], %r3;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;"
        )
    };
    let kernel = |usage: &str| Kernel { zeros: 4096, ..Kernel::new(64, &body(usage)) };
    assert_eq!(kernel("ld.shared.u32 %r4, [tile+68];").words(1), [2]);
    for usage in [
        "ld.shared.u8 %r4, [tile+64];",
        "ld.relaxed.cta.shared.u8 %r4, [tile+64];",
        "ld.relaxed.cluster.shared.u16 %r4, [tile+66];",
        "st.relaxed.cluster.shared.u8 [tile+67], %r1;",
        "st.volatile.shared.u16 [tile+64], %h1;",
        "st.shared.u32 [tile+64], %r1;",
    ] {
        let fault = kernel(usage).fault();
        let mut parties = [fault.site.thread.x, fault.other.as_ref().expect("two parties").1.thread.x];
        parties.sort_unstable();
        assert!(fault.kind == FaultKind::Race && parties[0] < 2 && parties[1] == 40, "{usage}: {fault}");
    }
}

#[test]
fn a_barrier_that_is_made_again_tells_of_nothing_that_came_before() {
    // Thread 3 stores and arrives; thread 37, which met it, makes another barrier of the place, of which thread 69 knows by what
    // orders no memory; there thread 37 arrives, and thread 69 waits.
    let body = |meet: &str, arrive: &str| {
        format!(
            "mov.u32 %r1, 1;\nmov.u32 %r7, 7;\nsetp.eq.u32 %p1, %t, 3;\nsetp.eq.u32 %p2, %t, 37;\nsetp.eq.u32 %p3, %t, 69;\n@%p1 mbarrier.init.shared.b64 [tile], %r1;\nbar.sync 0;\n\
             @%p1 st.shared.u32 [tile+64], %r7;\n@%p1 mbarrier.arrive.shared.b64 %d1, [tile];\nsetp.lt.u32 %p4, %t, 64;\n@%p4 bar.sync 1, 64;\n\
             @%p2 mbarrier.inval.shared.b64 [tile];\n@%p2 mbarrier.init.shared.b64 [tile], %r1;\n@%p2 fence.mbarrier_init.release.cluster;\n\
             {meet}\nbarrier.cluster.wait.aligned;\n@%p2 {arrive}\n@!%p3 bra END;\nW: mbarrier.test_wait.parity.shared.b64 %p5, [tile], 0;\n@!%p5 bra W;\n\
             ld.shared.u32 %r3, [tile+64];\nst.global.u32 [%out], %r3;\nEND:"
        )
    };
    let run = |meet: &str, arrive: &str| Kernel { zeros: 4096, ..Kernel::new(96, &body(meet, arrive)) };
    let (meet, arrive) =
        ("barrier.cluster.arrive.aligned;", "mbarrier.arrive.release.cta.shared::cta.b64 %d1, [tile];");
    let (relaxed, nothing) = ("barrier.cluster.arrive.relaxed.aligned;", arrive.replace("release", "relaxed"));
    assert_eq!(run(meet, arrive).words(1), [7]);
    assert_eq!(run(meet, &nothing).words(1), [7], "they met");
    assert_eq!(run(relaxed, arrive).words(1), [7], "it was told");
    let fault = run(relaxed, &nothing).fault();
    let said = "race on tile (shared memory) at offset 64: store by thread (3,0) at ";
    assert!(fault.kind == FaultKind::Race && fault.message.starts_with(said), "{fault}");
}

#[test]
fn a_fence_orders_within_its_own_scope_however_wide_the_flags_is() {
    let write = |fence: &str| format!("{fence}\nst.relaxed.gpu.global.u32 [%out+64], %r1;");
    let read = |fence: &str| format!("ld.relaxed.gpu.global.u32 %r2, [%out+64];\n{fence}");
    for (kind, from, to) in
        ["acq_rel", "sc"].iter().flat_map(|kind| SCOPES.iter().flat_map(move |a| SCOPES.map(|b| (kind, *a, b))))
    {
        for (size, blocks) in [(1, (0, 1)), (2, (0, 1)), (2, (3, 2)), (2, (2, 1)), (4, (3, 0))] {
            let [write, read] = [write(&format!("fence.{kind}.{from};")), read(&format!("fence.{kind}.{to};"))];
            let kernel = message(&write, &read, blocks);
            let launch = kernel.launch.cluster(size, 1, 1);
            let needed = if blocks.0 / size == blocks.1 / size { "cluster" } else { "gpu" };
            // (Of fences of the one order of all, those of a cluster may order too much.)
            let wide =
                |scope: &str| scope == "gpu" || scope == needed || *kind == "sc" && size > 1 && scope == "cluster";
            let race = is_race(&kernel.launch(launch), kind);
            assert_eq!(race, !(wide(from) && wide(to)), "{kind}, {from}, {to}, {blocks:?} in clusters of {size}");
        }
    }
}

#[test]
fn a_fence_is_for_the_barriers_that_were_made_before_it() {
    // Thread 37 makes one, of which thread 69 knows by what orders no memory.
    let body = |steps: &str| {
        format!(
            "mov.u32 %r1, 1;\nsetp.eq.u32 %p2, %t, 37;\nsetp.eq.u32 %p4, %t, 38;\nsetp.eq.u32 %p3, %t, 69;\n{steps}\nbarrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;\n\
             @%p3 mbarrier.arrive.shared.b64 %d1, [tile];"
        )
    };
    let (init, fence) = ("@%p2 mbarrier.init.shared.b64 [tile], %r1;\n", "@%p2 fence.mbarrier_init.release.cluster;\n");
    let run = |steps: &str| Kernel { zeros: 4096, ..Kernel::new(96, &body(steps)) }.run();
    assert!(run(&format!("{init}{fence}")).is_ok());
    for steps in [format!("{fence}{init}"), init.to_string(), format!("{init}{}", fence.replace("%p2", "%p4"))] {
        let fault = run(&steps).err().unwrap_or_else(|| panic!("{steps}: it is not known"));
        let said = "the mbarrier tile (shared memory) at offset 0 is initialised by thread (37,0) at ";
        assert!(fault.kind == FaultKind::Barrier && fault.message.starts_with(said), "{steps}: {fault}");
    }
}

#[test]
fn a_block_may_not_leave_while_a_lane_of_a_peer_may_read_there() {
    // One lane of block 1 reads a word of block 0, which waits for it at the cluster's barrier, or does not.
    for lane in [0, 1, 17, 31] {
        let body = |stays: &str| {
            format!(
                "mov.u32 %r100, tile;\nmad.lo.u32 %r101, %t, 4, %r100;\nst.shared.u32 [%r101], %t;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n\
                 mov.u32 %r90, %cluster_ctarank;\nsetp.eq.u32 %p1, %r90, 0;\n@%p1 bra LEAVE;\nmapa.shared::cluster.u32 %r102, %r101, 0;\nsetp.ne.u32 %p2, %t, {lane};\n@%p2 bra LEAVE;\n\
                 ld.shared::cluster.u32 %r3, [%r102];\nst.global.u32 [%out], %r3;\nLEAVE: {stays}"
            )
        };
        let kernel = |stays: &str| {
            let kernel = Kernel::new(0, &body(stays)).launch(Launch::new(2, 32).cluster(2, 1, 1));
            Kernel { zeros: 4096, ..kernel }
        };
        for stays in
            ["barrier.cluster.arrive;\nbarrier.cluster.wait;", "barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;"]
        {
            assert_eq!(kernel(stays).words(1), [lane], "{stays}");
        }
        for schedule in Schedule::ALL {
            let kernel = kernel("");
            let launch = kernel.launch.schedule(schedule);
            let fault = kernel.launch(launch).fault();
            let said = "race on the shared memory of block rank 0: a load by block rank 1, thread ";
            assert!(fault.kind == FaultKind::Race && fault.message.starts_with(said), "{schedule}: {fault}");
            assert_eq!((fault.site.block.x, fault.site.lane), (1, lane), "{schedule}: {fault}");
        }
    }
}

#[test]
fn a_barrier_that_is_relaxed_tells_that_reads_are_over_and_shows_no_writes() {
    // A thread of block 0 uses a word, and behind the cluster's barrier one of block 1 does.
    for (thread, other) in [(0, 0), (0, 40), (5, 5), (37, 0), (63, 31)] {
        for (before, now) in ["ld", "st", "red"].into_iter().flat_map(|a| ["ld", "st"].map(|b| (a, b))) {
            let access = |name: &str| match name {
                "ld" => "ld.global.u32 %r3, [%out+64];",
                "st" => "st.global.u32 [%out+64], %block;",
                _ => "red.relaxed.cta.global.add.u32 [%out+64], 1;",
            };
            let body = |meet: &str| {
                format!(
                    "setp.eq.u32 %p1, %block, 0;\nsetp.eq.u32 %p2, %t, {thread};\nand.pred %p3, %p1, %p2;\n@%p3 {}\nbarrier.cluster.arrive{meet}.aligned;\nbarrier.cluster.wait.aligned;\n\
                     setp.eq.u32 %p2, %t, {other};\n@%p1 bra END;\n@%p2 {}\nEND:",
                    access(before),
                    access(now)
                )
            };
            let kernel = |meet: &str| {
                let kernel = Kernel::new(0, &body(meet)).launch(Launch::new(2, 64).cluster(2, 1, 1));
                Kernel { zeros: 4096, ..kernel }
            };
            assert!(!is_race(&kernel(""), before) && !is_race(&kernel(".release"), before), "{before}, {now}");
            assert_eq!(is_race(&kernel(".relaxed"), before), before != "ld", "{thread}, {other}: {before}, {now}");
        }
    }
}

#[test]
fn what_lies_before_a_fence_of_one_order_is_told_by_whom_its_thread_met() {
    // Thread 3 stores and executes a fence; thread 40 meets it, and writes the flag that block 1 sees before a fence of its own.
    for (fence, scope) in
        ["cta", "cluster", "gpu"].iter().flat_map(|fence| ["cluster", "gpu"].map(|scope| (fence, scope)))
    {
        for (kind, last) in [("sc", "sc"), ("acq_rel", "sc"), ("sc", "acq_rel")] {
            let body = format!(
                "mov.u32 %r1, 1;\nmov.u32 %r7, 7;\nsetp.ne.u32 %p1, %block, 0;\n@%p1 bra READ;\nsetp.eq.u32 %p2, %t, 3;\nsetp.eq.u32 %p3, %t, 40;\n@%p2 st.global.u32 [%out], %r7;\n\
                 @%p2 fence.{kind}.{fence};\nbar.sync 0;\n@%p3 st.relaxed.{scope}.global.u32 [%out+64], %r1;\nbra END;\n\
                 READ: setp.ne.u32 %p2, %t, 37;\n@%p2 bra END;\nW: ld.relaxed.{scope}.global.u32 %r2, [%out+64];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra W;\n\
                 fence.{last}.{fence};\nld.global.u32 %r3, [%out];\nst.global.u32 [%out+128], %r3;\nEND:"
            );
            let kernel = Kernel::new(0, &body).launch(Launch::new(2, 64).cluster(2, 1, 1));
            let race = is_race(&Kernel { zeros: 4096, ..kernel }, kind);
            assert_eq!(race, *fence == "cta" || (kind, last) != ("sc", "sc"), "{kind}, {last}, {fence}, {scope}");
        }
    }
}

#[test]
fn a_race_of_two_blocks_is_no_matter_of_named_barriers() {
    // One reads, the other one writes.
    let body = "mov.u32 %r1, 64;\nbar.sync 1, %r1;\nmad.lo.u32 %r3, %block, 20, PLACE;\nsetp.eq.u32 %p1, %t, %r3;\n@!%p1 bra END;\nsetp.eq.u32 %p2, %block, 0;\n@%p2 ld.global.u32 %r2, [%out];\n@!%p2 st.global.u32 [%out], %block;\nEND:";
    for (thread, size) in [(0, 1), (40, 1), (20, 1), (20, 2)] {
        let kernel = Kernel::new(0, &body.replace("PLACE", &thread.to_string()));
        let kernel = kernel.launch(Launch::new(2, 64).cluster(size, 1, 1));
        let fault = Kernel { zeros: 4096, ..kernel }.fault();
        let why = if size == 1 { "nothing orders the two" } else { "no cluster barrier between" };
        assert!(fault.kind == FaultKind::Race && fault.message.ends_with(why), "{fault}");
    }
}

#[test]
fn what_two_combine_beside_the_threads_is_no_race_and_what_two_copy_is() {
    // Threads 0 and 40 send ones to one place, or to two, and each tells a barrier of its own.
    let body = |send: &str, bytes: u32, other: u32| {
        format!(
            "mov.u32 %r100, tile;\nmov.u32 %r1, 1;\nmov.u32 %r2, 0;\nsetp.eq.u32 %p1, %t, 0;\nsetp.eq.u32 %p2, %t, 40;\nor.pred %p3, %p1, %p2;\nselp.u32 %r5, 8, 0, %p2;\nselp.u32 %r6, {other}, 64, %p2;\nadd.u32 %r105, %r100, %r5;\n\
             @%p3 mbarrier.init.shared.b64 [%r105], %r1;\n@%p3 fence.mbarrier_init.release.cluster;\n@%p1 st.shared.v4.u32 [tile+64], {{%r2, %r2, %r2, %r2}};\n@%p1 st.shared.v4.u32 [tile+128], {{%r2, %r2, %r2, %r2}};\n\
             @%p1 st.shared.v4.u32 [tile+512], {{%r1, %r1, %r1, %r1}};\n@%p1 fence.proxy.async;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n\
             mapa.shared::cluster.u32 %r101, %r105, 0;\nmapa.shared::cluster.u32 %r102, %r100, 0;\nadd.u32 %r102, %r102, %r6;\nadd.u32 %r104, %r100, 512;\n\
             @%p3 mbarrier.arrive.expect_tx.shared.b64 %d1, [%r105], {bytes};\n@%p3 {send}\n\
             V: mbarrier.try_wait.parity.shared.b64 %p5, [%r100], 0;\n@!%p5 bra V;\nW: mbarrier.try_wait.parity.shared.b64 %p5, [%r100+8], 0;\n@!%p5 bra W;\n\
             ld.shared.u32 %r3, [tile+64];\nld.shared.u32 %r4, [tile+128];\nadd.u32 %r3, %r3, %r4;\nst.global.u32 [%out], %r3;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;"
        )
    };
    for (send, bytes, combines) in [
        ("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r102], %r1, [%r101];", 4, false),
        (
            "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r102], %r1, [%r101];",
            4,
            true,
        ),
        (
            "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r102], [%r104], 16, [%r101];",
            16,
            false,
        ),
        (
            "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%r102], [%r104], 16, [%r101];",
            16,
            true,
        ),
    ] {
        for other in [64, 128] {
            for schedule in Schedule::ALL {
                let kernel = Kernel { zeros: 4096, ..Kernel::new(64, &body(send, bytes, other)) };
                let kernel = kernel.launch(Launch::new(1, 64).schedule(schedule));
                let race = other == 64 && !combines;
                assert_eq!(is_race(&kernel, send), race, "{send}, {other}, {schedule}");
                if !race {
                    assert_eq!(kernel.words(1), [2], "{send}, {other}, {schedule}");
                }
            }
        }
    }
}

#[test]
fn what_a_peers_memory_holds_counts_by_the_peers_own_barriers() {
    // In each cluster one block passes many barriers, the other one few. Then each reads a word of the other's, which all blocks
    // have written, or those of the first cluster alone.
    for busy in [0, 1] {
        let kernel = |writers: u32| {
            let body = format!(
                "mov.u32 %r1, 7;\nmov.u32 %r100, tile;\nmov.u32 %r90, %cluster_ctarank;\nxor.b32 %r91, %r90, 1;\nsetp.ne.u32 %p1, %r90, {busy};\n@%p1 bra QUIET;\n{}\
                 QUIET: setp.lt.u32 %p2, %block, {writers};\n@%p2 st.shared.u32 [tile+64], %r1;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n\
                 mapa.shared::cluster.u32 %r102, %r100, %r91;\nld.shared::cluster.u32 %r3, [%r102+64];\nmul.wide.u32 %d1, %block, 4;\nadd.u64 %d1, %d1, %out;\nst.global.u32 [%d1], %r3;\n\
                 barrier.cluster.arrive;\nbarrier.cluster.wait;",
                "bar.sync 0;\n".repeat(20)
            );
            Kernel::new(0, &body).launch(Launch::new(32, 1).cluster(2, 1, 1))
        };
        assert_eq!(kernel(32).words(32), [7; 32], "{busy}");
        let outcome = kernel(2).run().expect("bytes that nobody wrote may be stored as they are");
        assert!(outcome.bytes[..8].iter().all(Option::is_some), "{busy}");
        assert!(outcome.bytes[8..128].iter().all(Option::is_none), "{busy}: of an earlier block");
    }
}

#[test]
fn flags_within_clusters_are_none_between_them() {
    // Rank 0 tells rank 1 of its start, by a flag in shared memory; then two blocks of two clusters, or of one, store to one word.
    let body = |a: u32, b: u32| {
        format!(
            "mov.u32 %r1, 1;\nmov.u32 %r8, 0;\nst.shared.u32 [tile+64], %r8;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\nmov.u32 %r90, %cluster_ctarank;\nmov.u32 %r92, tile;\n\
             mapa.shared::cluster.u32 %r93, %r92, 1;\nsetp.eq.u32 %p1, %block, {a};\nsetp.eq.u32 %p2, %block, {b};\nor.pred %p3, %p1, %p2;\n\
             setp.ne.u32 %p4, %r90, 0;\n@%p4 bra WAIT;\n@%p3 st.global.u32 [%out], %block;\nst.relaxed.cluster.shared::cluster.u32 [%r93+64], %r1;\nbra END;\n\
             WAIT: ld.acquire.cluster.shared::cta.u32 %r2, [%r92+64];\nsetp.eq.u32 %p5, %r2, 0;\n@%p5 bra WAIT;\n@%p3 st.global.u32 [%out], %block;\nEND: barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;"
        )
    };
    for (a, b, why) in [
        (0, 1, "no fence or release after the first"),
        (2, 3, "no fence or release after the first"),
        (0, 2, "nothing orders thread blocks"),
        (1, 3, "nothing orders thread blocks"),
        (0, 3, "nothing orders thread blocks"),
        (1, 2, "nothing orders thread blocks"),
    ] {
        let fault = of_two(&body(a, b)).fault();
        assert!(fault.kind == FaultKind::Race && fault.message.ends_with(why), "{a}, {b}: {fault}");
    }
}
