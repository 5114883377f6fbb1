//! What several ptxas make of the same PTX. A driver has its own, as old or as new as itself, and registers differ.
//!
//! They are looked for in the variable `PTXAS`: paths of programs, as in `PATH`. `cargo x ptx` sets it. A reader needs none.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use rayon::prelude::*;

use super::{Resources, nvrtc::read_resources};

/// What one version of ptxas makes of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generation {
    /// Its version: `12.0.140`.
    pub version: String,
    /// Needs by architecture, as far as it knows them.
    pub resources: BTreeMap<u32, Resources>,
}

/// A ptxas that answers.
#[derive(Debug, Clone)]
pub struct Ptxas {
    /// The program.
    pub program: PathBuf,
    /// Its version: `12.0.140`.
    pub version: String,
}

impl Ptxas {
    /// The programs in the variable `PTXAS`, the oldest first. One that does not answer is an error.
    pub fn all() -> Result<Vec<Ptxas>, String> {
        let paths = env::var_os("PTXAS").unwrap_or_default();
        let named = env::split_paths(&paths).filter(|path| !path.as_os_str().is_empty());
        let mut all = named.map(Ptxas::open).collect::<Result<Vec<Ptxas>, String>>()?;
        all.sort_by_key(|ptxas| numbers(&ptxas.version));
        Ok(all)
    }

    fn open(program: PathBuf) -> Result<Ptxas, String> {
        let output = Command::new(&program).arg("--version").output();
        let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
        match text.lines().find_map(|line| line.rsplit_once(", V")) {
            Some((_, version)) => Ok(Ptxas { version: version.trim().to_string(), program }),
            None => Err(format!("{} in PTXAS is no ptxas that answers", program.display())),
        }
    }

    /// Assembles PTX in a file for an architecture, `sm_90`. What it says of the kernel, or its error.
    pub fn assemble(&self, file: &Path, architecture: &str, options: &[String]) -> Result<String, String> {
        let null = if cfg!(windows) { "NUL" } else { "/dev/null" };
        let mut ptxas = Command::new(&self.program);
        ptxas.arg(format!("--gpu-name={architecture}")).args(["-v", "-o", null]).args(options).arg(file);
        let output = ptxas.output().map_err(|error| format!("cannot start {}: {error}", self.program.display()))?;
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        if output.status.success() { Ok(said) } else { Err(said.trim().to_string()) }
    }

    /// What a kernel needs, by architecture, as far as this version assembles it for them. `name` is that of a file that no other
    /// call has.
    pub fn needs(
        &self,
        ptx: &str,
        architectures: &[u32],
        optimization: Option<u32>,
        name: &str,
    ) -> Result<BTreeMap<u32, Resources>, String> {
        let file = env::temp_dir().join(format!("ladder-{}-{name}", std::process::id()));
        fs::write(&file, ptx).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        let options: Vec<String> = optimization.map(|level| format!("-O{level}")).into_iter().collect();
        let one = |&sm: &u32| {
            let said = self.assemble(&file, &format!("sm_{sm}"), &options).ok()?;
            Some((sm, read_resources(&said)?))
        };
        let needs = architectures.par_iter().filter_map(one).collect();
        let _ = fs::remove_file(&file);
        Ok(needs)
    }
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
    pub(super) fn numbers(&self) -> Vec<u32> {
        numbers(&self.version)
    }

    /// The major and the minor number: 12.9 is `(12, 9)`.
    pub fn cuda(&self) -> (u32, u32) {
        let numbers = self.numbers();
        (numbers.first().copied().unwrap_or(0), numbers.get(1).copied().unwrap_or(0))
    }
}

fn numbers(version: &str) -> Vec<u32> {
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
