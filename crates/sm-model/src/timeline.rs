//! What each warp did when, as text.

use crate::sm::Span;
use crate::waits::Why;

/// The letter of what a warp does.
pub fn letter(why: Why) -> char {
    match why {
        Why::Issue => '#',
        Why::LongScoreboard => 'L',
        Why::ShortScoreboard => 's',
        Why::Barrier => 'B',
        Why::MioThrottle | Why::LgThrottle | Why::MathPipeThrottle => 't',
        Why::Wait => '.',
        Why::DispatchStall => 'd',
        Why::NoInstruction => 'i',
        Why::NotSelected => 'n',
    }
}

/// The letters' meaning, in a line.
pub const LEGEND: &str =
    "# issue, L long scoreboard, s short scoreboard, B barrier, t throttle, . wait, d dispatch, n not selected";

/// What a warp did for the most of each of `columns` equal stretches of the clocks `from` to `to`, the first of
/// [`Why::ALL`] of what took as long; nothing where it had not begun, or had ended.
pub fn most(lane: &[Span], (from, to): (u32, u32), columns: u32) -> Vec<Option<Why>> {
    let width = to.saturating_sub(from).max(1);
    let at = |column: u32| from + (u64::from(width) * u64::from(column) / u64::from(columns.max(1))) as u32;
    let start = lane.partition_point(|span| span.to <= from);
    let mut rest = &lane[start..];
    let most = |column: u32| {
        let (from, to) = (at(column), at(column + 1).max(at(column) + 1));
        while rest.first().is_some_and(|span| span.to <= from) {
            rest = &rest[1..];
        }
        let mut clocks = [0u32; Why::ALL.len()];
        for span in rest.iter().take_while(|span| span.from < to) {
            clocks[span.why as usize] += span.to.min(to).saturating_sub(span.from.max(from));
        }
        let most = Why::ALL.into_iter().rev().max_by_key(|&why| clocks[why as usize]);
        most.filter(|&why| clocks[why as usize] > 0)
    };
    (0..columns).map(most).collect()
}

/// The same in letters, with a blank for nothing.
pub fn line(lane: &[Span], clocks: (u32, u32), columns: u32) -> String {
    most(lane, clocks, columns).into_iter().map(|why| why.map_or(' ', letter)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_what_took_the_most_clocks() {
        let span = |from, to, why| Span { from, to, why };
        let lane = [span(2, 4, Why::Issue), span(4, 9, Why::LongScoreboard), span(9, 10, Why::Issue)];
        assert_eq!(line(&lane, (0, 10), 10), "  ##LLLLL#");
        assert_eq!(line(&lane, (0, 10), 5), " #LL#");
        assert_eq!(line(&[], (0, 0), 3), "   ");
    }
}
