//! What is said of threads that wait without end: at barriers in shared memory, beside each other, and for products.

use emulator::{Fault, FaultKind, Launch};

use crate::run::Kernel;

fn fault(threads: u32, body: &str) -> Box<Fault> {
    let kernel = Kernel { zeros: 4096, ..Kernel::new(threads, body) };
    Kernel { text: kernel.text.replace("sm_90", "sm_90a"), ..kernel }.fault()
}

/// A barrier at `tile`, for so many arrivals.
fn begun(count: u32) -> String {
    format!(
        "mov.u32 %r1, {count};\nmov.u32 %r2, 1;\nsetp.eq.u32 %p1, %t, 0;\n@%p1 mbarrier.init.shared.b64 [tile], %r1;\n@%p1 mbarrier.init.shared.b64 [tile+8], %r1;\nbar.sync 0;\n"
    )
}

fn wait(name: &str, at: u32, parity: u32) -> String {
    format!("{name}: mbarrier.test_wait.parity.shared.b64 %p5, [tile+{at}], {parity};\n@!%p5 bra {name};\n")
}

fn hint(fault: &Fault) -> &str {
    fault.hint.as_deref().unwrap_or_default()
}

#[test]
fn others_that_wait_for_the_same_are_told_together() {
    for (warps, who) in [(1, ""), (2, "warp 1 waits"), (3, "warps 1 to 2 wait"), (8, "warps 1 to 7 wait")] {
        let fault = fault(32 * warps, &format!("{}{}", begun(1), wait("W", 0, 0)));
        assert_eq!(fault.kind, FaultKind::NoProgress, "{fault}");
        let start = "deadlock: thread (0,0) waits for phase 0 of the mbarrier tile (shared memory) at offset 0: 0 of 1 arrivals have come, and nobody is left who could bring the rest";
        assert!(fault.message.starts_with(start), "{fault}");
        let place = format!(" for phase 0 of tile (shared memory) at offset 0 at PTX line {}", fault.site.ptx_line);
        let others = if warps > 1 { format!("; {who}{place}") } else { String::new() };
        assert_eq!(&fault.message[start.len()..], others, "{warps}");
        let other = fault.other.as_ref().map(|(what, site)| (what.as_str(), site.warp));
        assert_eq!(other, (warps > 1).then_some(("another warp waits here:", 1)), "{fault}");
    }
}

#[test]
fn who_waits_elsewhere_is_named_and_shown_whatever_his_number() {
    // Of nine warps, two wait at a line of their own: one that is like the producer of a ring, and one more.
    let elsewhere = "shr.u32 %r9, %t, 5;\nsetp.eq.u32 %p2, %r9, 4;\nsetp.eq.u32 %p3, %r9, 8;\nor.pred %p2, %p2, %p3;\n";
    let body = format!(
        "{}{elsewhere}@%p2 bra OTHERS;\n{}bra END;\nOTHERS: {}END:",
        begun(1),
        wait("W", 0, 0),
        wait("V", 8, 0)
    );
    let fault = fault(32 * 9, &body);
    let said =
        |who: &str, offset: u32| format!("; {who} wait for phase 0 of tile (shared memory) at offset {offset} at");
    assert!(fault.message.contains(&said("warps 1 to 3 and 5 to 7", 0)), "{fault}");
    assert!(fault.message.contains(&said("warps 4 and 8", 8)), "{fault}");
    let (what, site) = fault.other.as_ref().expect("another line");
    assert_eq!((what.as_str(), site.warp), ("another warp waits here:", 4), "{fault}");
    assert_ne!(site.ptx_line, fault.site.ptx_line, "{fault}");
}

#[test]
fn bytes_are_named_where_some_were_expected() {
    // So many are expected, and so many come, by hand; one arrival or none is missing.
    for (expected, come, count, said) in [
        (1, 1, 2, "1 of 2 arrivals have come, and 1 of 1 bytes, and nobody"),
        (1, 0, 1, "1 of 1 arrivals have come, and 0 of 1 bytes, and nobody"),
        (16, 15, 1, "1 of 1 arrivals have come, and 15 of 16 bytes, and nobody"),
        (2, 0, 2, "1 of 2 arrivals have come, and 0 of 2 bytes, and nobody"),
        (0, 0, 2, "1 of 2 arrivals have come, and nobody"),
    ] {
        let mut body = begun(count);
        if expected > 0 {
            body += &format!("@%p1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [tile], {expected};\n");
        }
        if come > 0 {
            body += &format!("@%p1 mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [tile], {come};\n");
        }
        let fault = fault(32, &format!("{body}@%p1 mbarrier.arrive.shared.b64 %d1, [tile];\n{}", wait("W", 0, 0)));
        assert!(fault.message.contains(said), "{fault}");
        let wanted = match (count, come) {
            (1, 0) => "no copy that tells this mbarrier has come in this phase".to_string(),
            (1, _) => format!("they have brought {come} bytes, and {expected} were expected"),
            _ => "the count of `mbarrier.init` is 2, and 1 arrived in this phase".to_string(),
        };
        assert!(hint(&fault).contains(&wanted), "{fault}");
    }
}

#[test]
fn who_waits_in_a_later_phase_is_asked_for_his_parity() {
    let arrive = "@%p1 mbarrier.arrive.shared.b64 %d1, [tile];\n";
    let flips = "does each side flip its parity whenever its stages come round, and arrive for each phase?";
    let everyone =
        "does everyone arrive for whom the count of `mbarrier.init` is, and is the parity that of the phase awaited?";
    let nobody = "nobody has arrived here yet: one that says that a place is free is waited for with parity 1 first, for the phase before the first is complete; else who is to arrive?";
    for (phase, barrier, wanted) in
        [(0, "", nobody), (1, "", everyone), (2, "", flips), (3, "", flips), (0, "bar.sync 1, 32;\n", nobody)]
    {
        let fault =
            fault(32, &format!("{}{barrier}{}{}", begun(1), arrive.repeat(phase), wait("W", 0, phase as u32 % 2)));
        assert!(fault.message.contains(&format!("waits for phase {phase} of the mbarrier tile")), "{fault}");
        assert_eq!(hint(&fault), wanted, "{fault}");
        let last = fault.other.as_ref().map(|(what, _)| what.as_str());
        assert_eq!(last, (phase > 0).then_some("the last arrival:"), "{fault}");
    }
}

#[test]
fn a_barrier_that_all_have_dropped_has_no_bytes_to_ask_for() {
    let fault =
        fault(32, &format!("{}@%p1 mbarrier.arrive_drop.shared.b64 %d1, [tile];\n{}", begun(1), wait("W", 0, 1)));
    assert!(fault.message.contains("waits for phase 1 of the mbarrier tile"), "{fault}");
    assert!(hint(&fault).starts_with("does everyone arrive"), "{fault}");
}

#[test]
fn blocks_of_a_cluster_that_wait_for_values_are_named() {
    for size in [2, 3] {
        let body = "mov.u32 %r1, 0;\nsetp.eq.u32 %p1, %t, 5;\n@%p1 st.shared.u32 [tile+64], %r1;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n@!%p1 bra END;\n\
            L: ld.volatile.shared.u32 %r2, [tile+64];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra L;\nEND:";
        let kernel = Kernel::new(0, body).launch(Launch::new(size, 32).cluster(size, 1, 1));
        let fault = kernel.fault();
        assert!(fault.message.starts_with("no progress: thread (5,0) waits for a change of tile"), "{fault}");
        let said =
            |rank: &u32| fault.message.contains(&format!("; block rank {rank}, thread (5,0) waits at PTX line "));
        let named: Vec<u32> = (0..size).filter(said).collect();
        assert!(named.len() as u32 == size - 1 && !named.contains(&fault.site.block.x), "{fault}");
    }
}

#[test]
fn others_are_named_with_the_phase_in_which_their_barriers_are() {
    // The second warp waits for another barrier, which is two phases further.
    let arrive = "@%p1 mbarrier.arrive.shared.b64 %d1, [tile+8];\n";
    let body = format!(
        "{}{arrive}{arrive}setp.ge.u32 %p2, %t, 32;\n@%p2 bra V;\n{}bra END;\n{}END:",
        begun(1),
        wait("W", 0, 0),
        wait("V", 8, 0)
    );
    let fault = fault(64, &body);
    assert!(fault.message.contains("; warp 1 waits for phase 2 of tile (shared memory) at offset 8 at "), "{fault}");
}

#[test]
fn a_warp_at_a_barrier_is_named_with_its_first_lane_there() {
    // Lanes of warp 1 wait in vain for the others of it, or have done without them; warp 0 waits for a barrier in shared memory.
    let shuffle = "add.u32 %r8, %r2, 3;\nshfl.sync.idx.b32 %r9, %r8, 3, 31, -1;";
    for (lanes, there, others, wanted) in [
        (16, "bar.warp.sync -1;", "barrier.sync 1;", (0, "barrier.sync")),
        (7, shuffle, "barrier.sync 1;", (0, "barrier.sync")),
        (16, "barrier.sync 2;", "add.u32 %r8, %r2, 3;", (16, "barrier.sync")),
        (9, "barrier.sync 2;", "add.u32 %r8, %r2, 3;\nret;", (9, "barrier.sync")),
        (16, shuffle, "bar.warp.sync -1;", (0, "bar.warp.sync")),
        (3, "bar.warp.sync -1;", shuffle, (0, "shfl.sync.idx.b32")),
    ] {
        let body = format!(
            "{}setp.ge.u32 %p2, %t, 32;\n@%p2 bra OTHER;\n{}OTHER: sub.u32 %r3, %t, 32;\nsetp.lt.u32 %p3, %r3, {lanes};\n@%p3 bra OTHERS;\n{there}\nbra END;\nOTHERS: {others}\nEND:",
            begun(1),
            wait("W", 0, 0)
        );
        let fault = fault(64, &body);
        assert_eq!(fault.kind, FaultKind::NoProgress, "{fault}");
        assert!(fault.message.ends_with("; 1 other warp of its block at barriers"), "{fault}");
        let (what, site) = fault.other.as_ref().expect("it waits somewhere");
        assert_eq!((what.as_str(), site.warp), ("another warp waits here:", 1), "{fault}");
        assert_eq!((site.lane, site.opcode.as_str()), wanted, "{there}, {others}: {fault}");
    }
}

#[test]
fn four_warps_that_a_cluster_waits_for_are_named_and_the_rest_counted() {
    // Lanes from `first` on of some warps of one block wait at a barrier of theirs, the other threads at the cluster's.
    for (warps, first, size, rank) in [
        (1, 0, 2, 1),
        (2, 0, 2, 0),
        (4, 0, 2, 1),
        (5, 0, 2, 1),
        (6, 0, 2, 1),
        (1, 31, 2, 1),
        (2, 8, 2, 1),
        (2, 0, 4, 0),
        (2, 3, 4, 2),
        (1, 0, 4, 3),
    ] {
        let body = format!(
            "mov.u32 %r90, %cluster_ctarank;\nsetp.eq.u32 %p1, %r90, {rank};\nsetp.ge.u32 %p2, %t, 32;\nand.b32 %r91, %t, 31;\nsetp.ge.u32 %p3, %r91, {first};\nand.pred %p1, %p1, %p2;\n\
             and.pred %p1, %p1, %p3;\n@%p1 bra AWAY;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\nbra END;\nAWAY: barrier.sync 1, {0};\nEND:",
            32 * (warps + 1)
        );
        let kernel = Kernel::new(0, &body).launch(Launch::new(size, 32 * (warps + 1)).cluster(size, 1, 1));
        let fault = kernel.fault();
        assert_eq!(fault.kind, FaultKind::NoProgress, "{fault}");
        let (what, site) = fault.other.as_ref().expect("one of them is named");
        assert_eq!((what.as_str(), site.block.x, site.thread.x), ("one of them is here:", rank, 32 + first), "{fault}");
        let missing = warps * (32 - first);
        let mut said = format!(
            " waits at the cluster barrier in phase 0, and {missing} thread{} will not arrive",
            if missing == 1 { "" } else { "s" }
        );
        for warp in 1..=warps.min(4) {
            said += &format!("; block rank {rank}: {} of warp {warp}, at PTX line {}", 32 - first, site.ptx_line);
        }
        if warps > 4 {
            said += &format!("; {} more warps", warps - 4);
        }
        assert!(fault.message.ends_with(&said), "{said}: {fault}");
    }
}

#[test]
fn four_other_blocks_of_a_cluster_are_named_and_the_rest_counted() {
    for size in 2..=8 {
        let body = format!(
            "{}barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\nsetp.ne.u32 %p3, %t, 3;\n@%p3 bra END;\n{}END:",
            begun(1),
            wait("W", 0, 0)
        );
        let kernel = Kernel::new(0, &body).launch(Launch::new(size, 32).cluster(size, 1, 1));
        let fault = kernel.fault();
        assert_eq!((fault.kind, fault.site.lane), (FaultKind::NoProgress, 3), "{fault}");
        let own = fault.site.block.x;
        assert!(
            fault.message.starts_with(&format!("deadlock: block rank {own}, thread (3,0) waits for phase 0 of ")),
            "{fault}"
        );
        let line = fault.site.ptx_line;
        let said =
            |rank: &u32| fault.message.contains(&format!("; block rank {rank}, thread (3,0) waits at PTX line {line}"));
        let named = (0..size).filter(said).collect::<Vec<u32>>();
        assert_eq!(named.len() as u32, size.min(5) - 1, "{fault}");
        assert!(!named.contains(&own) && fault.message.matches("waits at").count() == named.len(), "{fault}");
        let more = (size > 5).then(|| format!("; {} more thread blocks wait", size - 5));
        assert_eq!(fault.message.contains("more thread blocks"), more.is_some(), "{fault}");
        assert!(fault.message.ends_with(&more.unwrap_or_default()), "{fault}");
    }
}

const PRODUCT: &str = "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%f1, %f2, %f3, %f4}, %d1, %d2, 1, 1, 1;";

#[test]
fn a_warpgroup_that_is_not_whole_is_named_by_its_warps() {
    let set = "mov.f32 %f1, 0f00000000;\nmov.f32 %f2, %f1;\nmov.f32 %f3, %f1;\nmov.f32 %f4, %f1;\nmov.u64 %d1, 0;\nmov.u64 %d2, 0;\nwgmma.fence.sync.aligned;\n";
    for (warps, first) in [(3, 0), (5, 4), (6, 4), (11, 8)] {
        let body = format!("setp.lt.u32 %p1, %t, {};\n@%p1 bra END;\n{set}{PRODUCT}\nEND:", 32 * first);
        let fault = fault(32 * warps, &body);
        let said = format!(" by a warpgroup of warps {first} to {}, in a block of {warps} warps", first + 3);
        assert!(fault.kind == FaultKind::Barrier && fault.message.ends_with(&said), "{fault}");
    }
    // One warp of the second group does not come: it waits elsewhere, or has ended.
    for (away, warp) in [(4, 5), (6, 4), (7, 4)] {
        for (instead, how) in [("bar.sync 1, 64;", "is elsewhere"), ("ret;", "has ended")] {
            let body = format!(
                "shr.u32 %r1, %t, 5;\nsetp.lt.u32 %p1, %r1, 4;\n@%p1 bra END;\n{set}setp.eq.u32 %p2, %r1, {away};\n@%p2 bra AWAY;\n{PRODUCT}\nbra END;\nAWAY: {instead}\nEND:"
            );
            let fault = fault(256, &body);
            assert_eq!(fault.kind, FaultKind::Barrier, "{away}, {instead}: {fault}");
            assert!(fault.site.warp == warp || how == "has ended", "{away}, {instead}: {fault}");
            assert_eq!(fault.site.lane, 0, "{fault}");
            let named = match how {
                "is elsewhere" => format!(" waits for warp {away} of its warpgroup, which is elsewhere"),
                _ => format!("warp {away} of its warpgroup"),
            };
            assert!(fault.message.contains(&named) && fault.message.ends_with(how), "{away}: {fault}");
        }
    }
}

#[test]
fn lanes_that_come_without_the_others_of_their_warp_are_named() {
    for (from, instruction) in [
        (16, "wgmma.fence.sync.aligned;"),
        (5, "wgmma.commit_group.sync.aligned;"),
        (31, "wgmma.wait_group.sync.aligned 0;"),
    ] {
        let body = format!("and.b32 %r1, %t, 31;\nsetp.lt.u32 %p1, %r1, {from};\n@%p1 bra END;\n{instruction}\nEND:");
        let fault = fault(128, &body);
        let said = format!(" by lanes {:#010x} of warp 0 only", u32::MAX << from);
        assert!(fault.kind == FaultKind::Barrier && fault.message.ends_with(&said), "{fault}");
        assert_eq!((fault.site.warp, fault.site.lane), (0, from), "{fault}");
    }
}

#[test]
fn warps_that_committed_unlike_numbers_of_groups_are_named() {
    for (warp, more) in [(1, 1), (2, 2), (3, 1)] {
        let body = format!(
            "mov.f32 %f1, 0f00000000;\nmov.f32 %f2, %f1;\nmov.f32 %f3, %f1;\nmov.f32 %f4, %f1;\nmov.u64 %d1, 0;\nmov.u64 %d2, 0;\nshr.u32 %r1, %t, 5;\nsetp.ne.u32 %p1, %r1, {warp};\n\
             wgmma.fence.sync.aligned;\nwgmma.commit_group.sync.aligned;\n@%p1 bra ALL;\n{}ALL: {PRODUCT}",
            "wgmma.commit_group.sync.aligned;\n".repeat(more)
        );
        let fault = fault(128, &body);
        assert_eq!((fault.kind, fault.site.lane), (FaultKind::Barrier, 0), "{fault}");
        let said = format!("warp 0 has committed 1 groups of products, and warp {warp} of its warpgroup {}", 1 + more);
        assert_eq!((fault.message, fault.site.warp), (said, 0));
    }
}

#[test]
fn warps_at_two_products_are_both_named() {
    for warp in 0..4 {
        let body = format!(
            "mov.f32 %f1, 0f00000000;\nmov.f32 %f2, %f1;\nmov.f32 %f3, %f1;\nmov.f32 %f4, %f1;\nmov.u64 %d1, 0;\nmov.u64 %d2, 0;\nwgmma.fence.sync.aligned;\n\
             shr.u32 %r1, %t, 5;\nsetp.eq.u32 %p1, %r1, {warp};\n@%p1 bra OTHER;\n{PRODUCT}\nbra END;\nOTHER: {PRODUCT}\nEND:"
        );
        let fault = fault(128, &body);
        let other = &fault.other.as_ref().expect("another warp").1;
        assert_eq!((fault.kind, fault.site.lane, other.lane), (FaultKind::Barrier, 0, 0), "{fault}");
        assert!((fault.site.warp == warp) != (other.warp == warp), "{fault}");
        let said = format!(", and warp {} of its warpgroup at PTX line {}", other.warp, other.ptx_line);
        assert!(fault.message.ends_with(&said), "{fault}");
        assert_eq!(other.thread.x, 32 * other.warp, "{fault}");
    }
}
