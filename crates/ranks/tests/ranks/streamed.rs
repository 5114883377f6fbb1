use device::pinned::Window;
use gemm::{Element, Shape};
use ranks::streamed::{Cut, ROOMS};
use summit::{Product, Types};

use crate::{SHAPES, by_loops, bytes, numbers, shape};

/// A window's rows, one behind the other, as a copy engine puts them on a card.
fn taken(matrix: &[u8], Window { first, rows, width, pitch }: Window) -> Vec<u8> {
    (0..rows).flat_map(|row| matrix[first + row * pitch..][..width].to_vec()).collect()
}

/// A product in parts, with as many rooms as a card has; each room is full of NaN at first.
fn in_parts(cut: &Cut, a: &[u8], b: &[u8]) -> (Vec<u8>, [u64; 2]) {
    let mut rooms = cut.rooms().map(|(count, bytes)| vec![vec![0xff; bytes as usize]; count]);
    let (mut c, mut moved) = (vec![0xff; cut.moved()[1] as usize], [0, 0]);
    for part in cut.parts() {
        let mut bring = |of: usize, matrix: &[u8]| {
            let panel = taken(matrix, part.windows[of]);
            rooms[of][part.rooms[of]][..panel.len()].copy_from_slice(&panel);
            moved[0] += panel.len() as u64;
        };
        bring(0, a);
        if part.brings_b {
            bring(1, b);
        }
        let product = Product::new(cut.types(), part.shape);
        let mut result = vec![0; product.bytes()[2] as usize];
        by_loops(&product, &rooms[0][part.rooms[0]], &rooms[1][part.rooms[1]], &mut result).unwrap();
        let Window { first, width, pitch, .. } = part.windows[2];
        for (row, line) in result.chunks_exact(width).enumerate() {
            c[first + row * pitch..][..width].copy_from_slice(line);
            moved[1] += width as u64;
        }
    }
    (c, moved)
}

#[test]
fn any_cut_gives_the_whole_product_and_moves_what_the_formula_says() {
    for shape in SHAPES.map(shape) {
        let (a, b) = (bytes(&numbers(shape.m, shape.k, 1)), bytes(&numbers(shape.k, shape.n, 4)));
        let types = Types::of(Element::F32);
        let whole = in_parts(&Cut::new(shape, types, [shape.m, shape.n]).unwrap(), &a, &b).0;
        for sides in [[1, 1], [3, 5], [16, 2], [7, 64], [64, 1]] {
            let cut = Cut::new(shape, types, sides).unwrap();
            let (c, moved) = in_parts(&cut, &a, &b);
            assert!(c == whole, "{shape} in parts of {sides:?}");
            assert_eq!(moved, cut.moved(), "{shape} in parts of {sides:?}");
        }
    }
}

/// 103 GB of matrices go through a card of 80 GB, of 8 GB, and of 1 GB; and of 1 MB they do not.
#[test]
fn a_cut_fits_the_card() {
    let shape = Shape { m: 131_072, n: 131_072, k: 131_072 };
    let types = Types::of(Element::Bf16);
    for bytes in [80e9, 8e9, 1e9] {
        let cut = Cut::fitting(shape, types, bytes as u64).unwrap();
        assert!(cut.memory() <= bytes as u64, "{cut:?}");
        let parts = cut.parts();
        assert!(parts.iter().all(|part| part.windows.iter().all(|window| window.is_within(1 << 35))));
        let covered: u64 = parts.iter().map(|part| u64::from(part.shape.m) * u64::from(part.shape.n)).sum();
        assert_eq!(covered, 1 << 34);
    }
    let refused = Cut::fitting(shape, types, 1_000_000).unwrap_err().to_string();
    assert!(refused.ends_with("there are 1000000\nhint: K is not cut: make it smaller"), "{refused}");
    let refused = |side, sides| Cut::new(Shape { m: side, n: side, k: side }, types, sides).unwrap_err().to_string();
    assert!(refused(4, [0, 1]).starts_with("4×4×4 in parts of 0 rows and 1 columns\n"));
    assert!(
        refused(1 << 30, [1 << 20; 2]).starts_with("a matrix of 1073741824×1073741824×1073741824 has more than 2^58")
    );
    assert!(refused(1 << 20, [1, 1]).starts_with("1099511627776 parts, and 1048576 are the most\n"));
}

#[test]
fn a_room_is_used_again_only_when_others_came_between() {
    let shape = Shape { m: 10, n: 10, k: 3 };
    let parts = Cut::new(shape, Types::of(Element::F32), [3, 4]).unwrap().parts();
    for pair in parts.windows(2) {
        assert_ne!(pair[0].rooms[2], pair[1].rooms[2]);
    }
    assert!(parts.iter().all(|part| part.rooms.iter().all(|room| *room < ROOMS)));
}

/// Kernels of f32 index a panel by 32 bits, those of bf16 do not.
#[test]
fn a_panel_that_is_chosen_is_one_that_kernels_index() {
    let elements = |element, side: u32| {
        let cut = Cut::fitting(Shape { m: side, n: side, k: side }, Types::of(element), 70_000_000_000).unwrap();
        u64::from(cut.sides()[1]) * u64::from(side)
    };
    assert!(elements(Element::F32, 92_400) < 1 << 31);
    assert!(elements(Element::Bf16, 131_072) > 1 << 31);
    let long = Shape { m: 4, n: 4, k: i32::MAX as u32 };
    let refused = Cut::fitting(long, Types::of(Element::F64), 1 << 40).unwrap_err().to_string();
    assert!(
        refused.starts_with("a row of A of 4×4×2147483647 has more elements than kernels of this type index\n"),
        "{refused}"
    );
}
