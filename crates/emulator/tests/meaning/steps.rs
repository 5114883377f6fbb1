//! Kernels of a few steps, each an access by some threads, or a barrier: what they leave in memory, what they count, and
//! whether they race, against an account that is kept here.

use emulator::{Dim3, Fault, FaultKind, Launch, Schedule};

use crate::accesses::{Access, Kind, Step, THREADS, alive, check_counts, knowledge};
use crate::dice::Dice;
use crate::run::{Kernel, TILE, thread_at};

const BLOCK: Dim3 = Dim3 { x: 16, y: 5, z: 1 };
const GRID: u32 = 3;

fn access_by_chance(dice: &mut Dice, shared: bool, atomics: bool, near: bool) -> Access {
    let kind = match dice.roll(if atomics { 8 } else { 7 }) {
        0..4 => Kind::Store,
        4..7 => Kind::Load,
        _ => Kind::Atomic,
    };
    let (elements, bytes) = match kind {
        Kind::Atomic => (1, 4),
        _ if near => (1, 4),
        _ => dice.pick(&[(1, 1), (1, 2), (1, 4), (1, 4), (1, 4), (1, 8), (2, 2), (2, 4), (4, 4), (2, 8), (4, 1)]),
    };
    let only = (dice.roll(3) == 0).then(|| (dice.pick(&[0, 2, 4, 5]), dice.roll(2) == 1));
    let everything = if shared { TILE as u32 } else { 2 * TILE as u32 } / (elements * bytes);
    // Most patterns give each thread a place of its own.
    let (div, stride, count) = match if near { 0 } else { dice.roll(8) } {
        0..4 => (1, 1, everything),
        4 => (1, dice.pick(&[3, 7]), everything),
        5 => (2, 1, everything),
        6 if kind == Kind::Load => (1, 0, everything),
        _ => (1, 1, dice.pick(&[79, 80, 100, 250]).min(everything)),
    };
    let by_block = if shared { 0 } else { if near { 200 } else { dice.pick(&[80, 80, 81, 1]) } };
    let by_round = dice.pick(&[0, 0, 1, 2, 32, 80]);
    Access {
        by_round,
        line: 0,
        round: 0,
        kind,
        shared,
        elements,
        bytes,
        only,
        div,
        stride,
        by_block,
        shift: dice.pick(if near { &[0, 0, 0, 1, 4, 32] } else { &[0, 0, 0, 1, 16, 33] }),
        count,
    }
}

/// A race that the account knows: steps, blocks and threads.
type Pair = [(u32, u32, u32); 2];

/// Who touched a byte: step, block, thread, and how.
type Touch = (u32, u32, u32, Kind);

struct Account {
    memory: [Vec<u8>; 2],
    /// What the threads have added up.
    sums: Vec<u64>,
    races: Vec<Pair>,
}

/// Runs the steps thread by thread, and notes every race.
fn account(steps: &[Step], blocks: u32) -> Account {
    let mut shared = vec![vec![0u8; TILE]; blocks as usize];
    let mut global = vec![0u8; 2 * TILE];
    let mut sums = vec![0u64; (blocks * THREADS) as usize];
    let mut touches: Vec<(bool, u32, u32, Touch)> = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let Step::Access(access) = step else { continue };
        let number = number as u32;
        for block in 0..blocks {
            for thread in (0..alive(steps, number as usize)).filter(|thread| access.runs(*thread)) {
                let at = access.at(block, thread);
                let memory = if access.shared { &mut shared[block as usize] } else { &mut global };
                for n in 0..access.elements {
                    let from = (at + n * access.bytes) as usize;
                    let bytes = &mut memory[from..from + access.bytes as usize];
                    let value = access.value(block, thread, n).to_le_bytes();
                    match access.kind {
                        Kind::Load => {}
                        Kind::Store => bytes.copy_from_slice(&value[..bytes.len()]),
                        Kind::Atomic => {
                            let old = u32::from_le_bytes(bytes.try_into().expect("4 bytes"));
                            let new = old.wrapping_add(u32::from_le_bytes(value[..4].try_into().expect("4 bytes")));
                            bytes.copy_from_slice(&new.to_le_bytes());
                        }
                    }
                }
                let home = if access.shared { block } else { u32::MAX };
                for byte in at..at + access.size() {
                    touches.push((access.shared, home, byte, (number, block, thread, access.kind)));
                }
            }
            for thread in 0..alive(steps, number as usize) {
                if access.kind == Kind::Load {
                    let memory = if access.shared { &shared[block as usize] } else { &global };
                    for n in 0..access.elements {
                        let from = (access.at(block, thread) + n * access.bytes) as usize;
                        let mut word = [0; 8];
                        if access.runs(thread) {
                            word[..access.bytes as usize].copy_from_slice(&memory[from..from + access.bytes as usize]);
                        }
                        let sum = &mut sums[(block * THREADS + thread) as usize];
                        *sum = sum.wrapping_mul(31).wrapping_add(u64::from_le_bytes(word));
                    }
                }
            }
        }
    }
    let known = knowledge(steps);
    touches.sort_by_key(|(shared, home, byte, touch)| (*shared, *home, *byte, touch.0, touch.1, touch.2));
    let mut races = Vec::new();
    for of_byte in touches.chunk_by(|a, b| (a.0, a.1, a.2) == (b.0, b.1, b.2)) {
        for (n, (.., later)) in of_byte.iter().enumerate() {
            for (.., earlier) in &of_byte[..n] {
                let plain = earlier.3 != Kind::Atomic || later.3 != Kind::Atomic;
                let writes = earlier.3 != Kind::Load || later.3 != Kind::Load;
                if plain && writes && !ordered(&known, earlier, later) {
                    races.push([(earlier.0, earlier.1, earlier.2), (later.0, later.1, later.2)]);
                }
            }
        }
    }
    Account { memory: [shared.concat(), global], sums, races }
}

fn ordered(known: &[Vec<Vec<usize>>], earlier: &Touch, later: &Touch) -> bool {
    let knows = || known[later.0 as usize][later.2 as usize][earlier.2 as usize] > earlier.0 as usize;
    earlier.1 == later.1 && (earlier.2 == later.2 || knows())
}

/// Steps by chance, of which about half race.
fn steps_by_chance(dice: &mut Dice, atomics: bool, partial: bool) -> Vec<Step> {
    let (shared, mut steps) = (dice.roll(2) == 0, Vec::new());
    let mut ended = false;
    for _ in 0..2 + dice.roll(if partial { 2 } else { 4 }) {
        steps.push(Step::Access(access_by_chance(dice, shared, atomics, partial)));
        match if partial { 3 + dice.roll(12) } else { dice.roll(8) } {
            8..10 => steps.push(Step::Eights),
            10..14 => steps.push(Step::Pair(if ended { 2 } else { dice.roll(3) as u32 })),
            14 if !ended => {
                ended = true;
                steps.push(Step::End);
            }
            0..4 => steps.push(Step::Barrier),
            4 => steps.push(Step::WarpBarrier),
            _ => {}
        }
    }
    steps
}

/// A kernel of the steps. Its first threads fill the tile; at its end, what the threads added up and the tile go to `out`, behind
/// the 8192 bytes that the steps use.
fn kernel(steps: &[Step], rounds: u32, blocks: u32, tail: &str) -> Kernel {
    let mut body = format!(
        ".loc 1 1000 0\nmov.u64 %d1, 0;\nmov.u32 %r1, %t;\nFILL: shl.b32 %r2, %r1, 2;\nmov.u32 %r3, tile;\nadd.u32 %r3, %r3, %r2;\n\
         mov.u32 %r4, 0;\nst.shared.u32 [%r3], %r4;\nadd.u32 %r1, %r1, {THREADS};\nsetp.lt.u32 %p0, %r1, {};\n@%p0 bra FILL;\nbar.sync 0;\nmov.u32 %r120, 0;\nROUND:\n",
        TILE / 4
    );
    for (number, step) in steps.iter().enumerate() {
        body += &match step {
            Step::Access(access) => access.text(),
            Step::Barrier => "bar.sync 0;\n".to_string(),
            Step::WarpBarrier => "bar.warp.sync %r127;\n".to_string(),
            Step::Eights => "bar.warp.sync %r126;\n".to_string(),
            Step::Pair(without) => {
                format!(
                    "setp.eq.u32 %p2, %r125, {without};\n@%p2 bra PAST{number};\nbar.sync {}, 64;\nPAST{number}:\n",
                    1 + number % 15
                )
            }
            Step::End => format!(
                ".loc 1 1000 0\nsetp.lt.u32 %p2, %t, 64;\n@%p2 bra PAST{number};\nmad.lo.u32 %r1, %block, {THREADS}, %t;\n\
                 mad.wide.u32 %d2, %r1, 8, %out;\nst.global.u64 [%d2+{}], %d1;\nret;\nPAST{number}:\n",
                2 * TILE
            ),
        };
    }
    if rounds > 1 {
        body += &format!("add.u32 %r120, %r120, 1;\nsetp.lt.u32 %p0, %r120, {rounds};\n@%p0 bra ROUND;\n");
    }
    let (sums, tiles) = (2 * TILE as u32, 2 * TILE as u32 + 8 * blocks * THREADS);
    body += &format!(
        "{tail}.loc 1 1000 0\nbar.sync 0;\nmad.lo.u32 %r1, %block, {THREADS}, %t;\nmad.wide.u32 %d2, %r1, 8, %out;\nst.global.u64 [%d2+{sums}], %d1;\n\
         setp.ge.u32 %p0, %t, 64;\n@%p0 ret;\nmov.u32 %r1, %t;\nCOPY: shl.b32 %r2, %r1, 2;\nmov.u32 %r3, tile;\nadd.u32 %r3, %r3, %r2;\nld.shared.u32 %r4, [%r3];\n\
         mad.lo.u32 %r2, %block, {TILE}, %r2;\ncvt.u64.u32 %d2, %r2;\nadd.u64 %d2, %out, %d2;\nst.global.u32 [%d2+{tiles}], %r4;\n\
         add.u32 %r1, %r1, 64;\nsetp.lt.u32 %p0, %r1, {};\n@%p0 bra COPY;",
        TILE / 4
    );
    // The last warp has 16 lanes.
    let members = "setp.lt.u32 %p15, %t, 64;\nselp.b32 %r127, 0xffffffff, 0xffff, %p15;\nshr.u32 %r125, %t, 5;\n\
                   and.b32 %r124, %t, 24;\nmov.u32 %r126, 255;\nshl.b32 %r126, %r126, %r124;\n";
    let body = format!("{members}{body}");
    Kernel::new(0, &body).launch(Launch::new(blocks, BLOCK)).output((tiles + blocks * TILE as u32) as usize)
}

fn as_dim(block: u32) -> Dim3 {
    Dim3 { x: block, y: 0, z: 0 }
}

fn line(steps: &[Step], step: u32) -> u32 {
    match steps[step as usize] {
        Step::Access(access) => access.line,
        _ => u32::MAX,
    }
}

/// A race must be one that the account knows, with all that is said of it.
fn check_race(fault: &Fault, steps: &[Step], races: &[Pair], text: &str) {
    assert_eq!(fault.kind, FaultKind::Race, "{fault}\n{text}");
    let other = fault.other.as_ref().map(|(_, site)| site).unwrap_or_else(|| panic!("one party: {fault}"));
    let party = |site: &emulator::Site| {
        let (file, line) = site.source.clone().expect("every access has its line");
        assert_eq!(&*file, "k.cu");
        (line - 1, site.block, site.thread)
    };
    let known = [party(other), party(&fault.site)];
    // The place that it names is one that both access.
    let at: u32 = fault
        .message
        .split("at offset ")
        .nth(1)
        .expect("an offset")
        .split(':')
        .next()
        .expect("a number")
        .parse()
        .expect("a number");
    let pair = races.iter().find(|pair| {
        let of = |n: usize| (line(steps, pair[n].0), as_dim(pair[n].1), thread_at(BLOCK, pair[n].2));
        let there = pair.iter().all(|(step, block, thread)| match steps[*step as usize] {
            Step::Access(access) => (0..access.size()).any(|n| access.at(*block, *thread) + n == at),
            _ => false,
        });
        there && ([of(0), of(1)] == known || [of(1), of(0)] == known)
    });
    let Some(pair) = pair else {
        panic!("these two do not race there: {fault}\n{text}\n{:?}", &races[..races.len().min(5)])
    };
    for (step, block, thread) in pair {
        let Step::Access(access) = steps[*step as usize] else { panic!("a barrier does not race") };
        let verb = match access.kind {
            Kind::Load => "load",
            Kind::Store => "store",
            Kind::Atomic => "atomic",
        };
        let block = if pair[0].1 != pair[1].1 { format!("block {}, ", as_dim(*block)) } else { String::new() };
        let who = format!("{verb} by {block}thread {}", thread_at(BLOCK, *thread));
        assert!(fault.message.contains(&who), "{fault}\n{text}");
        let space = if access.shared { "tile (shared memory)" } else { "out" };
        assert!(fault.message.starts_with(&format!("race on {space} at offset ")), "{fault}");
    }
    for site in [other, &fault.site] {
        let thread = site.thread.y * BLOCK.x + site.thread.x;
        assert_eq!((site.warp, site.lane), (thread / 32, thread % 32));
    }
}

/// Runs kernels by chance, each with something behind the steps that makes the emulator watch more closely, or not.
fn try_many(seeds: std::ops::Range<u64>, atomics: bool, partial: bool, tail: &str) {
    let (mut races, mut right) = (0, 0);
    for seed in seeds.clone() {
        let mut dice = Dice::new(seed);
        let mut once = steps_by_chance(&mut dice, atomics, partial);
        let ends = once.iter().any(|step| matches!(step, Step::End));
        let rounds = if ends { 1 } else { 1 + dice.roll(3) as u32 };
        if rounds > 1 && dice.roll(8) > 0 {
            once.push(Step::Barrier);
        }
        for (number, step) in once.iter_mut().enumerate() {
            if let Step::Access(access) = step {
                access.line = number as u32;
            }
        }
        let in_round = |round: u32| {
            once.iter().map(move |step| match *step {
                Step::Access(access) => Step::Access(Access { round, ..access }),
                other => other,
            })
        };
        let steps: Vec<Step> = (0..rounds).flat_map(in_round).collect();
        let blocks = if dice.roll(2) == 0 { 1 } else { GRID };
        let expected = account(&steps, blocks);
        let kernel = kernel(&once, rounds, blocks, tail);
        let schedule = dice.pick(&Schedule::ALL);
        let kernel = Kernel { launch: kernel.launch.schedule(schedule), zeros: 2 * TILE, ..kernel };
        let text = format!("seed {seed}, {schedule}, {blocks} blocks, {rounds} rounds\n{once:#?}");
        let unchecked = Kernel { launch: kernel.launch.sanitize(false), ..kernel.clone() };
        let outcome = unchecked.run().unwrap_or_else(|fault| panic!("nobody asked for races: {fault}\n{text}"));
        check_counts(&outcome.report, &steps, blocks, &text);
        if expected.races.is_empty() {
            check_memory(&outcome.bytes, &expected, &text);
        }
        match (kernel.run(), expected.races.is_empty()) {
            (Ok(outcome), true) => {
                right += 1;
                check_counts(&outcome.report, &steps, blocks, &text);
                check_memory(&outcome.bytes, &expected, &text);
            }
            (Err(fault), false) => {
                races += 1;
                check_race(&fault, &steps, &expected.races, &text);
            }
            (Ok(_), false) => panic!("{:?} race, and nobody sees it\n{text}", expected.races[0]),
            (Err(fault), true) => panic!("nothing is wrong: {fault}\n{text}"),
        }
    }
    let share = (seeds.end - seeds.start) / 6;
    assert!(races > share && right > share, "the dice are loaded: {races} races, {right} right ones");
}

fn check_memory(bytes: &[Option<u8>], expected: &Account, text: &str) {
    let [shared, global] = &expected.memory;
    let sums: Vec<u8> = expected.sums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
    for (name, part, wanted) in [
        ("out", &bytes[..global.len()], global),
        ("what the threads loaded", &bytes[global.len()..][..sums.len()], &sums),
        ("the tile", &bytes[global.len() + sums.len()..], shared),
    ] {
        let differs = part.iter().zip(wanted).position(|(got, wanted)| *got != Some(*wanted));
        assert_eq!(differs, None, "{name}\n{text}");
    }
}

#[test]
fn stores_and_loads_between_barriers_race_or_do_not() {
    try_many(0..250, false, false, "");
}

#[test]
fn the_order_model_says_the_same() {
    // A fence orders nothing here: no thread reads what another wrote behind one.
    try_many(1000..1120, false, false, "fence.acq_rel.gpu;\n");
}

#[test]
fn atomics_race_with_everything_but_atomics() {
    try_many(2000..2150, true, false, "");
}

#[test]
fn barriers_of_some_threads_order_those() {
    try_many(3000..3200, true, true, "");
}
