//! The order of threads, by PTX's memory model: who may read what another thread wrote, having seen its flag. A message passes
//! if its writer releases, in a scope that has both threads, and its reader acquires in such a scope.

use emulator::{FaultKind, Launch};

use crate::dice::Dice;
use crate::run::Kernel;

/// Where the reader is, seen from the writer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Where {
    /// Another lane of its warp.
    Lane,
    /// Another warp of its block.
    Warp,
    /// Another block.
    Block,
}

const SCOPES: [&str; 3] = ["cta", "gpu", "sys"];

fn reaches(scope: &str, place: Where) -> bool {
    scope != "cta" || place != Where::Block
}

/// A way to write the flag, or to read it: its text, with `FLAG` for the flag's address; whether it releases, or acquires; and
/// its scope. A plain one has none.
#[derive(Clone, Debug)]
struct Flag {
    text: String,
    orders: bool,
    scope: Option<&'static str>,
}

fn writes() -> Vec<Flag> {
    let flag = |text: &str, orders, scope| Flag { text: text.replace("SCOPE", scope), orders, scope: Some(scope) };
    let mut all = vec![Flag { text: "st.volatile.SPACE.u32 [FLAG], %r1;".into(), orders: false, scope: Some("sys") }];
    for scope in SCOPES {
        all.push(flag("st.relaxed.SCOPE.SPACE.u32 [FLAG], %r1;", false, scope));
        all.push(flag("st.release.SCOPE.SPACE.u32 [FLAG], %r1;", true, scope));
        all.push(flag("atom.relaxed.SCOPE.SPACE.exch.b32 %r9, [FLAG], %r1;", false, scope));
        all.push(flag("red.release.SCOPE.SPACE.add.u32 [FLAG], %r1;", true, scope));
        all.push(flag("atom.acq_rel.SCOPE.SPACE.add.u32 %r9, [FLAG], %r1;", true, scope));
        all.push(flag("atom.acquire.SCOPE.SPACE.add.u32 %r9, [FLAG], %r1;", false, scope));
    }
    all
}

fn reads() -> Vec<Flag> {
    let flag = |text: &str, orders, scope| Flag { text: text.replace("SCOPE", scope), orders, scope: Some(scope) };
    let mut all = vec![Flag { text: "ld.volatile.SPACE.u32 %r2, [FLAG];".into(), orders: false, scope: Some("sys") }];
    for scope in SCOPES {
        all.push(flag("ld.relaxed.SCOPE.SPACE.u32 %r2, [FLAG];", false, scope));
        all.push(flag("ld.acquire.SCOPE.SPACE.u32 %r2, [FLAG];", true, scope));
        all.push(flag("atom.relaxed.SCOPE.SPACE.or.b32 %r2, [FLAG], 0;", false, scope));
        all.push(flag("atom.acquire.SCOPE.SPACE.or.b32 %r2, [FLAG], 0;", true, scope));
        all.push(flag("atom.release.SCOPE.SPACE.or.b32 %r2, [FLAG], 0;", false, scope));
    }
    all
}

/// Fences, or none, with their scope.
fn fences() -> Vec<(String, Option<&'static str>)> {
    let mut all = vec![(String::new(), None)];
    for scope in SCOPES {
        all.push((format!("fence.acq_rel.{scope};\n"), Some(scope)));
        all.push((format!("fence.sc.{scope};\n"), Some(scope)));
    }
    all.push(("membar.gl;\n".into(), Some("gpu")));
    all.push(("membar.cta;\n".into(), Some("cta")));
    all
}

/// `%d1` is the data, in global memory, `FLAG` the flag; the writer goes first. Who has read 1 from the flag uses the data.
fn message(place: Where, shared_flag: bool, writer: &str, reader: &str) -> Kernel {
    let (threads, blocks, who) = match place {
        Where::Lane => (32, 1, "setp.eq.u32 %p1, %t, 3;\nsetp.eq.u32 %p2, %t, 9;"),
        Where::Warp => (64, 1, "setp.eq.u32 %p1, %t, 3;\nsetp.eq.u32 %p2, %t, 41;"),
        Where::Block => (32, 2, "mad.lo.u32 %r8, %block, 32, %t;\nsetp.eq.u32 %p1, %r8, 3;\nsetp.eq.u32 %p2, %r8, 41;"),
    };
    let (space, flag) = if shared_flag { ("shared", "tile") } else { ("global", "%out+64") };
    let body = format!(
        "mov.u32 %r1, 1;\nmov.u32 %r5, 0;\nsetp.eq.u32 %p5, %t, 0;\n{}{who}\n@!%p1 bra READER;\nst.global.u32 [%out], 7;\n{writer}\n\
         READER: @!%p2 bra END;\n{reader}\nEND:",
        if shared_flag { "@%p5 st.shared.u32 [tile], %r5;\nbar.sync 0;\n" } else { "" }
    );
    let body = body.replace("st.global.u32 [%out], 7;", "mov.u32 %r7, 7;\nst.global.u32 [%out], %r7;");
    let body = body.replace("SPACE", space).replace("FLAG", flag);
    let kernel = Kernel::new(0, &body).launch(Launch::new(blocks, threads));
    Kernel { zeros: 4096, ..kernel }
}

const USE: &str = "setp.ne.u32 %p3, %r2, 1;\n@%p3 bra END;\nld.global.u32 %r3, [%out];\nst.global.u32 [%out+128], %r3;";

pub fn is_race(kernel: &Kernel, text: &str) -> bool {
    match kernel.run() {
        Ok(outcome) => {
            assert_eq!(outcome.words(33)[32], 7, "the message was read\n{text}");
            false
        }
        Err(fault) => {
            assert_eq!(fault.kind, FaultKind::Race, "{fault}\n{text}");
            assert!(fault.message.starts_with("race on out at offset "), "{fault}\n{text}");
            true
        }
    }
}

#[test]
fn a_message_passes_if_it_is_released_and_acquired_in_scopes_that_have_both() {
    let mut dice = Dice::new(5);
    for place in [Where::Lane, Where::Warp, Where::Block] {
        for shared_flag in [false, true] {
            if shared_flag && place == Where::Block {
                continue;
            }
            let (writes, reads, fences) = (writes(), reads(), fences());
            for _ in 0..200 {
                let (write, read) = (dice.among(&writes), dice.among(&reads));
                let (write_fence, write_scope) = dice.among(&fences);
                let (read_fence, read_scope) = dice.among(&fences);
                let scope = |scope: Option<&'static str>| scope.is_some_and(|scope| reaches(scope, place));
                let strong = scope(write.scope) && scope(read.scope);
                let released = write.orders || scope(*write_scope);
                let acquired = read.orders || scope(*read_scope);
                let writer = format!("{write_fence}{}", write.text);
                let reader = format!("{}\n{read_fence}{USE}", read.text);
                let text = format!("{place:?}\n{writer}\n--\n{reader}");
                let race = is_race(&message(place, shared_flag, &writer, &reader), &text);
                assert_eq!(race, !(strong && released && acquired), "{text}");
            }
        }
    }
}

#[test]
fn fences_for_tensor_maps_release_and_acquire_as_their_names_say() {
    let mut fences = vec![(String::new(), "", "")];
    for scope in SCOPES {
        fences.push((format!("fence.proxy.tensormap::generic.release.{scope};\n"), "release", scope));
        fences.push((format!("fence.proxy.tensormap::generic.acquire.{scope} [%in], 128;\n"), "acquire", scope));
    }
    for place in [Where::Lane, Where::Warp, Where::Block] {
        for (write_fence, write, of_writer) in &fences {
            for (read_fence, read, of_reader) in &fences {
                let writer = format!("{write_fence}st.relaxed.gpu.SPACE.u32 [FLAG], %r1;");
                let reader = format!("ld.relaxed.gpu.SPACE.u32 %r2, [FLAG];\n{read_fence}{USE}");
                let text = format!("{place:?}\n{writer}\n--\n{reader}");
                let passes =
                    *write == "release" && *read == "acquire" && reaches(of_writer, place) && reaches(of_reader, place);
                assert_eq!(is_race(&message(place, false, &writer, &reader), &text), !passes, "{text}");
            }
        }
    }
}

#[test]
fn a_map_that_is_copied_out_releases_what_each_lane_wrote_before() {
    const COPY: &str = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.SCOPE.sync.aligned [%d1], [tile+128], 128;\n";
    for (copy, passes) in [("", false), (&COPY.replace("SCOPE", "cta"), false), (&COPY.replace("SCOPE", "gpu"), true)] {
        for lane in [0, 5, 31] {
            // A lane of block 0 writes the message, and the flag behind the copy; a thread of block 1 reads both.
            let zeros: String = (0..8)
                .map(|n| format!("st.shared.v4.u32 [tile+{}], {{%r0, %r0, %r0, %r0}};\n", 128 + 16 * n))
                .collect();
            let body = format!(
                "mov.u32 %r0, 0;\nmov.u32 %r1, 1;\nmov.u32 %r7, 7;\nadd.u64 %d1, %out, 1024;\nsetp.eq.u32 %p1, %t, {lane};\nsetp.eq.u32 %p4, %block, 1;\n\
                 @%p4 bra READER;\nsetp.ne.u32 %p6, %t, 0;\n@%p6 bra FILLED;\n{zeros}FILLED: bar.sync 0;\n@%p1 st.global.u32 [%out], %r7;\n{copy}@%p1 st.relaxed.gpu.global.u32 [%out+64], %r1;\nbra END;\n\
                 READER: @!%p1 bra END;\nld.relaxed.gpu.global.u32 %r2, [%out+64];\nfence.acq_rel.gpu;\n{USE}\nEND:"
            );
            let kernel = Kernel { zeros: 4096, ..Kernel::new(0, &body).launch(Launch::new(2, 32)) };
            assert_eq!(is_race(&kernel, &body), !passes, "{body}");
        }
    }
}

#[test]
fn a_flag_that_either_side_accesses_plainly_is_a_race_itself() {
    for place in [Where::Warp, Where::Block] {
        let fence = "fence.acq_rel.gpu;\n";
        let plain_write = format!("{fence}st.SPACE.u32 [FLAG], %r1;");
        let plain_read = format!("ld.SPACE.u32 %r2, [FLAG];\n{fence}{USE}");
        let write = format!("{fence}st.relaxed.gpu.SPACE.u32 [FLAG], %r1;");
        let read = format!("ld.relaxed.gpu.SPACE.u32 %r2, [FLAG];\n{fence}{USE}");
        for (writer, reader, race) in [
            (&write, &read, false),
            (&plain_write, &read, true),
            (&write, &plain_read, true),
            (&plain_write, &plain_read, true),
        ] {
            let kernel = message(place, false, writer, reader);
            assert_eq!(is_race(&kernel, writer), race, "{place:?}: {writer} -- {reader}");
        }
    }
}

/// Steps by threads in this order: those of the first ten blocks of one thread each, which run one after the other.
pub fn by_blocks(steps: &[&str]) -> Kernel {
    let mut body = String::from("mov.u32 %r1, 1;\nmov.u32 %r7, 7;\n");
    for (n, step) in steps.iter().enumerate() {
        body += &format!(
            "setp.ne.u32 %p1, %block, {n};\n@%p1 bra AFTER{n};\n{}\nbra END;\nAFTER{n}:\n",
            step.replace("FLAG", "%out+")
        );
    }
    let kernel = Kernel::new(0, &format!("{body}END:")).launch(Launch::new(steps.len() as u32, 1));
    Kernel { zeros: 4096, ..kernel }
}

const WRITE: &str = "st.global.u32 [%out], %r7;\nst.release.gpu.global.u32 [FLAG64], %r1;";
const ACQUIRE: &str = "ld.acquire.gpu.global.u32 %r2, [FLAG64];";

#[test]
fn what_a_thread_knows_it_hands_on() {
    let use_second =
        "ld.acquire.gpu.global.u32 %r2, [FLAG68];\nld.global.u32 %r3, [%out];\nst.global.u32 [%out+128], %r3;";
    let hand_on = format!("{ACQUIRE}\nst.release.gpu.global.u32 [FLAG68], %r1;");
    assert!(!is_race(&by_blocks(&[WRITE, &hand_on, use_second]), "by a thread between"));
    let relaxed = "ld.relaxed.gpu.global.u32 %r2, [FLAG64];\nst.release.gpu.global.u32 [FLAG68], %r1;";
    assert!(is_race(&by_blocks(&[WRITE, relaxed, use_second]), "who has not acquired has nothing to hand on"));
    let fenced =
        "ld.relaxed.gpu.global.u32 %r2, [FLAG64];\nfence.acq_rel.gpu;\nst.relaxed.gpu.global.u32 [FLAG68], %r1;";
    assert!(!is_race(&by_blocks(&[WRITE, fenced, use_second]), "one fence acquires and releases"));
    let late = "fence.acq_rel.gpu;\nld.relaxed.gpu.global.u32 %r2, [FLAG64];\nst.relaxed.gpu.global.u32 [FLAG68], %r1;";
    assert!(is_race(&by_blocks(&[WRITE, late, use_second]), "a fence before the read acquires nothing"));
    let unreleased = format!("{ACQUIRE}\nst.relaxed.gpu.global.u32 [FLAG68], %r1;");
    assert!(is_race(&by_blocks(&[WRITE, &unreleased, use_second]), "it is not released again"));
}

#[test]
fn a_release_covers_what_came_before_it_and_nothing_behind() {
    let early = "st.release.gpu.global.u32 [FLAG64], %r1;\nst.global.u32 [%out], %r7;";
    let reader = format!("{ACQUIRE}\nld.global.u32 %r3, [%out];\nst.global.u32 [%out+128], %r3;");
    assert!(is_race(&by_blocks(&[early, &reader]), "written behind the release"));
    assert!(!is_race(&by_blocks(&[WRITE, &reader]), "before"));
    let fence_first = "fence.acq_rel.gpu;\nst.global.u32 [%out], %r7;\nst.relaxed.gpu.global.u32 [FLAG64], %r1;";
    assert!(is_race(&by_blocks(&[fence_first, &reader]), "written behind the fence"));
    let other_place = format!("{WRITE}\nst.relaxed.gpu.global.u32 [FLAG72], %r1;");
    let elsewhere = reader.replace("FLAG64", "FLAG72");
    assert!(is_race(&by_blocks(&[&other_place, &elsewhere]), "the release is of another place"));
    let twice = format!("{WRITE}\nst.relaxed.gpu.global.u32 [FLAG64], %r7;");
    assert!(!is_race(
        &by_blocks(&[&twice, &reader]),
        "a later write by the same thread hands on the release before it"
    ));
    let by_other = "st.relaxed.gpu.global.u32 [FLAG64], %r7;";
    assert!(is_race(&by_blocks(&[WRITE, by_other, &reader]), "another thread's write is no part of the release"));
    let atomic = "atom.relaxed.gpu.global.add.u32 %r9, [FLAG64], 1;";
    assert!(!is_race(&by_blocks(&[WRITE, atomic, atomic, &reader]), "atomics pass on what they read"));
    let read_early = format!("ld.global.u32 %r3, [%out];\n{ACQUIRE}\nst.global.u32 [%out+128], %r3;");
    assert!(is_race(&by_blocks(&[WRITE, &read_early]), "read before the acquire"));
}

#[test]
fn every_counter_of_a_row_hands_on_its_part() {
    let add =
        |n: u32| format!("st.global.u32 [%out+{}], %r7;\nred.release.gpu.global.add.u32 [FLAG64], 1;", 256 + 4 * n);
    let read = |n: u32| format!("ld.global.u32 %r3, [%out+{}];\nst.global.u32 [%out+128], %r3;", 256 + 4 * n);
    for n in 0..3 {
        let last = format!("{ACQUIRE}\n{}", read(n));
        assert!(!is_race(&by_blocks(&[&add(0), &add(1), &add(2), &last]), "part {n}"));
        // Who sets the counter back begins a new row.
        let set = "st.relaxed.gpu.global.u32 [FLAG64], %r1;";
        assert!(is_race(&by_blocks(&[&add(0), &add(1), &add(2), set, &last]), "part {n} of an old row"));
        let middle = format!("{ACQUIRE}\n{}\nbra END;", read(n));
        let race = is_race(&by_blocks(&[&add(0), &add(1), &middle, &add(2)]), "in the middle");
        assert_eq!(race, n == 2, "part {n} of two that are done: the third is to come, and races with the read");
    }
}

/// Two warps of two blocks: what one thread has acquired, a barrier hands to the others of its block.
#[test]
fn barriers_join_what_their_threads_know() {
    let kernel = |before: &str, after: &str, mask: &str| {
        let body = format!(
            "mov.u32 %r1, 1;\nmov.u32 %r7, 7;\nmov.u32 %r20, {mask};\nsetp.ne.u32 %p1, %block, 0;\n@%p1 bra READ;\nsetp.eq.u32 %p2, %t, 5;\n@%p2 st.global.u32 [%out], %r7;\n\
             {before}\nsetp.eq.u32 %p2, %t, 40;\n@!%p2 bra END;\nst.release.gpu.global.u32 [%out+64], %r1;\nbra END;\n\
             READ: setp.eq.u32 %p2, %t, 33;\n@!%p2 bra JOIN;\nld.acquire.gpu.global.u32 %r2, [%out+64];\nJOIN: {after}\nsetp.eq.u32 %p2, %t, 44;\n@!%p2 bra END;\nld.global.u32 %r3, [%out];\n\
             st.global.u32 [%out+128], %r3;\nEND:"
        );
        let kernel = Kernel::new(0, &body).launch(Launch::new(2, 64));
        Kernel { zeros: 4096, ..kernel }
    };
    let warp = "bar.warp.sync %r20;";
    let all = "0xffffffff";
    for (before, after, mask, race) in [
        ("bar.sync 0;", "bar.sync 0;", all, false),
        ("bar.sync 0;", "bar.sync 1, 64;", all, false),
        ("bar.sync 0;", warp, all, false),
        ("bar.sync 0;", "", all, true),
        ("", "bar.sync 0;", all, true),
        (warp, "bar.sync 0;", all, true),
        ("barrier.sync 3;", "barrier.sync 4;", all, false),
    ] {
        assert_eq!(is_race(&kernel(before, after, mask), before), race, "{before} {after}");
    }
}

/// Lanes of a warp in groups of eight: who is not of the group learns nothing.
#[test]
fn a_warp_barrier_joins_the_lanes_that_it_names() {
    for (mask_of_writer, reader, race) in
        [(0xff00u32, 9, false), (0xff00, 15, false), (0xff00, 16, true), (0xff00, 7, true), (0xffff_ffff, 31, false)]
    {
        let body = format!(
            "shr.u32 %r3, %t, 3;\nshl.b32 %r3, %r3, 3;\nmov.u32 %r4, 0xff;\nshl.b32 %r4, %r4, %r3;\n{}\nsetp.eq.u32 %p1, %t, 8;\n\
             @%p1 st.shared.u32 [tile+256], %t;\nbar.warp.sync %r4;\nsetp.eq.u32 %p1, %t, {reader};\n@!%p1 bra END;\n\
             ld.shared.u32 %r5, [tile+256];\nst.global.u32 [%out], %r5;\nEND:",
            if mask_of_writer == u32::MAX { "mov.u32 %r4, 0xffffffff;" } else { "" }
        );
        let outcome = Kernel::new(32, &body).run();
        match outcome {
            Ok(outcome) => {
                assert!(!race, "lane {reader} races");
                assert_eq!(outcome.words(1), [8]);
            }
            Err(fault) => {
                assert!(race && fault.kind == FaultKind::Race, "lane {reader}: {fault}");
                assert_eq!((fault.site.lane, fault.other.map(|(_, site)| site.lane)), (reader, Some(8)));
            }
        }
    }
}

#[test]
fn fences_of_one_order_tell_who_comes_before() {
    // Store buffering: each writes its own and reads the other's; the second to come sees the first one's, and uses what it left.
    let body = |fence: &str| {
        let first = format!(
            "st.global.u32 [%out], %r7;\nst.relaxed.gpu.global.u32 [FLAG64], %r1;\n{fence}\nld.relaxed.gpu.global.u32 %r2, [FLAG68];"
        );
        let second = format!(
            "st.relaxed.gpu.global.u32 [FLAG68], %r1;\n{fence}\nld.relaxed.gpu.global.u32 %r2, [FLAG64];\nld.global.u32 %r3, [%out];\nst.global.u32 [%out+128], %r3;"
        );
        by_blocks(&[&first, &second])
    };
    assert!(is_race(&body("fence.acq_rel.gpu;"), "the write of the flag is not behind a fence"));
    assert!(is_race(&body("fence.sc.gpu;"), "nor here"));
}

/// A strong write lies before what comes behind a strong read that has seen it, even where nothing was released.
#[test]
fn what_was_seen_was_there_before() {
    let pass = "st.release.gpu.global.u32 [FLAG64], %r1;";
    let use_it = "ld.acquire.gpu.global.u32 %r2, [FLAG64];\nld.global.u32 %r3, [%out];\nst.global.u32 [%out+128], %r7;";
    let see = "ld.relaxed.gpu.global.u32 %r2, [%out];";
    let add = "atom.relaxed.gpu.global.add.u32 %r2, [%out], 0;";
    let store = "st.relaxed.gpu.global.u32 [%out], %r7;";
    let exchange = "atom.relaxed.gpu.global.exch.b32 %r2, [%out], %r7;";
    let race = |steps: &[&str]| match by_blocks(steps).run() {
        Ok(_) => false,
        Err(fault) => {
            assert!(fault.kind == FaultKind::Race && fault.message.starts_with("race on out at offset 0:"), "{fault}");
            true
        }
    };
    for write in [store, exchange] {
        for read in [see, add] {
            let seen = format!("{read}\n{pass}");
            assert!(!race(&[write, &seen, use_it]), "{write} {read}");
            let unseen = format!("{pass}\n{read}");
            assert!(race(&[write, &unseen, use_it]), "{write} {read}: seen behind the release");
            assert!(race(&[write, pass, use_it]), "{write}: not seen");
            assert!(race(&[write, &seen, write, use_it]), "{write} {read}: another one came behind");
            assert!(race(&[write, &seen, add, use_it]), "{write} {read}: one that reads and writes came behind");
            let narrow = seen.replacen(".gpu", ".cta", 1);
            assert!(race(&[write, &narrow, use_it]), "{write} {read}: in a scope that does not have both");
            let half = seen.replacen("ld.relaxed.gpu.global.u32", "ld.relaxed.gpu.global.u16", 1);
            if half != seen {
                assert!(race(&[write, &half, use_it]), "{write}: a part of it was read");
            }
        }
    }
    // Who saw it himself may use it as he likes.
    let plainly = "ld.global.u32 %r3, [%out];\nst.global.u32 [%out+128], %r3;";
    for write in [store, exchange] {
        assert!(race(&[write, plainly]), "{write}: not seen");
        for read in [see, add] {
            assert!(!race(&[write, &format!("{read}\n{plainly}")]), "{write} {read}");
        }
    }
    // Of a row of three, the second was seen: the first and second lie before, the third does not.
    let seen = format!("{see}\n{pass}");
    assert!(!race(&[add, add, &seen, use_it]));
    assert!(race(&[add, &seen, add, use_it]));
    let twice = format!("{see}\n{pass}\n{see}");
    assert!(race(&[add, &twice, add, use_it]));
}

#[test]
fn an_acquire_takes_what_stands_at_its_place_and_leaves_the_rest_to_a_fence() {
    // Two writers, each with data and a flag. The reader sees both flags by relaxed loads, and acquires one of them.
    let body = |fence: &str, read: u32| {
        format!(
            "mov.u32 %r1, 1;\nsetp.eq.u32 %p1, %t, 3;\nsetp.eq.u32 %p2, %t, 35;\nsetp.eq.u32 %p3, %t, 67;\n\
             @%p1 bra ONE;\n@%p2 bra TWO;\n@%p3 bra READ;\nbra END;\n\
             ONE: st.global.u32 [%out], %r1;\nst.release.gpu.global.u32 [%out+64], %r1;\nbra END;\n\
             TWO: st.global.u32 [%out+4], %r1;\nst.release.gpu.global.u32 [%out+128], %r1;\nbra END;\n\
             READ: ld.relaxed.gpu.global.u32 %r2, [%out+64];\nsetp.eq.u32 %p4, %r2, 0;\n@%p4 bra READ;\n\
             MORE: ld.relaxed.gpu.global.u32 %r2, [%out+128];\nsetp.eq.u32 %p4, %r2, 0;\n@%p4 bra MORE;\n\
             ld.acquire.gpu.global.u32 %r2, [%out+64];\n{fence}\nld.global.u32 %r3, [%out+{read}];\nst.global.u32 [%out+256], %r3;\nEND:"
        )
    };
    let run = |fence: &str, read: u32| Kernel { zeros: 4096, ..Kernel::new(96, &body(fence, read)) }.run();
    for (fence, read) in [("", 0), ("fence.acq_rel.gpu;", 0), ("fence.acq_rel.gpu;", 4)] {
        let outcome = run(fence, read).unwrap_or_else(|fault| panic!("{fence}, {read}: {fault}"));
        assert_eq!(outcome.bytes[256], Some(1));
    }
    let fault = run("", 4).err().expect("the second flag was not acquired");
    assert_eq!(fault.kind, FaultKind::Race, "{fault}");
}

/// A thread of block 0 stores, its block does what is listed, a thread of block 1 looks at the flag and loads: a race, and
/// the message says what is missing.
#[test]
fn a_race_of_two_blocks_says_what_would_order_them() {
    let relaxed = "ld.relaxed.gpu.global.u32 %r2, [%out+64];";
    let acquire = "ld.acquire.gpu.global.u32 %r2, [%out+64];";
    // `%p1` is who stored, `%p2` a lane of its warp, `%p3` one of another warp.
    let flag = "@%p1 st.relaxed.gpu.global.u32 [%out+64], %r1;";
    let (everything, release) = ("nothing orders the two", "no fence or release after the first");
    let (scope, told) =
        ("ordered for the threads of one block only", "no fence or acquire after the read that tells of the first");
    for writer in [0, 3, 31] {
        for (steps, reader, why) in [
            (flag, acquire, release),
            ("@%p1 fence.acq_rel.cta;\nFLAG", acquire, scope),
            ("@%p1 fence.acq_rel.cta;", acquire, scope),
            ("@%p1 fence.acq_rel.gpu;\n@%p2 st.relaxed.gpu.global.u32 [%out+64], %r1;", acquire, everything),
            ("@%p1 fence.acq_rel.gpu;\nFLAG", relaxed, told),
            ("@%p1 st.release.gpu.global.u32 [%out+64], %r1;", relaxed, told),
            ("@%p2 fence.acq_rel.gpu;\nFLAG", acquire, release),
            ("@%p3 fence.acq_rel.gpu;\nFLAG", acquire, release),
            ("@%p2 st.release.gpu.global.u32 [%out+64], %r1;", relaxed, release),
            ("@%p1 st.release.gpu.global.u32 [%out+512], %r1;", acquire, everything),
            ("@%p1 st.release.cta.global.u32 [%out+512], %r1;", acquire, scope),
            ("@%p2 st.release.gpu.global.u32 [%out+512], %r1;", acquire, release),
            ("bar.sync 0;\n@%p3 fence.acq_rel.gpu;", acquire, everything),
            ("bar.sync 0;\n@%p3 fence.acq_rel.cta;", acquire, scope),
            ("bar.sync 0;\n@%p3 st.release.gpu.global.u32 [%out+512], %r1;", acquire, everything),
        ] {
            let steps = steps.replace("FLAG", flag);
            let body = format!(
                "mov.u32 %r1, 1;\nsetp.eq.u32 %p1, %t, {writer};\nsetp.eq.u32 %p2, %t, 4;\nsetp.eq.u32 %p3, %t, 40;\n\
                 setp.eq.u32 %p5, %block, 1;\n@%p5 bra READER;\n@%p1 st.global.u32 [%out], %r1;\n{steps}\nbra END;\n\
                 READER: @!%p1 bra END;\n{reader}\nld.global.u32 %r3, [%out];\nst.global.u32 [%out+256], %r3;\nEND:"
            );
            let kernel = Kernel { zeros: 4096, ..Kernel::new(0, &body).launch(Launch::new(2, 64)) };
            let fault = kernel.fault();
            assert!(
                fault.kind == FaultKind::Race && fault.message.ends_with(why),
                "{writer}: {steps}\n{reader}\n{fault}"
            );
        }
    }
}

/// The same of two warps of a block: what was met and not acquired is said first.
#[test]
fn a_race_of_two_warps_says_what_would_order_them() {
    let told = "no fence or acquire after the read that tells of the first";
    for (flag, look, why) in [
        ("st.release.gpu.global.u32 [%out+64], %r1;", "ld.relaxed.gpu.global.u32 %r2, [%out+64];", told),
        ("st.release.cta.global.u32 [%out+64], %r1;", "ld.relaxed.gpu.global.u32 %r2, [%out+64];", told),
        ("st.release.cta.global.u32 [%out+64], %r1;", "ld.relaxed.cta.global.u32 %r2, [%out+64];", told),
        (
            "fence.acq_rel.cta;\nst.relaxed.cta.global.u32 [%out+64], %r1;",
            "ld.relaxed.cta.global.u32 %r2, [%out+64];",
            told,
        ),
        (
            "st.relaxed.cta.global.u32 [%out+64], %r1;",
            "ld.acquire.cta.global.u32 %r2, [%out+64];",
            "no barrier between",
        ),
        ("", "ld.acquire.cta.global.u32 %r2, [%out+64];", "no barrier between"),
    ] {
        let body = format!(
            "mov.u32 %r1, 1;\nsetp.eq.u32 %p1, %t, 3;\nsetp.eq.u32 %p2, %t, 41;\n@!%p1 bra READER;\nst.global.u32 [%out], %r1;\n{flag}\n\
             READER: @!%p2 bra END;\n{look}\nld.global.u32 %r3, [%out];\nst.global.u32 [%out+128], %r3;\nEND:"
        );
        let fault = Kernel { zeros: 4096, ..Kernel::new(64, &body) }.fault();
        assert!(fault.kind == FaultKind::Race && fault.message.ends_with(why), "{flag}\n{look}\n{fault}");
    }
}
