//! How an f32 is cut into two f16, and which products of the parts are made.

use gemm::{Element, Error};

use super::bits::{BIT, LEFT, row};
use lab::sheet::{MARGIN, Sheet};
use lab::svg::Anchor;

pub fn draw() -> Result<Sheet, Error> {
    let [whole, part] = [Element::F32, Element::F16].map(|element| element.precision() as u32);
    let lost = whole - 2 * part;
    let mut sheet = Sheet::new(
        LEFT + BIT * f64::from(2 * whole) + MARGIN,
        "A number in two parts, a product in four",
        "The 24 bits of a number are cut into 11 high bits, 11 low bits, and 2 that are lost. High times high stands at the top of the 48 bits of the product, the two products of a high and a low part 11 bits below, and low times low 22 bits below: that one is left out.",
    );
    let number = |high, low| [(part, Some(high)), (part, Some(low)), (lost, Some("n"))];
    let mut y = 52.0;
    y = row(&mut sheet, y, "a, scaled", &number("A", "a"));
    y = row(&mut sheet, y, "b, scaled", &number("B", "b"));
    y += 10.0;
    for (name, shift, class) in
        [("high · high", 0, "C"), ("high · low", part, "c"), ("low · high", part, "c"), ("low · low", 2 * part, "x")]
    {
        y = row(&mut sheet, y, name, &[(shift, None), (2 * part, Some(class))]);
    }
    y = row(&mut sheet, y, "an f32's bits", &[(whole, Some("o"))]);
    y += 16.0;
    y = sheet.legend((MARGIN, y), "C", "the sum of high parts, which tensor cores make on its own");
    y = sheet.legend((MARGIN, y), "c", "the other sum, of the two mixed products, times 2048");
    y = sheet.legend((MARGIN, y), "x", "the product of the low parts, which is left out");
    y = sheet.legend((MARGIN, y), "n", "bits for which neither part has room");
    sheet.text((MARGIN, y), "The highest bit stands on the left.", "small", Anchor::Start);
    Ok(sheet)
}
