//! What a warp does in a clock: it issues, or waits for one thing. The names are those of Nsight Compute.

use std::fmt;

/// What a warp does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Why {
    /// It issues an instruction.
    Issue,
    /// For a result from global memory, or for copies from there.
    LongScoreboard,
    /// For a result from shared memory, or of a special function.
    ShortScoreboard,
    /// For the other warps of its block.
    Barrier,
    /// For room in the queue to shared memory…
    MioThrottle,
    /// … or in that to global memory…
    LgThrottle,
    /// … or for a pipe of arithmetic.
    MathPipeThrottle,
    /// A few clocks that are known beforehand, for instance for the result of an FMA.
    Wait,
    /// For the banks of the register file.
    DispatchStall,
    /// For its next instruction.
    NoInstruction,
    /// It could issue, and another warp did.
    NotSelected,
}

impl Why {
    /// All of them.
    pub const ALL: [Why; 11] = [
        Why::Issue,
        Why::LongScoreboard,
        Why::ShortScoreboard,
        Why::Barrier,
        Why::MioThrottle,
        Why::LgThrottle,
        Why::MathPipeThrottle,
        Why::Wait,
        Why::DispatchStall,
        Why::NoInstruction,
        Why::NotSelected,
    ];

    /// As Nsight Compute's metrics have it.
    pub fn name(self) -> &'static str {
        match self {
            Why::Issue => "issue",
            Why::LongScoreboard => "long_scoreboard",
            Why::ShortScoreboard => "short_scoreboard",
            Why::Barrier => "barrier",
            Why::MioThrottle => "mio_throttle",
            Why::LgThrottle => "lg_throttle",
            Why::MathPipeThrottle => "math_pipe_throttle",
            Why::Wait => "wait",
            Why::DispatchStall => "dispatch_stall",
            Why::NoInstruction => "no_instruction",
            Why::NotSelected => "not_selected",
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Clocks of warps, by what they did.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tally([f64; Why::ALL.len()]);

impl Tally {
    /// So many clocks more.
    pub fn add(&mut self, why: Why, clocks: u32) {
        self.0[why as usize] += f64::from(clocks);
    }

    /// Clocks that warps did this.
    pub fn of(&self, why: Why) -> f64 {
        self.0[why as usize]
    }

    /// Of all clocks of warps, the share that they did this.
    pub fn share(&self, why: Why) -> f64 {
        let all: f64 = self.0.iter().sum();
        if all > 0.0 { self.of(why) / all } else { 0.0 }
    }

    /// The sum of tallies, each times its weight. Weights may be negative: a run twice as long as `long`, which is twice as
    /// long as `short`, is −2 times `short` and 3 times `long`, if each step costs what it costs between the two.
    pub fn weighed(parts: impl IntoIterator<Item = (f64, Tally)>) -> Tally {
        let mut out = Tally::default();
        for (weight, tally) in parts {
            for (sum, clocks) in out.0.iter_mut().zip(tally.0) {
                *sum += weight * clocks;
            }
        }
        out.0.iter_mut().for_each(|sum| *sum = sum.max(0.0));
        out
    }
}

/// What happened in a stretch of clocks of one warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first clock.
    pub from: u32,
    /// The first clock behind it.
    pub to: u32,
    /// What the warp did.
    pub why: Why,
}
