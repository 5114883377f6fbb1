//! How many bits a product of bytes has, and how many a sum of them.

use gemm::dtype::Sum;
use gemm::{Element, Error};
use levels::level17_fp8_promotion;

use super::bits::{BIT, LEFT, row};
use super::traced::unlike;
use lab::sheet::{MARGIN, Sheet};
use lab::svg::Anchor;

pub fn draw() -> Result<Sheet, Error> {
    let [byte, sum] = [Element::S8, Element::S32].map(|element| element.precision() as u32);
    // The largest product, of the least numbers, is a power of two: a bit more than twice the seven bits of their sizes.
    let product = 2 * byte - 1;
    let Sum::Promoted { precision, .. } = level17_fp8_promotion::LEVEL.types[0].sum else {
        return Err(unlike("level 17 promotes no sums"));
    };
    let kept = precision as u32;
    let mut sheet = Sheet::new(
        LEFT + BIT * f64::from(sum) + MARGIN + 90.0,
        "Room for a sum",
        "A byte has a sign and 7 bits, a product of two a sign and 15 bits, and an s32 a sign and 31 bits: 16 more for carries. A sum of e4m3 keeps 14 bits below its largest term, and what lies below them is lost.",
    );
    let number = |bits: u32, class| [(sum - bits, None), (1, Some("n")), (bits - 1, Some(class))];
    let mut y = 52.0;
    y = row(&mut sheet, y, "A[m][k], an s8", &number(byte, "a"));
    y = row(&mut sheet, y, "B[k][n], an s8", &number(byte, "b"));
    y = row(&mut sheet, y, "their product", &number(product + 1, "c"));
    y = row(&mut sheet, y, "a sum in s32", &[(1, Some("n")), (sum - 1 - product, Some("C")), (product, Some("c"))]);
    y = row(&mut sheet, y, "a sum of e4m3", &[(1, Some("n")), (kept, Some("c")), (sum - 1 - kept, Some("x"))]);
    y += 16.0;
    y = sheet.legend((MARGIN, y), "n", "the sign");
    y = sheet.legend((MARGIN, y), "C", "room for carries: 131,071 of the largest products do not fill it");
    y = sheet.legend((MARGIN, y), "x", "below the last bit that wgmma keeps of a sum in fp8: lost");
    sheet.text((MARGIN, y), "The highest bit stands on the left.", "small", Anchor::Start);
    Ok(sheet)
}
