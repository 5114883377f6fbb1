//! NVIDIA's assembler, ptxas: what a kernel needs on an architecture, without a GPU.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use common::Error;
use common::kernel::Resources;

/// The PTX version that is asked for first: files that need no more are assembled as any driver since CUDA 11.0 would.
const LOWEST: &str = "7.0";

/// An assembler that answers.
#[derive(Debug, Clone)]
pub struct Ptxas {
    path: PathBuf,
    /// Its version, for instance `13.0.88`.
    pub version: String,
}

impl Ptxas {
    /// The assembler of this file.
    pub fn open(path: &Path) -> Result<Ptxas, Error> {
        let output = Command::new(path).arg("--version").output();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        let version = text.rsplit_once(", V").and_then(|(_, rest)| rest.split_whitespace().next());
        match version {
            Some(version) => Ok(Ptxas { path: path.to_path_buf(), version: version.to_string() }),
            None => Err(Error::usage(
                format!("{} is no ptxas that answers", path.display()),
                "`pip install nvidia-cuda-nvcc` brings one, `nvidia-cuda-nvcc-cu12` one that knows sm_60 and sm_70",
            )),
        }
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
        files.filter_map(|file| Ptxas::open(&file).ok()).collect()
    }

    /// What the kernel needs on an architecture. `Ok(Err)` says why it cannot run there; nothing, if this version does not
    /// know the architecture.
    pub fn assemble(
        &self,
        ptx: &str,
        architecture: u32,
        optimization: Option<u32>,
    ) -> Option<Result<Resources, String>> {
        let declared = value(ptx, ".version").unwrap_or(LOWEST);
        let mut answer = self.run(&retargeted(ptx, LOWEST, architecture), architecture, optimization);
        if declared != LOWEST && answer.contains("ISA") {
            answer = self.run(&retargeted(ptx, declared, architecture), architecture, optimization);
        }
        if answer.contains("is not defined for option 'gpu-name'") {
            return None;
        }
        Some(resources(&answer).ok_or_else(|| refusal(&answer)))
    }

    /// What it says of a text.
    fn run(&self, ptx: &str, architecture: u32, optimization: Option<u32>) -> String {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let number = RUNS.fetch_add(1, Ordering::Relaxed);
        let file = env::temp_dir().join(format!("lab-cards-{}-{number}.ptx", std::process::id()));
        let output = fs::write(&file, ptx).and_then(|()| {
            let mut command = Command::new(&self.path);
            command.args([&format!("-arch=sm_{architecture}"), "-v", "-o", null()]).arg(&file);
            command.args(optimization.map(|level| format!("-O{level}"))).output()
        });
        // A file that is left in the folder for such files harms nobody.
        let _ = fs::remove_file(&file);
        match output {
            Ok(output) => String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned(),
            Err(error) => format!("error   : {error}"),
        }
    }
}

/// The file that is not kept.
fn null() -> &'static str {
    if cfg!(windows) { "NUL" } else { "/dev/null" }
}

/// What stands behind a directive.
fn value<'a>(ptx: &'a str, directive: &str) -> Option<&'a str> {
    ptx.lines().find_map(|line| Some(line.strip_prefix(directive)?.trim()))
}

/// The text for an architecture that may be older than the one that it declares.
fn retargeted(ptx: &str, version: &str, architecture: u32) -> String {
    let declared = value(ptx, ".target").and_then(|target| target.strip_prefix("sm_")?.parse::<u32>().ok());
    let target = declared.map_or(architecture, |declared| declared.min(architecture));
    let line = |line: &str| match line {
        _ if line.starts_with(".version") => format!(".version {version}"),
        _ if line.starts_with(".target") => format!(".target sm_{target}"),
        _ => line.to_string(),
    };
    ptx.lines().map(|text| line(text) + "\n").collect()
}

/// `Used 38 registers, used 1 barriers, 2048 bytes smem`, and the line on spills before it.
fn resources(answer: &str) -> Option<Resources> {
    let before = |what: &str| -> Option<u32> { answer.split_once(what)?.0.split_whitespace().last()?.parse().ok() };
    Some(Resources {
        registers: before(" registers")?,
        spilled_bytes: before(" bytes spill stores").unwrap_or(0) + before(" bytes spill loads").unwrap_or(0),
        shared_bytes: before(" bytes smem").unwrap_or(0),
    })
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
    fn an_answer_is_read() {
        let answer = "ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function 'f' for 'sm_90'\n\
                      ptxas info    : Function properties for f\n    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n\
                      ptxas info    : Used 38 registers, used 1 barriers, 2048 bytes smem\n";
        assert_eq!(resources(answer), Some(Resources { registers: 38, spilled_bytes: 16, shared_bytes: 2048 }));
        let refused = "ptxas a.ptx, line 168; error   : Feature 'cp.async' requires .target sm_80 or higher\n";
        assert_eq!(
            (resources(refused), refusal(refused)),
            (None, "Feature 'cp.async' requires .target sm_80 or higher".to_string())
        );
        assert_eq!(refusal(""), "ptxas says nothing");
    }

    #[test]
    fn only_the_two_lines_change() {
        let ptx = ".version 9.0\n.target sm_75\n.address_size 64\n";
        assert_eq!(retargeted(ptx, "7.0", 60), ".version 7.0\n.target sm_60\n.address_size 64\n");
        assert_eq!(retargeted(ptx, "7.0", 90), ".version 7.0\n.target sm_75\n.address_size 64\n");
    }
}
