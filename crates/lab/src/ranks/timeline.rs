//! What a rank's two streams do when, in every variant, as a picture. It shows the model of the table, and says so.

use ranks::layout::Panel;
use ranks::model::Span;
use ranks::plan::{Command, Rank};
use serde::Serialize;

use crate::sheet::{Area, ENLARGED, MARGIN, NARROW, Sheet};
use crate::svg::Anchor;

/// Where lanes begin and end, in units of the picture.
const LEFT: f64 = 92.0;
const RIGHT: f64 = NARROW - MARGIN;
/// Of a lane, and between two variants.
const LANE: f64 = 24.0;
const GAP: f64 = 34.0;
/// From here on a stretch has its panel's name in it.
const NAMED: f64 = 34.0;

/// A transfer or a product.
#[derive(Debug, Serialize)]
pub struct Stretch {
    stream: &'static str,
    start_ms: f64,
    end_ms: f64,
    /// The panel of the other ranks that comes or is multiplied, or this rank's own.
    panels: Vec<String>,
}

/// What the first rank does when.
pub fn stretches(rank: &Rank, spans: &[Span]) -> Vec<Stretch> {
    let name = |panel: &Panel| format!("{:?}{}", panel.of, panel.owner);
    let stretch = |span: &Span| {
        let panels = match &rank.streams[span.stream][span.command] {
            Command::Copy { get, .. } => vec![name(&get.panel)],
            Command::Exchange { receives, .. } => receives.iter().map(|got| name(&got.panel)).collect(),
            Command::Multiply { a, b, .. } if a.len() == 1 && a[0].owner != 0 => vec![name(&a[0])],
            Command::Multiply { b, .. } => vec![name(b)],
            _ => Vec::new(),
        };
        let stream = ["products", "transfers"][span.stream.min(1)];
        Stretch { stream, start_ms: span.start * 1e3, end_ms: span.end * 1e3, panels }
    };
    spans.iter().map(stretch).collect()
}

/// All variants below each other, from the same moment on. `lines` say what is drawn, and of which model.
pub fn draw(variants: &[(&str, &[Stretch])], lines: &[&str]) -> Sheet {
    let ends = variants.iter().flat_map(|(_, all)| all.iter().map(|stretch| stretch.end_ms));
    let whole = ends.fold(f64::MIN_POSITIVE, f64::max);
    let at = |ms: f64| LEFT + (RIGHT - LEFT) * ms / whole;
    let description = format!(
        "Two lanes for each variant, transfers and products of rank 0, from 0 to {whole:.3} ms. {}",
        variants.iter().map(|(name, all)| told(name, all)).collect::<Vec<_>>().join(" ")
    );
    let mut sheet = Sheet::new(NARROW, "What rank 0 does when", &description);
    sheet.enlarge(ENLARGED);
    let mut y = sheet.lines((MARGIN, 56.0), lines, "small");
    for (name, stretches) in variants {
        sheet.text((MARGIN, y + 8.0), name, "bold", Anchor::Start);
        y += 16.0;
        for (stream, class) in [("transfers", "b"), ("products", "c")] {
            sheet.text((LEFT - 8.0, y + 16.0), stream, "small", Anchor::End);
            sheet.area(Area::new(LEFT, y + 2.0, RIGHT - LEFT, LANE - 4.0), "o");
            for stretch in stretches.iter().filter(|stretch| stretch.stream == stream) {
                let from = at(stretch.start_ms);
                let area = Area::new(from, y + 2.0, at(stretch.end_ms) - from, LANE - 4.0);
                sheet.area(area, class);
                if area.width > NAMED * stretch.panels.len() as f64 {
                    let middle = (area.middle().0, y + 16.0);
                    sheet.text(middle, &stretch.panels.join(" "), "small", Anchor::Middle);
                }
            }
            y += LANE;
        }
        y += GAP - 16.0;
    }
    sheet.text((LEFT, y), "0", "small", Anchor::Start);
    sheet.text((RIGHT, y), &format!("{whole:.3} ms"), "small", Anchor::End);
    sheet
}

/// A variant, for those who cannot see the picture.
fn told(name: &str, stretches: &[Stretch]) -> String {
    let each = stretches.iter().map(|Stretch { stream, start_ms, end_ms, panels }| {
        format!("{stream} of {} from {start_ms:.3} to {end_ms:.3}", panels.join(" and "))
    });
    format!("{name}: {}.", each.collect::<Vec<_>>().join(", "))
}
