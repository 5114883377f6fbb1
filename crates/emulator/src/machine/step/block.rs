//! Steps a thread block: its warps take turns until each has ended, or waits.

use crate::Fault;
use crate::machine::state::warp::{State, Warp};
use crate::machine::state::worker::{Pause, Worker};

/// Warp instructions that a warp may execute before another warp has its turn.
pub(crate) const TURN: u64 = 1 << 18;

impl Worker<'_> {
    /// Steps the present thread block until nothing is left to do, or every warp used its turn up.
    #[inline(always)]
    pub fn run<const CPU: u8>(&mut self) -> Result<Pause, Box<Fault>> {
        let schedule = self.context.schedule;
        let count = self.state.warps.len();
        // Stands in the list for the warp that runs, so that both can be borrowed.
        let mut spare = Box::new(Warp::default());
        loop {
            let (mut ran, mut moved, mut idle) = (false, false, true);
            for position in 0..count {
                let index = schedule.warp(position, count);
                if self.state.warps[index].state != State::Ready {
                    continue;
                }
                ran = true;
                let writes = self.state.writes;
                self.stop_at = (self.state.executed + schedule.turn(TURN)).min(self.context.instruction_limit);
                let mut warp = std::mem::replace(&mut self.state.warps[index], spare);
                let result = self.run_warp::<CPU>(&mut warp);
                let asked = warp.polls.gave_up();
                if matches!(result, Ok(false)) && warp.paths.len() > 1 && !warp.choose_path(true) && asked {
                    warp.go_ahead();
                }
                spare = std::mem::replace(&mut self.state.warps[index], warp);
                if result? {
                    moved = true;
                } else {
                    idle &= asked && self.state.writes == writes;
                }
            }
            if !ran {
                if self.state.ended != self.state.all_warps() {
                    return Ok(Pause::Blocked);
                }
                return Ok(Pause::Ended);
            }
            self.state.moves += u64::from(moved);
            if !moved {
                return Ok(Pause::Turn { idle });
            }
        }
    }
}
