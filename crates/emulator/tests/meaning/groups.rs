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

#[test]
fn lanes_that_meet_use_registers_as_others_do() {
    for moves in 0..2 {
        for meet in [
            "shfl.sync.bfly.b32 IT, IT, 1, 31, -1;",
            "shfl.sync.idx.b32 IT, %r2, 0, 31, -1;",
            "shfl.sync.up.b32 %r9|%p5, IT, 1, 0, -1;",
        ] {
            for (between, after, why) in
                [(meet, "", "with no `wgmma.fence` between"), ("", meet, "no `wgmma.wait_group` between")]
            {
                let fault = product(moves, between, after).map(drop).expect_err("it is too late, or too soon");
                assert_eq!(fault.kind, FaultKind::Race, "{meet}, {moves} moves: {fault}");
                assert!(fault.message.contains(why), "{meet}, {moves} moves: {fault}");
            }
        }
        // What touches none of them may lie between.
        let other = "shfl.sync.bfly.b32 %r9, %r2, 1, 31, -1;";
        for (between, after) in [(other, ""), ("", other)] {
            product(moves, between, after).unwrap_or_else(|fault| panic!("{moves} moves: {fault}"));
        }
    }
}

/// A product of 64 by 16 by 16, of A at `tile` and B at `tile+2048`, in chunks of 16 bytes.
#[derive(Debug, Clone, Copy)]
struct Form {
    /// Sums are pairs of 16 bits.
    pairs: bool,
    /// A comes from registers.
    in_registers: bool,
    /// Chunks are of eight rows of A, of eight columns of B, instead of along K.
    across: [bool; 2],
    /// D is added to.
    adds: bool,
}

/// What nobody wrote: a word of shared memory, or a register of A or of D in a thread, by its number.
#[derive(Debug, Clone, Copy)]
enum Missing {
    Word(usize),
    OfA(usize, usize),
    OfD(usize, usize),
}

impl Form {
    fn sums(self) -> usize {
        if self.pairs { 4 } else { 8 }
    }

    /// The row and the columns of a sum of a thread.
    fn place(self, thread: usize, sum: usize) -> (usize, std::ops::Range<usize>) {
        let (row, column) = (thread / 32 * 16 + thread % 32 / 4, thread % 4 * 2);
        match self.pairs {
            true => (row + sum % 2 * 8, column + sum / 2 * 8..column + sum / 2 * 8 + 2),
            false => (row + sum / 2 % 2 * 8, column + sum / 4 * 8 + sum % 2..column + sum / 4 * 8 + sum % 2 + 1),
        }
    }

    /// Whether a sum is computed from what nobody wrote.
    fn is_tainted(self, missing: Missing, thread: usize, sum: usize) -> bool {
        let (row, columns) = self.place(thread, sum);
        match missing {
            Missing::Word(word) if word < 512 => match (self.in_registers, word / 4, self.across[0]) {
                (true, ..) => false,
                (_, chunk, true) => chunk % 64 / 8 == row / 8,
                (_, chunk, false) => chunk / 16 * 8 + chunk % 8 == row,
            },
            Missing::Word(word) => match (word / 4 - 128, self.across[1]) {
                (chunk, true) => chunk % 16 / 8 == columns.start / 8,
                (chunk, false) => columns.contains(&(chunk / 16 * 8 + chunk % 8)),
            },
            Missing::OfA(lane, n) => self.in_registers && lane / 32 * 16 + lane % 32 / 4 + n % 2 * 8 == row,
            Missing::OfD(lane, n) => self.adds && (lane, n) == (thread, sum),
        }
    }

    /// Each thread stores those of its sums whose word of `in` is 1.
    fn kernel(self, missing: Missing, stored: impl Fn(usize, usize) -> bool) -> Kernel {
        let word = if let Missing::Word(word) = missing { word } else { 1000 };
        let mut body = format!(
            "mov.u32 %r100, tile;\nmad.lo.u32 %r101, %t, 16, %r100;\nmov.u32 %r1, 0;\nsetp.lt.u32 %p2, %t, 32;\nsetp.eq.u32 %p3, %r1, {};\n",
            u32::from(!self.adds)
        );
        for (from, n) in (0..4).map(|n| (0, n)).chain((0..4).map(|n| (512, n))) {
            let guard = if from == 0 { "ne" } else { "ne.and" };
            let also = if from == 0 { "" } else { ", %p2" };
            body += &format!(
                "mad.lo.u32 %r2, %t, 4, {};\nsetp.{guard}.u32 %p1, %r2, {word}{also};\n@%p1 st.shared.u32 [%r101+{}], %r1;\n",
                from + n,
                4 * (from + n)
            );
        }
        // Nobody writes the word at 4000.
        body += "fence.proxy.async;\nbar.sync 0;\n";
        let mut load = |register: &str, of: Option<usize>| {
            body += &format!("mov.b32 {register}, 0;\n");
            if let Some(thread) = of {
                body += &format!("setp.eq.u32 %p1, %t, {thread};\n@%p1 ld.shared.b32 {register}, [tile+4000];\n");
            }
        };
        for n in 0..4 {
            load(
                &format!("%r{}", 10 + n),
                if let Missing::OfA(thread, of) = missing { (of == n).then_some(thread) } else { None },
            );
        }
        let sum = |n: usize| if self.pairs { format!("%r{}", 20 + n) } else { format!("%f{n}") };
        for n in 0..self.sums() {
            load(&sum(n), if let Missing::OfD(thread, of) = missing { (of == n).then_some(thread) } else { None });
        }
        // Bytes between chunks along K and across it, by 16.
        let descriptor = |across: bool, along: u64| if across { along << 16 | 8 << 32 } else { 8 << 16 | 16 << 32 };
        let (a, b) = (descriptor(self.across[0], 64), descriptor(self.across[1], 16));
        let list: Vec<String> = (0..self.sums()).map(sum).collect();
        let flags = self.across.map(u8::from);
        let (operand, flags) = match self.in_registers {
            true => ("{%r10, %r11, %r12, %r13}", format!("{}", flags[1])),
            false => ("%d2", format!("{}, {}", flags[0], flags[1])),
        };
        body += &format!(
            "wgmma.fence.sync.aligned;\nshr.u32 %r3, %r100, 4;\ncvt.u64.u32 %d1, %r3;\nor.b64 %d2, %d1, {a};\nadd.u64 %d3, %d1, 128;\nor.b64 %d3, %d3, {b};\n\
             wgmma.mma_async.sync.aligned.m64n16k16.{}.f16.f16 {{{}}}, {operand}, %d3, %p3, 1, 1, {flags};\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n\
             mad.wide.u32 %d4, %t, 32, %in;\nmad.wide.u32 %d5, %t, 32, %out;\n",
            if self.pairs { "f16" } else { "f32" },
            list.join(", ")
        );
        for (n, sum) in list.iter().enumerate() {
            body += &format!(
                "ld.global.u32 %r4, [%d4+{}];\nsetp.eq.u32 %p1, %r4, 1;\n@%p1 st.global.b32 [%d5+{}], {sum};\n",
                4 * n,
                4 * n
            );
        }
        let kernel = Kernel { zeros: 4096, ..Kernel::new(128, &body) };
        let flag = |n: usize| u32::from(n % 8 < self.sums() && stored(n / 8, n % 8));
        let input = (0..1024).flat_map(|n| flag(n).to_le_bytes()).collect();
        Kernel { text: kernel.text.replacen("sm_90\n", "sm_90a\n", 1), ..kernel }.input(input)
    }
}

#[test]
fn a_sum_is_computed_from_its_row_its_column_and_what_stood_there() {
    let words = [0, 3, 41, 130, 259, 511, 512, 547, 580, 639].map(Missing::Word);
    let registers = [(0, 0), (13, 1), (70, 2), (127, 3)];
    let of_a = registers.map(|(thread, n)| Missing::OfA(thread, n));
    let of_d = registers.map(|(thread, n)| Missing::OfD(thread, n));
    let mut number = 0;
    for across in [[false; 2], [true, false], [false, true]] {
        for (pairs, in_registers) in [(false, false), (true, false), (true, true), (false, true)] {
            for missing in words.into_iter().chain(of_a).chain(of_d) {
                number += 1;
                // (Another third of them, and the other half, in each round.)
                let turn = number + number / 18;
                let form =
                    Form { pairs, in_registers, across: [across[0] && !in_registers, across[1]], adds: turn % 2 == 0 };
                if !matches!(missing, Missing::OfD(..)) && turn % 3 != 0 {
                    continue;
                }
                let kernel = form.kernel(missing, |thread, sum| !form.is_tainted(missing, thread, sum));
                kernel.run().unwrap_or_else(|fault| panic!("{form:?}, {missing:?}: {fault}"));
                let tainted: Vec<(usize, usize)> = (0..128 * form.sums())
                    .map(|n| (n / form.sums(), n % form.sums()))
                    .filter(|(thread, sum)| form.is_tainted(missing, *thread, *sum))
                    .collect();
                for which in [tainted.first(), tainted.get(tainted.len() / 2), tainted.last()].into_iter().flatten() {
                    let fault = form.kernel(missing, |thread, sum| (thread, sum) == *which).fault();
                    let at = (fault.kind, fault.site.thread.x as usize);
                    assert_eq!(at, (FaultKind::Uninitialised, which.0), "{form:?}, {missing:?}: {fault}");
                    if let Missing::Word(word) = missing {
                        // The product's warp is named by its first lane.
                        let other =
                            fault.other.as_ref().map(|(_, site)| (site.thread.x as usize, site.opcode.as_ref()));
                        let named = fault.message.contains(&format!("offset {}", 4 * word));
                        let product = other.is_some_and(|(first, opcode): (usize, &str)| {
                            first == which.0 / 32 * 32 && opcode.starts_with("wgmma")
                        });
                        assert!(named && product, "{form:?}, {missing:?}: {fault}");
                    }
                }
            }
        }
    }
}

/// Products of 64 by N by 16 of zeros, of A in registers or not, and what lies between.
fn products(steps: &[&str]) -> Result<Outcome, Box<Fault>> {
    let descriptor = 8u64 << 16 | 16 << 32;
    let list =
        |from: usize, count: usize| (from..from + count).map(|n| format!("%f{n}")).collect::<Vec<_>>().join(", ");
    let mut body = String::from(
        "mov.u32 %r1, tile;\nmad.lo.u32 %r1, %t, 32, %r1;\nmov.u32 %r2, 0;\nst.shared.v4.u32 [%r1], {%r2, %r2, %r2, %r2};\nst.shared.v4.u32 [%r1+16], {%r2, %r2, %r2, %r2};\n\
         fence.proxy.async;\nbar.sync 0;\nmov.b32 %r10, 0;\nmov.b32 %r11, 0;\nmov.b32 %r12, 0;\nmov.b32 %r13, 0;\nmov.b32 %f40, 0f40000000;\n",
    );
    body += &format!("mov.b64 %d1, {descriptor};\n");
    (0..24).for_each(|n| body += &format!("mov.b32 %f{n}, 0f3F800000;\n"));
    for step in steps {
        // `R0`: to the sums from 0 on, A from registers; `S8x16`: to those from 8 on, of shape 16.
        let (what, rest) = step.split_at(1);
        let (from, wide) = match rest.split_once("x16") {
            Some((from, _)) => (from, 8),
            None => (rest, 4),
        };
        body += &match (what, from.parse::<usize>()) {
            ("R" | "S", Ok(from)) => format!(
                "wgmma.mma_async.sync.aligned.m64n{}k16.f32.bf16.bf16 {{{}}}, {}, %d1, 1, 1, 1{}, 0;\n",
                2 * wide,
                list(from, wide),
                if what == "R" { "{%r10, %r11, %r12, %r13}" } else { "%d1" },
                if what == "R" { "" } else { ", 0" },
            ),
            _ => format!("{step}\n"),
        };
    }
    body += "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nmad.wide.u32 %d2, %t, 4, %out;\nst.global.f32 [%d2], %f0;";
    let kernel = Kernel::new(128, &body);
    Kernel { text: kernel.text.replacen("sm_90\n", "sm_90a\n", 1), ..kernel }.run()
}

#[test]
fn registers_of_a_product_are_its_own_until_it_is_waited_for() {
    const FENCE: &str = "wgmma.fence.sync.aligned;";
    const COMMIT: &str = "wgmma.commit_group.sync.aligned;";
    const WAIT: &str = "wgmma.wait_group.sync.aligned 0;";
    const ALL_BUT_ONE: &str = "wgmma.wait_group.sync.aligned 1;";
    let (read_a, write_a, read, write) =
        ("add.u32 %r20, %r10, 1;", "add.u32 %r13, %r20, 1;", "add.f32 %f50, %f3, %f3;", "add.f32 %f0, %f40, %f40;");
    let (move_to_a, move_to_sum) = ("mov.b32 %r12, %r2;", "mov.b32 %f2, %f40;");
    for steps in [
        vec![FENCE, "R0", "R0"],
        vec![FENCE, "R0", "R4", "S8x16"],
        vec![FENCE, "R0", read_a],
        vec![FENCE, "R0", COMMIT, WAIT, write_a, read, write],
        vec![FENCE, "R0", COMMIT, "R4", COMMIT, ALL_BUT_ONE, read, write],
        vec![FENCE, "S0", COMMIT, ALL_BUT_ONE, "S4", write_a],
        vec![FENCE, "S0", "S0", COMMIT, WAIT, FENCE, "S0x16"],
        vec![write_a, write, FENCE, "R0"],
        vec![FENCE, "R0", COMMIT, WAIT, move_to_a, move_to_sum],
        vec![FENCE, "S0", "add.u32 %r20, %r10, 1;", "mov.b32 %r12, %r2;"],
    ] {
        let outcome = products(&steps).unwrap_or_else(|fault| panic!("{steps:?}: {fault}"));
        outcome.words(128);
    }
    let (sums, of_a) = ("accumulators of the product at ", "A of the product at ");
    for (steps, what, now) in [
        (vec![FENCE, "R0", write_a], of_a, "written at"),
        (vec![FENCE, "R0", move_to_a], of_a, "written at"),
        (vec![FENCE, "R0", read], sums, "touched at"),
        (vec![FENCE, "R0", write], sums, "touched at"),
        (vec![FENCE, "R0", move_to_sum], sums, "touched at"),
        (vec![FENCE, "S0", COMMIT, read], sums, "touched at"),
        (vec![FENCE, "S0", COMMIT, "S4", COMMIT, ALL_BUT_ONE, "add.f32 %f50, %f4, %f4;"], sums, "touched at"),
        (vec![FENCE, "R0", COMMIT, "R4", COMMIT, ALL_BUT_ONE, write_a], of_a, "written at"),
        (vec![FENCE, "S0", "S0x16"], sums, "by a product of another shape at"),
        (vec![FENCE, "S0x16", "S4"], sums, "by a product of another shape at"),
        (vec![FENCE, "S8", "S8x16"], sums, "by a product of another shape at"),
    ] {
        let fault = products(&steps).map(drop).expect_err("it is under way");
        assert_eq!(fault.kind, FaultKind::Race, "{steps:?}: {fault}");
        assert!(fault.message.contains(what) && fault.message.contains(now), "{steps:?}: {fault}");
        assert!(fault.message.starts_with("race on registers of warp "), "{steps:?}: {fault}");
        assert_eq!(fault.site.lane, 0, "a warp is named by its first lane: {fault}");
        let other =
            fault.other.as_ref().map(|(what, site)| (what.as_str(), site.opcode.starts_with("wgmma.mma_async")));
        assert_eq!(other, Some(("the product:", true)), "{steps:?}: {fault}");
    }
    for (steps, what) in [
        (vec!["S0"], "with no `wgmma.fence` before"),
        (vec![FENCE, write, "S0"], "with no `wgmma.fence` between"),
        (vec![FENCE, write_a, "R0"], "with no `wgmma.fence` between"),
        (vec![FENCE, "S0", COMMIT, WAIT, read, "S0"], "with no `wgmma.fence` between"),
        (vec![FENCE, "R0", COMMIT, WAIT, read_a, "R0"], "with no `wgmma.fence` between"),
    ] {
        let fault = products(&steps).map(drop).expect_err("it is not ordered");
        assert!(fault.kind == FaultKind::Race && fault.message.contains(what), "{steps:?}: {fault}");
    }
}

/// A product by the second of two warpgroups, with both operands at these places of `tile`; before it, thread `thread` of that does
/// something of its own.
fn by_the_second(places: [u32; 2], thread: u32, own: &str) -> Result<Outcome, Box<Fault>> {
    let at = |place: u32| u64::from(place / 16) | 8 << 16 | 16 << 32;
    let body = format!(
        "mov.u32 %r1, tile;\nmad.lo.u32 %r1, %t, 16, %r1;\nmov.u32 %r2, 0;\nst.shared.v4.u32 [%r1], {{%r2, %r2, %r2, %r2}};\nfence.proxy.async;\nbar.sync 0;\n\
         setp.lt.u32 %p1, %t, 128;\n@%p1 bra END;\nmov.b64 %d1, {};\nmov.b64 %d3, {};\nsetp.eq.u32 %p2, %r2, 0;\nmov.f32 %f0, 0f40000000;\nmov.f32 %f1, %f0;\nmov.f32 %f2, %f0;\nmov.f32 %f3, %f0;\n\
         sub.u32 %r3, %t, 128;\nsetp.eq.u32 %p3, %r3, {thread};\nshr.u32 %r4, %r3, 5;\nsetp.eq.u32 %p4, %r4, {};\n{own}\nwgmma.fence.sync.aligned;\n\
         wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{%f0, %f1, %f2, %f3}}, %d1, %d3, %p2, 1, 1, 0, 0;\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n\
         mad.wide.u32 %d2, %r3, 4, %out;\nst.global.f32 [%d2], %f3;\nEND:",
        at(places[0]),
        at(places[1]),
        thread / 32
    );
    let kernel = Kernel::new(256, &body);
    Kernel { text: kernel.text.replacen("sm_90\n", "sm_90a\n", 1), ..kernel }.run()
}

#[test]
fn what_a_warpgroup_says_of_a_product_all_of_its_threads_say() {
    let added = by_the_second([0, 2048], 0, "").unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(added.words(128), [2f32.to_bits(); 128]);
    let unlike = "setp.ne.u32 %p2, %r2, 0;";
    assert_eq!(by_the_second([0, 0], 0, unlike).unwrap_or_else(|fault| panic!("{fault}")).words(128), [0; 128]);
    for thread in [0, 1, 5, 31, 32, 33, 64, 96, 127] {
        for (own, what) in [
            ("@%p3 add.u64 %d1, %d1, 1;", "where A lies"),
            ("@%p3 add.u64 %d3, %d3, 1;", "where B lies"),
            ("@%p3 setp.ne.u32 %p2, %r2, 0;", "whether to add to D"),
        ] {
            let fault = by_the_second([0, 0], thread, own).map(drop).expect_err("one of them is alone");
            // Where the first one is alone, the second one is named.
            let named = 128 + thread.max(1);
            assert_eq!((fault.kind, fault.site.thread.x), (FaultKind::Barrier, named), "{own}: {fault}");
            let said = format!("threads of a warpgroup say differently {what}: thread ({named},0) and the first");
            assert_eq!(fault.message, said);
        }
    }
    for warp in 0..4u32 {
        let own = "@%p4 wgmma.commit_group.sync.aligned;";
        let fault = by_the_second([0, 0], 32 * warp, own).map(drop).expect_err("one of them has a group more");
        let (own, other, theirs) = if warp == 0 { (1, 5, 0) } else { (0, 4 + warp, 1) };
        let said = format!("warp 4 has committed {own} groups of products, and warp {other} of its warpgroup {theirs}");
        assert_eq!((fault.kind, fault.message, fault.site.thread.x), (FaultKind::Barrier, said, 128));
    }
}

#[test]
fn the_operands_of_a_product_lie_in_shared_memory() {
    // A has 2048 bytes, B has 256.
    assert!(by_the_second([2048, 3840], 0, "").is_ok());
    for (places, operand, line) in [([2064, 0], "A (start 2064", 63), ([0, 3856], "B (start 3856", 7)] {
        let fault = by_the_second(places, 0, "").map(drop).expect_err("it runs past the end");
        let said = format!(
            "{operand}, leading 128, stride 256 bytes, no swizzle): its chunk 1 of line {line} lies at offset 4096, outside "
        );
        assert!(fault.kind == FaultKind::OutOfBounds && fault.message.contains(&said), "{fault}");
        assert_eq!(fault.site.thread.x, 128, "{fault}");
    }
    for (register, operand) in [("%d1", "A"), ("%d3", "B")] {
        let own = format!("or.b64 {register}, {register}, 0x8000;");
        let fault = by_the_second([0, 0], 0, &own).map(drop).expect_err("no field has this bit");
        let said = format!("{operand}'s descriptor 0x0000001000088000 has bits set that belong to no field");
        assert!(fault.kind == FaultKind::Misaligned && fault.message.contains(&said), "{fault}");
        assert_eq!(fault.site.thread.x, 128, "{fault}");
    }
}
