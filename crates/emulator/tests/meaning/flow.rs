//! Control flow by chance, with loops into each other and ways out of them, against each lane going its way alone.

use emulator::{Class, Launch, Schedule};

use crate::dice::Dice;
use crate::run::Kernel;

/// How a block ends. Conditions are of the lane's number `x`.
#[derive(Clone, Debug)]
enum End {
    Jump(usize),
    /// To the first block where bit `bit` of `x` is set, else to the second.
    Branch(u32, usize, usize),
    /// By two bits of `x`, to one of these.
    Table(u32, Vec<usize>),
    /// Ends the lane here, where the bit is set; else goes on.
    Leave(u32, usize),
}

#[derive(Clone, Debug)]
struct Block {
    factor: u32,
    /// Lanes of which this bit of `x` is set add once more.
    guarded: u32,
    /// All lanes that come here together vote, which changes nothing.
    end: End,
}

const FUEL: u32 = 40;
const LANES: u32 = 48;

fn by_chance(dice: &mut Dice) -> Vec<Block> {
    let count = 2 + dice.roll(7) as usize;
    // A block leads to any; `count` is the end.
    let block = |dice: &mut Dice| {
        let mut to = || dice.roll(count as u64 + 1) as usize;
        let (a, b, c, d) = (to(), to(), to(), to());
        let bit = dice.roll(12) as u32;
        let end = match dice.roll(10) {
            0..2 => End::Jump(a),
            2..8 => End::Branch(bit, a, b),
            8 => End::Table(bit, vec![a, b, c, d]),
            _ => End::Leave(bit, a),
        };
        Block { factor: dice.roll(1000) as u32 * 2 + 1, guarded: dice.roll(12) as u32, end }
    };
    (0..count).map(|_| block(dice)).collect()
}

fn text(blocks: &[Block]) -> String {
    let name = |n: usize| if n == blocks.len() { "END".to_string() } else { format!("B{n}") };
    let mut body = format!(
        "mad.lo.u32 %r1, %t, 2654435761, 12345;\nmov.u32 %r2, {FUEL};\nmad.wide.u32 %d90, %t, 4, %out;\nbra B0;\n"
    );
    for (n, block) in blocks.iter().enumerate() {
        body += &format!(
            ".loc 1 {} 0\nB{n}: mad.lo.u32 %r1, %r1, {}, {n};\n.loc 1 1000 0\nshr.u32 %r3, %r1, {};\nand.b32 %r3, %r3, 1;\nsetp.ne.u32 %p1, %r3, 0;\n\
             .loc 1 {} 0\n@%p1 add.u32 %r1, %r1, 77;\n.loc 1 1000 0\nsub.u32 %r2, %r2, 1;\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra END;\nshr.u32 %r4, %r1, 9;\n",
            n + 1,
            block.factor,
            block.guarded,
            n + 101
        );
        let bit = |bit: u32| format!("shr.u32 %r5, %r4, {bit};\nand.b32 %r5, %r5, 1;\nsetp.ne.u32 %p3, %r5, 0;\n");
        body += &match &block.end {
            End::Jump(to) => format!("bra.uni {};\n", name(*to)),
            End::Branch(n, yes, no) => format!("{}@%p3 bra {};\nbra {};\n", bit(*n), name(*yes), name(*no)),
            End::Table(from, to) => {
                let list: Vec<String> = to.iter().map(|to| name(*to)).collect();
                format!(
                    "shr.u32 %r5, %r4, {from};\nand.b32 %r5, %r5, 3;\nT{n}: .branchtargets {};\nbrx.idx %r5, T{n};\n",
                    list.join(", ")
                )
            }
            End::Leave(n, to) => format!("{}st.global.u32 [%d90], %r1;\n@%p3 ret;\nbra {};\n", bit(*n), name(*to)),
        };
    }
    body + "END: st.global.u32 [%d90], %r1;\nmov.u32 %r6, 0xffffffff;\nsetp.ge.u32 %p5, %t, 32;\n@%p5 mov.u32 %r6, 0xffff;\nbar.warp.sync %r6;\nbar.sync 0;"
}

/// What a lane ends with, and how often it ran the first and the guarded instruction of each block.
fn alone(blocks: &[Block], lane: u32, ran: &mut [[u64; 2]]) -> u32 {
    let (mut x, mut fuel, mut at) = (lane.wrapping_mul(2_654_435_761).wrapping_add(12345), FUEL, 0);
    while at < blocks.len() {
        let block = &blocks[at];
        x = x.wrapping_mul(block.factor).wrapping_add(at as u32);
        ran[at][0] += 1;
        if x >> block.guarded & 1 == 1 {
            x = x.wrapping_add(77);
            ran[at][1] += 1;
        }
        fuel -= 1;
        if fuel == 0 {
            break;
        }
        let y = x >> 9;
        at = match &block.end {
            End::Jump(to) => *to,
            End::Branch(bit, yes, no) => {
                if y >> bit & 1 == 1 {
                    *yes
                } else {
                    *no
                }
            }
            End::Table(bit, to) => to[(y >> bit & 3) as usize],
            End::Leave(bit, _) if y >> bit & 1 == 1 => break,
            End::Leave(_, to) => *to,
        };
    }
    x
}

#[test]
fn every_lane_goes_its_way() {
    for seed in 0..300 {
        let mut dice = Dice::new(seed);
        let blocks = by_chance(&mut dice);
        let mut ran = vec![[0; 2]; blocks.len()];
        let wanted: Vec<u32> = (0..LANES).map(|lane| alone(&blocks, lane, &mut ran)).collect();
        let schedule = dice.pick(&Schedule::ALL);
        let kernel = Kernel::new(LANES, &text(&blocks)).launch(Launch::new(1, LANES).schedule(schedule));
        let outcome = kernel.run().unwrap_or_else(|fault| panic!("seed {seed}: {fault}\n{blocks:#?}"));
        assert_eq!(outcome.words(LANES as usize), wanted, "seed {seed}, {schedule}\n{blocks:#?}");
        for (n, ran) in ran.iter().enumerate() {
            let line = |number: usize| {
                let line = outcome.report.lines.iter().find(|line| line.line as usize == number);
                line.map_or(0, |line| line.counters.class(Class::Integer).thread)
            };
            assert_eq!([line(n + 1), line(n + 101)], *ran, "seed {seed}: block {n}\n{blocks:#?}");
        }
    }
}
