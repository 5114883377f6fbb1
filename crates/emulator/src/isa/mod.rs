//! What instructions need: the PTX version and the architecture that have them first, by a table.
//!
//! A GPU older than one of a kernel's instructions cannot run it: [`crate::Kernel::oldest_architecture`] asks the table. A
//! driver refuses PTX of a version that it does not know, whatever stands in it; so a loader may lower the version that a
//! module declares to what its instructions need.
//!
//! The table has a row for each instruction that needs more than [`FLOOR`]. The others are known by their first word; one
//! that is in neither list may need anything. ptxas is asked whether the table is right: for the architectures of every
//! form that the emulator runs, and for versions and architectures of each row's example.

mod rows;

use std::fmt;
use std::str::FromStr;

use crate::lanewise::is_lanewise;
pub use rows::{KNOWN, ROWS};

/// A version of PTX: 7.8 is that of CUDA 11.8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Isa(pub u32, pub u32);

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

impl FromStr for Isa {
    type Err = ();

    fn from_str(text: &str) -> Result<Isa, ()> {
        let (major, minor) = text.split_once('.').ok_or(())?;
        Ok(Isa(major.parse().map_err(|_| ())?, minor.parse().map_err(|_| ())?))
    }
}

/// A `.target`: `sm_75`, or `sm_90a`, whose instructions only this architecture has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// 75 is `sm_75`.
    pub sm: u32,
    /// `a` or `f`, or nothing.
    pub suffix: &'static str,
}

impl Target {
    /// An architecture and all that came after it: 75 is `sm_75`.
    pub const fn since(sm: u32) -> Target {
        Target { sm, suffix: "" }
    }

    /// An architecture alone, with instructions that no other need have: 90 is `sm_90a`.
    pub const fn only(sm: u32) -> Target {
        Target { sm, suffix: "a" }
    }

    /// Whether a GPU of an architecture runs what is made for it: it and all that came after it, with `f` those of its
    /// family alone, with `a` no other.
    pub fn runs_on(&self, sm: u32) -> bool {
        match self.suffix {
            "" => self.sm <= sm,
            "f" => self.sm <= sm && self.sm / 10 == sm / 10,
            _ => self.sm == sm,
        }
    }

    /// That of machine code for a GPU of an architecture, with the suffix where it runs nowhere else.
    pub fn machine(&self, sm: u32) -> Target {
        Target { sm, suffix: if self.runs_on(sm) { self.suffix } else { "" } }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.sm, self.suffix)
    }
}

impl FromStr for Target {
    type Err = ();

    fn from_str(text: &str) -> Result<Target, ()> {
        let name = text.strip_prefix("sm_").ok_or(())?;
        let digits = name.len() - name.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let suffix = ["", "a", "f"].into_iter().find(|suffix| *suffix == &name[digits..]).ok_or(())?;
        Ok(Target { sm: name[..digits].parse().map_err(|_| ())?, suffix })
    }
}

/// What any instruction needs: the version of CUDA 11.0, which line information of inlined functions needs too, and any GPU.
pub const FLOOR: Needed = Needed { isa: Isa(7, 0), sm: 0, suffix: "" };

/// What an instruction needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needed {
    /// The first version that has it.
    pub isa: Isa,
    /// The first architecture that has it.
    pub sm: u32,
    /// `a`, if no later architecture need have it.
    pub suffix: &'static str,
}

/// A row of the table: instructions that have all of `words`, in any order, among the words between their dots, the
/// special registers that they read (`%clusterid`), and their first word (a directive keeps its dot).
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// What an instruction must have; `a|b` is either.
    pub words: &'static [&'static str],
    /// What it then needs.
    pub needed: Needed,
    /// One such instruction, for ptxas to judge; empty where no short one is needed. Of its registers, `p0` and so on are
    /// predicates, `h` have 16 bits, `r` 32, `x` 64, `f` are f32, `d` f64, `a` addresses of shared memory, `g` of global.
    pub example: &'static str,
}

/// The oldest architecture (80 is `sm_80`) that has the instruction of this opcode; 0 where every GPU has it.
pub(crate) fn oldest(opcode: &str) -> u32 {
    let words: Vec<&str> = opcode.split('.').collect();
    needs(&words).map_or(0, |needed| needed.sm)
}

/// What an instruction needs, by its words; nothing, if it is in neither list. A directive, whose word has a dot before
/// it, is of the floor unless a row says more.
pub fn needs(words: &[&str]) -> Option<Needed> {
    let has = |alternatives: &str| alternatives.split('|').any(|word| words.contains(&word));
    let mut rows = ROWS.iter().filter(|row| row.words.iter().all(|alternatives| has(alternatives))).peekable();
    let known = |word: &&str| word.starts_with('.') || KNOWN.contains(word) || is_lanewise(word);
    if rows.peek().is_none() && !words.first().is_some_and(known) {
        return None;
    }
    Some(rows.fold(FLOOR, |most, row| most.and(row.needed)))
}

impl Needed {
    /// What two need together.
    pub fn and(self, other: Needed) -> Needed {
        // An architecture's own instructions bind to it, whatever the other needs of an earlier one.
        let suffix = if other.suffix.is_empty() { self.suffix } else { other.suffix };
        Needed { isa: self.isa.max(other.isa), sm: self.sm.max(other.sm), suffix }
    }
}

/// The PTX version of each CUDA version from 11.0 on; between them it is that of the one before.
#[rustfmt::skip]
const BY_CUDA: &[(u32, Isa)] = &[
    (11000, Isa(7, 0)), (11010, Isa(7, 1)), (11020, Isa(7, 2)), (11030, Isa(7, 3)), (11040, Isa(7, 4)), (11050, Isa(7, 5)),
    (11060, Isa(7, 6)), (11070, Isa(7, 7)), (11080, Isa(7, 8)), (12000, Isa(8, 0)), (12010, Isa(8, 1)), (12020, Isa(8, 2)),
    (12030, Isa(8, 3)), (12040, Isa(8, 4)), (12050, Isa(8, 5)), (12070, Isa(8, 6)), (12080, Isa(8, 7)), (12090, Isa(8, 8)),
    (13000, Isa(9, 0)), (13010, Isa(9, 1)), (13020, Isa(9, 2)),
];

/// The newest PTX version that a driver of this CUDA version (12040 is 12.4) is known to take. Of a driver newer than the
/// table, it is the table's last.
pub fn of_cuda(version: u32) -> Option<Isa> {
    BY_CUDA.iter().rev().find(|(cuda, _)| *cuda <= version).map(|(_, isa)| *isa)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_targets_are_read_as_they_are_written() {
        for text in ["sm_75", "sm_90a", "sm_100f"] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        assert!("7.10".parse::<Isa>().unwrap() > "7.8".parse().unwrap());
        for text in ["", "7", "7.", "7.x", "-1.0"] {
            assert!(text.parse::<Isa>().is_err(), "{text}");
        }
        for text in ["compute_75", "sm_", "sm_90x", "sm_a", "sm_90aa"] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_suffix_binds_to_an_architecture_or_its_family() {
        for (target, runs, not) in [
            ("sm_75", &[75, 80, 120][..], &[60, 70][..]),
            ("sm_90a", &[90], &[89, 100, 120]),
            ("sm_100f", &[100, 103], &[90, 110, 120]),
        ] {
            let target: Target = target.parse().unwrap();
            assert!(runs.iter().all(|&sm| target.runs_on(sm)) && !not.iter().any(|&sm| target.runs_on(sm)), "{target}");
        }
        let machine = |target: Target| [80, 90, 100].map(|sm| target.machine(sm).to_string());
        assert_eq!(machine(Target::since(75)), ["sm_80", "sm_90", "sm_100"]);
        assert_eq!(machine(Target::only(90)), ["sm_80", "sm_90a", "sm_100"]);
    }

    #[test]
    fn a_driver_takes_the_version_of_its_cuda_and_of_those_before() {
        assert_eq!(of_cuda(12040), Some(Isa(8, 4)));
        assert_eq!(of_cuda(12065), Some(Isa(8, 5)));
        assert_eq!(of_cuda(99000), BY_CUDA.last().map(|(_, isa)| *isa));
        assert_eq!(of_cuda(10020), None);
        assert!(BY_CUDA.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1));
    }
}
