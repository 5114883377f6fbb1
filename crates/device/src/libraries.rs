//! Where NVIDIA's libraries may lie: under CUDA's folders, then those of the active Python.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders below a toolkit's root, or a conda environment's, that may hold a library: Linux's, then Windows'.
const BELOW: [&str; 8] = [
    "lib64",
    "lib",
    "targets/x86_64-linux/lib",
    "targets/sbsa-linux/lib",
    "bin",
    "bin/x64",
    "Library/bin",
    "Library/bin/x64",
];

/// Folders that may hold a library. `package` is the folder that its Python package of CUDA 12 uses, for
/// instance `cuda_nvrtc`.
pub(crate) fn folders(package: &str) -> Vec<PathBuf> {
    let named = |names: &[&str]| names.iter().filter_map(env::var_os).map(PathBuf::from).collect::<Vec<_>>();
    let toolkits = named(&["CUDA_HOME", "CUDA_PATH"]).into_iter().chain([PathBuf::from("/usr/local/cuda")]);
    folders_below(&toolkits.collect::<Vec<_>>(), &python_prefixes(), &named(&["CONDA_PREFIX"]), package)
}

/// Folders of headers that exist: beside a library of CUDA's, then those of the Python packages of its release, then of toolkits.
pub(crate) fn headers(library: &Path, release: i32) -> Vec<PathBuf> {
    let named = |names: &[&str]| names.iter().filter_map(env::var_os).map(PathBuf::from).collect::<Vec<_>>();
    let beside = library.parent().filter(|folder| folder.is_absolute()).into_iter().flat_map(|folder| {
        let up = [folder.join("../include"), folder.join("../../include"), folder.join("../../../include")];
        up.into_iter().find(|folder| folder.join("cuda_fp16.h").is_file())
    });
    let sites = python_prefixes().into_iter().flat_map(|prefix| site_packages(&prefix));
    let packages: &[&str] = match release {
        12 => &["cuda_runtime", "cuda_nvcc", "cuda_cccl", "curand"],
        _ => &["cu13"],
    };
    let of_python =
        sites.flat_map(|site| packages.iter().map(move |name| site.join("nvidia").join(name).join("include")));
    let roots = named(&["CUDA_HOME", "CUDA_PATH"]).into_iter().chain([PathBuf::from("/usr/local/cuda")]);
    let roots = roots.chain(named(&["CONDA_PREFIX"]));
    let of_toolkits = roots.flat_map(|root| ["include", "targets/x86_64-linux/include"].map(|below| root.join(below)));
    existing(beside.chain(of_python).chain(of_toolkits))
}

/// Those that exist, each once, with the folder of CUDA's C++ library inside.
fn existing(folders: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in folders.filter_map(|folder| folder.canonicalize().ok()).filter(|folder| folder.is_dir()) {
        let cccl = Some(folder.join("cccl")).filter(|cccl| cccl.is_dir());
        for folder in std::iter::once(folder).chain(cccl) {
            if !found.contains(&folder) {
                found.push(folder);
            }
        }
    }
    found
}

/// The folders of these toolkits, then those of the Python packages below these prefixes, then conda's own.
fn folders_below(toolkits: &[PathBuf], pythons: &[PathBuf], condas: &[PathBuf], package: &str) -> Vec<PathBuf> {
    let below = |root: &PathBuf| BELOW.map(|folder| root.join(folder));
    let mut folders: Vec<PathBuf> = toolkits.iter().flat_map(below).collect();
    for site in pythons.iter().flat_map(|prefix| site_packages(prefix)) {
        for nvidia in [Path::new("nvidia/cu13"), &Path::new("nvidia").join(package)] {
            folders.extend(["lib", "bin", "bin/x86_64"].map(|folder| site.join(nvidia).join(folder)));
        }
    }
    folders.extend(condas.iter().flat_map(below));
    folders
}

/// Where Python packages may be installed: the virtual environment, the `python3` on the path, the user's own.
fn python_prefixes() -> Vec<PathBuf> {
    let mut prefixes: Vec<PathBuf> =
        ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().filter_map(env::var_os).map(PathBuf::from).collect();
    let path = env::var_os("PATH").unwrap_or_default();
    for bin in env::split_paths(&path) {
        if bin.join("python3").exists() {
            prefixes.extend(bin.parent().map(Path::to_path_buf));
        }
        // Windows has the program beside its `Lib`, or in `Scripts` in a virtual environment.
        if bin.join("python.exe").exists() {
            prefixes.extend(bin.parent().filter(|_| bin.ends_with("Scripts")).or(Some(&bin)).map(Path::to_path_buf));
        }
    }
    prefixes.extend(env::var_os("HOME").map(|home| Path::new(&home).join(".local")));
    prefixes
}

fn site_packages(prefix: &Path) -> Vec<PathBuf> {
    let pythons = files_starting_with(&prefix.join("lib"), "python3");
    let mut sites: Vec<PathBuf> =
        pythons.iter().flat_map(|python| [python.join("site-packages"), python.join("dist-packages")]).collect();
    sites.push(prefix.join("Lib/site-packages"));
    sites
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Every way in which NVIDIA ships a library is a folder that is looked at.
    #[test]
    fn every_layout_is_looked_at() {
        let root = env::temp_dir().join(format!("ladder-folders-{}", std::process::id()));
        let path = |name: &str| root.join(name);
        let layouts = [
            "toolkit/lib64",
            "toolkit/targets/x86_64-linux/lib",
            "windows-toolkit/bin",
            "windows-toolkit/bin/x64",
            "venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib",
            "venv/lib/python3.12/site-packages/nvidia/cu13/lib",
            "windows-venv/Lib/site-packages/nvidia/cuda_nvrtc/bin",
            "windows-venv/Lib/site-packages/nvidia/cu13/bin/x86_64",
            "conda/lib",
            "conda/targets/x86_64-linux/lib",
            "windows-conda/Library/bin",
        ];
        layouts.iter().for_each(|layout| fs::create_dir_all(path(layout)).unwrap());
        let toolkits = ["toolkit", "windows-toolkit"].map(path);
        let (pythons, condas) = (["venv", "windows-venv"].map(path), ["conda", "windows-conda"].map(path));
        let folders = folders_below(&toolkits, &pythons, &condas, "cuda_nvrtc");
        for layout in layouts {
            assert!(folders.contains(&path(layout)), "{layout} is not looked at");
        }
        let place = |layout: &str| folders.iter().position(|folder| *folder == path(layout));
        assert!(place("toolkit/lib64") < place(layouts[4]) && place(layouts[4]) < place("conda/lib"));
        fs::remove_dir_all(&root).unwrap();
    }
}
