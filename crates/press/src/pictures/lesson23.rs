//! A sum of two products, by what three moduli leave of it.

use gemm::Error;
use gemm::text::count;

use lab::sheet::{Area, MARGIN, Sheet};
use lab::svg::Anchor;

/// The first three moduli of the kernel.
const MODULI: [i64; 3] = [256, 255, 253];
/// A row of A and a column of B.
const A: [i64; 2] = [1000, 2000];
const B: [i64; 2] = [300, -100];

/// Width of a cell, height of a row, and room for a name before the cells, in pixels.
const CELL: f64 = 78.0;
const ROW: f64 = 30.0;
const LEFT: f64 = MARGIN + 120.0;

/// What is left of a number, from -modulus / 2 on.
fn byte(x: i64, modulus: i64) -> i64 {
    (x + modulus / 2).rem_euclid(modulus) - modulus / 2
}

/// 100,000.
fn written(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", count(number.unsigned_abs()))
}

pub fn draw() -> Result<Sheet, Error> {
    let mut sheet = Sheet::new(
        LEFT + 6.0 * CELL + 2.0 * MARGIN,
        "A sum of products, by remainders",
        "Two numbers of A, two of B, and the sum of their products, 100,000. Below, for each of three moduli, the remainders of the four numbers, each a byte, the sum of the products of these, and its remainder, which is that of 100,000.",
    );
    let mut y = 60.0;
    let heads = ["A[m][0]", "A[m][1]", "B[0][n]", "B[1][n]", "sum", "remainder"];
    for (i, head) in heads.iter().enumerate() {
        sheet.text((LEFT + CELL * (i as f64 + 0.5), y), head, "small", Anchor::Middle);
    }
    y += 10.0;
    let products = |a: [i64; 2], b: [i64; 2]| a[0] * b[0] + a[1] * b[1];
    let mut row = |y: f64, name: String, a: [i64; 2], b: [i64; 2], left: Option<i64>| {
        sheet.text((MARGIN, y + 18.0), &name, "small", Anchor::Start);
        let numbers = [(a[0], "a"), (a[1], "a"), (b[0], "b"), (b[1], "b"), (products(a, b), "c")];
        for (i, (number, class)) in numbers.into_iter().chain(left.map(|left| (left, "o"))).enumerate() {
            let area = Area::new(LEFT + CELL * i as f64, y, CELL - 6.0, ROW - 6.0);
            sheet.area(area, class);
            sheet.label(area, &written(number), "small");
        }
    };
    row(y, "the numbers".to_string(), A, B, None);
    y += ROW + 10.0;
    for modulus in MODULI {
        let left = |numbers: [i64; 2]| numbers.map(|x| byte(x, modulus));
        let sum = products(left(A), left(B)).rem_euclid(modulus);
        row(y, format!("modulo {modulus}"), left(A), left(B), Some(sum));
        y += ROW;
    }
    y += 24.0;
    let all: i64 = MODULI.iter().product();
    let lines = [
        format!(
            "Only one number from {} to {} leaves these three remainders.",
            written(-all / 2),
            written(all / 2 - 1)
        ),
        format!("It is {}, the sum of the first row.", written(products(A, B))),
    ];
    for line in lines {
        sheet.text((MARGIN, y), &line, "small", Anchor::Start);
        y += 20.0;
    }
    Ok(sheet)
}
