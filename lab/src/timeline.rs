//! A picture of what each warp of an SM did when. It shows a model, and says so.

use clocks::sm::Outcome;
use clocks::timeline::most;
use clocks::waits::Why;

use crate::svg::{Anchor, Svg, series};

const LEFT: f64 = 70.0;
const TOP: f64 = 92.0;
const LANE: f64 = 14.0;
const WIDTH: f64 = 900.0;
/// Columns, if there are so many clocks.
const COLUMNS: u32 = 300;

/// The colours, by what they stand for.
const COLOURS: [(&str, &[Why]); 8] = [
    ("issue", &[Why::Issue]),
    ("long scoreboard", &[Why::LongScoreboard]),
    ("short scoreboard", &[Why::ShortScoreboard]),
    ("barrier", &[Why::Barrier]),
    ("throttle", &[Why::MioThrottle, Why::LgThrottle, Why::MathPipeThrottle]),
    ("wait", &[Why::Wait, Why::NoInstruction]),
    ("dispatch", &[Why::DispatchStall]),
    ("not selected", &[Why::NotSelected]),
];

fn colour(why: Why) -> usize {
    COLOURS.iter().position(|(_, whys)| whys.contains(&why)).unwrap_or(0)
}

/// Warps as lanes, from clock to clock; where a barrier let them go is marked. `error` says how far the model is off.
pub fn draw(title: &str, error: &str, outcome: &Outcome, (from, to): (u32, u32)) -> String {
    let height = TOP + LANE * outcome.lanes.len() as f64 + 30.0;
    let mut svg = Svg::new(LEFT + WIDTH + 20.0, height, title);
    svg.text(16.0, 42.0, error, "small", Anchor::Start);
    let mut x = 16.0;
    for (index, (name, _)) in COLOURS.iter().enumerate() {
        svg.bar((x, 54.0), 12.0, 12.0, &format!("bar {}", series(index)));
        svg.text(x + 16.0, 64.0, name, "small", Anchor::Start);
        x += 34.0 + 6.4 * name.len() as f64;
    }
    let at = |clock: u32| LEFT + WIDTH * f64::from(clock.saturating_sub(from)) / f64::from((to - from).max(1));
    for (warp, lane) in outcome.lanes.iter().enumerate() {
        let y = TOP + LANE * warp as f64;
        svg.text(LEFT - 8.0, y + 10.0, &format!("warp {warp}"), "small", Anchor::End);
        // Of each column what took the most of its clocks, and equal neighbours together.
        let columns = most(lane, (from, to), COLUMNS.min(to - from));
        let width = WIDTH / columns.len().max(1) as f64;
        let mut start = 0;
        while start < columns.len() {
            let shown = columns[start].map(colour);
            let end = (start..columns.len()).find(|&n| columns[n].map(colour) != shown).unwrap_or(columns.len());
            if let Some(shown) = shown {
                let x = LEFT + width * start as f64;
                svg.bar((x, y + 1.0), width * (end - start) as f64, LANE - 3.0, &format!("bar {}", series(shown)));
            }
            start = end;
        }
    }
    let bottom = TOP + LANE * outcome.lanes.len() as f64;
    for &(_, clock) in outcome.barriers.iter().filter(|(_, clock)| (from..to).contains(clock)) {
        svg.line((at(clock), TOP - 6.0), (at(clock), bottom + 4.0), "mark");
    }
    for clock in [from, from + (to - from) / 2, to] {
        svg.text(at(clock), bottom + 18.0, &format!("clock {clock}"), "small", Anchor::Middle);
    }
    svg.finish()
}
