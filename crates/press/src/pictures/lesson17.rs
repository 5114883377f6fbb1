//! When the threads of two warpgroups add what the tensor cores have summed: while the other one multiplies.

use gemm::{Dtype, Error};
use levels::level17_fp8_promotion;

use super::traced::unlike;
use lab::sheet::{Area, MARGIN, Sheet};
use lab::svg::Anchor;

const GROUPS: u32 = 2;
/// Steps along K that each warpgroup is shown at.
const STEPS: u32 = 3;
const TICK: f64 = 72.0;
const LEFT: f64 = MARGIN + 100.0;
const HEIGHT: f64 = 26.0;

pub fn draw() -> Result<Sheet, Error> {
    let last = GROUPS * STEPS + 1;
    let mut sheet = Sheet::new(
        LEFT + TICK * f64::from(last) + MARGIN,
        "Sums that leave the tensor cores at every step",
        "A timeline of the tensor cores and two warpgroups. After each step along K a warpgroup adds the sums of that step to its own; while it does, the tensor cores make the other one's products.",
    );
    let build = level17_fp8_promotion::LEVEL.default_build(Dtype::E4M3);
    let groups = build.threads() / 128 - 1;
    if groups != GROUPS {
        return Err(unlike("the default tile is not that of two warpgroups"));
    }
    let mut y = 52.0;
    row(&mut sheet, y, "tensor cores", |at| match at < last - 1 {
        true => Some(("c", (at % GROUPS).to_string())),
        false => None,
    });
    for group in 0..GROUPS {
        y += HEIGHT + 6.0;
        row(&mut sheet, y, &format!("warpgroup {group}"), |at| {
            let own = at.checked_sub(group)?;
            match own % GROUPS {
                _ if own / GROUPS >= STEPS => None,
                0 => Some(("c", format!("step {}", own / GROUPS))),
                _ => Some(("b", "add".to_string())),
            }
        });
    }
    y += HEIGHT + 22.0;
    y = sheet.legend((MARGIN, y), "c", "four products of 32 columns of K; above, of the warpgroup with this number");
    y = sheet.legend((MARGIN, y), "b", "the threads add the sums of the step to their own, in f32");
    sheet.text((MARGIN, y), "Widths are not to scale.", "small", Anchor::Start);
    Ok(sheet)
}

fn row(sheet: &mut Sheet, y: f64, name: &str, what: impl Fn(u32) -> Option<(&'static str, String)>) {
    sheet.text((MARGIN, y + 18.0), name, "small", Anchor::Start);
    for at in 0..=GROUPS * STEPS {
        if let Some((class, words)) = what(at) {
            let area = Area::new(LEFT + TICK * f64::from(at) + 1.0, y, TICK - 2.0, HEIGHT);
            sheet.area(area, class);
            sheet.label(area, &words, "small");
        }
    }
}
