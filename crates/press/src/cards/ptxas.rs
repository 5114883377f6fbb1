//! What a kernel needs on an architecture, by NVIDIA's assembler, without a GPU.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs};

use device::nvrtc::resources_of;
use device::ptxas::Ptxas;
use emulator::isa::{Isa, Target};
use gemm::Error;
use gemm::kernel::Resources;
use gemm::kernel::lower::declared;

/// The PTX version that is asked for first: files that need no more are assembled as any driver since CUDA 11.0 would.
const LOWEST: Isa = Isa(7, 0);

/// The assembler of this file.
pub fn open(path: &Path) -> Result<Ptxas, Error> {
    let hint = "`pip install nvidia-cuda-nvcc` brings one, `nvidia-cuda-nvcc-cu12` one that knows sm_60 and sm_70";
    Ptxas::open(path.to_path_buf()).map_err(|why| Error::usage(why, hint))
}

/// Every assembler in the folders of CUDA, of the active Python, and of the path.
pub fn all() -> Vec<Ptxas> {
    let mut folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect();
    let roots = ["CUDA_HOME", "CUDA_PATH"].iter().filter_map(env::var_os).map(PathBuf::from);
    folders.extend(roots.map(|root| root.join("bin")));
    for python in env::var_os("VIRTUAL_ENV").map(|root| Path::new(&root).join("lib")).iter() {
        let pythons = fs::read_dir(python).into_iter().flatten().flatten().map(|entry| entry.path());
        for nvidia in pythons.map(|python| python.join("site-packages/nvidia")) {
            folders.extend(["cu13/bin", "cuda_nvcc/bin"].map(|bin| nvidia.join(bin)));
        }
    }
    let files = folders.iter().map(|folder| folder.join("ptxas")).filter(|file| file.is_file());
    files.filter_map(|file| Ptxas::open(file).ok()).collect()
}

/// What the kernel needs on an architecture. `Ok(Err)` says why it cannot run there; nothing, if this version does not know the
/// architecture.
pub fn assemble(
    ptxas: &Ptxas,
    (ptx, entry): (&str, &str),
    sm: u32,
    optimization: Option<u32>,
) -> Option<Result<Resources, String>> {
    let (version, target) = declared(ptx).unwrap_or((LOWEST, Target::since(sm)));
    let run = |version: Isa| {
        let text = retargeted(ptx, version, if target.runs_on(sm) { target } else { Target::since(sm) });
        run(ptxas, &text, target.machine(sm), optimization)
    };
    let mut answer = run(LOWEST);
    if version != LOWEST && answer.as_ref().is_err_and(|error| error.contains("ISA")) {
        answer = run(version);
    }
    match answer {
        Err(error) if error.contains("is not defined for option 'gpu-name'") => None,
        Err(error) => Some(Err(refusal(&error))),
        Ok(said) => Some(resources_of(&said, Some(entry)).ok_or_else(|| refusal(&said))),
    }
}

/// What it says of a text.
fn run(ptxas: &Ptxas, ptx: &str, target: Target, optimization: Option<u32>) -> Result<String, String> {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let number = RUNS.fetch_add(1, Ordering::Relaxed);
    let file = env::temp_dir().join(format!("press-cards-{}-{number}.ptx", std::process::id()));
    fs::write(&file, ptx).map_err(|error| format!("error   : {error}"))?;
    let options: Vec<String> = optimization.map(|level| format!("-O{level}")).into_iter().collect();
    let said = ptxas.assemble(&file, &target.to_string(), &options);
    // A file that is left in the folder for such files harms nobody.
    let _ = fs::remove_file(&file);
    said
}

/// The text, of another version and for another target.
fn retargeted(ptx: &str, version: Isa, target: Target) -> String {
    let line = |line: &str| match line {
        _ if line.starts_with(".version") => format!(".version {version}"),
        _ if line.starts_with(".target") => format!(".target {target}"),
        _ => line.to_string(),
    };
    ptx.lines().map(|text| line(text) + "\n").collect()
}

/// The first error, without the place of a file that is gone.
fn refusal(answer: &str) -> String {
    let line = answer.lines().find(|line| line.contains("error")).unwrap_or("ptxas says nothing");
    line.rsplit("error   : ").next().unwrap_or(line).trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_its_first_error() {
        let refused = "ptxas a.ptx, line 168; error   : Feature 'cp.async' requires .target sm_80 or higher\n";
        assert_eq!(refusal(refused), "Feature 'cp.async' requires .target sm_80 or higher");
        assert_eq!(refusal(""), "ptxas says nothing");
    }

    #[test]
    fn only_the_two_lines_change() {
        let ptx = ".version 9.0\n.target sm_75\n.address_size 64\n";
        let changed = retargeted(ptx, LOWEST, Target::only(90));
        assert_eq!(changed, ".version 7.0\n.target sm_90a\n.address_size 64\n");
    }
}
