//! Where NVIDIA's libraries may lie: under CUDA's folders, then those of the active Python.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders that may hold a library. `package` is the folder that its Python package of CUDA 12 uses, for
/// instance `cuda_nvrtc`.
pub(crate) fn folders(package: &str) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].iter().filter_map(env::var_os).map(PathBuf::from);
    for root in toolkits.chain([PathBuf::from("/usr/local/cuda")]) {
        folders.extend(["lib64", "lib", "targets/x86_64-linux/lib"].map(|lib| root.join(lib)));
    }
    for prefix in python_prefixes() {
        for site in site_packages(&prefix) {
            folders.push(site.join("nvidia/cu13/lib"));
            folders.push(site.join("nvidia").join(package).join("lib"));
        }
    }
    folders
}

/// Where Python packages may be installed: the virtual environment, the `python3` on the path, the user's own.
fn python_prefixes() -> Vec<PathBuf> {
    let mut prefixes: Vec<PathBuf> =
        ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().filter_map(env::var_os).map(PathBuf::from).collect();
    let path = env::var_os("PATH").unwrap_or_default();
    for bin in env::split_paths(&path).filter(|bin| bin.join("python3").exists()) {
        prefixes.extend(bin.parent().map(Path::to_path_buf));
    }
    prefixes.extend(env::var_os("HOME").map(|home| Path::new(&home).join(".local")));
    prefixes
}

fn site_packages(prefix: &Path) -> Vec<PathBuf> {
    let pythons = files_starting_with(&prefix.join("lib"), "python3");
    pythons.iter().flat_map(|python| [python.join("site-packages"), python.join("dist-packages")]).collect()
}

/// The entries of a folder whose names start so, sorted, the last first: the newest version.
pub(crate) fn files_starting_with(folder: &Path, start: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> =
        entries.filter(|e| e.file_name().to_string_lossy().starts_with(start)).map(|e| e.path()).collect();
    files.sort();
    files.reverse();
    files
}
