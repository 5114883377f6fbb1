//! Why a place in shared memory may have been left out: by what of its variable is written, and what is not.

use crate::machine::state::worker::Worker;

const FIRST: &str = "is every element written before it is read, at the edges too?";

/// Gaps of so many bytes, at most, are taken for padding; rows with padding are no power of two long.
const PADDING: u32 = 32;

/// What of a variable's bytes is written.
#[derive(Debug, PartialEq)]
enum Written {
    Nothing,
    /// All bytes up to this one, and none behind.
    Prefix(u32),
    /// Of each so many bytes, so many.
    Rows {
        pitch: u32,
        bytes: u32,
    },
    /// Something else.
    Parts,
}

impl Written {
    /// By cells of `grain` bytes.
    fn of(cells: &[bool], grain: u32) -> Written {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for (at, _) in cells.iter().enumerate().filter(|(_, written)| **written) {
            match runs.last_mut().filter(|run| run.1 == at) {
                Some(run) => run.1 = at + 1,
                None => runs.push((at, at + 1)),
            }
        }
        let bytes = |cells: usize| cells as u32 * grain;
        match runs.as_slice() {
            [] => Written::Nothing,
            [(0, end)] => Written::Prefix(bytes(*end)),
            [(0, end), (next, _), ..] => {
                let is_row = |(row, run): (usize, &(usize, usize))| *run == (row * next, row * next + end);
                let last = runs[runs.len() - 1].1;
                match runs.iter().enumerate().all(is_row) {
                    // Rows are missing, not their ends.
                    true if last + next <= cells.len() => Written::Prefix(bytes(last)),
                    true => Written::Rows { pitch: bytes(*next), bytes: bytes(*end) },
                    false => Written::Parts,
                }
            }
            _ => Written::Parts,
        }
    }
}

impl Worker<'_> {
    /// Why a place in shared memory may have been left out that an instruction loads.
    pub(super) fn unwritten_hint(&self, at: u32, offset: u32) -> String {
        if self.state.barriers.some_had_ended {
            return format!(
                "{FIRST} some threads had ended when the others met at a barrier, and fill nothing from there on: guards belong to loads and to the store of a result, and all threads stay for the barriers: a loop with a barrier has one bound for the whole block, by `blockIdx`, and not by a thread's own row"
            );
        }
        let opcode = self.context.program.info.get(at as usize).map_or("", |info| &*info.opcode);
        let row = match opcode.starts_with("wmma.load") {
            true => "the leading dimension that the load names",
            false => "the row's length in the load's index",
        };
        let (name, _) = self.shared_name(offset);
        match self.written_around(offset) {
            Some((Written::Nothing, _)) if self.lines_that_store(offset) == 0 => format!(
                "nothing is stored to {name}: where values are added to it, all of it is set to 0 before, and a `__syncthreads()` follows"
            ),
            Some((Written::Nothing, _)) => {
                format!("nothing of {name} is written: does a guard skip all of its stores, or do they go elsewhere?")
            }
            Some((Written::Prefix(bytes), of)) => format!(
                "the first {bytes} of the {of} bytes of {name} are written, and none behind: do the stores come to its end, with rows as long as the loads' (padding included), or do the loads \
                 go further (threads without an element take 0)? where a guard skips the load from global memory, 0 is stored"
            ),
            Some((Written::Rows { pitch, bytes }, _))
                if pitch - bytes <= PADDING.min(bytes) && !pitch.is_power_of_two() =>
            {
                format!(
                    "of each {pitch} bytes of {name} the last {} are not written, as padding is: is {row} {pitch} bytes, and does the column stay below {bytes} bytes?",
                    pitch - bytes
                )
            }
            Some((Written::Rows { pitch, bytes }, _)) => format!(
                "of each {pitch} bytes of {name} only {bytes} are written: do loops and threads fill whole rows, and is a copy's size in bytes, not in elements? where a guard skips the load from global memory, 0 is stored"
            ),
            _ if opcode.starts_with("wmma.load") => {
                format!("{FIRST} is {row} the length of a row in shared memory, its padding included?")
            }
            _ => format!("{FIRST} where a guard skips the load from global memory, 0 is stored"),
        }
    }

    /// What is written of the variable that has an offset, and how many bytes it has.
    pub(super) fn of_written(&self, offset: u32) -> Option<String> {
        let (name, _) = self.shared_name(offset);
        match self.written_around(offset)? {
            (Written::Prefix(bytes), of) => {
                Some(format!("the first {bytes} of the {of} bytes of {name} are there, and none behind:"))
            }
            (Written::Rows { pitch, bytes }, _) => Some(format!(
                "of each {pitch} bytes of {name} only {bytes} are there: is the size of a copy in bytes, not in elements?"
            )),
            _ => None,
        }
    }

    fn written_around(&self, offset: u32) -> Option<(Written, u32)> {
        let (cells, grain) = (&self.state.cells, self.context.program.shared_grain);
        if cells.is_empty() || self.state.owner != self.state.block {
            return None;
        }
        let variables = self.context.program.shared.iter().filter(|variable| variable.offset <= offset);
        let variable = variables.max_by_key(|variable| variable.offset)?;
        let start = variable.offset;
        let end = variable.bytes.map_or(self.shared_bytes, |bytes| start + bytes).min(self.shared_bytes);
        let is_written = |cell: u32| cells.write(cell).epoch() >= self.state.first_epoch;
        let written: Vec<bool> = (start / grain..end / grain).map(is_written).collect();
        Some((Written::of(&written, grain), end - start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_told_by_its_shape() {
        let of = |cells: &str| Written::of(&cells.chars().map(|cell| cell == '#').collect::<Vec<_>>(), 4);
        assert_eq!(of("........"), Written::Nothing);
        assert_eq!(of("#####..."), Written::Prefix(20));
        assert_eq!(of("###.###.###."), Written::Rows { pitch: 16, bytes: 12 });
        assert_eq!(of("###.###........."), Written::Prefix(28));
        assert_eq!(of("##...##..#"), Written::Parts);
        assert_eq!(of("..##..##"), Written::Parts);
    }
}
