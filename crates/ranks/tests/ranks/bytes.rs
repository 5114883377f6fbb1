use ranks::layout::{Operand, Panel};
use ranks::volume::{by_link, by_rank, memory, received, transfers};
use ranks::{Plan, Variant};

use crate::{GRIDS, SHAPES, in_parts, layout, plan, shape};

#[test]
fn every_plan_moves_what_the_formula_says() {
    for shape in SHAPES.map(shape) {
        for grid in GRIDS {
            for variant in Variant::ALL {
                let parts = 1 + (shape.m + shape.n) as usize % 3;
                let plan = Plan::new(layout(shape, grid).in_parts(parts), variant, 2).unwrap();
                let by_formula: Vec<u64> = (0..plan.layout.ranks()).map(|rank| received(&plan.layout, rank)).collect();
                let counted: Vec<u64> = by_rank(&plan).into_iter().map(|[received, _]| received).collect();
                assert_eq!(counted, by_formula, "{shape} over {grid:?} by {variant:?}");
                let sent: u64 = by_rank(&plan).into_iter().map(|[_, sent]| sent).sum();
                assert_eq!((sent, by_link(&plan).values().sum()), (by_formula.iter().sum(), sent));
            }
        }
    }
}

#[test]
fn square_matrices_move_as_much_as_the_lesson_says() {
    // n²·(1/P + 1/Q − 2/R) elements of 4 bytes into each rank.
    let n = 96u64;
    for ([rows, columns], elements) in [
        ([2, 1], n * n / 2),
        ([4, 1], n * n * 3 / 4),
        ([2, 2], n * n / 2),
        ([1, 4], n * n * 3 / 4),
        ([4, 4], n * n * 3 / 8),
    ] {
        let plan = plan(n as u32, [rows, columns], Variant::Copies);
        assert!(by_rank(&plan).iter().all(|bytes| *bytes == [4 * elements; 2]), "{rows}×{columns}");
    }
}

#[test]
fn in_each_step_of_the_overlapped_variants_a_rank_takes_one_panel_and_gives_one() {
    for variant in [Variant::Collectives, Variant::Copies] {
        for grid in [[4, 1], [7, 1], [2, 2], [1, 3]] {
            let plan = plan(84, grid, variant);
            let steps = grid[0] + grid[1] - 2;
            let all = transfers(&plan);
            for step in 1..=steps {
                for rank in 0..plan.layout.ranks() {
                    let into = all.iter().filter(|t| t.step == step && t.to == rank).count();
                    let out = all.iter().filter(|t| t.step == step && t.from == rank).count();
                    assert_eq!((into, out), (1, 1), "step {step}, rank {rank} of {grid:?}");
                }
            }
            assert_eq!(all.len(), steps * plan.layout.ranks());
        }
    }
}

#[test]
fn parts_are_steps_of_their_own_and_as_much_together() {
    let [whole, halves] = [1, 2].map(|parts| in_parts(64, [4, 1], Variant::Copies, parts));
    let [all, half] = [&whole, &halves].map(transfers);
    assert_eq!((half.len(), half[half.len() - 1].step), (2 * all.len(), 2 * all[all.len() - 1].step));
    assert!(half.iter().all(|transfer| 2 * transfer.bytes == all[0].bytes));
    assert_eq!(by_rank(&whole), by_rank(&halves));
    // What does not travel stays whole, and collectives take all at once.
    assert_eq!((halves.layout.parts(Operand::A), halves.layout.parts(Operand::B)), (1, 2));
    assert_eq!(in_parts(64, [4, 1], Variant::Collectives, 2), in_parts(64, [4, 1], Variant::Collectives, 1));
}

#[test]
fn two_rooms_hold_less_than_all_panels() {
    let layout = layout(shape((64, 64, 64)), [8, 1]);
    let rooms = |variant| Plan::new(layout, variant, 2).unwrap().ranks[0].rooms;
    let panel = layout.bytes(Panel { of: Operand::B, owner: 0, part: 0 });
    assert_eq!((rooms(Variant::Gather), rooms(Variant::Copies)), (8, 3));
    assert_eq!(memory(&layout, 0, 8) - memory(&layout, 0, 3), 5 * panel);
}
