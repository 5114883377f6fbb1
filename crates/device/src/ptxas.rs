//! What several ptxas make of the same PTX. A driver has its own, as old or as new as itself, and registers differ.
//!
//! They are looked for in the variable `PTXAS`: paths of programs, as in `PATH`. `cargo x ptx` sets it. A reader needs none.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use gemm::Target;
use gemm::kernel::lower::declared;
use gemm::kernel::{Resources, numbers};
use rayon::prelude::*;

use crate::nvrtc::resources_of;

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
        let all = named.map(Ptxas::open).collect::<Result<Vec<Ptxas>, String>>();
        let mut all = all.map_err(|why| format!("{why}, and PTXAS names it"))?;
        all.sort_by_key(|ptxas| numbers(&ptxas.version));
        Ok(all)
    }

    /// The program at this path, if it answers.
    pub fn open(program: PathBuf) -> Result<Ptxas, String> {
        let output = Command::new(&program).arg("--version").output();
        let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
        match text.lines().find_map(|line| line.rsplit_once(", V")) {
            Some((_, version)) => Ok(Ptxas { version: version.trim().to_string(), program }),
            None => Err(format!("{} is no ptxas that answers", program.display())),
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

    /// What a kernel needs, by architecture, as far as this version assembles it for them: the one named `entry` where the text has
    /// several. `name` is that of a file that no other call has.
    pub fn needs(
        &self,
        ptx: &str,
        entry: Option<&str>,
        architectures: &[u32],
        optimization: Option<u32>,
        name: &str,
    ) -> Result<BTreeMap<u32, Resources>, String> {
        let file = env::temp_dir().join(format!("ladder-{}-{name}", std::process::id()));
        fs::write(&file, ptx).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        let options: Vec<String> = optimization.map(|level| format!("-O{level}")).into_iter().collect();
        let target = declared(ptx).map_or(Target::since(0), |(_, target)| target);
        let one = |&sm: &u32| {
            let said = self.assemble(&file, &target.machine(sm).to_string(), &options).ok()?;
            Some((sm, resources_of(&said, entry)?))
        };
        let needs = architectures.par_iter().filter_map(one).collect();
        let _ = fs::remove_file(&file);
        Ok(needs)
    }
}
