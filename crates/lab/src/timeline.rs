//! A picture of what each warp of an SM did when. It shows a model, and says so.

use std::fmt::Write;

use sm_model::sm::Outcome;
use sm_model::timeline::most;
use sm_model::waits::Why;

use crate::sheet::{Area, ENLARGED, MARGIN, NARROW, Sheet};
use crate::svg::Anchor;

/// Where lanes begin and end, in units of the picture.
const LEFT: f64 = 74.0;
const RIGHT: f64 = NARROW - MARGIN;
/// Of a lane, and of the tiles above the lanes of a block.
const LANE: f64 = 14.0;
const TILES: f64 = 17.0;
/// Columns, if there are so many clocks.
const COLUMNS: u32 = 183;

/// What the colours stand for, as the lessons' tables name it.
pub const KINDS: [(&str, &[Why]); 8] = [
    ("issues an instruction", &[Why::Issue]),
    ("wait: global memory", &[Why::LongScoreboard]),
    ("wait: shared memory", &[Why::ShortScoreboard]),
    ("wait: barrier", &[Why::Barrier]),
    ("wait: queue or pipe", &[Why::MioThrottle, Why::LgThrottle, Why::MathPipeThrottle]),
    ("wait: fixed, after an instruction", &[Why::Wait, Why::NoInstruction]),
    ("wait: dispatch", &[Why::DispatchStall]),
    ("ready, but another one issues", &[Why::NotSelected]),
];
/// Their colours, most of them from Okabe and Ito's palette: what works is dark, what waits is bright.
const COLOURS: [&str; KINDS.len()] =
    ["#00664b", "#e8743b", "#f0c330", "#b5256e", "#7a5cc0", "#c3ccd8", "#56b4e9", "#a5dcc8"];

fn kind(why: Why) -> usize {
    KINDS.iter().position(|(_, whys)| whys.contains(&why)).unwrap_or(0)
}

/// A tile along K with which a block multiplies: block, number, and from which clock to which.
pub type Tile = (usize, u32, u32, u32);

/// What is drawn.
pub struct Timeline<'a> {
    pub title: &'a str,
    pub launch: &'a str,
    /// What it is that is shown, in lines.
    pub model: &'a [&'a str],
    /// Two columns of shares of [`KINDS`], and what they are.
    pub columns: [(&'a str, [f64; KINDS.len()]); 2],
    pub outcome: &'a Outcome,
    /// The block of each warp.
    pub blocks: &'a [usize],
    pub tiles: &'a [Tile],
    /// The clocks that are shown.
    pub shown: (u32, u32),
}

/// Warps as lanes, from clock to clock; above those of a block the tiles with which it multiplies.
pub fn draw(timeline: &Timeline) -> Sheet {
    let description = "Lanes, one for each warp of an SM, in colours for what the warp does in each clock. Above the lanes of \
                       a block, the tiles along K with which it multiplies; black lines are its barriers.";
    let mut sheet = Sheet::new(NARROW, timeline.title, description);
    sheet.enlarge(ENLARGED);
    let mut rules = String::new();
    for (kind, colour) in COLOURS.iter().enumerate() {
        let _ = writeln!(rules, "  .k{kind} {{ fill: {colour}; stroke: none; }}");
        let _ = writeln!(rules, "  .l{kind} {{ fill: none; stroke: {colour}; stroke-width: {}; }}", LANE - 3.0);
    }
    sheet.style(&format!("{rules}  .gate {{ fill: none; stroke: #1f2933; stroke-width: 2; }}\n"));
    sheet.text((MARGIN, 56.0), timeline.launch, "small", Anchor::Start);
    let top = sheet.lines((MARGIN, 76.0), timeline.model, "small");
    let bottom = lanes(&mut sheet, timeline, top - 5.0);
    legend(&mut sheet, timeline, bottom);
    sheet
}

/// The lanes, and the clocks below them. Gives where they end.
fn lanes(sheet: &mut Sheet, timeline: &Timeline, top: f64) -> f64 {
    let (from, to) = timeline.shown;
    let clocks = f64::from((to - from).max(1));
    let at = |clock: u32| LEFT + (RIGHT - LEFT) * f64::from(clock.clamp(from, to) - from) / clocks;
    let mut paths: [String; KINDS.len()] = Default::default();
    let mut gates = String::new();
    let (mut y, mut warp) = (top, 0);
    while warp < timeline.outcome.lanes.len() {
        let block = timeline.blocks[warp];
        let count = timeline.blocks[warp..].iter().take_while(|&&other| other == block).count();
        let start = y;
        for &(_, number, begins, ends) in
            timeline.tiles.iter().filter(|tile| tile.0 == block && tile.2 < to && tile.3 > from)
        {
            let area = Area::new(at(begins), y + 1.0, at(ends) - at(begins), TILES - 3.0);
            sheet.area(area, "n");
            if area.width > 50.0 {
                sheet.text((area.middle().0, y + 13.0), &format!("tile {number}"), "small", Anchor::Middle);
            }
        }
        y += TILES;
        for lane in &timeline.outcome.lanes[warp..warp + count] {
            sheet.text((LEFT - 8.0, y + 11.0), &format!("warp {warp}"), "small", Anchor::End);
            stretches(&mut paths, lane, timeline.shown, y + LANE / 2.0);
            (y, warp) = (y + LANE, warp + 1);
        }
        for &(_, clock) in
            timeline.outcome.barriers.iter().filter(|gate| gate.0 == block && (from..to).contains(&gate.1))
        {
            let _ = write!(gates, "M{:.1} {:.1}V{:.1}", at(clock), start, y);
        }
        y += 4.0;
    }
    for (kind, lines) in paths.iter().enumerate().filter(|(_, lines)| !lines.is_empty()) {
        sheet.path(lines, &format!("l{kind}"));
    }
    sheet.path(&gates, "gate");
    y += 14.0;
    sheet.text((LEFT, y), &format!("clock {from}"), "small", Anchor::Start);
    sheet.text((RIGHT, y), &format!("clock {to}"), "small", Anchor::End);
    sheet.text(((LEFT + RIGHT) / 2.0, y), &format!("{} clocks", to - from), "small", Anchor::Middle);
    y
}

/// A lane's stretches of one colour: of each column what took the most of its clocks, and equal neighbours together.
fn stretches(paths: &mut [String; KINDS.len()], lane: &[sm_model::sm::Span], (from, to): (u32, u32), y: f64) {
    let columns = most(lane, (from, to), COLUMNS.min(to - from));
    let width = (RIGHT - LEFT) / columns.len().max(1) as f64;
    let mut start = 0;
    for stretch in columns.chunk_by(|a, b| a.map(kind) == b.map(kind)) {
        if let Some(why) = stretch[0] {
            let x = LEFT + width * start as f64;
            let _ = write!(paths[kind(why)], "M{x:.1} {y:.1}h{:.1}", width * stretch.len() as f64);
        }
        start += stretch.len();
    }
}

/// The colours, and how much of all clocks each has.
fn legend(sheet: &mut Sheet, timeline: &Timeline, bottom: f64) {
    let ends = [RIGHT - 126.0, RIGHT];
    let mut y = bottom + 34.0;
    sheet.text((MARGIN, y), "of all clocks of warps, %", "small", Anchor::Start);
    for ((name, _), x) in timeline.columns.iter().zip(ends) {
        sheet.text((x, y), name, "small", Anchor::End);
    }
    for (kind, (name, _)) in KINDS.iter().enumerate() {
        y += 21.0;
        sheet.legend((MARGIN, y), &format!("k{kind}"), name);
        for ((_, shares), x) in timeline.columns.iter().zip(ends) {
            sheet.text((x, y), &format!("{:.0}", 100.0 * shares[kind]), "small", Anchor::End);
        }
    }
    y += 24.0;
    let gate = Area::new(MARGIN + 5.0, y - 12.0, 2.0, 14.0);
    sheet.area(gate, "N");
    sheet.text((MARGIN + 19.0, y), "a barrier lets the warps of a block go on", "small", Anchor::Start);
    y += 21.0;
    sheet.area(Area::new(MARGIN, y - 11.0, 12.0, 12.0), "n");
    sheet.text((MARGIN + 19.0, y), "a block multiplies with this tile along K", "small", Anchor::Start);
}
