//! Numbers as rows of bits, each at its weight.

use lab::sheet::{Area, MARGIN, Sheet};
use lab::svg::Anchor;

/// Width of a bit, and height of a row, in pixels.
pub const BIT: f64 = 11.0;
pub const ROW: f64 = 22.0;
/// Where the bits begin: room for a name before them.
pub const LEFT: f64 = MARGIN + 130.0;

/// A row: its name, and parts from the left, so many bits of this class each; a part without class is left free. Below it begins the next.
pub fn row(sheet: &mut Sheet, y: f64, name: &str, parts: &[(u32, Option<&str>)]) -> f64 {
    sheet.text((MARGIN, y + 16.0), name, "small", Anchor::Start);
    let mut at = 0;
    for &(bits, class) in parts {
        for bit in (at..at + bits).filter(|_| class.is_some()) {
            sheet.area(Area::new(LEFT + BIT * f64::from(bit), y, BIT, ROW - 4.0), class.unwrap_or_default());
        }
        at += bits;
    }
    y + ROW
}
