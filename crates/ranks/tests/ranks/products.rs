use gemm::{Element, Shape};
use proptest::prelude::*;
use ranks::emulated::{run, run_with};
use ranks::{Fault, Layout, Plan, Variant};

use crate::{GRIDS, SHAPES, by_loops, bytes, floats, layout, numbers, shape};

/// C of a product of whole numbers over ranks, and over one.
fn both(shape: Shape, grid: [usize; 2], variant: Variant, rooms: usize, parts: usize) -> [Vec<f32>; 2] {
    let (a, b) = (bytes(&numbers(shape.m, shape.k, 1)), bytes(&numbers(shape.k, shape.n, 4)));
    [grid, [1, 1]].map(|grid| {
        let plan = Plan::new(layout(shape, grid).in_parts(parts), variant, rooms).unwrap();
        floats(&run_with(&plan, &a, &b, None, &by_loops).unwrap())
    })
}

#[test]
fn any_number_of_ranks_gives_one_ranks_product() {
    for shape in SHAPES.map(shape) {
        for grid in GRIDS {
            for variant in Variant::ALL {
                for (rooms, parts) in [(1, 1), (2, 1), (9, 1), (1, 2), (2, 2), (4, 3)] {
                    let [over_ranks, of_one] = both(shape, grid, variant, rooms, parts);
                    let how = format!("{variant:?} with {rooms} rooms in {parts} parts");
                    assert_eq!(over_ranks, of_one, "{shape} over {grid:?} by {how}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_shape_and_grid_gives_one_ranks_product(
        m in 1u32..40, n in 1u32..40, k in 1u32..20, rows in 1usize..5, columns in 1usize..5, rooms in 1usize..4, variant in 0usize..3,
        parts in 1usize..4,
    ) {
        let [over_ranks, of_one] = both(Shape { m, n, k }, [rows, columns], Variant::ALL[variant], rooms, parts);
        prop_assert_eq!(over_ranks, of_one);
    }
}

#[test]
fn the_summits_kernels_give_the_same_over_ranks() {
    let of = Shape { m: 70, n: 50, k: 33 };
    let (a, b) = (numbers(of.m, of.k, 1), numbers(of.k, of.n, 4));
    let narrow =
        |numbers: &[f32]| numbers.iter().flat_map(|number| number.to_le_bytes()[2..].to_vec()).collect::<Vec<u8>>();
    for (element, a, b) in [(Element::F32, bytes(&a), bytes(&b)), (Element::Bf16, narrow(&a), narrow(&b))] {
        let one = Plan::new(Layout::new(of, element, [1, 1]).unwrap(), Variant::Copies, 2).unwrap();
        let alone = run(&one, &a, &b, None).unwrap();
        for (grid, variant) in [([3, 1], Variant::Copies), ([2, 2], Variant::Collectives), ([1, 2], Variant::Gather)] {
            let plan = Plan::new(Layout::new(of, element, grid).unwrap(), variant, 1).unwrap();
            assert!(run(&plan, &a, &b, None).unwrap() == alone, "{element:?} over {grid:?}");
        }
        let halves = Plan::new(Layout::new(of, element, [2, 2]).unwrap().in_parts(2), Variant::Copies, 1).unwrap();
        assert!(run(&halves, &a, &b, None).unwrap() == alone, "{element:?} in halves");
    }
}

#[test]
fn matrices_of_another_size_are_refused() {
    let plan = Plan::new(layout(shape((2, 3, 4)), [2, 1]), Variant::Copies, 2).unwrap();
    let Err(Fault::Rank { why, .. }) = run_with(&plan, &[0; 32], &[0; 44], None, &by_loops) else { panic!() };
    assert!(why.starts_with("B has 44 bytes, and 2×3×4 in f32 over 2×1 ranks needs 48\nhint: "), "{why}");
}
