//! What one version of ptxas makes of a kernel, as the header of a shipped file records it.

use std::collections::BTreeMap;

use super::Resources;

/// What one version of ptxas makes of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generation {
    /// Its version: `12.0.140`.
    pub version: String,
    /// Needs by architecture, as far as it knows them.
    pub resources: BTreeMap<u32, Resources>,
}

impl Generation {
    /// As a header has it: `12.0.140: sm_75 128, sm_90 168`, and `sm_90 255 (1136 spilled)`.
    pub(super) fn line(&self) -> String {
        let one = |(sm, r): (&u32, &Resources)| match r.spilled_bytes {
            0 => format!("sm_{sm} {}", r.registers),
            spilled => format!("sm_{sm} {} ({spilled} spilled)", r.registers),
        };
        let all: Vec<String> = self.resources.iter().map(one).collect();
        format!("{}: {}", self.version, all.join(", "))
    }

    pub(super) fn parse(line: &str) -> Option<Generation> {
        let (version, rest) = line.split_once(": ")?;
        let one = |text: &str| {
            let mut words = text.strip_prefix("sm_")?.split([' ', '(']).filter(|word| !word.is_empty());
            let mut number = || words.next().and_then(|word| word.parse().ok());
            let (sm, registers) = (number()?, number()?);
            Some((sm, Resources { registers, spilled_bytes: number().unwrap_or(0), shared_bytes: 0 }))
        };
        let resources = rest.split(", ").map(one).collect::<Option<_>>()?;
        Some(Generation { version: version.to_string(), resources })
    }

    /// The numbers of its version, to sort by.
    pub fn numbers(&self) -> Vec<u32> {
        numbers(&self.version)
    }

    /// The major and the minor number: 12.9 is `(12, 9)`.
    pub fn cuda(&self) -> (u32, u32) {
        let numbers = self.numbers();
        (numbers.first().copied().unwrap_or(0), numbers.get(1).copied().unwrap_or(0))
    }
}

/// The numbers of a version, to sort by.
pub fn numbers(version: &str) -> Vec<u32> {
    version.split('.').map(|number| number.parse().unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_is_written() {
        for line in ["12.0.140: sm_75 128, sm_90 168", "13.5.37: sm_75 255 (6156 spilled), sm_80 40"] {
            let generation = Generation::parse(line).unwrap();
            assert_eq!(generation.line(), line);
        }
        assert_eq!(Generation::parse("12.9.86: sm_90 128").unwrap().cuda(), (12, 9));
        for line in ["", "12.0", "12.0: ", "12.0: sm_90", "12.0: sm_x 3", "12.0: 90 128"] {
            assert_eq!(Generation::parse(line), None, "{line}");
        }
    }
}
